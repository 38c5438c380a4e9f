//! What is in flight, and everything that follows from it. [`OutstandingQueue`] is the only owner
//! of
//!
//! - the state of every chunk between its first transmission and its cumulative acknowledgement,
//! - the bytes in flight that count against the peer's receive window (RFC 9260 section 6.2.1),
//! - those that count against the congestion window of each path (section 6.1, rule B),
//! - and T3-rtx of each path (section 6.3.2).
//!
//! They change together or not at all: a chunk that leaves the flight leaves all of these books in
//! one method. Who decides that a chunk is lost, or what a SACK means, lives elsewhere
//! (`sender::sack`, `sender::recovery`) and calls the method that says so.

mod chunk;
mod path_bytes;
mod path_list;
mod peer_window;
mod queries;
mod t3;

pub(crate) use chunk::{ChunkState, Copied, TxChunk, chunk_size};
pub(crate) use peer_window::PeerWindow;

use core::num::NonZeroU64;

use chunk::ChunkRing;
use path_list::PathList;

use super::sack_outcome::PathOutcome;
use super::types::Class;
use crate::ids::{PathId, StreamId};
use crate::path::PathSet;
use crate::time::{Duration, Time};
use crate::tsn_map::TsnMap;
use crate::view::{LossKind, PathView};

/// All chunks above the cum-ack by extended TSN, and the books of what of them is in flight.
#[derive(Debug)]
pub(crate) struct OutstandingQueue {
    chunks: ChunkRing,
    /// TSNs above the cum-ack that are gap-acked, renegable or not.
    acked: TsnMap,
    /// The non-renegable ones among them.
    nr_acked: TsnMap,
    lists: Vec<PathList>,
    window: PeerWindow,
    /// TSNs of partially reliable messages that were declared lost since
    /// [`take_lost_expendable`](Self::take_lost_expendable).
    lost_expendable: Vec<u64>,
    /// What was declared lost, and where, while that is traced.
    #[expect(
        clippy::box_collection,
        reason = "most associations have none, and a server has many"
    )]
    loss_log: Option<Box<Vec<(PathId, u64)>>>,
}

impl OutstandingQueue {
    /// An empty queue whose first chunk gets TSN `base`. `charge`: bytes that a chunk takes of the
    /// peer's window beside its payload.
    pub(crate) fn new(base: u64, charge: u32) -> Self {
        Self {
            chunks: ChunkRing::new(base),
            acked: TsnMap::new(base),
            nr_acked: TsnMap::new(base),
            lists: Vec::new(),
            window: PeerWindow::new(charge),
            lost_expendable: Vec::new(),
            loss_log: None,
        }
    }

    /// Makes room for the lists of path `p`.
    pub(crate) fn add_path(&mut self, p: PathId) {
        if self.lists.len() <= p.index() {
            // Most associations have one path or two, and a server has many associations.
            self.lists.reserve_exact(p.index() + 1 - self.lists.len());
            self.lists.resize_with(p.index() + 1, PathList::default);
        }
    }

    /// Chunks that are declared lost are traced: see [`take_loss_log`](Self::take_loss_log).
    pub(crate) fn keep_loss_log(&mut self, on: bool) {
        self.loss_log = on.then(Box::default);
    }

    /// Chunks that were declared lost since the last time, and their paths, while that is traced.
    #[inline]
    pub(crate) fn take_loss_log(&mut self) -> Option<Vec<(PathId, u64)>> {
        let log = self.loss_log.as_mut().filter(|log| !log.is_empty())?;
        Some(core::mem::take(&mut **log))
    }

    /// What was just declared lost was no loss of the link: it never left.
    pub(crate) fn retract_loss(&mut self, tsn: u64) {
        if let Some(log) = &mut self.loss_log {
            log.pop_if(|(_, last)| *last == tsn);
        }
    }

    /// Forgets the lists of path `p`, which is removed.
    pub(crate) fn clear_path(&mut self, p: PathId) {
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.clear();
        }
    }

    /// Forgets every chunk, as the association ends or restarts. TSNs go on.
    pub(crate) fn clear(&mut self) {
        self.chunks = ChunkRing::new(self.chunks.next());
        self.lists.iter_mut().for_each(PathList::clear);
        self.lost_expendable.clear();
    }

    /// The next chunk gets TSN `base` (RFC 6525 section 5.2.4). Nothing is in flight.
    pub(crate) fn restart_at(&mut self, base: u64) {
        self.chunks = ChunkRing::new(base);
        self.acked.advance(base);
        self.nr_acked.advance(base);
    }

    /// The lowest TSN that is not cum-acked.
    #[inline]
    pub(crate) const fn base(&self) -> u64 {
        self.chunks.base()
    }

    /// The cumulative TSN ack point.
    #[inline]
    pub(crate) const fn cum_ack(&self) -> u64 {
        self.chunks.base() - 1
    }

    /// The TSN that the next new chunk gets.
    #[inline]
    pub(crate) fn next_tsn(&self) -> u64 {
        self.chunks.next()
    }

    /// Chunks above the cum-ack.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Gives the memory back that no chunk needs.
    pub(crate) fn shrink(&mut self) {
        self.chunks.shrink();
    }

    /// Whether everything sent is cum-acked.
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The chunk of an extended TSN, if it is not cum-acked.
    #[inline]
    pub(crate) fn get(&self, tsn: u64) -> Option<&TxChunk> {
        self.chunks.get(tsn)
    }

    /// All chunks above the cum-ack, lowest TSN first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &TxChunk)> {
        self.chunks.iter()
    }

    /// Gap-acked TSNs, renegable or not.
    #[inline]
    pub(crate) const fn gap_acked(&self) -> &TsnMap {
        &self.acked
    }

    /// NR-acked TSNs.
    #[inline]
    pub(crate) const fn nr_acked(&self) -> &TsnMap {
        &self.nr_acked
    }

    /// The peer's receive window.
    #[inline]
    pub(crate) const fn window(&self) -> &PeerWindow {
        &self.window
    }

    /// The peer's receive window, for what SACKs say of it and for zero-window probes.
    #[inline]
    pub(crate) const fn window_mut(&mut self) -> &mut PeerWindow {
        &mut self.window
    }

    /// TSNs of partially reliable messages that were declared lost since the last call.
    pub(crate) fn take_lost_expendable(&mut self) -> Vec<u64> {
        core::mem::take(&mut self.lost_expendable)
    }

    /// Whether [`take_lost_expendable`](Self::take_lost_expendable) has something to give.
    #[inline]
    pub(crate) const fn has_lost_expendable(&self) -> bool {
        !self.lost_expendable.is_empty()
    }
}

/// What is sent.
impl OutstandingQueue {
    /// Puts a new chunk in flight on its path, and gives its TSN.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, chunk: TxChunk, paths: &mut PathSet) -> u64 {
        let (p, size, bytes) = (chunk.path, chunk.size(), chunk.bytes);
        let tsn = self.chunks.push(chunk);
        self.window.add_sent(bytes);
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.note_sent(now, tsn, 1);
        }
        if let Some((view, path)) = paths.both_mut(p) {
            path_bytes::add_chunk(view, size, bytes);
            view.queued += u64::from(bytes);
            path_bytes::count_transmission(now, view, path, bytes, size);
            path.start_probe(tsn, now);
            path.start_t3(now, view);
        }
        tsn
    }

    /// A TSN that is never sent, for the end of a message that was abandoned: the peer is told to
    /// skip it.
    pub(crate) fn push_abandoned(&mut self, mut chunk: TxChunk) {
        chunk.state = ChunkState::Abandoned;
        self.chunks.push(chunk);
    }

    /// A chunk that waits to be retransmitted goes out on `to`. Gives why it was lost.
    pub(crate) fn retransmit(
        &mut self,
        now: Time,
        tsn: u64,
        to: PathId,
        paths: &mut PathSet,
    ) -> Option<LossKind> {
        let from = self.chunks.get(tsn)?.path;
        let by_tsn = paths.both_mut(to).is_some_and(|(_, path)| path.is_t3_by_tsn());
        let first_of_old = by_tsn && self.lowest_unacked_of_any_class(from) == Some(tsn);
        let chunk = self.chunks.get_mut(tsn)?;
        let ChunkState::Marked(cause) = chunk.state else { return None };
        chunk.state = ChunkState::InFlight;
        chunk.transmissions = chunk.transmissions.saturating_add(1).max(2);
        chunk.sent = now;
        chunk.miss_indications = 0;
        chunk.path = to;
        chunk.moved |= from != to;
        let (size, bytes, nth) = (chunk.size(), chunk.bytes, chunk.transmissions);
        if let Some(list) = self.lists.get_mut(from.index()) {
            list.marked.remove(&tsn);
        }
        path_bytes::move_queued(from, to, u64::from(bytes), paths);
        self.window.add_sent(bytes);
        let first = self.lowest_unacked_of_any_class(to).is_none_or(|lowest| tsn <= lowest);
        if let Some(list) = self.lists.get_mut(to.index()) {
            list.note_sent(now, tsn, nth);
        }
        let (view, path) = paths.both_mut(to)?;
        path_bytes::add_chunk(view, size, bytes);
        path_bytes::count_transmission(now, view, path, bytes, size);
        match cause {
            LossKind::FastRetransmit => path.stats.retransmissions_fast += 1,
            LossKind::Timeout => path.stats.retransmissions_timeout += 1,
        }
        // RFC 9260 section 7.2.4, rule 4: the first outstanding chunk of an address goes out again
        // with a fresh T3-rtx.
        if path.t3 == Time::MAX || (cause == LossKind::FastRetransmit || by_tsn) && first {
            path.t3 = now + view.rto;
        }
        if first_of_old && from != to {
            self.restart_t3(now, from, paths);
        }
        Some(cause)
    }

    /// The next transmission of a chunk in flight asks for a SACK at once (I bit, RFC 7053).
    pub(crate) fn set_immediate(&mut self, tsn: u64) {
        if let Some(chunk) = self.chunks.get_mut(tsn) {
            chunk.flags.immediate = true;
        }
    }

    /// A chunk in flight goes out once more on its own path, as a tail-loss probe. It stays counted
    /// as outstanding once. Gives its size.
    pub(crate) fn resend_as_probe(
        &mut self,
        now: Time,
        tsn: u64,
        paths: &mut PathSet,
    ) -> Option<u64> {
        let chunk = self.chunks.get_mut(tsn)?;
        chunk.transmissions = chunk.transmissions.saturating_add(1).max(2);
        chunk.sent = now;
        chunk.miss_indications = 0;
        let (p, nth, bytes, size) = (chunk.path, chunk.transmissions, chunk.bytes, chunk.size());
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.note_sent(now, tsn, nth);
        }
        if let Some((view, path)) = paths.both_mut(p) {
            path_bytes::count_transmission(now, view, path, bytes, 0);
            // Karn: the acknowledgement will be ambiguous.
            path.cancel_probe(tsn);
            path.stats.retransmissions_fast += 1;
        }
        Some(size)
    }

    /// A chunk in flight goes out on `to` as well. Gives its size; the peer's window is taken once.
    pub(crate) fn copy(
        &mut self,
        now: Time,
        tsn: u64,
        to: PathId,
        paths: &mut PathSet,
    ) -> Option<u64> {
        let chunk = self.chunks.get_mut(tsn)?;
        // Seldom more than one.
        chunk.copies.reserve_exact(1);
        chunk.copies.push(Copied { path: to, sent: now });
        let (home, size, bytes) = (chunk.path, chunk.size(), chunk.bytes);
        if let Some(list) = self.lists.get_mut(home.index()) {
            list.copied_below = list.copied_below.map(|below| below.max(tsn + 1));
        }
        if let Some(list) = self.lists.get_mut(to.index()) {
            list.note_copy_sent(now, tsn);
        }
        if let Some((view, path)) = paths.both_mut(to) {
            path_bytes::add_copy(view, size);
            path_bytes::count_transmission(now, view, path, bytes, size);
            path.stats.copies += 1;
            path.start_t3(now, view);
        }
        Some(size)
    }
}

/// What is acknowledged.
impl OutstandingQueue {
    /// Where path `p` stands before a SACK.
    pub(crate) fn begin_sack(&mut self, view: &PathView) -> PathOutcome {
        let p = view.id;
        let mut lowest = |class| self.lowest_unacked(p, class).and_then(NonZeroU64::new);
        let pseudo_never_retransmitted = lowest(Class::NeverRetransmitted);
        let pseudo_retransmitted = lowest(Class::Retransmitted);
        PathOutcome {
            outstanding_before: view.outstanding,
            lost_before: view.lost,
            pseudo_never_retransmitted,
            pseudo_retransmitted,
            earliest_sent: self.earliest_sent(p),
            ..PathOutcome::default()
        }
    }

    /// The cum-ack passes the lowest chunk: takes it out of the queue, the flight and the send
    /// buffer. Its state is the one before.
    #[inline]
    pub(crate) fn ack_lowest(&mut self, paths: &mut PathSet) -> Option<TxChunk> {
        let tsn = self.chunks.base();
        let chunk = self.chunks.pop_front()?;
        let buffered = if chunk.holds_buffer() { u64::from(chunk.bytes) } else { 0 };
        self.remove_from_flight(tsn, &chunk, buffered, paths);
        Some(chunk)
    }

    /// A gap ack block reports `tsn`: it leaves the flight, and stays in the send buffer. Gives the
    /// chunk without its payload, in the state before; `None` if that was known.
    pub(crate) fn gap_ack(&mut self, tsn: u64, paths: &mut PathSet) -> Option<TxChunk> {
        // A block may reach below the new base when it overlaps the cum-ack.
        let chunk = self.chunks.get_mut(tsn)?;
        let before = chunk.state;
        if !before.is_under_way() && !chunk.is_marked() {
            return None;
        }
        let copies = core::mem::take(&mut chunk.copies);
        let copy = TxChunk { payload: bytes::Bytes::new(), copies, ..*chunk };
        if before == ChunkState::AbandonedInFlight {
            chunk.state = ChunkState::Abandoned;
        } else {
            chunk.state = ChunkState::GapAcked;
            self.acked.insert(tsn);
        }
        self.remove_from_flight(tsn, &copy, 0, paths);
        Some(copy)
    }

    /// A non-renegable gap ack block reports `tsn`, which is gap-acked: its payload leaves the send
    /// buffer, once and for good. Gives its stream and payload bytes.
    pub(crate) fn nr_ack(&mut self, tsn: u64, paths: &mut PathSet) -> Option<(StreamId, u64)> {
        let chunk = self.chunks.get_mut(tsn)?;
        if chunk.state != ChunkState::GapAcked {
            return None;
        }
        chunk.state = ChunkState::NrAcked;
        drop(core::mem::take(&mut chunk.payload));
        let (stream, path, bytes) = (chunk.stream, chunk.path, u64::from(chunk.bytes));
        self.nr_acked.insert(tsn);
        if let Some(view) = paths.view_mut(path) {
            view.queued -= bytes;
        }
        Some((stream, bytes))
    }

    /// Takes a chunk and its copies out of all that counts what is in flight, by the state that it
    /// had, and `buffered` of its bytes out of the send buffer.
    #[inline]
    fn remove_from_flight(
        &mut self,
        tsn: u64,
        chunk: &TxChunk,
        buffered: u64,
        paths: &mut PathSet,
    ) {
        if let Some(view) = paths.view_mut(chunk.path) {
            view.queued -= buffered;
            if chunk.state == ChunkState::InFlight {
                path_bytes::remove_chunk(view, chunk.size(), chunk.bytes);
            }
        }
        match chunk.state {
            ChunkState::InFlight => self.window.remove_from_flight(chunk.bytes),
            ChunkState::Marked(_) => {
                if let Some(list) = self.lists.get_mut(chunk.path.index()) {
                    list.marked.remove(&tsn);
                }
            }
            ChunkState::AbandonedInFlight => {
                if let Some(list) = self.lists.get_mut(chunk.path.index()) {
                    list.abandoned_in_flight = list.abandoned_in_flight.saturating_sub(1);
                }
            }
            ChunkState::GapAcked | ChunkState::NrAcked | ChunkState::Abandoned => {}
        }
        for copy in &chunk.copies {
            if let Some(view) = paths.view_mut(copy.path) {
                path_bytes::remove_copy(view, chunk.size());
            }
        }
    }

    /// The cum-ack moved: gives back what lists and maps do not need any more.
    pub(crate) fn trim(&mut self) {
        self.chunks.trim();
        self.lists.iter_mut().for_each(PathList::trim);
        self.acked.advance(self.chunks.base());
        self.nr_acked.advance(self.chunks.base());
    }

    /// The peer withdrew the gap ack of `tsn`: it is in flight again, with one miss indication (RFC
    /// 9260 section 6.2.1 D).
    pub(crate) fn renege(&mut self, now: Time, tsn: u64, paths: &mut PathSet) {
        self.acked.remove(tsn);
        let Some(chunk) = self.chunks.get_mut(tsn) else { return };
        chunk.state = ChunkState::InFlight;
        chunk.miss_indications = 1;
        chunk.reneged = true;
        let (p, size, bytes) = (chunk.path, chunk.size(), chunk.bytes);
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.note_reneged(tsn, chunk);
        }
        self.window.add_sent(bytes);
        if let Some((view, path)) = paths.both_mut(p) {
            path_bytes::add_chunk(view, size, bytes);
            path.cancel_probe(tsn);
            path.start_t3(now, view);
        }
    }

    /// Drops stale entries of every path's list of transmissions, once there are too many.
    pub(crate) fn drop_stale_transmissions(&mut self) {
        for (list, i) in self.lists.iter_mut().zip(0..) {
            list.drop_stale_transmissions(&self.chunks, PathId(i));
        }
    }
}

/// What is declared lost, or in flight after all.
impl OutstandingQueue {
    /// Counts miss indications of a chunk in flight. Gives how many it has.
    pub(crate) fn add_miss_indications(&mut self, tsn: u64, count: u8) -> u8 {
        let Some(chunk) = self.chunks.get_mut(tsn) else { return 0 };
        chunk.miss_indications = chunk.miss_indications.saturating_add(count);
        chunk.miss_indications
    }

    /// The chunk is fast-retransmitted: once for each TSN (RFC 9260 section 7.2.4, rule 5).
    pub(crate) fn note_fast_retransmit(&mut self, tsn: u64) {
        if let Some(chunk) = self.chunks.get_mut(tsn) {
            chunk.fast_retransmitted = true;
        }
    }

    /// Declares a chunk lost on its own path: it is no longer outstanding and waits to be sent
    /// again. Gives its path. But a copy that is in flight on another path takes its place, and a
    /// chunk whose message was abandoned is not sent again: `None`.
    pub(crate) fn mark_lost(
        &mut self,
        tsn: u64,
        cause: LossKind,
        paths: &mut PathSet,
    ) -> Option<PathId> {
        if self.promote_copy(tsn, paths) || self.lose_abandoned(tsn, paths) {
            return None;
        }
        let chunk = self.chunks.get_mut(tsn)?;
        let in_flight = chunk.is_in_flight();
        chunk.state = ChunkState::Marked(cause);
        chunk.miss_indications = 0;
        let (p, size, bytes, sent) = (chunk.path, chunk.size(), chunk.bytes, chunk.sent);
        if chunk.may_be_abandoned {
            self.lost_expendable.push(tsn);
        }
        if let Some(log) = &mut self.loss_log {
            log.push((p, tsn));
        }
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.marked.insert(tsn);
        }
        if let Some((view, path)) = paths.both_mut(p) {
            path_bytes::count_loss(view, path, sent, size);
            path.cancel_probe(tsn);
            if in_flight {
                self.window.remove_from_flight(bytes);
                path_bytes::remove_chunk(view, size, bytes);
            }
        }
        Some(p)
    }

    /// A chunk whose message was abandoned while it was in flight was lost. Gives whether it is
    /// one.
    fn lose_abandoned(&mut self, tsn: u64, paths: &mut PathSet) -> bool {
        let abandoned = |c: &&mut TxChunk| c.state == ChunkState::AbandonedInFlight;
        let Some(chunk) = self.chunks.get_mut(tsn).filter(abandoned) else { return false };
        chunk.state = ChunkState::Abandoned;
        let (p, size, sent) = (chunk.path, chunk.size(), chunk.sent);
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.abandoned_in_flight = list.abandoned_in_flight.saturating_sub(1);
        }
        if let Some((view, path)) = paths.both_mut(p) {
            path_bytes::count_loss(view, path, sent, size);
        }
        true
    }

    /// A timeout was spurious: a chunk that it marked, and that was not sent again, is in flight
    /// after all.
    pub(crate) fn undo_mark(&mut self, tsn: u64, paths: &mut PathSet) {
        let Some(chunk) = self.chunks.get_mut(tsn) else { return };
        chunk.state = ChunkState::InFlight;
        let (p, size, bytes, sent) = (chunk.path, chunk.size(), chunk.bytes, chunk.sent);
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.marked.remove(&tsn);
            list.note_back_in_flight(tsn, sent);
        }
        self.window.add_sent(bytes);
        if let Some(view) = paths.view_mut(p) {
            path_bytes::add_chunk(view, size, bytes);
            view.lost_chunks = view.lost_chunks.saturating_sub(1);
            view.lost = view.lost.saturating_sub(size);
        }
    }

    /// T3 ran although nothing was in flight on `p`: the peer may have reneged on gap-acked chunks
    /// of this path (see `sender::sack`). Declares them lost; gives how many.
    pub(crate) fn mark_gap_acked_lost(&mut self, p: PathId, paths: &mut PathSet) -> u32 {
        let doubtful = |(tsn, c): (u64, &TxChunk)| {
            (c.path == p && c.state == ChunkState::GapAcked).then_some(tsn)
        };
        let tsns: Vec<u64> = self.chunks.iter().filter_map(doubtful).collect();
        for &tsn in &tsns {
            self.acked.remove(tsn);
            if let Some(chunk) = self.chunks.get_mut(tsn) {
                chunk.reneged = true;
            }
            self.mark_lost(tsn, LossKind::Timeout, paths);
            if let Some((list, chunk)) = self.lists.get_mut(p.index()).zip(self.chunks.get(tsn)) {
                list.note_reneged(tsn, chunk);
            }
        }
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.drop_stale_transmissions(&self.chunks, p);
        }
        tsns.len() as u32
    }

    /// A chunk's own path lost it: its latest copy takes over. Gives whether there was one.
    fn promote_copy(&mut self, tsn: u64, paths: &mut PathSet) -> bool {
        let Some(chunk) = self.chunks.get_mut(tsn) else { return false };
        let Some(copy) = chunk.copies.pop() else { return false };
        let (from, to, sent) = (chunk.path, copy.path, chunk.sent);
        (chunk.path, chunk.sent) = (to, copy.sent);
        chunk.transmissions = chunk.transmissions.saturating_add(1).max(2);
        chunk.miss_indications = 0;
        chunk.moved = true;
        let (size, bytes) = (chunk.size(), chunk.bytes);
        if let Some(list) = self.lists.get_mut(to.index()) {
            list.note_copy_took_over(tsn);
        }
        path_bytes::move_queued(from, to, u64::from(bytes), paths);
        if let Some((view, path)) = paths.both_mut(from) {
            path_bytes::remove_chunk(view, size, bytes);
            path_bytes::count_loss(view, path, sent, size);
            path.cancel_probe(tsn);
        }
        if let Some(view) = paths.view_mut(to) {
            // Its bytes count there already.
            path_bytes::remove_copy(view, size);
            path_bytes::add_chunk(view, size, bytes);
        }
        true
    }

    /// The copy of `tsn` on `p` is lost.
    pub(crate) fn lose_copy(&mut self, tsn: u64, p: PathId, paths: &mut PathSet) {
        let Some(chunk) = self.chunks.get_mut(tsn) else { return };
        let Some(at) = chunk.copies.iter().position(|c| c.path == p) else { return };
        let copy = chunk.copies.swap_remove(at);
        chunk.copy_given_up = true;
        let (home, size) = (chunk.path, chunk.size());
        if let Some(list) = self.lists.get_mut(home.index()) {
            list.copied_below = list.copied_below.map(|below| below.min(tsn));
        }
        if let Some((view, path)) = paths.both_mut(p) {
            path_bytes::remove_copy(view, size);
            path_bytes::count_loss(view, path, copy.sent, size);
        }
    }

    /// T3-rtx of `p` expired: the copies there of at least this age are lost. Gives how many.
    pub(crate) fn lose_copies(
        &mut self,
        now: Time,
        p: PathId,
        age: Duration,
        paths: &mut PathSet,
    ) -> u32 {
        if paths.view(p).is_none_or(|v| v.duplicate_bytes_in_flight == 0) {
            return 0;
        }
        let mut tsns = Vec::new();
        if let Some(list) = self.lists.get(p.index()) {
            list.list_copies(&self.chunks, p, &mut tsns);
        }
        let sent = |tsn: u64| self.chunks.get(tsn).and_then(|c| c.in_flight_on(p));
        tsns.retain(|&tsn| sent(tsn).is_some_and(|sent| now.since(sent) >= age));
        for &tsn in &tsns {
            self.lose_copy(tsn, p, paths);
        }
        tsns.len() as u32
    }

    /// The copy that just went out replaces the original, which blocked a buffer. Gives the path of
    /// the original.
    pub(crate) fn replace_by_copy(&mut self, tsn: u64, paths: &mut PathSet) -> Option<PathId> {
        let from = self.chunks.get(tsn)?.path;
        if !self.promote_copy(tsn, paths) {
            return None;
        }
        if let Some(chunk) = self.chunks.get_mut(tsn) {
            chunk.rescheduled = true;
        }
        if let Some((_, path)) = paths.both_mut(from).filter(|(view, _)| view.outstanding == 0) {
            path.t3 = Time::MAX;
        }
        Some(from)
    }
}

/// What is abandoned, and what goes to another path because its own is removed.
impl OutstandingQueue {
    /// The message of a chunk is abandoned: the chunk counts as acknowledged (RFC 3758 section 3.5,
    /// A2). Gives its stream and the payload bytes that this frees.
    pub(crate) fn abandon(&mut self, tsn: u64, paths: &mut PathSet) -> Option<(StreamId, u64)> {
        let chunk = self.chunks.get_mut(tsn)?;
        let before = chunk.state;
        let in_flight = before == ChunkState::InFlight;
        chunk.state = if in_flight { ChunkState::AbandonedInFlight } else { ChunkState::Abandoned };
        drop(core::mem::take(&mut chunk.payload));
        let copies = core::mem::take(&mut chunk.copies);
        chunk.copy_given_up |= !copies.is_empty();
        let (stream, p, size, bytes) = (chunk.stream, chunk.path, chunk.size(), chunk.bytes);
        let freed = (before != ChunkState::NrAcked).then_some((stream, u64::from(bytes)));
        if let (Some(view), Some((_, bytes))) = (paths.view_mut(p), freed) {
            view.queued -= bytes;
        }
        self.acked.remove(tsn);
        self.nr_acked.remove(tsn);
        let list = self.lists.get_mut(p.index());
        if !in_flight {
            _ = list.is_some_and(|list| list.marked.remove(&tsn));
            return freed;
        }
        if let Some(list) = list {
            list.abandoned_in_flight += 1;
        }
        self.window.remove_from_flight(bytes);
        if let Some((view, path)) = paths.both_mut(p) {
            path_bytes::remove_chunk(view, size, bytes);
            // The cum-ack may come to pass it without its having arrived.
            path.cancel_probe(tsn);
        }
        for copy in &copies {
            if let Some(view) = paths.view_mut(copy.path) {
                path_bytes::remove_copy(view, size);
            }
        }
        freed
    }

    /// A chunk of `from`, which is removed and has none of it in flight any more, belongs to
    /// `heir`.
    pub(crate) fn move_to(&mut self, tsn: u64, from: PathId, heir: PathId, paths: &mut PathSet) {
        let Some(chunk) = self.chunks.get_mut(tsn).filter(|c| c.path == from) else { return };
        chunk.path = heir;
        chunk.moved = true;
        if chunk.state.is_abandoned() {
            // Whether it is lost will not be known.
            chunk.state = ChunkState::Abandoned;
            return;
        }
        let (marked, class, bytes) = (chunk.is_marked(), chunk.class(), u64::from(chunk.bytes));
        if chunk.state != ChunkState::NrAcked {
            path_bytes::move_queued(from, heir, bytes, paths);
        }
        if marked && let Some(list) = self.lists.get_mut(heir.index()) {
            list.take_over_marked(tsn, class);
        }
    }
}
