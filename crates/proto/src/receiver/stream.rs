//! One inbound stream: its order, and its deliverable messages.

use std::collections::{BTreeMap, VecDeque};

use super::buffer::Charge;
use super::message::Assembled;
use crate::event::Message;
use crate::ids::{Ssn, StreamId};
use crate::stats::StreamStats;
use crate::time::Time;

/// Room for deliverable messages that a stream keeps when it has none: thousands of streams may
/// each have had a burst.
const KEPT_READY: usize = 8;

/// A message that can be received.
#[derive(Clone, Debug)]
struct Ready {
    message: Assembled,
    /// When it became deliverable.
    delivered: Time,
}

/// The number of a message was used twice, or skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfSequence;

/// How the messages of a stream are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Numbering {
    /// By SSN, 16 bits.
    #[default]
    Ssn,
    /// By MID, 32 bits.
    Mid,
}

/// An inbound stream that was used.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    numbering: Numbering,
    /// Messages delivered in order so far; its low bits are the next SSN or MID.
    next: u64,
    /// Complete messages whose predecessors are not, by number extended like `next`.
    waiting: BTreeMap<u64, Assembled>,
    ready: VecDeque<Ready>,
    /// Messages received out of turn whose turns still stand in the queue over all streams.
    skipped_turns: usize,
    messages: u64,
    bytes: u64,
    /// TSN of the latest ordered message of number 0.
    began: u64,
    /// It began after the reset that is under way.
    kept: bool,
}

impl Stream {
    /// A stream whose first message has the number `first`.
    pub(super) fn new(numbering: Numbering, first: u32) -> Self {
        Self { numbering, next: first.into(), ..Self::default() }
    }

    #[inline]
    pub(super) fn readable(&self) -> usize {
        self.ready.len()
    }

    /// Whether what can be received ends a message whose beginning was received already.
    pub(super) fn has_unread_end(&self, unordered: bool) -> bool {
        let class = self.ready.iter().filter(|ready| ready.message.label.unordered == unordered);
        // Whole unordered ones may stand between the parts of another.
        let mut parts = class.map(|ready| ready.message.part).filter(|part| !part.is_whole());
        parts.find(|part| part.first || part.last).is_some_and(|part| part.last)
    }

    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// See [`Delivery::accept`](super::delivery::Delivery::accept).
    #[inline]
    pub(super) fn accept(
        &mut self,
        now: Time,
        message: Assembled,
        predecessors: u64,
        mut deliver: impl FnMut(&Assembled),
    ) -> Result<(), OutOfSequence> {
        let goes_on = !message.label.unordered && message.part.last;
        if !message.label.unordered {
            let ahead = self.ahead(message.label.number);
            if ahead > predecessors {
                return Err(OutOfSequence);
            }
            if ahead > 0 {
                return self.park(self.next + ahead, message);
            }
            // `next` counts on where numbers wrap.
            if message.label.number == 0 && message.part.first {
                self.began = message.first;
            }
            self.next += u64::from(goes_on);
        }
        deliver(&message);
        self.push(now, message);
        if goes_on && !self.waiting.is_empty() {
            self.deliver_successors(now, deliver);
        }
        Ok(())
    }

    #[inline(never)]
    fn deliver_successors(&mut self, now: Time, mut deliver: impl FnMut(&Assembled)) {
        while let Some(message) = self.next_waiting() {
            self.next += 1;
            deliver(&message);
            self.push(now, message);
        }
    }

    /// The peer gave up the messages up to the one numbered `number`: those that are here are
    /// delivered, and what waited for the others. An old number changes nothing.
    pub(super) fn skip(&mut self, now: Time, number: u32, mut deliver: impl FnMut(&Assembled)) {
        let ahead = self.ahead(number);
        if ahead > self.furthest() {
            return;
        }
        let last = self.next + ahead;
        while let Some(entry) = self.waiting.first_entry().filter(|entry| *entry.key() <= last) {
            let message = entry.remove();
            deliver(&message);
            self.push(now, message);
        }
        self.next = last + 1;
        self.deliver_successors(now, deliver);
    }

    /// The next message has number 0. Gives what those occupied that still waited.
    pub(super) fn restart(&mut self) -> Charge {
        if core::mem::take(&mut self.kept) {
            return Charge::default();
        }
        self.next = 0;
        let mut freed = Charge::default();
        core::mem::take(&mut self.waiting).values().for_each(|message| freed += message.charge());
        freed
    }

    /// See [`Delivery::keep_streams_from`](super::delivery::Delivery::keep_streams_from).
    pub(super) const fn keep_from(&mut self, first: u64) {
        self.kept = self.next > 0 && self.began >= first;
    }

    /// Delivers what waits, whatever is missing.
    pub(super) fn deliver_waiting(&mut self, now: Time, mut deliver: impl FnMut(&Assembled)) {
        while let Some((_, message)) = self.waiting.pop_first() {
            deliver(&message);
            self.push(now, message);
        }
    }

    /// How many messages precede the one numbered `number`; one that was used already comes out too
    /// far ahead: of 2^16 SSNs all but one may be in flight and of MIDs half.
    #[inline]
    pub(super) const fn ahead(&self, number: u32) -> u64 {
        match self.numbering {
            Numbering::Ssn => Ssn(number as u16).distance(Ssn(self.next as u16)) as u64,
            Numbering::Mid => number.wrapping_sub(self.next as u32) as u64,
        }
    }

    /// How far ahead a number can be that is not of the past (RFC 1982). Of SSNs more than half may
    /// be in flight: there TSNs tell, which the caller looks at, what is of the past.
    const fn furthest(&self) -> u64 {
        match self.numbering {
            Numbering::Ssn => (1 << 16) - 1,
            Numbering::Mid => (1 << 31) - 1,
        }
    }

    /// Whether the ordered message numbered `number` can still come.
    pub(super) fn expects(&self, number: u32) -> bool {
        let ahead = self.ahead(number);
        ahead <= self.furthest() && !self.waiting.contains_key(&(self.next + ahead))
    }

    fn park(&mut self, number: u64, message: Assembled) -> Result<(), OutOfSequence> {
        match self.waiting.insert(number, message) {
            None => Ok(()),
            Some(_) => Err(OutOfSequence),
        }
    }

    fn next_waiting(&mut self) -> Option<Assembled> {
        let entry = self.waiting.first_entry()?;
        if *entry.key() == self.next { Some(entry.remove()) } else { None }
    }

    #[inline]
    fn push(&mut self, delivered: Time, message: Assembled) {
        self.messages += u64::from(message.part.last);
        self.bytes += message.charge().payload;
        self.ready.push_back(Ready { message, delivered });
    }

    /// What the first deliverable message occupies, and since when it is that.
    #[inline]
    pub(super) fn front(&self) -> Option<(Charge, Time)> {
        self.ready.front().map(|ready| (ready.message.charge(), ready.delivered))
    }

    /// Takes the first deliverable message.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Message> {
        if self.ready.len() == 1 {
            self.ready.shrink_to(KEPT_READY);
        }
        let ready = self.ready.pop_front()?;
        Some(ready.message.into_message(ready.delivered))
    }

    /// Where the first deliverable message with this payload protocol identifier stands.
    pub(super) fn find_ppid(&self, ppid: u32) -> Option<usize> {
        self.ready.iter().position(|ready| ready.message.label.ppid == ppid)
    }

    /// Takes a deliverable message from where it stands; gives what it occupied, too.
    pub(super) fn take_at(&mut self, at: usize) -> Option<(Message, Charge)> {
        let ready = self.ready.remove(at)?;
        if self.ready.is_empty() {
            // The next one may be long in coming.
            self.ready = VecDeque::new();
        }
        let charge = ready.message.charge();
        Some((ready.message.into_message(ready.delivered), charge))
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

    /// Takes the waiting message numbered `number` back.
    pub(super) fn take_back_number(&mut self, number: u32) -> Option<Assembled> {
        self.waiting.remove(&(self.next + self.ahead(number)))
    }

    pub(super) const fn stats(&self, id: StreamId) -> StreamStats {
        StreamStats { stream: id.0, messages: self.messages, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_waits_to_be_read_takes_one_cache_line() {
        assert!(size_of::<Ready>() <= 64, "{} bytes", size_of::<Ready>());
    }
}
