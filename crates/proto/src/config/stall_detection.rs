//! Watching what limits a transfer.

use crate::time::Duration;

/// Events that tell what limits a transfer ([`Event::Limited`](crate::Event::Limited)), and that it
/// has stopped ([`Event::Stalled`](crate::Event::Stalled)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallDetectionConfig {
    /// How often is looked at what limited the transfer most.
    pub interval: Duration,
    /// Without progress for so long, although the peer is heard, a transfer is stalled.
    pub stalled_after: Duration,
}

impl Default for StallDetectionConfig {
    fn default() -> Self {
        Self { interval: Duration::from_secs(1), stalled_after: Duration::from_secs(5) }
    }
}
