//! What ns-2.35 counts on a path.

use crate::time::Time;

/// Its counters, and what they are for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ns2Path {
    /// Packets of retransmissions since the last SACK or timeout.
    pub(crate) resent_packets: u32,
    /// When the window is halved, if nothing is sent before; `Time::MAX`: never.
    pub(crate) degrade_at: Time,
    /// T3-rtx goes by TSNs.
    pub(crate) t3_by_tsn: bool,
}

impl Default for Ns2Path {
    fn default() -> Self {
        Self { resent_packets: 0, degrade_at: Time::MAX, t3_by_tsn: false }
    }
}
