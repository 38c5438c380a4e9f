//! Messages that are handed in part by part (RFC 6458 section 8.1.26, explicit end of record): they
//! may be larger than the send buffer.

use bytes::Bytes;

use super::lists::append;
use super::memory::Room;
use super::send_options::{SendError, SendOptions};
use super::send_queue::{Queued, SendQueue};
use super::sending_half::Sender;
use super::types::OpenMessage;
use crate::ids::{MessageId, StreamId};
use crate::policy::{MessageInfo, StreamScheduler};
use crate::time::Time;

impl Sender {
    /// Accepts a part of a message; `last` ends it. The message as a whole is bounded by
    /// `max_message` alone: neither buffer has to hold it.
    pub(crate) fn enqueue_part(
        &mut self,
        now: Time,
        stream: StreamId,
        part: (Bytes, bool),
        options: SendOptions,
        scheduler: &mut dyn StreamScheduler,
    ) -> Result<MessageId, SendError> {
        let bytes = part.0.len() as u64;
        let before = self.queue.open_bytes(stream);
        let limit = self.largest_message.saturating_sub(before).min(self.limit);
        if bytes == 0 || bytes > limit {
            return Err(SendError::BadSize { bytes: part.0.len(), limit });
        }
        if bytes > self.room_on(stream) {
            self.note_refusal(stream, bytes);
            return Err(SendError::WouldBlock);
        }
        self.used += bytes;
        Ok(self.queue.push_part(now, stream, part, options, scheduler))
    }

    /// Room for the next part of a message that others wait for: what waits does not count, or
    /// neither would ever leave. So the buffer may hold twice its limit.
    pub(super) fn room_ahead(&self, stream: StreamId) -> Option<Room> {
        let waiting = self.queue.waiting_for(stream);
        (waiting.0 > 0).then(|| self.room_beside(waiting))
    }

    /// A shutdown waits for no open message: takes back what only the end of one would let go, once
    /// all else is acknowledged.
    pub(crate) fn drop_what_waits_for_parts(&mut self) -> Vec<(MessageId, StreamId, bool)> {
        if !self.outstanding.is_empty() || !self.queue.waits_for_parts() {
            return Vec::new();
        }
        self.used -= self.queue.unsent();
        let mut dropped = self.queue.drain();
        dropped.sort_unstable_by_key(|m| m.0);
        dropped.dedup_by_key(|m| m.0);
        if let Some(partial) = &mut self.partial_reliability {
            dropped.iter().for_each(|m| _ = partial.remove(m.0));
        }
        dropped
    }
}

impl SendQueue {
    /// Bytes so far of the message that `stream` has open; 0 if it has none.
    pub(super) fn open_bytes(&self, stream: StreamId) -> u64 {
        self.stream(stream).and_then(|s| s.open).map_or(0, |open| open.bytes)
    }

    /// Whether `stream` has a message open: it takes no other until that one is ended.
    pub(crate) fn is_open(&self, stream: StreamId) -> bool {
        self.stream(stream).is_some_and(|s| s.open.is_some())
    }

    /// Bytes that wait for the end of the message that `stream` has open, and in how many messages.
    fn waiting_for(&self, stream: StreamId) -> (u64, u64) {
        let Some(s) = self.stream(stream).filter(|s| s.open.is_some()) else { return (0, 0) };
        if self.in_progress() == Some(stream) {
            return (self.unsent - s.unsent_bytes, self.messages - s.unsent_count() as u64);
        }
        if s.holds_up() { self.parked() } else { (0, 0) }
    }

    /// Whether nothing can be sent before the application goes on with an open message.
    fn waits_for_parts(&self) -> bool {
        let begun = self.in_progress().and_then(|stream| self.stream(stream));
        let blocked = begun.is_some_and(|s| s.open.is_some() && s.queue.is_empty());
        let parked = || self.heads.is_empty() && self.parked().0 > 0;
        self.messages > 0 && (blocked || self.holds_up() && parked())
    }

    /// Appends a part to the message that `stream` has open, or opens one.
    pub(in crate::sender) fn push_part(
        &mut self,
        now: Time,
        stream: StreamId,
        (data, last): (Bytes, bool),
        options: SendOptions,
        scheduler: &mut dyn StreamScheduler,
    ) -> MessageId {
        let open = self.stream_mut(stream).open;
        let continues = open.is_some();
        let mut open = open.unwrap_or_else(|| OpenMessage {
            id: MessageId(self.next_order()),
            options,
            bytes: 0,
        });
        open.bytes += data.len() as u64;
        self.stream_mut(stream).open = (!last).then_some(open);
        let OpenMessage { id, options, .. } = open;
        let part =
            Queued { id, data, offset: 0, options, enqueued: now, continues, goes_on: !last };
        self.append(stream, part, scheduler);
        id
    }

    /// Appends an entry to a stream's queue and tells the scheduler.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        stream: StreamId,
        entry: Queued,
        scheduler: &mut dyn StreamScheduler,
    ) {
        let bytes = entry.data.len() as u64;
        self.unsent += bytes;
        self.messages += 1;
        let holds_new = self.holds_new;
        let s = self.stream_mut(stream);
        s.unsent_bytes += bytes;
        s.stats.messages += u64::from(!entry.continues);
        s.stats.bytes += bytes;
        if (holds_new || s.held.is_some()) && s.parks(&entry) {
            append(s.held.get_or_insert_default(), entry);
        } else {
            self.enter(stream, entry, scheduler);
        }
    }

    /// An entry joins what may be sent of its stream. Always inlined, as `append` is: so a message
    /// is moved only once.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        stream: StreamId,
        entry: Queued,
        scheduler: &mut dyn StreamScheduler,
    ) {
        let Some(s) = self.streams.get_mut(usize::from(stream.0)) else { return };
        let (was_empty, needs) = (s.queue.is_empty(), s.needs);
        let bytes = entry.data.len() as u32;
        let (order, enqueued) = (entry.id.0, entry.enqueued);
        append(&mut s.queue, entry);
        let message = MessageInfo { stream, bytes, order, enqueued, needs };
        if was_empty {
            self.add_head(message);
        }
        scheduler.on_queued(&self.heads(), &message);
    }

    #[inline(never)]
    pub(super) fn add_head(&mut self, message: MessageInfo) {
        let at = self.heads.partition_point(|h| h.stream < message.stream);
        self.heads.insert(at, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::FirstCome;

    fn part(q: &mut SendQueue, stream: u16, len: usize, last: bool) -> MessageId {
        let part = (Bytes::from(vec![7; len]), last);
        let options = SendOptions::default();
        q.push_part(Time::ZERO, StreamId(stream), part, options, &mut FirstCome)
    }

    fn take(q: &mut SendQueue, stream: u16) -> (usize, bool, bool) {
        let taken = q.dequeue_fragment(StreamId(stream), 100, &mut FirstCome).unwrap();
        (taken.payload.len(), taken.flags.beginning, taken.flags.ending)
    }

    #[test]
    fn parts_are_fragments_of_one_message() {
        let mut q = SendQueue::default();
        let id = part(&mut q, 0, 150, false);
        assert!(q.is_open(StreamId(0)));
        assert_eq!(take(&mut q, 0), (100, true, false));
        assert_eq!(take(&mut q, 0), (50, false, false));
        assert!(q.heads().heads.is_empty());
        assert_eq!(part(&mut q, 0, 100, false), id);
        assert_eq!(take(&mut q, 0), (100, false, false));
        assert_eq!(part(&mut q, 0, 1, true), id);
        assert!(!q.is_open(StreamId(0)));
        assert_eq!(take(&mut q, 0), (1, false, true));
        assert_eq!(q.stats()[0].messages, 1);
        assert_ne!(part(&mut q, 0, 1, true), id);
    }

    #[test]
    fn without_interleaving_an_open_message_holds_the_association() {
        for interleaving in [false, true] {
            let mut q = SendQueue::default();
            q.set_interleaving(interleaving);
            part(&mut q, 0, 10, false);
            part(&mut q, 1, 10, true);
            take(&mut q, 0);
            assert_eq!(q.in_progress().is_some(), !interleaving);
            assert!(!interleaving || q.may_begin(StreamId(1), 0, 100));
        }
    }
}
