//! One chunk in flight on several paths.
//!
//! The path of its latest regular transmission is the chunk's own: there it is queued, watched and declared lost. Copies
//! on other paths count against those paths' windows, may get lost by themselves, and leave with the chunk's
//! acknowledgement. When the chunk's own path loses it while a copy is in flight, the copy takes its place, and nothing is
//! sent again.
//!
//! Which of several transmissions an acknowledgement answers cannot be known, only when each could have been answered. Of
//! those that had a round trip's time, the one that was expected last is credited: the others would have been
//! acknowledged before. Karn's rule holds: unless no other could have been answered, it measures nothing.

use polypath_wire::{PacketWriter, Tsn};

use super::chunk::{ChunkState, Copied, TxChunk};
use super::sack::Scratch;
use super::{Losses, Sender};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::{Duration, Time};
use crate::tsn_map::extend;
use crate::view::PathView;

/// Bytes of copies that may leave on a path at once: about what the queue of a path that is in use takes in addition. What a silent path
/// had in flight is a window, and all of it in one go would overflow that queue.
const BURST: u64 = 32 * 1500;

/// A chunk in flight that shall go out on another path as well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyOf {
    /// Extended TSN.
    pub(crate) tsn: u64,
    /// DATA chunk bytes.
    pub(crate) bytes: u32,
}

/// The transmission that an acknowledgement is taken to answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    pub(super) path: PathId,
    pub(super) sent: Time,
    /// No other transmission can have been answered.
    pub(super) certain: bool,
}

impl Sender {
    /// What is in flight on `p` shall be copied to other paths, lowest TSN first.
    pub(crate) fn begin_copying(&mut self, p: PathId) {
        let base = self.ring.base();
        for list in &mut self.paths {
            list.copy_credit = BURST;
        }
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.copied_below = Some(base);
        }
    }

    /// Whether another copy may leave on `to`: the first ones at once, more as acknowledgements from there come in.
    pub(crate) fn may_copy(&self, to: &PathView) -> bool {
        to.outstanding == 0 || self.paths.get(to.id.index()).is_some_and(|l| l.copy_credit > 0)
    }

    /// So much of `p` was acknowledged: as much again, and the same once more, as in slow start.
    #[inline]
    pub(crate) fn clock_copies(&mut self, p: PathId, bytes: u64) {
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.copy_credit = list.copy_credit.saturating_add(2 * bytes);
        }
    }

    /// `p` needs no copies any more.
    pub(crate) fn end_copying(&mut self, p: PathId) {
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.copied_below = None;
        }
    }

    /// Whether any path's chunks are to be copied.
    pub(crate) fn is_copying(&self) -> bool {
        self.paths.iter().any(|l| l.copied_below.is_some())
    }

    /// The next chunk of `p` to be copied.
    pub(crate) fn copy_head(&self, p: PathId) -> Option<CopyOf> {
        let list = self.paths.get(p.index())?;
        let tsn = list.lowest_uncopied(&self.ring, p, list.copied_below?)?;
        self.ring.get(tsn).map(|c| CopyOf { tsn, bytes: c.size() as u32 })
    }

    #[cfg(test)]
    pub(super) fn copies_in_flight(&self) -> u64 {
        self.ring.iter().map(|(_, c)| c.copies.len() as u64).sum()
    }

    /// Sends a chunk that is in flight elsewhere on `to` as well. False if it does not fit, or needs no copy.
    pub(crate) fn send_copy(
        &mut self,
        now: Time,
        tsn: u64,
        to: PathId,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
    ) -> bool {
        let wanted = |c: &&mut TxChunk| {
            c.state == ChunkState::InFlight && c.path != to && c.in_flight_on(to).is_none()
        };
        let Some(chunk) = self.ring.get_mut(tsn).filter(wanted) else { return false };
        if writer.push(&chunk.encode(tsn)).is_err() {
            return false;
        }
        // Seldom more than one.
        chunk.copies.reserve_exact(1);
        chunk.copies.push(Copied { path: to, sent: now });
        let (home, size, bytes) = (chunk.path, chunk.size(), chunk.bytes);
        if let Some(list) = self.paths.get_mut(home.index()) {
            list.copied_below = list.copied_below.map(|below| below.max(tsn + 1));
            list.note_copied(tsn);
        }
        if let Some(list) = self.paths.get_mut(to.index()) {
            list.sent_copy(now, tsn);
            list.copy_credit = list.copy_credit.saturating_sub(size);
        }
        if let Some((view, path)) = paths.both_mut(to) {
            view.outstanding += size;
            view.copied += size;
            view.data_chunks += 1;
            view.last_data = now;
            path.idle_since = now;
            path.stats.data_chunks += 1;
            path.stats.payload_bytes += u64::from(bytes);
            path.stats.copies += 1;
            if path.t3 == Time::MAX {
                path.t3 = now + view.rto;
            }
        }
        self.recovery_sent_copy(now, size, to, paths);
        true
    }

    /// A copy of `tsn` is wanted on `p` as soon as there is room.
    pub(crate) fn want_copy(&mut self, tsn: u64, p: PathId) {
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.wanted.push_back(tsn);
        }
    }

    /// Whether copies wait for room anywhere.
    pub(crate) fn wants_copies(&self) -> bool {
        self.paths.iter().any(|l| !l.wanted.is_empty())
    }

    /// The next copy that is wanted on `p` and still makes sense, with its chunk's path.
    pub(crate) fn wanted_head(&mut self, p: PathId) -> Option<(PathId, CopyOf)> {
        let list = self.paths.get_mut(p.index())?;
        while let Some(&tsn) = list.wanted.front() {
            let wanted = |c: &&TxChunk| {
                c.state == ChunkState::InFlight && c.path != p && c.in_flight_on(p).is_none()
            };
            if let Some(chunk) = self.ring.get(tsn).filter(wanted) {
                return Some((chunk.path, CopyOf { tsn, bytes: chunk.size() as u32 }));
            }
            list.wanted.pop_front();
        }
        None
    }

    /// Bytes of copies that may still be on their way along `p` although their chunks are acknowledged: whoever sends copies
    /// must not fill a slow path at the rate of a fast one.
    pub(crate) fn lingering(&mut self, now: Time, p: PathId) -> u64 {
        let Some(list) = self.paths.get_mut(p.index()) else { return 0 };
        while list.lingering.front().is_some_and(|&(due, _)| due <= now) {
            list.lingering.pop_front();
        }
        list.lingering.iter().map(|l| l.1).sum()
    }

    /// A copy on `p` is lost, or superfluous. Gives whether there was one.
    fn drop_copy(&mut self, tsn: u64, p: PathId, paths: &mut PathSet) -> bool {
        let Some(chunk) = self.ring.get_mut(tsn) else { return false };
        let Some(at) = chunk.copies.iter().position(|c| c.path == p) else { return false };
        chunk.copies.swap_remove(at);
        let (home, size) = (chunk.path, chunk.size());
        if let Some(view) = paths.view_mut(p) {
            view.outstanding -= size;
            view.copied -= size;
        }
        if let Some(list) = self.paths.get_mut(home.index()) {
            list.copied_below = list.copied_below.map(|below| below.min(tsn));
        }
        true
    }

    /// Time-based detection says that the copy on `p` is lost.
    pub(super) fn lose_copy(&mut self, tsn: u64, p: PathId, paths: &mut PathSet) {
        if self.drop_copy(tsn, p, paths)
            && let Some(view) = paths.view_mut(p)
        {
            view.lost_chunks += 1;
        }
    }

    /// T3-rtx of `p` expired: the copies there of at least this age are lost. Gives how many.
    pub(super) fn lose_copies(
        &mut self,
        now: Time,
        p: PathId,
        age: Duration,
        paths: &mut PathSet,
    ) -> u32 {
        if paths.view(p).is_none_or(|v| v.copied == 0) {
            return 0;
        }
        let mut tsns = Vec::new();
        if let Some(list) = self.paths.get(p.index()) {
            list.copies(&self.ring, p, &mut tsns);
        }
        let sent = |tsn: u64| self.ring.get(tsn).and_then(|c| c.in_flight_on(p));
        tsns.retain(|&tsn| sent(tsn).is_some_and(|sent| now.since(sent) >= age));
        for &tsn in &tsns {
            self.lose_copy(tsn, p, paths);
        }
        tsns.len() as u32
    }

    /// A chunk's own path lost it: its latest copy takes over. Gives whether there was one.
    pub(super) fn promote_copy(&mut self, tsn: u64, paths: &mut PathSet) -> bool {
        let Some(chunk) = self.ring.get_mut(tsn) else { return false };
        let Some(copy) = chunk.copies.pop() else { return false };
        let (from, to) = (chunk.path, copy.path);
        (chunk.path, chunk.sent) = (to, copy.sent);
        chunk.sends = chunk.sends.saturating_add(1).max(2);
        chunk.missing = 0;
        chunk.moved = true;
        let (size, bytes) = (chunk.size(), u64::from(chunk.bytes));
        if let Some(list) = self.paths.get_mut(to.index()) {
            list.adopt(tsn);
        }
        self.rebook(from, to, bytes, paths);
        if let Some((view, own)) = paths.both_mut(from) {
            view.outstanding -= size;
            view.outstanding_payload -= bytes;
            view.lost_chunks += 1;
            own.cancel_probe(tsn);
        }
        if let Some(view) = paths.view_mut(to) {
            view.copied -= size;
            view.outstanding_payload += bytes;
        }
        true
    }

    /// The chunk that everything else waits for, if it may be moved: it is in flight, once, and was not moved
    /// before. Gives its path and when it was sent, too.
    pub(crate) fn blocking_chunk(&self) -> Option<(CopyOf, PathId, Time)> {
        let tsn = self.ring.base();
        let movable =
            |c: &&TxChunk| c.state == ChunkState::InFlight && c.copies.is_empty() && !c.rescheduled;
        let chunk = self.ring.get(tsn).filter(movable)?;
        Some((CopyOf { tsn, bytes: chunk.size() as u32 }, chunk.path, chunk.sent))
    }

    /// The copy that just went out replaces the original. Gives the path of the original and how congestion control shall see it:
    /// as a loss, unless the path is recovering already.
    pub(crate) fn complete_move(
        &mut self,
        now: Time,
        tsn: u64,
        paths: &mut PathSet,
    ) -> Option<(PathId, Losses)> {
        let from = self.ring.get(tsn)?.path;
        if !self.promote_copy(tsn, paths) {
            return None;
        }
        if let Some(chunk) = self.ring.get_mut(tsn) {
            chunk.rescheduled = true;
        }
        if let Some((_, path)) = paths.both_mut(from).filter(|(view, _)| view.outstanding == 0) {
            path.t3 = Time::MAX;
        }
        let react = self.enter_recovery(now, from, tsn, paths);
        Some((from, Losses { lost: 1, react }))
    }

    /// Which transmission of `chunk` its acknowledgement answers.
    pub(super) fn delivery(&self, now: Time, chunk: &TxChunk, paths: &PathSet) -> Delivery {
        let own = Delivery { path: chunk.path, sent: chunk.sent, certain: true };
        if chunk.copies.is_empty() {
            return own;
        }
        let copies = chunk.copies.iter().map(|c| (c.path, c.sent));
        let expected = |(p, sent): (PathId, Time)| (sent + self.shortest_trip(p, paths), p, sent);
        let all = core::iter::once((own.path, own.sent)).chain(copies).map(expected);
        let possible = all.filter(|&(at, ..)| at <= now);
        let count = possible.clone().count();
        let last = possible.max_by_key(|&(at, p, _)| (at, p == own.path));
        last.map_or(own, |(_, path, sent)| Delivery { path, sent, certain: count == 1 })
    }

    pub(super) fn shortest_trip(&self, p: PathId, paths: &PathSet) -> Duration {
        let measured = self.paths.get(p.index()).and_then(|l| l.recovery.rack.shortest_trip());
        let known = || paths.view(p).and_then(|v| v.min_rtt);
        measured.or_else(known).unwrap_or_default()
    }

    /// Chunks that the peer received twice: where a copy was sent, the chunk's own path delivered it, too.
    pub(super) fn copy_duplicates(
        &mut self,
        tsns: impl Iterator<Item = Tsn>,
        scratch: &mut Scratch,
    ) {
        let near = self.cum_ack();
        for tsn in tsns.map(|tsn| extend(near, tsn)) {
            for (list, outcome) in self.paths.iter_mut().zip(&mut scratch.paths) {
                outcome.acked_once |= list.duplicate(tsn);
            }
        }
    }

    /// A chunk was acknowledged: its copies are in flight no more, and an ambiguous answer measures nothing.
    pub(super) fn release_copies(
        &mut self,
        tsn: u64,
        chunk: &TxChunk,
        delivery: Delivery,
        paths: &mut PathSet,
        scratch: &mut Scratch,
    ) {
        for copy in &chunk.copies {
            if let Some(view) = paths.view_mut(copy.path) {
                view.outstanding -= chunk.size();
                view.copied -= chunk.size();
                let due = copy.sent + view.srtt.unwrap_or_default();
                let list = self.paths.get_mut(copy.path.index());
                if let Some(list) = list.filter(|_| due > scratch.now) {
                    let over = |&(due, _): &(Time, u64)| due <= scratch.now;
                    while list.lingering.front().is_some_and(over) {
                        list.lingering.pop_front();
                    }
                    list.lingering.push_back((due, chunk.size()));
                }
            }
            if let Some(outcome) = scratch.paths.get_mut(copy.path.index()) {
                outcome.copy_left = true;
            }
        }
        // Transmissions of one instant may be told apart by their round trips, or else hardly differ.
        let at_once = chunk.copies.iter().all(|c| c.sent == chunk.sent);
        let measures = (delivery.certain || at_once) && delivery.path == chunk.path;
        if let Some((_, own)) = paths.both_mut(chunk.path).filter(|_| !measures) {
            own.cancel_probe(tsn);
        }
    }
}
