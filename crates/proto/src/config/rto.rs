//! Retransmission timeouts.

use crate::time::Duration;

/// Retransmission timeout (RFC 9260 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// RTO.Initial. RFC 9260: 1 s; RFC 4960, ns-2 and INET: 3 s.
    pub initial: Duration,
    /// RTO.Min.
    pub min: Duration,
    /// RTO.Max.
    pub max: Duration,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        }
    }
}
