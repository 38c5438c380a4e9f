//! One inbound stream: its order, and its deliverable messages.

use std::collections::{BTreeMap, VecDeque};

use super::message::Assembled;
use crate::ids::{Ssn, StreamId};
use crate::stats::StreamStats;
use crate::time::Time;

/// Room for deliverable messages that a stream keeps when it has none: thousands of streams may
/// each have had a burst.
const KEPT_READY: usize = 8;

/// A message that can be received.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub(super) message: Assembled,
    /// When it became deliverable.
    pub(super) delivered: Time,
}

/// An SSN was used twice, or skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfSequence;

/// An inbound stream that was used.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    /// Messages delivered in order so far; its low 16 bits are the next SSN.
    next: u64,
    /// Complete messages whose predecessors are not, by SSN extended like `next`.
    waiting: BTreeMap<u64, Assembled>,
    ready: VecDeque<Ready>,
    /// Messages received out of turn whose turns still stand in the queue over all streams.
    skipped_turns: usize,
    messages: u64,
    bytes: u64,
}

impl Stream {
    #[inline]
    pub(super) fn readable(&self) -> usize {
        self.ready.len()
    }

    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// See [`Delivery::accept`](super::delivery::Delivery::accept); `deliver` stamps the messages.
    #[inline]
    pub(super) fn accept(
        &mut self,
        message: Assembled,
        predecessors: u64,
        mut deliver: impl FnMut(Assembled) -> Ready,
    ) -> Result<(), OutOfSequence> {
        if message.label.unordered {
            self.push(deliver(message));
            return Ok(());
        }
        let ahead = self.ahead(message.label.ssn);
        if ahead > predecessors {
            return Err(OutOfSequence);
        }
        if ahead > 0 {
            return self.park(self.next + ahead, message);
        }
        self.next += 1;
        self.push(deliver(message));
        while let Some(message) = self.next_waiting() {
            self.next += 1;
            self.push(deliver(message));
        }
        Ok(())
    }

    /// How many messages precede the one numbered `ssn`. Up to 2^16 - 1 may be in flight, so an SSN
    /// is never taken for one of the past; one that was used already comes out too far ahead.
    #[inline]
    const fn ahead(&self, ssn: Ssn) -> u64 {
        ssn.distance(Ssn(self.next as u16)) as u64
    }

    fn park(&mut self, number: u64, message: Assembled) -> Result<(), OutOfSequence> {
        match self.waiting.insert(number, message) {
            None => Ok(()),
            Some(_) => Err(OutOfSequence),
        }
    }

    #[inline]
    fn next_waiting(&mut self) -> Option<Assembled> {
        let entry = self.waiting.first_entry()?;
        if *entry.key() == self.next { Some(entry.remove()) } else { None }
    }

    #[inline]
    fn push(&mut self, ready: Ready) {
        self.messages += 1;
        self.bytes += ready.message.charge.payload;
        self.ready.push_back(ready);
    }

    /// Takes the first deliverable message.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Ready> {
        let ready = self.ready.pop_front()?;
        if self.ready.is_empty() {
            self.ready.shrink_to(KEPT_READY);
        }
        Some(ready)
    }

    /// A message was taken out of turn.
    pub(super) const fn leave_turn(&mut self) {
        self.skipped_turns += 1;
    }

    /// Whether this turn's message is gone already.
    #[inline]
    pub(super) const fn skip_turn(&mut self) -> bool {
        let skip = self.skipped_turns > 0;
        self.skipped_turns -= skip as usize;
        skip
    }

    /// The last TSN of the last waiting message.
    pub(super) fn last_waiting(&self) -> Option<u64> {
        self.waiting.last_key_value().map(|(_, message)| message.last())
    }

    /// Takes the last waiting message back.
    pub(super) fn take_back(&mut self) -> Option<Assembled> {
        self.waiting.pop_last().map(|(_, message)| message)
    }

    pub(super) const fn stats(&self, id: StreamId) -> StreamStats {
        StreamStats { stream: id.0, messages: self.messages, bytes: self.bytes }
    }
}
