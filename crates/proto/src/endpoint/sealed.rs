//! Packets that come as one DTLS chunk (draft-ietf-tsvwg-sctp-dtls-chunk section 5.2).

use polypath_wire::{COMMON_HEADER_LEN, ChecksumCheck, PacketView, RawChunk};

use super::Endpoint;
use crate::association::{Association, State};
use crate::auth::Proof;
use crate::ids::{AssocHandle, FourTuple, PathId};
use crate::time::Time;

/// Bytes in front of an opened packet, so that its chunks are aligned as ciphers like them.
const IN_FRONT: usize = 4;

fn packet_in(opened: &[u8]) -> &[u8] {
    opened.get(IN_FRONT..).unwrap_or_default()
}

impl Endpoint {
    /// A packet that begins with a DTLS chunk. Its verification tag says whose it is; the keys of
    /// that association say whether it is the peer's. Until then it has no effect but on counters.
    pub(super) fn on_sealed_packet(
        &mut self,
        now: Time,
        tuple: &FourTuple,
        packet: &PacketView<'_>,
        first: &RawChunk<'_>,
    ) {
        let alone = COMMON_HEADER_LEN + first.bytes().len().next_multiple_of(4);
        let found = self.find_sealed(tuple, packet);
        let Some((h, path)) = found.filter(|_| alone >= packet.bytes().len()) else {
            // To who knows no keys it is a packet like any other, of a type that it does not know.
            return if found.is_some() {
                self.stats.malformed += 1;
            } else {
                self.on_packet(now, tuple, packet, first);
            };
        };
        let mut opened = core::mem::take(&mut self.opened);
        opened.clear();
        opened.extend_from_slice(&[0; IN_FRONT]);
        let header = packet.header();
        if let Some(assoc) = self.table.touch(h) {
            if !assoc.open_packet(now, path, header, first, &mut opened) {
                opened.clear();
            } else if let Ok(inner) = PacketView::parse(packet_in(&opened), ChecksumCheck::Skip) {
                assoc.handle_packet(now, tuple, path, &inner, Proof::Sealed);
                if path.is_none() {
                    self.table.refresh(h);
                }
            }
        }
        self.opened = opened;
    }

    /// The packet that came last as it was before it was sealed, where that is
    /// [kept](crate::config::EndpointConfig::keeps_plain); its checksum is 0. `None` if it came in
    /// plain, or could not be opened.
    pub fn plain_received(&self) -> Option<&[u8]> {
        let opened = packet_in(&self.opened);
        Some(opened).filter(|opened| self.config.keeps_plain && !opened.is_empty())
    }

    /// The packet that association `h` has sent last as it was before it was sealed, where that is
    /// [kept](crate::config::EndpointConfig::keeps_plain); its checksum is 0. To be asked right
    /// after [`poll_transmit`](Self::poll_transmit) gave a packet that begins with a DTLS chunk.
    pub fn plain_sent(&self, h: AssocHandle) -> Option<&[u8]> {
        self.association(h)?.plain_sent()
    }

    /// The association with keys whose tag the packet carries, and its path if that is known.
    fn find_sealed(
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
