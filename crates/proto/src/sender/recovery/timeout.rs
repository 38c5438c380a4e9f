//! Timeouts: what T3-rtx marks (RFC 9260 section 6.3.3), and what happens when one was spurious
//! (F-RTO, RFC 5682).

use core::num::NonZeroU64;

use super::frto::{FRto, Resent, Verdict};
use super::loss_recovery::{LossRecovery, PathRecovery};
use crate::config::{AssocConfig, Cuc, T3Marks};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::outstanding::{ChunkState, OutstandingQueue, TxChunk};
use crate::sender::sack_outcome::SackOutcome;
use crate::time::{Duration, Time};
use crate::view::LossKind;

impl LossRecovery {
    /// T3-rtx of `p` expired: marks the chunks last sent on `p` (RFC 9260 section 6.3.3 E3). Gives
    /// how many are lost.
    pub(crate) fn on_timeout(
        &mut self,
        now: Time,
        p: PathId,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
        config: &AssocConfig,
    ) -> u32 {
        let mut tsns = Vec::new();
        outstanding.list_in_flight_below(p, u64::MAX, &mut tsns);
        let young = self.spared_age(p, paths, config);
        // RACK spares the young, but never the first (RFC 8985 section 6.3).
        let first = tsns.iter().min().copied().filter(|_| self.config.rack);
        tsns.retain(|&tsn| {
            let age = |c: &TxChunk| now.since(c.sent);
            Some(tsn) == first || outstanding.get(tsn).is_none_or(|c| age(c) >= young)
        });
        for &tsn in &tsns {
            outstanding.mark_lost(tsn, LossKind::Timeout, paths);
        }
        let copies = outstanding.lose_copies(now, p, young, paths);
        let mut marked = tsns.len() as u32;
        if marked + copies == 0 {
            marked = outstanding.mark_gap_acked_lost(p, paths);
        }
        if let Some(own) = self.paths.get_mut(p.index()) {
            // ns-2 without CMT grows no window before the cum-ack has passed what was lost then.
            let stays = config.reproduction.ns2.cuts_by_tsn && config.cmt.cuc == Cuc::Off;
            let exit = if stays { own.fast_recovery_exit } else { own.fast_recovery_exit.take() };
            let recovering = exit.is_some();
            own.allowance |= marked > 0;
            if marked > 0 {
                self.begin_timeout_recovery(now, p, tsns, recovering, outstanding);
            }
        }
        if config.reproduction.ns2.allowance_of_target {
            self.allow_after_timeout(p, config);
        }
        if let Some(view) = paths.view_mut(p) {
            view.in_recovery =
                self.paths.get(p.index()).is_some_and(|own| own.fast_recovery_exit.is_some());
        }
        outstanding.restart_t3(now, p, paths);
        marked + copies
    }

    /// Chunks younger than this are spared at a first timeout, because their SACKs may be on the
    /// way: RACK's patience (RFC 8985 section 6.3), or one SRTT (Iyengar 2004).
    fn spared_age(&self, p: PathId, paths: &PathSet, config: &AssocConfig) -> Duration {
        let Some((view, path)) = paths.view(p).zip(paths.get(p)) else { return Duration::ZERO };
        if path.timeouts_in_a_row > 0 {
            return Duration::ZERO;
        }
        let rack = self.paths.get(p.index()).map(|own| &own.rack);
        if let Some(rack) =
            rack.filter(|rack| self.config.rack && rack.latest_delivered().is_some())
        {
            return rack.loss_delay(view.srtt, false);
        }
        match config.cmt.t3_marks {
            // An RTO at its upper bound may be shorter than the SRTT: then each expiry would spare
            // everything.
            T3Marks::OlderThanSrtt => view.srtt.unwrap_or(Duration::ZERO).min(view.rto),
            T3Marks::All => Duration::ZERO,
        }
    }

    /// T3-rtx of `p` declared `suspects` lost. `recovering`: fast recovery was under way.
    fn begin_timeout_recovery(
        &mut self,
        now: Time,
        p: PathId,
        mut suspects: Vec<u64>,
        recovering: bool,
        outstanding: &mut OutstandingQueue,
    ) {
        if !self.config.is_any_on() {
            return;
        }
        let Some(own) = self.paths.get_mut(p.index()) else { return };
        let highest = outstanding.highest_unacked(p);
        let PathRecovery { rack, tail, prr, frto, resent, timeout_exit, undone, .. } = own;
        rack.timer = Time::MAX;
        tail.reset();
        *prr = None;
        *resent = Resent::default();
        // RFC 5682 section 3.1, step 1: not within another recovery, but again and again for the
        // same chunks. Nor after a timeout that was undone, while nothing that was in flight then
        // has been acknowledged: when the round trip of a path falls below the smallest ever
        // measured, the answer to a retransmission comes "too soon", and every further timeout
        // would be judged spurious as well.
        let watch = !suspects.is_empty()
            && !recovering
            && !core::mem::take(undone)
            && (timeout_exit.is_none() || frto.is_some());
        suspects.sort_unstable();
        *timeout_exit = (*timeout_exit).max(highest.and_then(NonZeroU64::new));
        if self.config.f_rto {
            for &tsn in &suspects {
                // A copy stands in for the retransmission.
                if let Some(chunk) = outstanding.get(tsn).filter(|c| c.path != p) {
                    resent.note_retransmission(tsn, chunk.transmissions);
                }
            }
            *frto = watch.then(|| Box::new(FRto::new(suspects, now)));
        }
    }

    /// The chunks of a SACK are booked, misses are not counted yet: which timeouts were spurious?
    pub(super) fn judge_timeouts(
        &mut self,
        now: Time,
        outcome: &mut SackOutcome,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) {
        if !self.config.f_rto {
            return;
        }
        for p in paths.ids() {
            let spurious = self.judge_timeout(now, p, outcome.news, outstanding, paths);
            if let Some(outcome) = outcome.path_mut(p) {
                outcome.spurious_timeout = spurious;
            }
        }
    }

    /// Was the latest timeout of `p` spurious? If so, it is undone. `news`: the SACK acknowledged
    /// something, on whichever path.
    fn judge_timeout(
        &mut self,
        now: Time,
        p: PathId,
        news: bool,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) -> bool {
        let waiting = self.suspects(p).any(|tsn| waits_since_timeout(outstanding, tsn, p));
        let all_twice = self.paths.get(p.index()).is_some_and(|own| own.resent.were_all_reported());
        // One that arrived twice may be one whose SACK was delayed when an outage began: what was
        // sent behind it tells.
        if all_twice && !waiting {
            self.undo_timeout(now, p, outstanding, paths);
            return true;
        }
        let frto = self.paths.get(p.index()).and_then(|own| own.frto.as_ref());
        let Some(frto) = frto else { return false };
        let too_soon = |(sent, to): (Time, PathId)| self.is_too_soon(now, to, sent);
        let early = frto.first_again().is_none_or(too_soon);
        let data_chunks = paths.view(p).map_or(0, |v| v.data_chunks);
        let Some(own) = self.paths.get_mut(p.index()) else { return false };
        let PathRecovery { rack, frto: Some(frto), .. } = own else { return false };
        if waiting && paths.tells_of_the_past(p) {
            frto.forget_originals();
        }
        // Half of it: the smallest round trip may have been measured with a delayed SACK.
        let late = |began| now.since(began) >= rack.shortest_trip().unwrap_or(Duration::ZERO) / 2;
        let verdict = if !news && frto.note_empty_sack(data_chunks, late) {
            Verdict::Genuine
        } else {
            frto.judge_sack(now, early, waiting, data_chunks)
        };
        match verdict {
            Verdict::Open => {}
            Verdict::Genuine => own.frto = None,
            Verdict::Spurious => self.undo_timeout(now, p, outstanding, paths),
        }
        verdict == Verdict::Spurious
    }

    /// Chunks that the timeout in doubt took for lost.
    fn suspects(&self, p: PathId) -> impl Iterator<Item = u64> + '_ {
        let frto = self.paths.get(p.index()).and_then(|own| own.frto.as_ref());
        frto.into_iter().flat_map(|frto| frto.suspects().iter().copied())
    }

    /// What was declared lost and not sent again yet is in flight after all. RTO keeps its back-off
    /// until the next sample: the path did become slower.
    fn undo_timeout(
        &mut self,
        now: Time,
        p: PathId,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) {
        let frto = self.paths.get_mut(p.index()).and_then(|own| own.frto.take());
        for &tsn in frto.iter().flat_map(|frto| frto.suspects().iter().rev()) {
            if waits_since_timeout(outstanding, tsn, p) {
                outstanding.undo_mark(tsn, paths);
            }
        }
        if let Some(own) = self.paths.get_mut(p.index()) {
            own.allowance = false;
            own.timeout_exit = None;
            own.undone = true;
            own.resent = Resent::default();
            own.stats.get_or_insert_default().spurious_timeouts += 1;
        }
        outstanding.restart_t3(now, p, paths);
    }

    /// F-RTO's second step: retransmissions on their own path wait, new data goes instead.
    pub(crate) fn holds_retransmissions(&self, from: PathId, to: PathId) -> bool {
        let frto = self.paths.get(from.index()).and_then(|own| own.frto.as_ref());
        from == to && frto.is_some_and(|frto| frto.is_in_second_step())
    }

    /// Where no new data could be sent, waiting is pointless (RFC 5682 section 3.1, step 2b): gives
    /// whether that freed any retransmissions.
    pub(crate) fn release_retransmissions(
        &mut self,
        outstanding: &OutstandingQueue,
        paths: &PathSet,
    ) -> bool {
        if !self.config.f_rto {
            return false;
        }
        let mut freed = false;
        for (view, own) in paths.views.iter().zip(&mut self.paths) {
            // Nor does an answer come where nothing is in flight any more: what went out may have
            // been sent again from another path.
            let silent = view.outstanding == 0;
            let stuck = |frto: &mut Box<FRto>| {
                frto.is_stuck(view.data_chunks) || silent && frto.is_in_second_step()
            };
            if own.frto.as_mut().is_some_and(stuck) {
                own.frto = None;
                freed |= outstanding.has_marked_on(view.id);
            }
        }
        freed
    }
}

/// Whether the timeout of `p` marked `tsn`, and it was not sent again since.
fn waits_since_timeout(outstanding: &OutstandingQueue, tsn: u64, p: PathId) -> bool {
    let waits = |c: &TxChunk| c.path == p && c.state() == ChunkState::Marked(LossKind::Timeout);
    outstanding.get(tsn).is_some_and(waits)
}
