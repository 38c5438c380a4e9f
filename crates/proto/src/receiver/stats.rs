//! What the receiver counts.

/// Counters of the receiving half.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReceiverStats {
    /// DATA chunks received, whatever became of them.
    pub(crate) chunks: u64,
    /// Their payload bytes.
    pub(crate) bytes: u64,
    /// Chunks whose TSN was here already.
    pub(crate) duplicates: u64,
    /// Chunks dropped for want of buffer space.
    pub(crate) dropped_window: u64,
    /// Chunks dropped because their TSN lay too far ahead.
    pub(crate) dropped_range: u64,
    /// Chunks acknowledged and discarded because their stream does not exist.
    pub(crate) invalid_stream: u64,
    /// Chunks dropped after they had been accepted, and perhaps gap-acked.
    pub(crate) reneged: u64,
    /// Messages that became deliverable.
    pub(crate) messages_delivered: u64,
    /// Their payload bytes.
    pub(crate) bytes_delivered: u64,
    /// SACKs and NR-SACKs written.
    pub(crate) sacks: u64,
}
