//! How often an address is probed that the peer named and nobody proved: it may be a stranger's, and the heartbeats an
//! attack on it (RFC 9260 section 5.4, RFC 5062 section 6).
//!
//! An address, with its UDP port, gets at most Path.Max.Retrans + 1 heartbeats, over all paths to it together, until one of them is answered.
//! After that only a packet of the association that comes from there makes us ask once more.
//!
//! Where the peer took the last proven address back, what is left is probed on: no data goes there, so nothing else would
//! tell that the peer is gone. Association.Max.Retrans bounds that.

use core::net::{IpAddr, SocketAddr};

use super::PathSet;
use crate::config::AssocConfig;
use crate::ids::PathId;
use crate::time::Time;
use crate::view::PathState;

impl super::Path {
    /// Whether its far end is this address and UDP port.
    fn leads_to(&self, at: SocketAddr) -> bool {
        (self.tuple.remote.ip(), self.tuple.remote.port()) == (at.ip(), at.port())
    }
}

impl PathSet {
    /// Whether a heartbeat may go out on `p`: always to a proven address.
    pub(crate) fn may_probe(&self, p: PathId, config: &AssocConfig) -> bool {
        let Some(path) = self.get(p) else { return false };
        let at = path.tuple.remote;
        path.verification.heard
            || self.is_stranded()
            || self.is_proven_at(at)
            || self.probes(at) <= config.path_max_retrans
    }

    /// A heartbeat goes out on `p`.
    pub(super) fn count_probe(&mut self, p: PathId) {
        let unconfirmed = self.view(p).is_some_and(|v| v.state == PathState::Unconfirmed);
        if let Some(path) = self.get_mut(p).filter(|_| unconfirmed) {
            path.verification.probes = path.verification.probes.saturating_add(1);
            path.verification.asked_for = core::mem::take(&mut path.verification.heard);
        }
    }

    /// A packet of the association came on `p`. If probing had ended it goes on, with one heartbeat.
    pub(crate) fn heard_on(&mut self, now: Time, p: PathId) {
        let Some((view, path)) = self.both_mut(p) else { return };
        let waits = view.state == PathState::Unconfirmed && !path.dormant;
        if waits && path.heartbeat_at == Time::MAX {
            path.verification.heard = true;
            path.heartbeat_at = now;
        }
    }

    /// The address of `p` is proven: the other paths to it may be probed now, whatever was spent on them.
    pub(super) fn resume_probing(&mut self, now: Time, p: PathId) {
        let Some(at) = self.get(p).map(|path| path.tuple.remote) else { return };
        for (view, path) in self.iter_mut() {
            let waits = view.state == PathState::Unconfirmed && path.leads_to(at);
            if waits && !path.dormant && path.heartbeat_at == Time::MAX {
                path.heartbeat_at = now;
            }
        }
    }

    /// No path is left whose address was proven, nor a timer where probing had ended: it begins again.
    pub(crate) fn probe_if_stranded(&mut self, now: Time) {
        if !self.is_stranded() {
            return;
        }
        for (view, path) in self.iter_mut() {
            let waits = view.state == PathState::Unconfirmed && !path.dormant;
            if waits && path.heartbeat_at == Time::MAX {
                path.heartbeat_at = now;
            }
        }
    }

    /// Whether no path may carry data, since no address is proven.
    pub(crate) fn is_stranded(&self) -> bool {
        !self.views.iter().any(|view| view.state.is_confirmed())
    }

    /// The same of an address with its UDP port.
    pub(crate) fn is_proven_at(&self, at: SocketAddr) -> bool {
        self.iter().any(|(view, path)| path.leads_to(at) && view.state.is_confirmed())
    }

    /// Whether some path to `address` was confirmed, by the user or by a heartbeat.
    pub(crate) fn is_proven(&self, address: IpAddr) -> bool {
        let here = self.iter().filter(|(_, path)| path.tuple.remote.ip() == address);
        here.into_iter().any(|(view, _)| view.state.is_confirmed())
    }

    fn probes(&self, at: SocketAddr) -> u32 {
        let here = self.iter().filter(|(_, path)| path.leads_to(at));
        here.map(|(_, path)| path.verification.probes).sum()
    }
}
