//! The sending half of an association: messages in, chunks out.

use bytes::Bytes;
use polypath_wire::{DATA_HEADER_LEN, I_DATA_HEADER_LEN, PacketWriter};

use super::copy_queue::CopyQueue;
use super::forward_tsn::ForwardTsn;
use super::gap_blocks::ReportedBits;
use super::ns2_watch::Ns2Watch;
use super::outstanding::{ChunkState, OutstandingQueue, TxChunk, chunk_size};
use super::partial_reliability::PartialReliability;
use super::recovery::{LossRecovery, Sent};
use super::sack_outcome::PathOutcome;
use super::send_options::{SendError, SendOptions};
use super::send_queue::SendQueue;
use super::types::{NewChunk, TsnJump};
use crate::config::AssocConfig;
use crate::event::SenderQueueInfo;
use crate::ids::{MessageId, PathId, StreamId, Tsn};
use crate::path::PathSet;
use crate::policy::StreamScheduler;
use crate::stats::StreamStats;
use crate::time::{Duration, Time};
use crate::tsn_map::{EPOCH, extend};
use crate::view::{AssocView, ChunkMeta, SendBufferView};

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) queue: SendQueue,
    /// What was sent and is not cum-acked.
    pub(crate) outstanding: OutstandingQueue,
    pub(crate) recovery: LossRecovery,
    pub(crate) copies: CopyQueue,
    /// What ns-2 remembers of each path.
    pub(super) ns2: Option<Box<Ns2Watch>>,
    /// What waits to be retransmitted keeps its part of the peer's window, as in ns-2.
    pub(super) keeps_marked: bool,
    pub(crate) forward: ForwardTsn,
    /// Once a message was handed in that may be abandoned.
    pub(super) partial_reliability: Option<Box<PartialReliability>>,
    /// The peer can be told to wait no longer for what was sent (RFC 3758).
    pub(super) may_skip: bool,
    /// Size of the send buffer, payload bytes.
    pub(super) limit: u64,
    pub(super) max_message: u64,
    /// The largest message handed in part by part.
    pub(super) largest_message: u64,
    /// Payload bytes in the send buffer.
    pub(super) used: u64,
    /// The latest message was refused for want of memory, not of payload's room.
    pub(super) cramped: bool,
    /// Gap ack blocks of either kind in one SACK of the peer, at most.
    pub(super) most_blocks: usize,
    /// The peer reports by NR-SACKs.
    pub(crate) peer_sends_nr_sacks: bool,
    /// The most gap ack blocks that a SACK of the peer had.
    pub(crate) most_gap_blocks: u16,
    /// The latest SACK had no room for what is gap-acked beyond this TSN; `u64::MAX` if it named
    /// all.
    pub(super) told_to: u64,
    /// What the SACK at hand reports.
    pub(super) reported: ReportedBits,
    /// TSNs that the latest SACK withdrew; kept, so that no SACK allocates memory.
    pub(super) withdrawn: Vec<u64>,
    /// Memory for the outcome of the next SACK.
    pub(super) outcomes: Vec<PathOutcome>,
    /// RTO.Initial, which policies see.
    rto_initial: Duration,
    /// TSNs were reset.
    pub(super) jump: Option<TsnJump>,
}

/// TSNs that may be in flight at once: a SACK can only report 65535 above its cum-ack.
pub(super) const MAX_TSNS: usize = 65_000;

impl Sender {
    pub(crate) fn new(initial_tsn: Tsn, config: &AssocConfig) -> Self {
        let base = extend(EPOCH, initial_tsn);
        let mut queue = SendQueue::default();
        queue.set_first_mid(config.reproduction.first_mid.0);
        Self {
            queue,
            outstanding: OutstandingQueue::new(base, config.reproduction.chunk_charge),
            recovery: LossRecovery::new(config.recovery, config.sack.delay),
            copies: CopyQueue::default(),
            ns2: None,
            keeps_marked: config.reproduction.ns2.marked_stay_outstanding,
            forward: ForwardTsn::new(base),
            partial_reliability: None,
            may_skip: false,
            limit: config.send_buffer,
            max_message: u64::from(config.max_message).min(config.send_buffer),
            largest_message: u64::from(config.max_message),
            used: 0,
            cramped: false,
            most_blocks: 0,
            peer_sends_nr_sacks: false,
            most_gap_blocks: 0,
            told_to: u64::MAX,
            reported: ReportedBits::default(),
            withdrawn: Vec::new(),
            outcomes: Vec::new(),
            rto_initial: config.rto.initial,
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
        let id = self.queue.push_message(now, stream, data, options, scheduler);
        self.list_partially_reliable(now, id, stream, options.reliability);
        Ok(id)
    }

    /// Accepts a message of key management, whatever room there is.
    pub(crate) fn enqueue_key_message(
        &mut self,
        now: Time,
        data: Bytes,
        scheduler: &mut dyn StreamScheduler,
    ) -> MessageId {
        self.used += data.len() as u64;
        self.queue.push_key_message(now, data, scheduler)
    }

    /// The send buffer is larger from now on.
    pub(crate) const fn grow_buffer(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Everything that policies see. Its numbers are those of this moment: it is made anew for each
    /// question, and costs a few loads.
    #[inline]
    pub(crate) fn view<'a>(&self, now: Time, paths: &'a PathSet) -> AssocView<'a> {
        let mut view = AssocView::new(now, &paths.views);
        view.primary = paths.primary;
        view.peer_rwnd = self.peer_rwnd();
        view.outstanding = self.bytes_in_flight();
        view.peer_rwnd_max = self.peer_rwnd_max();
        view.send_buffer = self.buffer_view();
        view.rto_initial = self.rto_initial;
        view.nr_sacks = self.peer_sends_nr_sacks;
        view.most_gap_blocks = self.most_gap_blocks;
        view
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
        self.outstanding.window().rwnd()
    }

    /// The receive buffer that the peer announced at set-up.
    pub(crate) const fn peer_rwnd_max(&self) -> u64 {
        self.outstanding.window().max()
    }

    /// What is in flight, in the window's units.
    #[inline]
    pub(crate) const fn bytes_in_flight(&self) -> u64 {
        self.outstanding.window().in_flight()
    }

    /// INIT or INIT ACK told the peer's receive buffer.
    pub(crate) const fn set_peer_window(&mut self, a_rwnd: u32) {
        self.outstanding.window_mut().set_initial(a_rwnd);
    }

    /// Nothing is queued and everything sent is cum-acked.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.messages() == 0 && self.outstanding.is_empty()
    }

    /// The highest TSN sent so far (one before the first if none was).
    pub(crate) fn highest_sent(&self) -> u64 {
        self.outstanding.next_tsn() - 1
    }

    /// The cumulative TSN ack point.
    pub(crate) const fn cum_ack(&self) -> u64 {
        self.outstanding.cum_ack()
    }

    /// A path joined.
    pub(crate) fn add_path(&mut self, p: PathId) {
        self.outstanding.add_path(p);
        self.recovery.add_path(p);
        self.copies.add_path(p);
    }

    /// More TSNs may be put in flight.
    pub(crate) fn has_tsn_room(&self) -> bool {
        self.outstanding.len() < MAX_TSNS
    }

    /// Set-up left fewer streams than the application used already: gives the messages that cannot
    /// be sent.
    pub(crate) fn limit_streams(&mut self, streams: u16) -> Vec<(MessageId, StreamId)> {
        let dropped = self.queue.drop_streams_from(streams);
        self.used -= dropped.iter().map(|m| m.2).sum::<u64>();
        let mut ids: Vec<_> = dropped.into_iter().map(|(id, stream, _)| (id, stream)).collect();
        // A message may have been handed in in several parts.
        ids.dedup();
        // One that failed is not given up besides.
        if let Some(partial) = &mut self.partial_reliability {
            ids.iter().for_each(|(id, _)| _ = partial.remove(*id));
        }
        ids
    }

    /// What both ends agreed on: from now on every chunk is I-DATA, or none is (RFC 8260 section
    /// 2.2.1).
    pub(crate) const fn set_interleaving(&mut self, on: bool) {
        self.queue.set_interleaving(on);
    }

    /// Whether `stream` may go on, or begin another message, with a chunk of at most `pmdcs` bytes.
    #[inline]
    pub(crate) fn may_begin(&self, stream: StreamId, pmdcs: u32) -> bool {
        // Not all: what the peer counts beside payload is not known.
        let room = self.outstanding.window().max() / 4 * 3;
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

    /// Sends the next new chunk of a stream on a path; the caller made sure that it fits `writer`.
    /// Gives its TSN.
    pub(crate) fn send_new(
        &mut self,
        now: Time,
        new: NewChunk,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
        scheduler: &mut dyn StreamScheduler,
    ) -> Option<u64> {
        let NewChunk { path: p, stream, bytes, immediate } = new;
        self.queue.peer_buffer = self.outstanding.window().max();
        let mut fragment = self.queue.dequeue_fragment(stream, bytes as usize, scheduler)?;
        fragment.flags.immediate |= immediate;
        let chunk = TxChunk::new(fragment, stream, p, now);
        let tsn = self.outstanding.send(now, chunk, paths);
        let chunk = self.outstanding.get(tsn)?;
        if let Some(partial) = self.partial_reliability.as_mut().filter(|_| chunk.may_be_abandoned)
        {
            partial.note_sent(chunk.message, tsn, chunk.flags.ending);
        }
        // The caller checked `remaining`.
        let written = writer.push(&chunk.encode(tsn));
        debug_assert!(written.is_ok());
        self.recovery.on_sent(now, tsn, p, Sent::New, &mut self.outstanding, paths);
        Some(tsn)
    }

    /// Gives the memory back that was needed for what is sent and acknowledged: of many
    /// associations most are idle after their key exchange.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink();
        self.outstanding.shrink();
        (self.withdrawn, self.outcomes) = (Vec::new(), Vec::new());
    }

    /// A chunk's payload left the send buffer. Gives its bytes.
    pub(super) fn release_payload(&mut self, stream: StreamId, bytes: u64) -> u64 {
        self.queue.note_freed(stream, bytes);
        self.used -= bytes;
        bytes
    }

    /// Everything that was not provably delivered, as the association ends or restarts.
    pub(crate) fn drain_undelivered(&mut self) -> Vec<(MessageId, StreamId, bool)> {
        let mut out: Vec<(MessageId, StreamId, bool)> = Vec::new();
        let settled = |c: &TxChunk| {
            c.state() == ChunkState::NrAcked
                || c.state().is_abandoned()
                || self.queue.is_of_key_management(c.stream, c.ppid)
        };
        let unproven = self.outstanding.iter().filter(|(_, c)| !settled(c));
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
        self.used = 0;
        if let Some(partial) = &mut self.partial_reliability {
            partial.clear();
        }
        self.forward.clear();
        self.outstanding.clear();
        self.recovery.clear();
        self.copies.clear();
        out
    }
}
