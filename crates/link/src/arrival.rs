//! What an arriving packet finds.

use crate::Nanos;

/// What waits for the transmitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLen {
    /// Packets, without the one in transmission.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a queue needs to know of the moment at which a packet arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) size: u32,
    pub(crate) waiting: QueueLen,
    /// How long the transmitter has had nothing to send, in ns; `None` while it is busy.
    pub(crate) idle: Option<Nanos>,
    /// Time in ns that the transmitter needs for this packet.
    pub(crate) transmission: Nanos,
}
