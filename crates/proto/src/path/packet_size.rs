//! How large the packets of a path may be, and the DATA chunks that every path carries.

use super::PathSet;
use super::header::header_bytes;
use super::mtu::MtuSearch;
use crate::config::AssocConfig;
use crate::ids::PathId;
use crate::protection::{LONGEST_CONTENT, OVERHEAD};
use crate::view::PathState;

impl PathSet {
    /// The bytes of one SCTP packet on `p`: path MTU less IP and UDP headers.
    #[inline]
    pub(crate) fn packet_limit(&self, p: PathId) -> usize {
        self.view(p).map_or(0, |v| v.pmdcs as usize + polypath_wire::COMMON_HEADER_LEN)
    }

    /// AMDCS: the largest DATA chunk that fits every path that may come to carry it (RFC 9260
    /// section 6.9). While MTUs are searched for, a path that waits for its verification does not
    /// count.
    #[inline]
    pub(crate) fn amdcs(&self) -> u32 {
        let mut smallest = u32::MAX;
        for view in &self.views {
            let waits = self.searches && view.state == PathState::Unconfirmed;
            if view.pmdcs < smallest && view.state != PathState::Removed && !waits {
                smallest = view.pmdcs;
            }
        }
        if smallest == u32::MAX {
            let live = self.views.iter().find(|v| v.state != PathState::Removed);
            smallest = live.map_or(512, |v| v.pmdcs);
        }
        smallest.saturating_sub(self.reserved)
    }

    /// Bytes that the chunks of one packet may have, whatever the path carries.
    pub(super) const fn longest_chunks(&self) -> u32 {
        if self.in_records { (LONGEST_CONTENT + OVERHEAD) as u32 } else { u32::MAX }
    }

    /// A new search for `p`, if the association searches.
    pub(crate) fn reset_mtu(&mut self, p: PathId, config: &AssocConfig) {
        let Some(discovery) = config.path_mtu_discovery else { return };
        self.searches = true;
        let Some(path) = self.get_mut(p) else { return };
        let v4 = path.tuple.remote.is_ipv4();
        let search = MtuSearch::new(discovery, config.path_mtu, v4);
        let mtu = search.plpmtu();
        path.mtu = Some(Box::new(search));
        self.set_mtu(p, mtu);
    }

    /// `p` carries packets of `mtu` bytes. True if that is news.
    pub(crate) fn set_mtu(&mut self, p: PathId, mtu: u32) -> bool {
        let Some(remote) = self.get(p).map(|path| path.tuple.remote.ip()) else { return false };
        let room = mtu.saturating_sub(header_bytes(remote, self.encapsulation));
        let pmdcs = room.min(self.longest_chunks()) & !3;
        let Some(view) = self.view_mut(p) else { return false };
        let changed = view.mtu != mtu;
        (view.mtu, view.pmdcs) = (mtu, pmdcs);
        changed
    }
}
