//! Packets whose checksum is zero (RFC 9653): taken only from peers that were told that they may, and never where the packet may be for
//! somebody else.

use std::sync::Arc;

use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumCheck, ChecksumMode, PacketView, WireError};

use super::{Endpoint, Extensions};
use crate::association::State;
use crate::config::{AssocConfig, EndpointConfig};
use crate::ids::FourTuple;

/// Whether a chunk of this type asks for a correct checksum whatever was agreed (section 5.2): who gets it may know of no association yet
/// (INIT, COOKIE ECHO), or of none at that address (ASCONF).
pub(crate) const fn needs_checksum(kind: u8) -> bool {
    matches!(kind, kind::INIT | kind::COOKIE_ECHO | kind::ASCONF)
}

/// The checksum of an INIT ACK to a peer that said this in its INIT.
pub(super) const fn of_init_ack(config: &AssocConfig, peer: Extensions) -> ChecksumMode {
    let spared = config.zero_checksum.is_some() && peer.zero_checksum;
    if spared { ChecksumMode::Zero } else { ChecksumMode::Crc32c }
}

/// The settings without what the lower layer does not allow: a zero checksum needs one that detects errors itself.
pub(super) fn permitted(config: Arc<AssocConfig>, endpoint: &EndpointConfig) -> Arc<AssocConfig> {
    if config.zero_checksum.is_none() || config.zero_checksum == endpoint.error_detection {
        return config;
    }
    Arc::new(AssocConfig { zero_checksum: None, ..(*config).clone() })
}

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
