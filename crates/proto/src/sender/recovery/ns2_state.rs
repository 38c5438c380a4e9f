//! What the recovery of ns-2.35 remembers of a path.

/// What ns-2 keeps of a path for its recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ns2Recovery {
    /// Losses up to this TSN belong to the last cut.
    pub(super) recover: u64,
    /// The highest TSN sent that was found at a cut.
    pub(super) highest_sent: u64,
    /// Of the first path, without CMT: the highest TSN newly acknowledged, by whichever SACK.
    pub(super) highest_newly_acked: u64,
    /// The latest fast retransmit was of this path's chunks: one packet on it may ignore cwnd.
    pub(super) was_fast_retransmitted: bool,
    /// No more packets of retransmissions until the next SACK.
    pub(super) is_closed: bool,
}
