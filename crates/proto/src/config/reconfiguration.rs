//! What the peer may reconfigure (RFC 6525).

/// Limits of stream reconfiguration. They hold where
/// [`stream_reconfiguration`](super::ExtensionConfig::stream_reconfiguration) is agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconfigConfig {
    /// Outbound streams after adding some, at most, whoever asks.
    pub max_outbound_streams: u16,
    /// Inbound streams after adding some, at most, whoever asks. Each stream that the peer uses
    /// takes memory.
    pub max_inbound_streams: u16,
    /// Let the peer reset streams, its own and ours.
    pub allow_resets: bool,
    /// Let the peer reset all streams and TSNs at once.
    pub allow_association_resets: bool,
}

impl Default for ReconfigConfig {
    fn default() -> Self {
        Self {
            max_outbound_streams: u16::MAX,
            max_inbound_streams: 2048,
            allow_resets: true,
            allow_association_resets: true,
        }
    }
}
