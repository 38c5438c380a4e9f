//! Streams whose new messages wait: what was handed in before is sent, what comes after waits until
//! the streams were reset or the peer refused (RFC 6525 section 5.1.2, A1 and A3).

use std::collections::VecDeque;

use super::{Queued, SendQueue, Stream};
use crate::ids::StreamId;
use crate::policy::StreamScheduler;
use crate::sender::numbers::Numbers;

impl SendQueue {
    /// New messages of these streams wait; of all, if there are none.
    pub(crate) fn hold(&mut self, streams: &[StreamId]) {
        if streams.is_empty() {
            self.holds_new = true;
            self.streams.iter_mut().for_each(Stream::hold);
        }
        for &stream in streams {
            self.stream_mut(stream).hold();
        }
    }

    /// The application's messages of all streams wait until there are keys.
    pub(crate) fn hold_for_keys(&mut self) {
        self.hold(&[]);
        self.before_keys = true;
    }

    /// Whether all that these streams (none: all) may send now is sent.
    pub(crate) fn is_sent(&self, streams: &[StreamId]) -> bool {
        if streams.is_empty() {
            return self.streams.iter().all(Stream::is_sent);
        }
        streams.iter().all(|&stream| self.stream(stream).is_none_or(Stream::is_sent))
    }

    /// Whether the next messages of each of these streams (none: of all) have number 0.
    pub(crate) fn are_at_zero(&self, streams: &[StreamId]) -> bool {
        if streams.is_empty() {
            return self.streams.iter().all(Stream::is_at_zero);
        }
        streams.iter().all(|&stream| self.stream(stream).is_none_or(Stream::is_at_zero))
    }

    /// The next messages of these streams (none: of all) have number 0, ordered and unordered ones
    /// (RFC 8260 section 2.3.2).
    pub(in crate::sender) fn renumber(&mut self, streams: &[StreamId]) {
        if streams.is_empty() {
            self.first_mid = 0;
            self.streams.iter_mut().for_each(Stream::renumber);
        }
        for &stream in streams {
            self.stream_mut(stream).renumber();
        }
    }

    /// Messages of these streams (none: of all) wait no longer.
    pub(crate) fn release(&mut self, streams: &[StreamId], scheduler: &mut dyn StreamScheduler) {
        if streams.is_empty() {
            (self.holds_new, self.before_keys) = (false, false);
            for i in 0..self.streams.len() {
                self.release_stream(StreamId(i as u16), scheduler);
            }
        }
        for &stream in streams {
            self.release_stream(stream, scheduler);
        }
    }

    fn release_stream(&mut self, stream: StreamId, scheduler: &mut dyn StreamScheduler) {
        let Some(s) = self.streams.get_mut(usize::from(stream.0)) else { return };
        for entry in s.held.take().into_iter().flatten() {
            self.enter(stream, entry, scheduler);
        }
    }

    /// Bytes that wait until streams were reset, and in how many messages.
    pub(in crate::sender) fn parked(&self) -> (u64, u64) {
        let held = self.streams.iter().flat_map(|s| s.held.iter().flatten());
        held.fold((0, 0), |(bytes, n), entry| (bytes + entry.data.len() as u64, n + 1))
    }

    /// Whether a reset waits for the end of an open message of which all that there is was sent.
    pub(in crate::sender) fn holds_up(&self) -> bool {
        self.streams.iter().any(|s| s.queue.is_empty() && s.holds_up())
    }
}

impl Stream {
    /// Whether a new entry waits where new messages do. Parts of a message that was begun before do
    /// not.
    pub(in crate::sender) fn parks(&self, entry: &Queued) -> bool {
        let last = || self.held.as_ref().and_then(|held| held.back());
        !entry.continues || last().is_some_and(|last| last.id == entry.id)
    }

    fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    fn is_sent(&self) -> bool {
        let waits = |id| self.held.iter().flatten().any(|entry| entry.id == id);
        self.queue.is_empty() && self.open.is_none_or(|open| waits(open.id))
    }

    /// Whether a reset waits for the end of its open message.
    pub(in crate::sender) fn holds_up(&self) -> bool {
        let parked = |id| self.held.iter().flatten().any(|entry| entry.id == id);
        self.held.is_some() && self.open.is_some_and(|open| !parked(open.id))
    }

    fn is_at_zero(&self) -> bool {
        self.numbers == Numbers::default() && self.queue.is_empty()
    }

    const fn renumber(&mut self) {
        self.numbers = Numbers::from_mid(0);
    }

    /// Entries with unsent bytes, those that wait included.
    pub(super) fn unsent(&self) -> impl Iterator<Item = &Queued> {
        self.queue.iter().chain(self.held.iter().flatten())
    }

    /// How many these are: told with every event that room came free, so without a look at each.
    pub(in crate::sender) fn unsent_count(&self) -> usize {
        self.queue.len() + self.held.as_ref().map_or(0, VecDeque::len)
    }
}
