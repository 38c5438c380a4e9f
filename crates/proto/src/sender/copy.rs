//! One chunk in flight on several paths.
//!
//! The path of its latest regular transmission is the chunk's own: there it is queued, watched and
//! declared lost. Copies on other paths count against those paths' windows, may get lost by
//! themselves, and leave with the chunk's acknowledgement. When the chunk's own path loses it while
//! a copy is in flight, the copy takes its place, and nothing is sent again.
//!
//! Which of several transmissions an acknowledgement answers cannot be known, only when each could
//! have been answered. Of those that had a round trip's time, the one that was expected last is
//! credited: the others would have been acknowledged before. Karn's rule holds: unless no other
//! could have been answered, it measures nothing.

use polypath_wire::{PacketWriter, Tsn};

use super::outstanding::TxChunk;
use super::recovery::Sent;
use super::sack_outcome::SackOutcome;
use super::sending_half::Sender;
use super::types::{ChunkInFlight, Delivery, Losses};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::{Duration, Time};
use crate::tsn_map::extend;
use crate::view::PathView;

impl Sender {
    /// What is in flight on `p` shall be copied to other paths, lowest TSN first.
    pub(crate) fn begin_copying(&mut self, p: PathId) {
        self.copies.grant_burst();
        self.outstanding.begin_copying(p);
    }

    /// Whether another copy may leave on `to`: the first ones at once, more as acknowledgements
    /// from there come in.
    pub(crate) fn may_copy_to(&self, to: &PathView) -> bool {
        to.outstanding == 0 || self.copies.has_credit(to.id)
    }

    /// Sends a chunk that is in flight elsewhere on `to` as well. False if it does not fit, or
    /// needs no copy.
    pub(crate) fn send_copy(
        &mut self,
        now: Time,
        tsn: u64,
        to: PathId,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
    ) -> bool {
        let Some(chunk) = self.outstanding.get(tsn).filter(|c| needs_copy_on(c, to)) else {
            return false;
        };
        if writer.push(&chunk.encode(tsn)).is_err() {
            return false;
        }
        let home = (chunk.path, chunk.sent);
        let Some(size) = self.outstanding.copy(now, tsn, to, paths) else { return false };
        self.copies.note_copied(tsn, size, home, to);
        self.recovery.on_sent(now, tsn, to, Sent::Copy, &mut self.outstanding, paths);
        true
    }

    /// The next copy that is wanted on `p` and still makes sense, with its chunk's path.
    pub(crate) fn next_wanted_copy(&mut self, p: PathId) -> Option<(PathId, ChunkInFlight)> {
        while let Some(tsn) = self.copies.first_wanted(p) {
            if let Some(chunk) = self.outstanding.get(tsn).filter(|c| needs_copy_on(c, p)) {
                return Some((chunk.path, ChunkInFlight { tsn, bytes: chunk.size() as u32 }));
            }
            self.copies.drop_first_wanted(p);
        }
        None
    }

    /// The chunk that everything else waits for, if it may be moved: it is in flight, once, and was
    /// not moved before. Gives its path and when it was sent, too.
    pub(crate) fn blocking_chunk(&self) -> Option<(ChunkInFlight, PathId, Time)> {
        let tsn = self.outstanding.base();
        let movable = |c: &&TxChunk| c.is_in_flight() && c.copies.is_empty() && !c.rescheduled;
        let chunk = self.outstanding.get(tsn).filter(movable)?;
        Some((ChunkInFlight { tsn, bytes: chunk.size() as u32 }, chunk.path, chunk.sent))
    }

    /// The copy that just went out replaces the original. Gives the path of the original and how
    /// congestion control shall see it: as a loss, unless the path is recovering already.
    pub(crate) fn complete_move(
        &mut self,
        now: Time,
        tsn: u64,
        paths: &mut PathSet,
    ) -> Option<(PathId, Losses)> {
        let from = self.outstanding.replace_by_copy(tsn, paths)?;
        let outstanding = &mut self.outstanding;
        let react = self.recovery.enter_fast_recovery(now, from, tsn, outstanding, paths);
        Some((from, Losses { lost: 1, react }))
    }

    /// Which transmission of `chunk` its acknowledgement answers.
    #[inline]
    pub(super) fn find_delivery(&self, now: Time, chunk: &TxChunk, paths: &PathSet) -> Delivery {
        let own = Delivery { path: chunk.path, sent: chunk.sent, certain: true };
        if chunk.copies.is_empty() { own } else { self.find_delivered_copy(now, chunk, own, paths) }
    }

    fn find_delivered_copy(
        &self,
        now: Time,
        chunk: &TxChunk,
        own: Delivery,
        paths: &PathSet,
    ) -> Delivery {
        let copies = chunk.copies.iter().map(|c| (c.path, c.sent));
        let trip = |p| self.recovery.shortest_trip_by_sack(p);
        let expected = |(p, sent): (PathId, Time)| {
            (sent + trip(p).unwrap_or_else(|| self.shortest_trip(p, paths)), p, sent)
        };
        let all = core::iter::once((own.path, own.sent)).chain(copies).map(expected);
        let possible = all.clone().filter(|&(at, ..)| at <= now);
        let count = possible.clone().count();
        let last = possible.max_by_key(|&(at, p, _)| (at, p == own.path));
        // None of them: one that was given up arrived after all, or a way became shorter, most
        // likely that of what was expected first.
        let likely = last.or_else(|| all.min_by_key(|&(at, p, _)| (at, p != own.path)));
        likely.map_or(own, |(_, path, sent)| Delivery { path, sent, certain: count == 1 })
    }

    /// The smallest round trip of `p`, as far as it was measured.
    pub(super) fn shortest_trip(&self, p: PathId, paths: &PathSet) -> Duration {
        let known = || paths.view(p).and_then(|v| v.min_rtt);
        self.recovery.shortest_trip(p).or_else(known).unwrap_or_default()
    }

    /// Chunks that the peer received twice: where a copy was sent, the chunk's own path delivered
    /// it, too.
    pub(super) fn credit_duplicates(
        &mut self,
        now: Time,
        tsns: impl Iterator<Item = Tsn>,
        outcome: &mut SackOutcome,
        paths: &PathSet,
    ) {
        let near = self.outstanding.cum_ack();
        for tsn in tsns.map(|tsn| extend(near, tsn)) {
            for (own, p) in outcome.paths.iter_mut().zip((0..).map(PathId)) {
                let Some(sent) = self.copies.take_copied(p, tsn) else { continue };
                // That may have been before the path fell silent.
                own.acked_once |= paths.view(p).is_some_and(|view| !view.silent);
                own.copied_trip = Some(now.since(sent));
            }
        }
    }

    /// A chunk was acknowledged: its copies are in flight no more, and an ambiguous answer measures
    /// nothing.
    pub(super) fn note_copies_acked(
        &mut self,
        now: Time,
        tsn: u64,
        chunk: &TxChunk,
        delivery: Delivery,
        paths: &mut PathSet,
        outcome: &mut SackOutcome,
    ) {
        for copy in &chunk.copies {
            if let Some(view) = paths.view(copy.path) {
                let due = copy.sent + view.srtt.unwrap_or_default();
                self.copies.note_lingering(now, copy.path, due, chunk.size());
            }
            if let Some(outcome) = outcome.path_mut(copy.path) {
                outcome.copy_left = true;
            }
        }
        // Transmissions of one instant may be told apart by their round trips, or else hardly
        // differ.
        let at_once = chunk.copies.iter().all(|c| c.sent == chunk.sent);
        let measures = (delivery.certain || at_once) && delivery.path == chunk.path;
        if let Some((_, own)) = paths.both_mut(chunk.path).filter(|_| !measures) {
            own.cancel_probe(tsn);
        }
    }
}

/// Whether a copy of the chunk on `to` makes sense: it is in flight, and not there.
fn needs_copy_on(chunk: &TxChunk, to: PathId) -> bool {
    chunk.is_in_flight() && chunk.path != to && chunk.in_flight_on(to).is_none()
}
