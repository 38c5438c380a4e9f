//! What the send buffer takes in memory: payload, and the bookkeeping of every message that waits
//! and of every chunk that has a TSN.
//!
//! A message of a byte needs two hundred times as much to be remembered. So there are two limits:
//! payload bytes, as configured, and memory, twice as much and 64 KiB. Messages of a few hundred
//! bytes and more reach the first one first.

use super::sending_half::Sender;
use crate::ids::StreamId;

/// What a message that waits, or a chunk until it is cum-acked, counts beside its payload: about
/// what either takes, with its places in the lists of what was sent on its path and the room that
/// a list keeps for more. Copies on other paths are few (`copy_queue`).
const BOOKKEEPING: u64 = 192;

/// The same for a message that may be abandoned.
const LISTED: u64 = 160;

/// Memory granted beyond twice the buffer, so that small buffers can still hold some messages.
const SLACK: u64 = 64 << 10;

/// What is left of both limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    /// Payload bytes.
    pub(super) bytes: u64,
    /// Bytes of memory.
    pub(super) memory: u64,
}

impl Room {
    /// With what goes away in addition.
    pub(super) const fn and(self, freed: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(freed.bytes),
            memory: self.memory.saturating_add(freed.memory),
        }
    }
}

impl Sender {
    /// Memory that counts against the limit, bytes.
    #[inline]
    pub(crate) fn memory(&self) -> u64 {
        let entries = self.queue.messages() + self.outstanding.len() as u64;
        let listed = self.partial_reliability.as_ref().map_or(0, |partial| partial.len() as u64);
        self.used + entries * BOOKKEEPING + listed * LISTED
    }

    /// The limit of memory, bytes: it follows the buffer.
    #[inline]
    pub(crate) const fn memory_limit(&self) -> u64 {
        self.limit.saturating_mul(2).saturating_add(SLACK)
    }

    /// What is left, but for what waits for others: `waiting` payload bytes in so many messages.
    #[inline]
    pub(super) fn room_beside(&self, (waiting, messages): (u64, u64)) -> Room {
        let bytes = self.limit.saturating_sub(self.used.saturating_sub(waiting));
        if self.limit == u64::MAX {
            return Room { bytes, memory: u64::MAX };
        }
        let spared = waiting + messages * BOOKKEEPING;
        let memory = self.memory_limit().saturating_sub(self.memory().saturating_sub(spared));
        Room { bytes, memory }
    }

    /// Payload bytes that one more message may have.
    #[inline]
    pub(super) fn payload(&self, room: Room) -> u64 {
        room.bytes.min(room.memory.saturating_sub(BOOKKEEPING))
    }

    /// What abandoning a message with so many bytes in the buffer leaves: its chunks that were sent
    /// stay listed until the peer skipped them.
    pub(super) const fn freed_by(&self, bytes: u64, begun: bool) -> Room {
        let listed = if begun { 0 } else { BOOKKEEPING };
        Room { bytes, memory: bytes + listed + LISTED }
    }

    /// Notes whether a message was refused for want of memory although its payload had room.
    /// Acknowledgements that free no payload make room for the next one.
    pub(super) fn note_refusal(&mut self, stream: StreamId, bytes: u64) {
        let memory = u64::MAX;
        self.cramped = bytes <= self.room_with(stream, Room { bytes: 0, memory });
    }

    /// Whether the latest message was refused for want of memory.
    pub(crate) const fn is_cramped(&self) -> bool {
        self.cramped
    }

    /// How much more than its share of the buffer the payload takes in memory, at least 1: by so
    /// much a buffer that grows must be larger than payload alone has it.
    pub(crate) fn weight(&self) -> f64 {
        (self.memory() as f64 / (2 * self.used.max(1)) as f64).max(1.0)
    }

    /// Whether half of the buffer is in use, of payload or of memory.
    pub(crate) fn is_half_full(&self) -> bool {
        self.used >= self.limit / 2 || self.memory() >= self.memory_limit() / 2
    }
}
