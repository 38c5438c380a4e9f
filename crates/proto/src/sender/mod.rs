//! The sending half: send queues, chunks in flight, what SACKs and timeouts do to them.

mod abandon;
mod chunk;
mod copy;
mod forward;
mod memory;
mod miss;
mod numbers;
mod partial;
mod parts;
mod path_list;
mod queue;
mod recovery;
mod rehome;
mod renumber;
mod retransmit;
mod sack;
mod silence;
#[cfg(test)]
mod tests;
mod window;

pub(crate) use abandon::GivenUp;
pub(crate) use copy::CopyOf;
pub use partial::Reliability;
pub use queue::SendOptions;
pub(crate) use queue::SendQueue;
pub(crate) use recovery::{Losses, Probe};
pub(crate) use sack::{SackInfo, SackOutcome, SackVerdict};

use bytes::Bytes;
use polypath_wire::{DATA_HEADER_LEN, I_DATA_HEADER_LEN, PacketWriter};

use crate::config::{AssocConfig, RecoveryConfig};
use crate::event::SenderQueueInfo;
use crate::ids::{MessageId, PathId, StreamId, Tsn};
use crate::needs::StreamNeeds;
use crate::path::PathSet;
use crate::policy::StreamScheduler;
use crate::stats::StreamStats;
use crate::time::{Duration, Time};
use crate::tsn_map::{EPOCH, TsnMap, extend};
use crate::view::{ChunkMeta, SendBufferView};
use chunk::{ChunkState, Ring, TxChunk, chunk_size};
use forward::Forward;
use memory::Room;
use partial::Partial;
use path_list::TxPath;
use renumber::Jump;
use window::PeerWindow;

/// Why a message was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The send buffer has no room for it now.
    #[error("the send buffer is full; wait for the writable event")]
    WouldBlock,
    /// It can never be accepted.
    #[error("message of {bytes} bytes: at least 1 and at most {limit} are allowed")]
    BadSize {
        /// Its size.
        bytes: usize,
        /// The largest allowed: the smaller of max_message and the send buffer. Whether a peer takes a message larger than its receive
        /// buffer, in parts, nothing tells beforehand; one that does not aborts.
        limit: u64,
    },
    /// The stream does not exist.
    #[error("stream {} does not exist: the association has {streams} outbound streams", stream.0)]
    InvalidStream {
        /// The stream asked for.
        stream: StreamId,
        /// Outbound streams there are.
        streams: u16,
    },
    /// A message that was begun on this stream in parts must be ended first.
    #[error("stream {} has an unfinished message: send its last part first", stream.0)]
    MessageOpen {
        /// The stream.
        stream: StreamId,
    },
    /// A shutdown was begun by either side.
    #[error("the association is shutting down")]
    ShuttingDown,
    /// The association is over.
    #[error("the association is closed")]
    Closed,
}

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) queue: SendQueue,
    ring: Ring,
    /// TSNs above the cum-ack that are gap-acked, renegable or not.
    acked: TsnMap,
    /// The non-renegable ones among them.
    nr_acked: TsnMap,
    paths: Vec<TxPath>,
    /// Gap ack blocks of either kind in one SACK of the peer, at most.
    most_blocks: usize,
    /// The latest SACK had no room for what is gap-acked beyond this TSN; `u64::MAX` if it named all.
    told_to: u64,
    window: PeerWindow,
    limit: u64,
    max_message: u64,
    /// The largest message handed in part by part.
    largest_message: u64,
    /// Payload bytes in the send buffer.
    used: u64,
    /// The latest message was refused for want of memory, not of payload's room.
    cramped: bool,
    scratch: sack::Scratch,
    recovery: RecoveryConfig,
    /// What the peer's SACKs may be delayed by, as far as we know: as much as ours.
    sack_delay: Duration,
    /// Buffer of time-based loss detection.
    suspicious: Vec<u64>,
    /// The peer can be told to wait no longer for what was sent (RFC 3758).
    may_skip: bool,
    /// Once a message was handed in that may be given up.
    partial: Option<Box<Partial>>,
    /// Once a message that had TSNs was given up.
    forward: Option<Box<Forward>>,
    /// The last TSN before a reset of streams that the peer was asked for.
    reset_point: Option<u64>,
    /// Numbers of messages up to this TSN mean nothing any more: streams were reset since.
    numbered_to: u64,
    /// TSNs were reset.
    jump: Option<Jump>,
}

/// Where the next new chunk comes from and goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) path: PathId,
    pub(crate) stream: StreamId,
    /// Payload bytes of the chunk, as [`peek`](Sender::peek) said.
    pub(crate) bytes: u32,
    /// Set the I bit: a SACK is wanted at once.
    pub(crate) immediate: bool,
}

/// TSNs that may be in flight at once: a SACK can only report 65535 above its cum-ack.
const MAX_TSNS: usize = 65_000;

impl Sender {
    pub(crate) fn new(initial_tsn: Tsn, config: &AssocConfig) -> Self {
        let base = extend(EPOCH, initial_tsn);
        let mut queue = SendQueue::default();
        queue.set_first_mid(config.first_mid.0);
        Self {
            queue,
            ring: Ring::new(base),
            acked: TsnMap::new(base),
            nr_acked: TsnMap::new(base),
            paths: Vec::new(),
            most_blocks: 0,
            told_to: u64::MAX,
            window: PeerWindow::new(config.chunk_charge),
            limit: config.send_buffer,
            max_message: u64::from(config.max_message).min(config.send_buffer),
            largest_message: u64::from(config.max_message),
            used: 0,
            cramped: false,
            scratch: sack::Scratch::default(),
            recovery: config.recovery,
            sack_delay: config.sack.delay,
            suspicious: Vec::new(),
            may_skip: false,
            partial: None,
            forward: None,
            reset_point: None,
            numbered_to: base - 1,
            jump: None,
        }
    }

    /// Accepts a message into its stream's queue.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        stream: StreamId,
        data: Bytes,
        options: SendOptions,
        scheduler: &mut dyn StreamScheduler,
    ) -> Result<MessageId, SendError> {
        let bytes = data.len() as u64;
        if bytes == 0 || bytes > self.max_message {
            return Err(SendError::BadSize { bytes: data.len(), limit: self.max_message });
        }
        if self.queue.is_open(stream) {
            return Err(SendError::MessageOpen { stream });
        }
        if bytes > self.room(stream) {
            self.note_refusal(stream, bytes);
            return Err(SendError::WouldBlock);
        }
        self.used += bytes;
        let id = self.queue.push(now, stream, data, options, scheduler);
        self.list(now, id, stream, options.reliability);
        Ok(id)
    }

    /// What `stream` may still add.
    pub(crate) fn room_on(&self, stream: StreamId) -> u64 {
        self.room_with(stream, Room::default())
    }

    /// The same, once `freed` is free as well.
    fn room_with(&self, stream: StreamId, freed: Room) -> u64 {
        let ahead = self.room_ahead(stream).map_or(0, |ahead| self.payload(ahead.and(freed)));
        self.payload_on(stream, self.room_beside((0, 0)).and(freed)).max(ahead)
    }

    /// What a new message of `stream` may take.
    #[inline]
    fn room(&self, stream: StreamId) -> u64 {
        self.payload_on(stream, self.room_beside((0, 0)))
    }

    /// The same of this `room`.
    #[inline]
    fn payload_on(&self, stream: StreamId, room: Room) -> u64 {
        let free = self.payload(room);
        if !self.queue.has_urgent_streams() || !self.keeps_room_from(self.queue.needs(stream)) {
            return free;
        }
        free.saturating_sub(reserve(self.limit))
    }

    /// Whether a part of both buffers is kept free for other streams than one with these `needs`: those of low delay must
    /// not wait behind a full buffer.
    fn keeps_room_from(&self, needs: StreamNeeds) -> bool {
        self.queue.has_urgent_streams() && !needs.is_urgent()
    }

    /// The send buffer is larger from now on.
    pub(crate) const fn grow_buffer(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Free bytes of the send buffer.
    pub(crate) fn free(&self) -> u64 {
        self.payload(self.room_beside((0, 0)))
    }

    /// The send buffer as policies see it.
    #[inline]
    pub(crate) const fn buffer_view(&self) -> SendBufferView {
        SendBufferView::new(self.limit, self.used, self.queue.unsent(), self.queue.messages())
    }

    pub(crate) fn queue_info(&self) -> SenderQueueInfo {
        SenderQueueInfo { limit: self.limit, used: self.used, streams: self.queue.info() }
    }

    pub(crate) fn stream_stats(&self) -> Vec<StreamStats> {
        self.queue.stats()
    }

    /// rwnd: the peer's window less what is in flight.
    #[inline]
    pub(crate) const fn peer_rwnd(&self) -> u64 {
        self.window.rwnd()
    }

    /// The receive buffer that the peer announced at set-up.
    pub(crate) const fn peer_rwnd_max(&self) -> u64 {
        self.window.max()
    }

    /// What is in flight, in the window's units.
    #[inline]
    pub(crate) const fn outstanding(&self) -> u64 {
        self.window.in_flight()
    }

    /// INIT or INIT ACK told the peer's receive buffer.
    pub(crate) const fn set_peer_window(&mut self, a_rwnd: u32) {
        self.window.set_initial(a_rwnd);
    }

    /// Nothing is queued and everything sent is cum-acked.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.messages() == 0 && self.ring.is_empty()
    }

    /// The highest TSN sent so far (one before the first if none was).
    pub(crate) fn highest_sent(&self) -> u64 {
        self.ring.next() - 1
    }

    /// The cumulative TSN ack point.
    pub(crate) const fn cum_ack(&self) -> u64 {
        self.ring.base() - 1
    }

    /// A path joined.
    pub(crate) fn path_added(&mut self, p: PathId) {
        if self.paths.len() <= p.index() {
            // Most associations have one path or two, and a server has many associations.
            self.paths.reserve_exact(p.index() + 1 - self.paths.len());
            self.paths.resize_with(p.index() + 1, TxPath::default);
        }
    }

    /// More TSNs may be put in flight.
    pub(crate) fn has_tsn_room(&self) -> bool {
        self.ring.len() < MAX_TSNS
    }

    /// Set-up left fewer streams than the application used already: gives the messages that cannot be sent.
    pub(crate) fn limit_streams(&mut self, streams: u16) -> Vec<(MessageId, StreamId)> {
        let dropped = self.queue.drop_streams_from(streams);
        self.used -= dropped.iter().map(|m| m.2).sum::<u64>();
        let mut ids: Vec<_> = dropped.into_iter().map(|(id, stream, _)| (id, stream)).collect();
        // A message may have been handed in in several parts.
        ids.dedup();
        // One that failed is not given up besides.
        if let Some(partial) = &mut self.partial {
            ids.iter().for_each(|(id, _)| _ = partial.remove(*id));
        }
        ids
    }

    /// What both ends agreed on: from now on every chunk is I-DATA, or none is (RFC 8260 section 2.2.1).
    pub(crate) const fn set_interleaving(&mut self, on: bool) {
        self.queue.set_interleaving(on);
    }

    /// Whether `stream` may go on, or begin another message, with a chunk of at most `pmdcs` bytes.
    #[inline]
    pub(crate) fn may_begin(&self, stream: StreamId, pmdcs: u32) -> bool {
        // Not all: what the peer counts beside payload is not known.
        let room = self.window.max() / 4 * 3;
        self.queue.may_begin(stream, room, self.max_payload(pmdcs))
    }

    /// Header bytes of a data chunk.
    #[inline]
    const fn header_len(&self) -> usize {
        if self.queue.is_interleaving() { I_DATA_HEADER_LEN } else { DATA_HEADER_LEN }
    }

    /// Bytes of a new chunk with `payload` bytes, header and padding included.
    #[inline]
    pub(crate) const fn chunk_size(&self, payload: u32) -> u64 {
        chunk_size(payload, self.header_len())
    }

    /// Bytes of all that is queued, in chunks with their headers.
    pub(crate) const fn queued_size(&self) -> u64 {
        self.queue.unsent() + self.queue.messages() * self.header_len() as u64
    }

    #[inline]
    fn max_payload(&self, pmdcs: u32) -> usize {
        (pmdcs as usize).saturating_sub(self.header_len()).max(1)
    }

    /// The next new chunk of `stream`, at most `pmdcs` bytes with its header.
    pub(crate) fn peek(&self, stream: StreamId, pmdcs: u32) -> Option<ChunkMeta> {
        self.queue.peek(stream, self.max_payload(pmdcs))
    }

    /// Sends the next new chunk of a stream on a path; the caller made sure that it fits `writer`. Gives its TSN.
    pub(crate) fn send_new(
        &mut self,
        now: Time,
        departure: Departure,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
        scheduler: &mut dyn StreamScheduler,
    ) -> Option<u64> {
        let Departure { path: p, stream, bytes, immediate } = departure;
        self.queue.peer_buffer = self.window.max();
        let mut taken = self.queue.take(stream, bytes as usize, scheduler)?;
        taken.flags.immediate |= immediate;
        let chunk = TxChunk::new(taken, stream, p, now);
        let (size, bytes) = (chunk.size(), chunk.bytes);
        let tsn = self.ring.push(chunk);
        if self.partial.is_some() {
            self.note_partial(tsn);
        }
        if let Some(chunk) = self.ring.get(tsn) {
            // The caller checked `remaining`.
            let written = writer.push(&chunk.encode(tsn));
            debug_assert!(written.is_ok());
        }
        self.window.sent(bytes);
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.sent(now, tsn, 1);
        }
        if let Some((view, path)) = paths.both_mut(p) {
            view.outstanding += size;
            view.outstanding_payload += u64::from(bytes);
            view.queued += u64::from(bytes);
            view.data_chunks += 1;
            view.last_data = now;
            path.stats.data_chunks += 1;
            path.stats.payload_bytes += u64::from(bytes);
            path.idle_since = now;
            path.start_probe(tsn, now);
            if path.t3 == Time::MAX {
                path.t3 = now + view.rto;
            }
        }
        self.recovery_sent_new(now, tsn, p, paths);
        Some(tsn)
    }

    /// Chunks of `p` that wait to be retransmitted.
    #[cfg(test)]
    pub(crate) fn marked_count(&self, p: PathId) -> usize {
        self.paths.get(p.index()).map_or(0, |l| l.marked.len())
    }

    /// Whether a TSN that was sent is acknowledged in any way.
    #[cfg(test)]
    pub(crate) fn is_acked(&self, tsn: u64) -> bool {
        tsn < self.ring.base() || self.acked.contains(tsn)
    }

    /// Everything that was not provably delivered, as the association ends or restarts.
    pub(crate) fn drain_undelivered(&mut self) -> Vec<(MessageId, StreamId, bool)> {
        let mut out: Vec<(MessageId, StreamId, bool)> = Vec::new();
        let settled = |c: &TxChunk| c.state == ChunkState::NrAcked || c.state.is_given_up();
        let unproven = self.ring.iter().filter(|(_, c)| !settled(c));
        for (_, c) in unproven {
            if out.last().is_none_or(|last| last.0 != c.message) {
                out.push((c.message, c.stream, true));
            }
        }
        for m in self.queue.drain() {
            if out.iter().rev().take(1).all(|last| last.0 != m.0) {
                out.push(m);
            }
        }
        out.sort_unstable_by_key(|m| m.0);
        out.dedup_by_key(|m| m.0);
        self.ring = Ring::new(self.ring.next());
        self.used = 0;
        if let Some(partial) = &mut self.partial {
            partial.clear();
        }
        self.forward = None;
        for list in &mut self.paths {
            list.clear();
        }
        out
    }
}

/// What of a buffer of `limit` bytes is kept for streams of low delay, once there are some.
const fn reserve(limit: u64) -> u64 {
    if limit == u64::MAX { 0 } else { limit / 16 }
}
