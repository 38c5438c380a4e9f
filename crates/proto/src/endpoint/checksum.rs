//! Packets whose checksum is zero (RFC 9653): taken only from peers that were told that they may, and never where the packet may be for
//! somebody else.

use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumCheck, PacketView, WireError};

use super::Endpoint;
use crate::association::State;
use crate::handshake::needs_checksum;
use crate::ids::FourTuple;

impl Endpoint {
    /// Reads a packet and judges its checksum.
    pub(super) fn read<'a>(
        &mut self,
        tuple: &FourTuple,
        data: &'a [u8],
    ) -> Result<PacketView<'a>, WireError> {
        let unchecked =
            self.config.error_detection.is_some() && self.may_lack_checksum(tuple, data);
        let crc = if unchecked { ChecksumCheck::Skip } else { ChecksumCheck::Verify };
        PacketView::parse_next(data, crc, &mut self.checksum)
    }

    #[inline(never)]
    fn may_lack_checksum(&mut self, tuple: &FourTuple, data: &[u8]) -> bool {
        let Ok(packet) = PacketView::parse(data, ChecksumCheck::Skip) else { return false };
        let header = packet.header();
        if header.checksum != 0 {
            return false;
        }
        let found = self.table.find(*tuple, header.source_port);
        // The answer to our INIT, which said so, may come from an address that we do not know yet.
        let first = packet.chunks().next().and_then(Result::ok).map(|chunk| chunk.kind);
        let (tag, port) = (header.verification_tag, header.source_port);
        let asked = || self.table.find_tag(tag, port).filter(|_| first == Some(kind::INIT_ACK));
        let found = found.or_else(asked);
        let told = found.and_then(|h| self.table.get(h)).is_some_and(|assoc| {
            assoc.config.zero_checksum.is_some()
                && assoc.state() != State::Closed
                && header.verification_tag == assoc.local.tag
        });
        told && !packet.chunks().map_while(Result::ok).any(|chunk| needs_checksum(chunk.kind))
    }
}
