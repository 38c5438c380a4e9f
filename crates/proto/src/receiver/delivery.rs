//! Delivery: messages in the order of their stream (RFC 9260 section 6.6), then in the order of
//! completion.

use std::collections::{BTreeMap, VecDeque};

use super::buffer::Charge;
use super::message::Assembled;
use super::stream::{Numbering, OutOfSequence, Stream};
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

/// The message that is received next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    stream: StreamId,
    /// What it occupied.
    pub(super) charge: Charge,
    /// When it became deliverable.
    pub(super) delivered: Time,
}

/// The inbound streams that were used, and the messages that can be received.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    numbering: Numbering,
    /// The number of a stream's first message.
    first: u32,
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
    /// Delivery of messages numbered by MIDs from `first` on.
    pub(super) fn by_mid(first: u32) -> Self {
        Self { numbering: Numbering::Mid, first, ..Self::default() }
    }

    /// Messages that can be received.
    #[inline]
    pub(super) const fn readable(&self) -> usize {
        self.readable
    }

    /// Takes a complete message. `predecessors`: how many messages can be incomplete that precede
    /// it: of DATA the number of TSNs missing below it. Calls `deliver` for each message that
    /// becomes deliverable, this one or successors.
    ///
    /// # Errors
    /// When its number cannot be its stream's.
    #[inline]
    pub(super) fn accept(
        &mut self,
        now: Time,
        message: Assembled,
        predecessors: u64,
        deliver: impl FnMut(&Assembled),
    ) -> Result<(), OutOfSequence> {
        let id = message.label.stream;
        self.with_stream(id, |stream| stream.accept(now, message, predecessors, deliver))
    }

    /// The peer gave up the ordered messages of a stream up to `number`; calls `deliver` for each
    /// message that becomes deliverable.
    pub(super) fn skip(
        &mut self,
        now: Time,
        id: StreamId,
        number: u32,
        deliver: impl FnMut(&Assembled),
    ) {
        self.with_stream(id, |stream| stream.skip(now, number, deliver));
    }

    /// Changes a stream and counts what became deliverable.
    #[inline]
    fn with_stream<T>(&mut self, id: StreamId, change: impl FnOnce(&mut Stream) -> T) -> T {
        let (numbering, first) = (self.numbering, self.first);
        let stream = self.streams.entry(id).or_insert_with(|| Stream::new(numbering, first));
        let (readable, waiting) = (stream.readable(), stream.waiting());
        let result = change(stream);
        let new = stream.readable() - readable;
        self.waiting = self.waiting + stream.waiting() - waiting;
        self.readable += new;
        // One nearly always: a call for many would cost more.
        (0..new).for_each(|_| self.turns.push_back(id));
        result
    }

    /// Whether the ordered message of a stream numbered `number` can still come.
    pub(super) fn expects(&self, id: StreamId, number: u32) -> bool {
        match self.streams.get(&id) {
            Some(stream) => stream.expects(number),
            None => Stream::new(self.numbering, self.first).expects(number),
        }
    }

    /// How many ordered messages of a stream precede the one numbered `number`.
    pub(super) fn ahead(&self, id: StreamId, number: u32) -> u64 {
        match self.streams.get(&id) {
            Some(stream) => stream.ahead(number),
            None => Stream::new(self.numbering, self.first).ahead(number),
        }
    }

    /// Streams (none: all) start at number 0. Gives what was dropped: messages that still waited
    /// for others, which a correct peer leaves none of.
    pub(super) fn restart(&mut self, streams: &[StreamId]) -> Charge {
        let mut freed = Charge::default();
        let all = streams.is_empty();
        let numbering = self.numbering;
        if all {
            self.first = 0;
        }
        for &id in streams.iter().filter(|_| self.first != 0) {
            self.streams.entry(id).or_insert_with(|| Stream::new(numbering, 0));
        }
        for (_, stream) in self.streams.iter_mut().filter(|(id, _)| all || streams.contains(id)) {
            self.waiting -= stream.waiting();
            freed += stream.restart();
        }
        freed
    }

    /// The next [`restart`](Self::restart) leaves alone streams whose message 0 has TSN `first` or
    /// a higher one: they have started already.
    pub(super) fn keep_streams_from(&mut self, first: u64) {
        self.streams.values_mut().for_each(|stream| stream.keep_from(first));
    }

    /// Delivers all that waits for messages that will not come.
    pub(super) fn deliver_waiting(&mut self, now: Time, mut deliver: impl FnMut(&Assembled)) {
        for (id, stream) in &mut self.streams {
            let readable = stream.readable();
            stream.deliver_waiting(now, &mut deliver);
            let new = stream.readable() - readable;
            self.readable += new;
            self.turns.extend(core::iter::repeat_n(*id, new));
        }
        self.waiting = 0;
    }

    /// The message that [`take`](Self::take) must be asked for now; it is not readable any more.
    #[inline]
    pub(super) fn next(&mut self, want: RecvFrom) -> Option<Next> {
        let (id, stream) = match want {
            RecvFrom::Any => loop {
                let id = self.turns.pop_front()?;
                let stream = self.streams.get_mut(&id)?;
                if !stream.skip_turn() {
                    break (id, stream);
                }
                self.stale -= 1;
            },
            RecvFrom::Stream(id) => (id, self.leave_turn(id)?),
        };
        let (charge, delivered) = stream.front()?;
        self.readable -= 1;
        if self.turns.is_empty() {
            self.turns.shrink_to(KEPT_TURNS);
        }
        Some(Next { stream: id, charge, delivered })
    }

    /// Takes the message that [`next`](Self::next) gave.
    #[inline]
    pub(super) fn take(&mut self, next: &Next) -> Option<Message> {
        self.streams.get_mut(&next.stream)?.pop()
    }

    /// Takes the first message of stream `id` with this payload protocol identifier; gives what it
    /// occupied, too.
    pub(super) fn take_by_ppid(&mut self, id: StreamId, ppid: u32) -> Option<(Message, Charge)> {
        let at = self.streams.get(&id)?.find_ppid(ppid)?;
        let stream = self.leave_turn(id)?;
        let taken = stream.take_at(at)?;
        self.readable -= 1;
        Some(taken)
    }

    /// A message of stream `id`, if it has one, is about to be taken out of turn.
    fn leave_turn(&mut self, id: StreamId) -> Option<&mut Stream> {
        let stream = self.streams.get_mut(&id).filter(|stream| stream.readable() > 0)?;
        stream.leave_turn();
        self.stale += 1;
        if self.stale > self.readable + STALE_TURNS {
            self.drop_stale_turns();
        }
        self.streams.get_mut(&id)
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

    /// Takes back the waiting message of a stream numbered `number`.
    pub(super) fn take_back_number(&mut self, id: StreamId, number: u32) -> Option<Assembled> {
        let message = self.streams.get_mut(&id)?.take_back_number(number)?;
        self.waiting -= 1;
        Some(message)
    }

    /// The streams, and their classes, with the end of a message whose beginning was received
    /// already.
    pub(super) fn unread_ends(&self) -> impl Iterator<Item = (StreamId, bool)> + '_ {
        let classes = |id: &StreamId| [(*id, false), (*id, true)];
        let ends = move |(id, stream)| classes(id).map(|class| (class, stream));
        let of = self.streams.iter().flat_map(ends);
        of.filter(|((_, unordered), stream)| stream.has_unread_end(*unordered)).map(|(id, _)| id)
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
