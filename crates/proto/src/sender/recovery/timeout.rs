//! Timeouts under modern recovery: what they mark, and what happens when one was spurious.

use super::frto::{FRto, Verdict};
use super::{PathRecovery, Resent};
use crate::config::{AssocConfig, T3Marks};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::Sender;
use crate::sender::chunk::{ChunkState, TxChunk};
use crate::time::{Duration, Time};
use crate::view::LossKind;

impl Sender {
    /// Chunks younger than this are spared at a first timeout, because their SACKs may be on the way: RACK's patience (RFC
    /// 8985 section 6.3), or one SRTT (Iyengar 2004).
    pub(in crate::sender) fn spared_age(
        &self,
        p: PathId,
        paths: &PathSet,
        config: &AssocConfig,
    ) -> Duration {
        let Some((view, path)) = paths.view(p).zip(paths.get(p)) else { return Duration::ZERO };
        if path.timeouts_in_a_row > 0 {
            return Duration::ZERO;
        }
        let rack = self.paths.get(p.index()).map(|list| &list.recovery.rack);
        if let Some(rack) = rack.filter(|rack| self.recovery.rack && rack.latest().is_some()) {
            return rack.patience(view.srtt, false);
        }
        match config.cmt.t3_marks {
            // An RTO at its upper bound may be shorter than the SRTT: then each expiry would spare everything.
            T3Marks::OlderThanSrtt => view.srtt.unwrap_or(Duration::ZERO).min(view.rto),
            T3Marks::All => Duration::ZERO,
        }
    }

    /// T3-rtx of `p` expired and declared `suspects` lost. `recovering`: fast recovery was under way.
    pub(in crate::sender) fn recovery_timed_out(
        &mut self,
        now: Time,
        p: PathId,
        mut suspects: Vec<u64>,
        recovering: bool,
    ) {
        if !self.recovery.any() {
            return;
        }
        let Some(list) = self.paths.get_mut(p.index()) else { return };
        let highest = list.highest(&self.ring, p);
        let PathRecovery { rack, tail, prr, frto, resent, timeout_exit, undone, .. } =
            &mut list.recovery;
        rack.timer = Time::MAX;
        tail.reset();
        *prr = None;
        *resent = Resent::default();
        // RFC 5682 section 3.1, step 1: not within another recovery, but again and again for the same chunks.
        // Nor after a timeout that was undone and yet nothing of what was in flight then has come: a way that has become shorter
        // than it ever was answers a retransmission too soon, and the same would be said of every timeout to come.
        let watch = !suspects.is_empty()
            && !recovering
            && !core::mem::take(undone)
            && (timeout_exit.is_none() || frto.is_some());
        suspects.sort_unstable();
        *timeout_exit = (*timeout_exit).max(highest);
        if self.recovery.f_rto {
            for &tsn in &suspects {
                // A copy stands in for the retransmission.
                if let Some(chunk) = self.ring.get(tsn).filter(|c| c.path != p) {
                    resent.sent(tsn, chunk.sends);
                }
            }
            *frto = watch.then(|| Box::new(FRto::new(suspects, now)));
        }
    }

    /// After the chunks of a SACK are booked: was the latest timeout of `p` spurious? If so, it is undone. `news`: the SACK
    /// acknowledged something, on whichever path.
    pub(super) fn judge_timeout(
        &mut self,
        now: Time,
        p: PathId,
        paths: &mut PathSet,
        news: bool,
    ) -> bool {
        if self.paths.get(p.index()).is_some_and(|l| l.recovery.resent.were_all_in_vain()) {
            self.undo_timeout(now, p, paths);
            return true;
        }
        let frto = self.paths.get(p.index()).and_then(|l| l.recovery.frto.as_ref());
        let Some(frto) = frto else { return false };
        let too_soon = |(sent, to): (Time, PathId)| {
            self.paths.get(to.index()).is_some_and(|l| l.recovery.rack.is_too_soon(now, sent))
        };
        let early = frto.first_again().is_none_or(too_soon);
        let waiting = frto.suspects().iter().any(|&tsn| self.waits_since_timeout(tsn, p));
        let data_chunks = paths.view(p).map_or(0, |v| v.data_chunks);
        let Some(list) = self.paths.get_mut(p.index()) else { return false };
        let PathRecovery { rack, frto: Some(frto), .. } = &mut list.recovery else { return false };
        // Half of it: the smallest round trip may have been measured with a delayed SACK.
        let late = |began| now.since(began) >= rack.shortest_trip().unwrap_or(Duration::ZERO) / 2;
        let verdict = if !news && frto.told_nothing(data_chunks, late) {
            Verdict::Genuine
        } else {
            frto.conclude(now, early, waiting, data_chunks)
        };
        match verdict {
            Verdict::Open => {}
            Verdict::Genuine => self.forget_timeout(p),
            Verdict::Spurious => self.undo_timeout(now, p, paths),
        }
        verdict == Verdict::Spurious
    }

    fn waits_since_timeout(&self, tsn: u64, p: PathId) -> bool {
        let waits = |c: &TxChunk| c.path == p && c.state == ChunkState::Marked(LossKind::Timeout);
        self.ring.get(tsn).is_some_and(waits)
    }

    fn forget_timeout(&mut self, p: PathId) {
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.recovery.frto = None;
        }
    }

    /// What was declared lost and not sent again yet is in flight after all. RTO keeps its back-off until the next sample:
    /// the path did become slower.
    fn undo_timeout(&mut self, now: Time, p: PathId, paths: &mut PathSet) {
        let frto = self.paths.get_mut(p.index()).and_then(|l| l.recovery.frto.take());
        for &tsn in frto.iter().flat_map(|frto| frto.suspects().iter().rev()) {
            if self.waits_since_timeout(tsn, p) {
                self.unmark(tsn, p, paths);
            }
        }
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.allowance = false;
            list.recovery.timeout_exit = None;
            list.recovery.undone = true;
            list.recovery.resent = Resent::default();
            list.recovery.stats.spurious_timeouts += 1;
        }
        if let Some((view, path)) = paths.both_mut(p).filter(|(view, _)| view.outstanding > 0) {
            path.t3 = now + view.rto;
        }
    }

    fn unmark(&mut self, tsn: u64, p: PathId, paths: &mut PathSet) {
        let Some(chunk) = self.ring.get_mut(tsn) else { return };
        chunk.state = ChunkState::InFlight;
        let (size, bytes, sent) = (chunk.size(), chunk.bytes, chunk.sent);
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.marked.remove(&tsn);
            list.back_in_flight(tsn, sent);
        }
        self.window.sent(bytes);
        if let Some(view) = paths.view_mut(p) {
            view.outstanding += size;
            view.outstanding_payload += u64::from(bytes);
            view.lost_chunks = view.lost_chunks.saturating_sub(1);
        }
    }

    /// F-RTO's second step: retransmissions on their own path wait, new data goes instead.
    pub(crate) fn holds(&self, from: PathId, to: PathId) -> bool {
        let frto = self.paths.get(from.index()).and_then(|l| l.recovery.frto.as_ref());
        from == to && frto.is_some_and(|frto| frto.holds())
    }

    /// Where no new data could be sent, waiting is pointless (RFC 5682 section 3.1, step 2b): gives whether that freed any
    /// retransmissions.
    pub(crate) fn release_holds(&mut self, paths: &PathSet) -> bool {
        if !self.recovery.f_rto {
            return false;
        }
        let mut freed = false;
        for (view, list) in paths.views.iter().zip(&mut self.paths) {
            // Nor does an answer come where nothing is in flight any more: what went out may have been sent again from another path.
            let silent = view.outstanding == 0;
            let stuck =
                |frto: &mut Box<FRto>| frto.is_stuck(view.data_chunks) || silent && frto.holds();
            if list.recovery.frto.as_mut().is_some_and(stuck) {
                list.recovery.frto = None;
                freed |= !list.marked.is_empty();
            }
        }
        freed
    }
}
