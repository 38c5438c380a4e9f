//! Which packets may go without a checksum (RFC 9653).

use std::sync::Arc;

use polypath_wire::ChecksumMode;
use polypath_wire::chunk::kind;

use super::extensions::Extensions;
use crate::config::{AssocConfig, EndpointConfig};

/// Whether a chunk of this type asks for a correct checksum whatever was agreed (section 5.2): who gets it may know of no association yet
/// (INIT, COOKIE ECHO), or of none at that address (ASCONF).
pub(crate) const fn needs_checksum(kind: u8) -> bool {
    matches!(kind, kind::INIT | kind::COOKIE_ECHO | kind::ASCONF)
}

/// The checksum of an INIT ACK to a peer that said this in its INIT.
pub(crate) const fn init_ack_checksum(config: &AssocConfig, peer: Extensions) -> ChecksumMode {
    let spared = config.zero_checksum.is_some() && peer.zero_checksum;
    if spared { ChecksumMode::Zero } else { ChecksumMode::Crc32c }
}

/// The settings without what the lower layer does not allow: a zero checksum needs one that detects errors itself.
pub(crate) fn permitted_config(
    config: Arc<AssocConfig>,
    endpoint: &EndpointConfig,
) -> Arc<AssocConfig> {
    if config.zero_checksum.is_none() || config.zero_checksum == endpoint.error_detection {
        return config;
    }
    Arc::new(AssocConfig { zero_checksum: None, ..(*config).clone() })
}
