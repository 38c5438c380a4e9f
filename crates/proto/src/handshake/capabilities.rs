//! What set-up came to.

use super::extensions::Extensions;

/// What both ends agreed on at set-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Extensions.
    pub(crate) agreed: Extensions,
    /// Outbound streams: the smaller of ours and what the peer accepts.
    pub(crate) outbound_streams: u16,
    /// Inbound streams.
    pub(crate) inbound_streams: u16,
}
