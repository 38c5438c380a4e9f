//! Messages that wait to be sent, stream by stream. TSNs and SSNs are given when a chunk leaves: late, so that the stream
//! scheduler stays free.

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_wire::DataFlags;

use crate::event::StreamQueueInfo;
use crate::ids::{MessageId, Ssn, StreamId};
use crate::needs::StreamNeeds;
use crate::policy::{MessageInfo, StreamQueues, StreamScheduler};
use crate::stats::StreamStats;
use crate::time::Time;
use crate::view::ChunkMeta;

/// What the application says about a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Deliver it as soon as it is complete, without regard to order (U bit).
    pub unordered: bool,
    /// Payload protocol identifier, passed on untouched.
    pub ppid: u32,
    /// Ask for its acknowledgement at once (I bit, RFC 7053).
    pub immediate: bool,
}

/// A message with unsent bytes.
#[derive(Debug)]
struct Queued {
    id: MessageId,
    data: Bytes,
    offset: usize,
    options: SendOptions,
    enqueued: Time,
    order: u64,
}

impl Queued {
    fn remaining(&self) -> usize {
        self.data.len() - self.offset
    }
}

/// One outbound stream.
#[derive(Debug, Default)]
struct Stream {
    queue: VecDeque<Queued>,
    next_ssn: u16,
    unsent_bytes: u64,
    unacked_bytes: u64,
    /// Ordered messages whose last chunk was sent and is not cum-acked.
    ordered_in_flight: u32,
    needs: StreamNeeds,
    stats: StreamStats,
}

/// Ordered messages of a stream in flight, at most: SSNs must stay distinguishable (RFC 9260 section 1.6).
const MAX_ORDERED_IN_FLIGHT: u32 = (1 << 16) - 2;

/// The send queues of all streams.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    /// By stream id; grown as streams are used.
    streams: Vec<Stream>,
    heads: Vec<MessageInfo>,
    /// The stream whose head message is partly sent: without I-DATA it must be finished first (RFC 9260 section 6.9).
    in_progress: Option<StreamId>,
    next_order: u64,
    unsent: u64,
    messages: u64,
    /// Some stream declared that it needs low delay.
    urgent: bool,
}

/// A chunk taken from the queue.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) message: MessageId,
    pub(crate) payload: Bytes,
    pub(crate) ssn: Ssn,
    pub(crate) ppid: u32,
    pub(crate) flags: DataFlags,
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

    pub(crate) const fn in_progress(&self) -> Option<StreamId> {
        self.in_progress
    }

    pub(crate) fn heads(&self) -> StreamQueues<'_> {
        StreamQueues { heads: &self.heads }
    }

    fn stream_mut(&mut self, stream: StreamId) -> &mut Stream {
        let index = usize::from(stream.0);
        if self.streams.len() <= index {
            self.streams.resize_with(index + 1, Stream::default);
        }
        &mut self.streams[index]
    }

    fn stream(&self, stream: StreamId) -> Option<&Stream> {
        self.streams.get(usize::from(stream.0))
    }

    /// Appends a message to its stream.
    pub(crate) fn push(
        &mut self,
        now: Time,
        stream: StreamId,
        data: Bytes,
        options: SendOptions,
        scheduler: &mut dyn StreamScheduler,
    ) -> MessageId {
        let order = self.next_order;
        self.next_order += 1;
        let bytes = data.len() as u64;
        self.unsent += bytes;
        self.messages += 1;
        let s = self.stream_mut(stream);
        s.unsent_bytes += bytes;
        s.stats.messages += 1;
        s.stats.bytes += bytes;
        let (was_empty, needs) = (s.queue.is_empty(), s.needs);
        let id = MessageId(order);
        s.queue.push_back(Queued { id, data, offset: 0, options, enqueued: now, order });
        let message = MessageInfo { stream, bytes: bytes as u32, order, enqueued: now, needs };
        if was_empty {
            let at = self.heads.partition_point(|h| h.stream < stream);
            self.heads.insert(at, message);
        }
        scheduler.queued(&self.heads(), &message);
        id
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

    /// Whether `stream` may begin another message.
    pub(crate) fn may_begin(&self, stream: StreamId) -> bool {
        self.stream(stream).is_some_and(|s| s.ordered_in_flight < MAX_ORDERED_IN_FLIGHT)
    }

    /// The chunk that [`take`](Self::take) would give.
    pub(crate) fn peek(&self, stream: StreamId, max_payload: usize) -> Option<ChunkMeta> {
        let from = self.stream(stream)?;
        let head = from.queue.front()?;
        let bytes = head.remaining().min(max_payload) as u32;
        let mut meta = ChunkMeta::whole(stream, bytes);
        meta.message_remaining = head.remaining() as u64;
        meta.first = head.offset == 0;
        meta.last = head.remaining() <= max_payload;
        meta.ordered = !head.options.unordered;
        meta.enqueued = head.enqueued;
        meta.needs = from.needs;
        Some(meta)
    }

    /// Takes the next chunk of `stream`, of at most `max_payload` bytes.
    pub(crate) fn take(
        &mut self,
        stream: StreamId,
        max_payload: usize,
        scheduler: &mut dyn StreamScheduler,
    ) -> Option<Taken> {
        let s = self.streams.get_mut(usize::from(stream.0))?;
        let head = s.queue.front_mut()?;
        let bytes = head.remaining().min(max_payload);
        let payload = head.data.slice(head.offset..head.offset + bytes);
        let flags = DataFlags {
            unordered: head.options.unordered,
            beginning: head.offset == 0,
            ending: bytes == head.remaining(),
            immediate: head.options.immediate,
        };
        head.offset += bytes;
        let ordered = !head.options.unordered;
        let ssn = if ordered { Ssn(s.next_ssn) } else { Ssn(0) };
        let taken = Taken { message: head.id, payload, ssn, ppid: head.options.ppid, flags };
        s.unsent_bytes -= bytes as u64;
        s.unacked_bytes += bytes as u64;
        self.unsent -= bytes as u64;
        if flags.ending {
            s.queue.pop_front();
            self.messages -= 1;
            if ordered {
                s.next_ssn = s.next_ssn.wrapping_add(1);
                s.ordered_in_flight += 1;
            }
        }
        self.in_progress = (!flags.ending).then_some(stream);
        self.refresh_head(stream);
        scheduler.took(&self.heads(), stream, bytes as u32, flags.ending);
        Some(taken)
    }

    fn refresh_head(&mut self, stream: StreamId) {
        let Ok(at) = self.heads.binary_search_by_key(&stream, |h| h.stream) else { return };
        let from = self.streams.get(usize::from(stream.0));
        match from.and_then(|s| Some((s.queue.front()?, s.needs))) {
            Some((m, needs)) => {
                self.heads[at] = MessageInfo {
                    stream,
                    bytes: m.remaining() as u32,
                    order: m.order,
                    enqueued: m.enqueued,
                    needs,
                }
            }
            None => {
                self.heads.remove(at);
            }
        }
    }

    /// `bytes` of `stream` left the send buffer.
    pub(crate) fn freed(&mut self, stream: StreamId, bytes: u64) {
        if let Some(s) = self.streams.get_mut(usize::from(stream.0)) {
            s.unacked_bytes -= bytes;
        }
    }

    /// The last chunk of an ordered message of `stream` was cum-acked: its SSN may be used again.
    pub(crate) fn ordered_done(&mut self, stream: StreamId) {
        if let Some(s) = self.streams.get_mut(usize::from(stream.0)) {
            s.ordered_in_flight = s.ordered_in_flight.saturating_sub(1);
        }
    }

    /// Removes the messages of streams from `streams` on, which negotiation took away; gives their ids and bytes.
    pub(crate) fn drop_streams_from(&mut self, streams: u16) -> Vec<(MessageId, StreamId, u64)> {
        let mut out = Vec::new();
        for (i, s) in self.streams.iter_mut().enumerate().skip(usize::from(streams)) {
            let dropped = s.queue.drain(..);
            out.extend(dropped.map(|m| (m.id, StreamId(i as u16), m.data.len() as u64)));
            s.unsent_bytes = 0;
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
            out.extend(s.queue.drain(..).map(|m| (m.id, stream, m.offset > 0)));
            s.unsent_bytes = 0;
        }
        self.heads.clear();
        self.in_progress = None;
        self.unsent = 0;
        self.messages = 0;
        out
    }

    /// SQINFO, stream by stream.
    pub(crate) fn info(&self) -> Vec<StreamQueueInfo> {
        let used = |(_, s): &(usize, &Stream)| s.stats.messages > 0;
        let info = |(i, s): (usize, &Stream)| StreamQueueInfo {
            stream: StreamId(i as u16),
            unsent_bytes: s.unsent_bytes,
            unsent_messages: s.queue.len() as u64,
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
    use crate::policy::FirstCome;

    fn push(q: &mut SendQueue, stream: u16, len: usize) -> MessageId {
        let data = Bytes::from(vec![7; len]);
        q.push(Time::ZERO, StreamId(stream), data, SendOptions::default(), &mut FirstCome)
    }

    #[test]
    fn fragments_keep_their_ssn_and_finish_before_another_stream() {
        let mut q = SendQueue::default();
        push(&mut q, 3, 250);
        push(&mut q, 1, 10);
        let meta = q.peek(StreamId(3), 100).unwrap();
        assert!(meta.first && !meta.last && meta.bytes == 100);
        let sizes: Vec<(usize, u16, bool, bool)> = (0..3)
            .map(|_| {
                let t = q.take(StreamId(3), 100, &mut FirstCome).unwrap();
                (t.payload.len(), t.ssn.0, t.flags.beginning, t.flags.ending)
            })
            .collect();
        assert_eq!(sizes, [(100, 0, true, false), (100, 0, false, false), (50, 0, false, true)]);
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
            let taken = q.take(StreamId(0), 100, &mut FirstCome).unwrap();
            assert_eq!(u32::from(taken.ssn.0), i % 65_536);
            q.freed(StreamId(0), 1);
            q.ordered_done(StreamId(0));
        }
    }

    #[test]
    fn too_many_ordered_messages_in_flight_stop_the_stream() {
        let mut q = SendQueue::default();
        for _ in 0..MAX_ORDERED_IN_FLIGHT {
            push(&mut q, 0, 1);
            assert!(q.may_begin(StreamId(0)));
            q.take(StreamId(0), 100, &mut FirstCome).unwrap();
        }
        assert!(!q.may_begin(StreamId(0)));
    }
}
