//! Messages that wait to be sent, stream by stream. TSNs and SSNs are given when a chunk leaves:
//! late, so that the stream scheduler stays free.

mod hold;
mod key_message;
mod removal;

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use polypath_wire::DataFlags;
use smallvec::SmallVec;

use super::lists::trim;
use super::numbers::{Kind, Numbers};
use super::send_options::{Reliability, SendOptions};
use super::types::{DequeuedFragment, OpenMessage};
use crate::event::StreamQueueInfo;
use crate::ids::{MessageId, StreamId};
use crate::needs::StreamNeeds;
use crate::policy::{MessageInfo, StreamQueues, StreamScheduler};
use crate::stats::StreamStats;
use crate::time::Time;
use crate::view::ChunkMeta;

/// A message with unsent bytes, or a part of one that the application hands in piece by piece.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) id: MessageId,
    pub(super) data: Bytes,
    pub(super) offset: usize,
    pub(super) options: SendOptions,
    pub(super) enqueued: Time,
    /// A part before it was queued.
    pub(super) continues: bool,
    /// Parts behind it follow.
    pub(super) goes_on: bool,
}

impl Queued {
    fn remaining(&self) -> usize {
        self.data.len() - self.offset
    }

    /// Takes the next `bytes` of it. The last ones take the message's own hold on its memory along:
    /// a second one would cost an allocation.
    #[inline]
    fn take_bytes(&mut self, bytes: usize) -> Bytes {
        let from = self.offset;
        self.offset += bytes;
        if self.offset < self.data.len() {
            return self.data.slice(from..self.offset);
        }
        let mut rest = core::mem::take(&mut self.data);
        rest.advance(from);
        rest
    }

    /// No byte of its message was sent.
    const fn begins(&self) -> bool {
        self.offset == 0 && !self.continues
    }

    /// Bytes of its message; 0 while the application has not ended it.
    const fn size(&self) -> u64 {
        if self.goes_on { 0 } else { self.data.len() as u64 }
    }
}

/// One outbound stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) queue: VecDeque<Queued>,
    /// Messages that wait until the stream was reset.
    pub(super) held: Option<VecDeque<Queued>>,
    pub(super) numbers: Numbers,
    /// The message that the application has not ended.
    pub(super) open: Option<OpenMessage>,
    /// Interleaving: the message at the head is partly sent, with this many bytes in all; 0 if that
    /// is not known yet.
    begun: Option<u64>,
    pub(super) unsent_bytes: u64,
    unacked_bytes: u64,
    /// Ordered messages whose last chunk was sent and is not cum-acked.
    ordered_in_flight: u32,
    pub(super) needs: StreamNeeds,
    pub(super) stats: StreamStats,
}

/// Ordered messages of a stream in flight, at most: SSNs must stay distinguishable (RFC 9260
/// section 1.6).
const MAX_ORDERED_IN_FLIGHT: u32 = (1 << 16) - 2;

/// The send queues of all streams.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    /// By stream id; grown as streams are used.
    pub(super) streams: Vec<Stream>,
    pub(super) heads: Vec<MessageInfo>,
    /// The stream whose head message is partly sent: without I-DATA it must be finished first (RFC
    /// 9260 section 6.9).
    in_progress: Option<StreamId>,
    /// Messages of several streams may be under way (RFC 8260).
    interleaving: bool,
    /// Those that are, and their bytes in all.
    begun: (usize, u64),
    /// The peer's receive buffer; 0 while unknown.
    pub(super) peer_buffer: u64,
    /// Where the MIDs of streams begin.
    first_mid: u32,
    next_order: u64,
    pub(super) unsent: u64,
    pub(super) messages: u64,
    /// Some stream declared that it needs low delay.
    urgent: bool,
    /// New messages of all streams wait until the association was reset.
    pub(super) holds_new: bool,
    /// They wait for keys, without which only key management's go.
    before_keys: bool,
    /// Messages of key management with unsent bytes.
    key_messages: u8,
    /// There were some: their payload protocol identifier is no application's.
    has_keys: bool,
}

impl SendQueue {
    /// Unsent bytes in all.
    pub(crate) const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Messages with unsent bytes.
    pub(crate) const fn messages(&self) -> u64 {
        self.messages
    }

    /// The stream that must go on before any other may.
    pub(crate) const fn in_progress(&self) -> Option<StreamId> {
        self.in_progress
    }

    /// Whether a message is partly sent.
    pub(crate) const fn has_begun(&self) -> bool {
        self.in_progress.is_some() || self.begun.0 > 0
    }

    /// Whether messages of several streams may be under way.
    pub(crate) const fn is_interleaving(&self) -> bool {
        self.interleaving
    }

    /// Before anything was sent: which kind of chunk there will be.
    pub(crate) const fn set_interleaving(&mut self, on: bool) {
        self.interleaving = on;
    }

    /// MIDs begin at `first`: for tests of the wrap.
    pub(crate) const fn set_first_mid(&mut self, first: u32) {
        self.first_mid = first;
    }

    pub(crate) fn heads(&self) -> StreamQueues<'_> {
        StreamQueues::new(&self.heads, self.interleaving)
    }

    #[inline]
    pub(super) fn stream_mut(&mut self, stream: StreamId) -> &mut Stream {
        let index = usize::from(stream.0);
        if self.streams.len() <= index {
            self.add_streams(index + 1);
        }
        &mut self.streams[index]
    }

    #[inline(never)]
    fn add_streams(&mut self, count: usize) {
        let numbers = Numbers::from_mid(self.first_mid);
        self.streams.resize_with(count, || Stream { numbers, ..Stream::default() });
    }

    pub(super) fn stream(&self, stream: StreamId) -> Option<&Stream> {
        self.streams.get(usize::from(stream.0))
    }

    /// Appends a message to its stream.
    pub(crate) fn push_message(
        &mut self,
        now: Time,
        stream: StreamId,
        data: Bytes,
        options: SendOptions,
        scheduler: &mut dyn StreamScheduler,
    ) -> MessageId {
        let id = MessageId(self.next_order());
        let entry = Queued {
            id,
            data,
            offset: 0,
            options,
            enqueued: now,
            continues: false,
            goes_on: false,
        };
        self.append(stream, entry, scheduler);
        id
    }

    pub(super) const fn next_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order - 1
    }

    /// Notes what `stream` needs, also for what waits already.
    pub(crate) fn set_needs(&mut self, stream: StreamId, needs: StreamNeeds) {
        self.stream_mut(stream).needs = needs;
        self.urgent = self.streams.iter().any(|s| s.needs.is_urgent());
        if let Ok(at) = self.heads.binary_search_by_key(&stream, |h| h.stream) {
            self.heads[at].needs = needs;
        }
    }

    /// What `stream` declared.
    pub(crate) fn needs(&self, stream: StreamId) -> StreamNeeds {
        self.stream(stream).map_or(StreamNeeds::default(), |s| s.needs)
    }

    /// Whether some stream's messages go before what waits.
    pub(crate) const fn has_urgent_streams(&self) -> bool {
        self.urgent
    }

    /// Whether `stream` may go on, or begin another message.
    ///
    /// Interleaving: a peer that hands over messages only when they are whole must have room for
    /// all that are begun, or none of them will ever end. So, beside one, only as many are begun as
    /// fit `room` bytes of its buffer; what fits a chunk of `chunk` bytes is ended as soon as it is
    /// begun.
    #[inline]
    pub(crate) fn may_begin(&self, stream: StreamId, room: u64, chunk: usize) -> bool {
        let Some(s) = self.stream(stream) else { return false };
        if !self.interleaving {
            return s.ordered_in_flight < MAX_ORDERED_IN_FLIGHT;
        }
        self.may_interleave(s, room, chunk)
    }

    #[inline(never)]
    fn may_interleave(&self, s: &Stream, room: u64, chunk: usize) -> bool {
        let size = self.counted(s.queue.front().map_or(0, Queued::size));
        s.begun.is_some()
            || self.begun.0 == 0
            || size <= chunk as u64
            || self.begun.1.saturating_add(size) <= room
    }

    /// What a message of `size` bytes counts among those under way. A peer whose buffer does not
    /// hold it takes it in parts, or not at all: it need not find room beside others.
    const fn counted(&self, size: u64) -> u64 {
        if self.peer_buffer > 0 && size > self.peer_buffer { 0 } else { size }
    }

    /// The chunk that [`dequeue_fragment`](Self::dequeue_fragment) would give.
    pub(crate) fn peek(&self, stream: StreamId, max_payload: usize) -> Option<ChunkMeta> {
        let from = self.stream(stream)?;
        let head = from.queue.front()?;
        let bytes = head.remaining().min(max_payload) as u32;
        let mut meta = ChunkMeta::whole(stream, bytes);
        meta.message_remaining = head.remaining() as u64;
        meta.first = head.begins();
        meta.last = head.remaining() <= max_payload && !head.goes_on;
        meta.ordered = !head.options.unordered;
        meta.enqueued = head.enqueued;
        meta.needs = from.needs;
        Some(meta)
    }

    /// Takes the next chunk of `stream`, of at most `max_payload` bytes.
    pub(crate) fn dequeue_fragment(
        &mut self,
        stream: StreamId,
        max_payload: usize,
        scheduler: &mut dyn StreamScheduler,
    ) -> Option<DequeuedFragment> {
        let s = self.streams.get_mut(usize::from(stream.0))?;
        let head = s.queue.front_mut()?;
        let bytes = head.remaining().min(max_payload);
        let taken = bytes == head.remaining();
        let flags = DataFlags {
            unordered: head.options.unordered,
            beginning: head.begins(),
            ending: taken && !head.goes_on,
            immediate: head.options.immediate,
        };
        let begun = (flags.beginning && !flags.ending).then_some(head.size());
        let is_key_message = self.has_keys && head.is_key_message(stream);
        let payload = head.take_bytes(bytes);
        let ordered = !flags.unordered;
        let (message, ppid) = (head.id, head.options.ppid);
        let may_be_abandoned = head.options.reliability != Reliability::Full;
        if taken {
            s.queue.pop_front();
            trim(&mut s.queue);
            self.messages -= 1;
            self.key_messages -= u8::from(is_key_message);
        }
        let kind = if self.interleaving { Kind::IData } else { Kind::Data };
        let number = s.numbers.next(kind, flags.unordered, flags.ending);
        s.unsent_bytes -= bytes as u64;
        s.unacked_bytes += bytes as u64;
        self.unsent -= bytes as u64;
        s.ordered_in_flight += u32::from(ordered && flags.ending);
        if !self.interleaving {
            self.in_progress = (!flags.ending).then_some(stream);
        } else if begun.is_some() || flags.ending {
            self.note_begun(stream, begun);
        }
        self.refresh_head(stream);
        scheduler.on_taken(&self.heads(), stream, bytes as u32, flags.ending);
        Some(DequeuedFragment { message, payload, number, ppid, flags, may_be_abandoned })
    }

    /// A message of `size` bytes is under way in `stream`, or none is any more.
    fn note_begun(&mut self, stream: StreamId, size: Option<u64>) {
        let size = size.map(|size| self.counted(size));
        let Some(s) = self.streams.get_mut(usize::from(stream.0)) else { return };
        let before = core::mem::replace(&mut s.begun, size);
        let (messages, bytes) = &mut self.begun;
        *messages = *messages + usize::from(size.is_some()) - usize::from(before.is_some());
        *bytes = *bytes + size.unwrap_or(0) - before.unwrap_or(0);
    }

    #[inline]
    fn refresh_head(&mut self, stream: StreamId) {
        let Ok(at) = self.heads.binary_search_by_key(&stream, |h| h.stream) else { return };
        let from = self.streams.get(usize::from(stream.0));
        match from.and_then(|s| s.queue.front()).zip(self.heads.get_mut(at)) {
            // What the stream needs is there already.
            Some((m, head)) => {
                (head.bytes, head.order, head.enqueued) = (m.remaining() as u32, m.id.0, m.enqueued)
            }
            None => _ = self.heads.remove(at),
        }
    }

    /// `bytes` of `stream` left the send buffer.
    pub(crate) fn note_freed(&mut self, stream: StreamId, bytes: u64) {
        if let Some(s) = self.streams.get_mut(usize::from(stream.0)) {
            s.unacked_bytes -= bytes;
        }
    }

    /// The last chunk of an ordered message of `stream` was cum-acked: its SSN may be used again.
    pub(crate) fn note_ordered_acked(&mut self, stream: StreamId) {
        if let Some(s) = self.streams.get_mut(usize::from(stream.0)) {
            s.ordered_in_flight = s.ordered_in_flight.saturating_sub(1);
        }
    }

    /// Removes the messages of streams from `streams` on, which negotiation took away; gives their
    /// ids and bytes.
    pub(crate) fn drop_streams_from(&mut self, streams: u16) -> Vec<(MessageId, StreamId, u64)> {
        let mut out = Vec::new();
        for (i, s) in self.streams.iter_mut().enumerate().skip(usize::from(streams)) {
            let dropped = s.queue.drain(..).chain(s.held.take().into_iter().flatten());
            out.extend(dropped.map(|m| (m.id, StreamId(i as u16), m.data.len() as u64)));
            s.unsent_bytes = 0;
            s.open = None;
        }
        self.heads.retain(|h| h.stream.0 < streams);
        self.messages -= out.len() as u64;
        self.unsent -= out.iter().map(|m| m.2).sum::<u64>();
        out
    }

    /// Removes every message; gives their ids and whether any byte was sent.
    pub(crate) fn drain(&mut self) -> Vec<(MessageId, StreamId, bool)> {
        let mut out = Vec::new();
        for (i, s) in self.streams.iter_mut().enumerate() {
            let stream = StreamId(i as u16);
            let all = s.queue.drain(..).chain(s.held.take().into_iter().flatten());
            let has_keys = self.has_keys;
            let told = all.filter(|m| !(has_keys && m.is_key_message(stream)));
            out.extend(told.map(|m| (m.id, stream, !m.begins())));
            // What of it was handed in may have been delivered; the message was not.
            out.extend(s.open.take().map(|open| (open.id, stream, true)));
            (s.unsent_bytes, s.begun) = (0, None);
        }
        self.heads.clear();
        self.begun = (0, 0);
        self.in_progress = None;
        self.unsent = 0;
        (self.messages, self.key_messages) = (0, 0);
        out
    }

    /// Gives the memory back that no message needs.
    pub(in crate::sender) fn shrink(&mut self) {
        self.streams.shrink_to_fit();
        self.heads.shrink_to_fit();
        self.streams.iter_mut().for_each(|stream| stream.queue.shrink_to_fit());
    }

    /// SQINFO, stream by stream.
    pub(crate) fn info(&self) -> SmallVec<[StreamQueueInfo; 1]> {
        let used = |(_, s): &(usize, &Stream)| s.stats.messages > 0;
        let info = |(i, s): (usize, &Stream)| StreamQueueInfo {
            stream: StreamId(i as u16),
            unsent_bytes: s.unsent_bytes,
            unsent_messages: s.unsent_count() as u64,
            unacked_bytes: s.unacked_bytes,
        };
        self.streams.iter().enumerate().filter(used).map(info).collect()
    }

    pub(crate) fn stats(&self) -> Vec<StreamStats> {
        let used = |(_, s): &(usize, &Stream)| s.stats.messages > 0;
        let stats = |(i, s): (usize, &Stream)| StreamStats { stream: i as u16, ..s.stats };
        self.streams.iter().enumerate().filter(used).map(stats).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Mid, Ssn};
    use crate::policy::FirstCome;
    use crate::sender::types::Number;

    fn push(q: &mut SendQueue, stream: u16, len: usize) -> MessageId {
        let data = Bytes::from(vec![7; len]);
        q.push_message(Time::ZERO, StreamId(stream), data, SendOptions::default(), &mut FirstCome)
    }

    #[test]
    fn fragments_keep_their_ssn_and_finish_before_another_stream() {
        let mut q = SendQueue::default();
        push(&mut q, 3, 250);
        push(&mut q, 1, 10);
        let meta = q.peek(StreamId(3), 100).unwrap();
        assert!(meta.first && !meta.last && meta.bytes == 100);
        let sizes: Vec<(usize, Number, bool, bool)> = (0..3)
            .map(|_| {
                let t = q.dequeue_fragment(StreamId(3), 100, &mut FirstCome).unwrap();
                (t.payload.len(), t.number, t.flags.beginning, t.flags.ending)
            })
            .collect();
        let ssn = Number::Ssn(Ssn(0));
        assert_eq!(
            sizes,
            [(100, ssn, true, false), (100, ssn, false, false), (50, ssn, false, true)]
        );
        assert_eq!(q.in_progress(), None);
        assert_eq!(q.heads().heads.len(), 1);
        assert_eq!((q.unsent(), q.messages()), (10, 1));
        let info = q.info();
        assert_eq!((info[1].unacked_bytes, info[0].unsent_bytes), (250, 10));
    }

    #[test]
    fn ssn_wraps_after_65536_messages() {
        let mut q = SendQueue::default();
        for i in 0..70_000u32 {
            push(&mut q, 0, 1);
            let taken = q.dequeue_fragment(StreamId(0), 100, &mut FirstCome).unwrap();
            assert_eq!(taken.number, Number::Ssn(Ssn(i as u16)));
            q.note_freed(StreamId(0), 1);
            q.note_ordered_acked(StreamId(0));
        }
    }

    #[test]
    fn too_many_ordered_messages_in_flight_stop_the_stream() {
        let mut q = SendQueue::default();
        for _ in 0..MAX_ORDERED_IN_FLIGHT {
            push(&mut q, 0, 1);
            assert!(q.may_begin(StreamId(0), 0, 100));
            q.dequeue_fragment(StreamId(0), 100, &mut FirstCome).unwrap();
        }
        assert!(!q.may_begin(StreamId(0), 0, 100));
    }

    #[test]
    fn interleaved_streams_alternate_and_each_finishes_its_message_first() {
        let mut q = SendQueue::default();
        q.set_interleaving(true);
        push(&mut q, 0, 150);
        push(&mut q, 0, 10);
        push(&mut q, 1, 150);
        let mut take = |stream| {
            let t = q.dequeue_fragment(StreamId(stream), 100, &mut FirstCome).unwrap();
            (t.number, t.flags.beginning, t.flags.ending)
        };
        let number = |mid, fsn| Number::Mid { mid: Mid(mid), fsn };
        assert_eq!(take(0), (number(0, 0), true, false));
        assert_eq!(take(1), (number(0, 0), true, false));
        assert_eq!(take(0), (number(0, 1), false, true));
        assert_eq!(take(0), (number(1, 0), true, true));
        assert_eq!(take(1), (number(0, 1), false, true));
    }

    #[test]
    fn no_more_messages_are_begun_than_the_peer_can_hold() {
        let mut q = SendQueue::default();
        q.set_interleaving(true);
        [150, 250, 150, 101].into_iter().zip(0..).for_each(|(len, s)| _ = push(&mut q, s, len));
        let may = |q: &SendQueue| [0, 1, 2, 3].map(|s| q.may_begin(StreamId(s), 300, 100));
        assert_eq!(may(&q), [true; 4], "one goes always");
        q.dequeue_fragment(StreamId(0), 100, &mut FirstCome).unwrap();
        assert_eq!(may(&q), [true, false, true, true]);
        q.dequeue_fragment(StreamId(2), 100, &mut FirstCome).unwrap();
        assert_eq!(may(&q), [true, false, true, false]);
        push(&mut q, 4, 100);
        assert!(q.may_begin(StreamId(4), 300, 100), "it fits one chunk");
        q.dequeue_fragment(StreamId(0), 100, &mut FirstCome).unwrap();
        assert_eq!(may(&q)[1..], [false, true, true]);
        q.dequeue_fragment(StreamId(2), 100, &mut FirstCome).unwrap();
        assert_eq!(may(&q)[1..], [true; 3]);
        assert_eq!(q.begun, (0, 0));
    }
}
