//! What a link counts.

use crate::{Nanos, QueueLen};

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// A loss model took it.
    Loss,
    /// At least one of its bits was wrong.
    BitError,
    /// The queue had no room.
    QueueFull,
    /// RED dropped it early.
    Red,
    /// The link was down, or went down before the packet arrived.
    Down,
    /// The link carries only smaller packets.
    TooLarge,
}

/// Dropped packets by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Packets taken by loss models.
    pub loss: u64,
    /// Packets with a bit error.
    pub bit_error: u64,
    /// Packets that found the queue full.
    pub queue_full: u64,
    /// Packets dropped early by RED.
    pub red: u64,
    /// Packets offered while the link was down, or on it when it went down.
    pub down: u64,
    /// Packets larger than the link carries.
    pub too_large: u64,
}

impl Drops {
    /// Packets dropped for any reason.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.loss + self.bit_error + self.queue_full + self.red + self.down + self.too_large
    }

    pub(crate) fn count_reason(&mut self, reason: DropReason, packets: u64) {
        *match reason {
            DropReason::Loss => &mut self.loss,
            DropReason::BitError => &mut self.bit_error,
            DropReason::QueueFull => &mut self.queue_full,
            DropReason::Red => &mut self.red,
            DropReason::Down => &mut self.down,
            DropReason::TooLarge => &mut self.too_large,
        } += packets;
    }
}

/// Counters of one link since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets offered, dropped ones included.
    pub offered: u64,
    /// Bytes offered, dropped ones included.
    pub offered_bytes: u64,
    /// Packets handed out by `poll`.
    pub delivered: u64,
    /// Bytes handed out by `poll`.
    pub delivered_bytes: u64,
    /// Packets dropped, by reason.
    pub dropped: Drops,
    /// Most packets and most bytes that waited at once (not necessarily at the same time).
    pub max_queue: QueueLen,
    /// Time in ns for which the transmitter had or will have work, the accepted backlog included;
    /// [`crate::Link::busy_time`] leaves out what lies ahead.
    pub busy: Nanos,
}
