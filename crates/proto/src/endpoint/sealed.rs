//! Packets that come as one DTLS chunk (draft-ietf-tsvwg-sctp-dtls-chunk section 5.2).

use polypath_wire::{COMMON_HEADER_LEN, ChecksumCheck, PacketView, RawChunk};

use super::{Endpoint, SealedPacket};
use crate::association::{Association, State};
use crate::auth::Proof;
use crate::ids::{AssocHandle, FourTuple, PathId};
use crate::time::Time;

impl Endpoint {
    /// A packet that begins with a DTLS chunk. Its verification tag says whose it is; the keys of
    /// that association say whether it is the peer's. `None` if it has been dealt with: to who
    /// knows no keys it is a packet like any other, of a type that it does not know.
    pub(super) fn find_sealed(
        &mut self,
        now: Time,
        tuple: &FourTuple,
        packet: &PacketView<'_>,
        first: &RawChunk<'_>,
    ) -> Option<SealedPacket> {
        let Some((assoc, path)) = self.find_keys(tuple, packet) else {
            self.on_packet(now, tuple, packet, first);
            return None;
        };
        let chunk = first.bytes().len();
        if packet.bytes().len() > COMMON_HEADER_LEN + chunk.next_multiple_of(4) {
            self.stats.malformed += 1;
            return None;
        }
        Some(SealedPacket { assoc, path, chunk })
    }

    /// Opens a packet where it stands, and takes what is in it. Until it has opened it has no
    /// effect but on counters.
    pub(super) fn open_sealed(
        &mut self,
        now: Time,
        tuple: &FourTuple,
        sealed: SealedPacket,
        packet: &mut [u8],
    ) {
        let SealedPacket { assoc: h, path, chunk } = sealed;
        let Some(assoc) = self.table.touch(h) else { return };
        let Some(chunk) = packet.get_mut(COMMON_HEADER_LEN..COMMON_HEADER_LEN + chunk) else {
            return;
        };
        let Some(chunks) = assoc.open_packet(now, path, chunk) else { return };
        // The common header moves to where it is in front of the chunks, over what is not needed
        // any more.
        let (start, end) = (chunks.start, COMMON_HEADER_LEN + chunks.end);
        packet.copy_within(..COMMON_HEADER_LEN, start);
        let Some(plain) = packet.get(start..end) else { return };
        if self.config.keeps_plain {
            self.opened.extend_from_slice(plain);
        }
        if let Ok(inner) = PacketView::parse(plain, ChecksumCheck::Skip) {
            assoc.handle_packet(now, tuple, path, &inner, Proof::Sealed);
            if path.is_none() {
                self.table.refresh(h);
            }
        }
    }

    /// The packet that came last as it was before it was sealed, where that is
    /// [kept](crate::config::EndpointConfig::keeps_plain); its checksum is 0. `None` if it came in
    /// plain, or could not be opened.
    pub fn plain_received(&self) -> Option<&[u8]> {
        Some(&self.opened[..]).filter(|opened| !opened.is_empty())
    }

    /// The packet that association `h` has sent last as it was before it was sealed, where that is
    /// [kept](crate::config::EndpointConfig::keeps_plain); its checksum is 0. To be asked right
    /// after [`poll_transmit`](Self::poll_transmit) gave a packet that begins with a DTLS chunk.
    pub fn plain_sent(&self, h: AssocHandle) -> Option<&[u8]> {
        self.association(h)?.plain_sent()
    }

    /// The association with keys whose tag the packet carries, and its path if that is known.
    fn find_keys(
        &mut self,
        tuple: &FourTuple,
        packet: &PacketView<'_>,
    ) -> Option<(AssocHandle, Option<PathId>)> {
        let header = packet.header();
        let tag = header.verification_tag;
        let has_keys = |assoc: &Association| {
            assoc.local.tag == tag && assoc.state() != State::CookieWait && assoc.opens_packets()
        };
        let here = self.table.find_path(tuple, header.source_port);
        let here = here.filter(|(h, _)| self.table.get(*h).is_some_and(has_keys));
        here.or_else(|| {
            let found = self.table.find_by_tag(tag, tuple, header.source_port);
            found.filter(|(h, _)| self.table.get(*h).is_some_and(has_keys))
        })
    }
}
