//! Delivery: messages in the order of their stream (RFC 9260 section 6.6), then in the order of
//! completion.

use std::collections::{BTreeMap, VecDeque};

use super::message::Assembled;
use super::stream::{OutOfSequence, Ready, Stream};
use crate::event::Message;
use crate::ids::StreamId;
use crate::stats::StreamStats;
use crate::time::Time;

/// Which message to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvFrom {
    /// The one that became deliverable first.
    Any,
    /// The one of this stream that became deliverable first.
    Stream(StreamId),
}

/// Turns taken out of turn that are tolerated in the queue, beside as many as there are messages.
const STALE_TURNS: usize = 64;

/// Room for turns that is kept when nothing waits, so that an idle association is small.
const KEPT_TURNS: usize = 1024;

/// The inbound streams that were used, and the messages that can be received.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    streams: BTreeMap<StreamId, Stream>,
    /// The stream of each deliverable message, in order of completion.
    turns: VecDeque<StreamId>,
    readable: usize,
    /// Entries of `turns` whose message was taken out of turn.
    stale: usize,
    /// Complete messages that wait for their predecessors.
    waiting: usize,
}

impl Delivery {
    /// Messages that can be received.
    #[inline]
    pub(super) const fn readable(&self) -> usize {
        self.readable
    }

    /// Takes a complete message. `predecessors`: how many messages can be incomplete that precede
    /// it, the number of TSNs missing below it. Calls `deliver` for each message that becomes
    /// deliverable, this one or successors.
    ///
    /// # Errors
    /// When its SSN cannot be its stream's.
    #[inline]
    pub(super) fn accept(
        &mut self,
        now: Time,
        message: Assembled,
        predecessors: u64,
        mut deliver: impl FnMut(&Assembled),
    ) -> Result<(), OutOfSequence> {
        let id = message.label.stream;
        let stream = self.streams.entry(id).or_default();
        let (readable, waiting) = (stream.readable(), stream.waiting());
        let accepted = stream.accept(message, predecessors, |message| {
            deliver(&message);
            Ready { message, delivered: now }
        });
        let new = stream.readable() - readable;
        self.waiting = self.waiting + stream.waiting() - waiting;
        self.readable += new;
        self.turns.extend(core::iter::repeat_n(id, new));
        accepted
    }

    /// The next message, and what it occupied.
    #[inline]
    pub(super) fn recv(&mut self, want: RecvFrom) -> Option<Ready> {
        let ready = match want {
            RecvFrom::Any => self.in_turn(),
            RecvFrom::Stream(id) => self.out_of_turn(id),
        }?;
        self.readable -= 1;
        if self.turns.is_empty() {
            self.turns.shrink_to(KEPT_TURNS);
        }
        Some(ready)
    }

    #[inline]
    fn in_turn(&mut self) -> Option<Ready> {
        loop {
            let stream = self.streams.get_mut(&self.turns.pop_front()?)?;
            if !stream.skip_turn() {
                return stream.pop();
            }
            self.stale -= 1;
        }
    }

    fn out_of_turn(&mut self, id: StreamId) -> Option<Ready> {
        let stream = self.streams.get_mut(&id)?;
        let ready = stream.pop()?;
        stream.leave_turn();
        self.stale += 1;
        if self.stale > self.readable + STALE_TURNS {
            self.drop_stale_turns();
        }
        Some(ready)
    }

    /// Each stream's first turns are those whose messages are gone.
    fn drop_stale_turns(&mut self) {
        let streams = &mut self.streams;
        self.turns.retain(|id| !streams.get_mut(id).is_some_and(Stream::skip_turn));
        self.stale = 0;
    }

    /// The highest TSN above `tsn` that ends a waiting message, and its stream. Looks at the last
    /// message of every stream: a sender numbers the messages of a stream in the order of their
    /// TSNs.
    pub(super) fn highest_waiting(&self, tsn: u64) -> Option<(u64, StreamId)> {
        if self.waiting == 0 {
            return None;
        }
        let last = |(id, stream): (&StreamId, &Stream)| Some((stream.last_waiting()?, *id));
        self.streams.iter().filter_map(last).max().filter(|(last, _)| *last > tsn)
    }

    /// Takes back the last waiting message of a stream.
    pub(super) fn take_back(&mut self, id: StreamId) -> Option<Assembled> {
        let message = self.streams.get_mut(&id)?.take_back()?;
        self.waiting -= 1;
        Some(message)
    }

    /// Entries in the queue of turns.
    #[cfg(test)]
    pub(super) fn turns(&self) -> usize {
        self.turns.len()
    }

    /// What was delivered per stream that was used, ascending.
    pub(super) fn stats(&self) -> impl Iterator<Item = StreamStats> + '_ {
        self.streams.iter().map(|(id, stream)| stream.stats(*id))
    }
}

impl Ready {
    pub(super) fn into_message(self) -> Message {
        self.message.into_message(self.delivered)
    }
}
