//! Detecting losses by their times, and how a path reacts to a loss: recovery begins, goes on, ends.

use super::{PathRecovery, Prr, Resent};
use crate::config::RateReduction;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::{Sender, TxPath};
use crate::time::{Duration, Time};
use crate::view::LossKind;

/// Chunks of one path that were declared lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// How many.
    pub(crate) lost: u32,
    /// Congestion control must react: recovery begins, or a retransmission was lost.
    pub(crate) react: bool,
}

impl Sender {
    /// RFC 8985 section 6.2, step 5: declares lost what was sent before the latest delivery and has had its time; for the
    /// rest, sets the reordering timer.
    pub(super) fn detect_losses(&mut self, now: Time, p: PathId, paths: &mut PathSet) -> Losses {
        let Some(list) = self.paths.get_mut(p.index()).filter(|_| self.recovery.rack) else {
            return Losses::default();
        };
        list.recovery.rack.timer = Time::MAX;
        let Some(latest) = list.recovery.rack.latest() else { return Losses::default() };
        let mut suspicious = core::mem::take(&mut self.suspicious);
        suspicious.clear();
        list.in_flight_before(&self.ring, p, latest, &mut suspicious);
        let patience = self.patience(p, paths);
        let (mut losses, mut highest, mut again) = (Losses::default(), 0, false);
        for &tsn in &suspicious {
            let Some(chunk) = self.ring.get(tsn) else { continue };
            let Some(sent) = chunk.in_flight_on(p) else { continue };
            let (due, retransmission) = (sent + patience, chunk.sends > 1 || chunk.path != p);
            let after_cut = self.sent_after_cut(p, sent);
            if due > now {
                self.wait_for_reordering(p, due);
                continue;
            }
            losses.lost += 1;
            highest = highest.max(tsn);
            again |= retransmission && after_cut;
            self.lose(p, tsn, retransmission, paths);
        }
        self.suspicious = suspicious;
        if losses.lost > 0 {
            losses.react =
                self.enter_recovery(now, p, highest, paths) || again && self.react_again(now, p);
        }
        losses
    }

    fn patience(&self, p: PathId, paths: &PathSet) -> Duration {
        let Some(list) = self.paths.get(p.index()) else { return Duration::MAX };
        let recovering = list.recovery_exit.is_some() || list.recovery.timeout_exit.is_some();
        list.recovery.rack.patience(paths.view(p).and_then(|v| v.srtt), recovering)
    }

    fn sent_after_cut(&self, p: PathId, sent: Time) -> bool {
        self.paths.get(p.index()).is_some_and(|l| sent >= l.recovery.cut)
    }

    /// The timer runs until all that are within the window would be lost, as RFC 8985 has it: SACKs may come first.
    fn wait_for_reordering(&mut self, p: PathId, due: Time) {
        if let Some(list) = self.paths.get_mut(p.index()) {
            let timer = &mut list.recovery.rack.timer;
            *timer = if *timer == Time::MAX { due } else { due.max(*timer) };
        }
    }

    fn lose(&mut self, p: PathId, tsn: u64, retransmission: bool, paths: &mut PathSet) {
        match self.ring.get_mut(tsn) {
            Some(chunk) if chunk.path == p => {
                chunk.fast_retransmitted = true;
                self.mark(tsn, LossKind::FastRetransmit, paths);
            }
            _ => self.lose_copy(tsn, p, paths),
        }
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.recovery.stats.rack_losses += 1;
            list.recovery.stats.lost_again += u64::from(retransmission);
        }
    }

    /// A retransmission was lost: another reaction, unless PRR paces the recovery (RFC 8985 section 9.3).
    fn react_again(&mut self, now: Time, p: PathId) -> bool {
        let Some(list) = self.paths.get_mut(p.index()) else { return false };
        let react = list.recovery_exit.is_some() && !self.recovery.reduces_rate();
        if react {
            list.recovery.cut = now;
        }
        react
    }

    /// The reordering timer of `p`: what is to do if it expired.
    pub(crate) fn reordering_timeout(
        &mut self,
        now: Time,
        p: PathId,
        paths: &mut PathSet,
    ) -> Losses {
        let expired = |list: &TxPath| list.recovery.rack.timer <= now;
        if !self.recovery.rack || !self.paths.get(p.index()).is_some_and(expired) {
            return Losses::default();
        }
        if let Some((list, view)) = self.paths.get_mut(p.index()).zip(paths.view(p)) {
            list.recovery.note_flight(view.outstanding);
        }
        self.detect_losses(now, p, paths)
    }

    /// Fast recovery begins on `p`.
    pub(in crate::sender) fn recovery_begins(&mut self, now: Time, p: PathId) {
        let reduces = self.recovery.reduces_rate();
        let Some(list) = self.paths.get_mut(p.index()) else { return };
        list.recovery.cut = now;
        list.recovery.tail.reset();
        list.recovery.resent = Resent::default();
        list.recovery.prr = reduces.then(|| Box::new(Prr::new(list.recovery.flight)));
    }

    /// Whether miss indications say nothing on `p`: it reorders, so time alone decides (RFC 8985 section 6.2, step 4).
    pub(in crate::sender) fn ignores_misses(&self, p: PathId) -> bool {
        let reorders = |l: &TxPath| l.recovery.rack.reordering_seen();
        self.recovery.rack && self.paths.get(p.index()).is_some_and(reorders)
    }

    /// Whether losses up to `highest` belong to the timeout that the path is recovering from: no reaction beyond that.
    pub(in crate::sender) fn belongs_to_timeout(&self, p: PathId, highest: u64) -> bool {
        let exit = self.paths.get(p.index()).and_then(|l| l.recovery.timeout_exit);
        exit.is_some_and(|exit| highest <= exit)
    }

    /// A SACK delivered so many bytes of `p`, or a timer found losses: how much may be sent on `p` now, if PRR governs it.
    /// `target` is the window that congestion control wants.
    pub(crate) fn step_rate(&mut self, p: PathId, delivered: u64, target: u64, paths: &PathSet) {
        let (bound, view) = (self.recovery.rate_reduction, paths.view(p));
        let prr = self.paths.get_mut(p.index()).and_then(|l| l.recovery.prr.as_mut());
        if let Some((prr, view)) = prr.zip(view) {
            prr.step(bound, delivered, view.outstanding, target, u64::from(view.pmdcs));
        }
    }

    /// The window of `p` while PRR governs it.
    #[inline]
    pub(crate) fn recovery_window(&self, p: PathId, outstanding: u64) -> Option<u64> {
        if self.recovery.rate_reduction == RateReduction::Off {
            return None;
        }
        self.paths.get(p.index())?.recovery.prr.as_ref()?.window(outstanding)
    }
}

impl PathRecovery {
    /// Before a SACK or the reordering timer changes anything: PRR wants to know what was in flight.
    pub(in crate::sender) const fn note_flight(&mut self, outstanding: u64) {
        self.flight = outstanding;
    }

    /// A timeout's losses are not all repaired.
    pub(in crate::sender) const fn is_after_timeout(&self) -> bool {
        self.timeout_exit.is_some()
    }

    /// Fast recovery is over.
    pub(in crate::sender) fn left(&mut self) {
        self.prr = None;
        self.rack.recovered();
    }

    /// Recovery from a timeout is over once `lowest`, the lowest unacknowledged TSN, is above what was in flight then.
    pub(in crate::sender) fn leave_timeout(&mut self, lowest: Option<u64>) {
        let Some(exit) = self.timeout_exit else { return };
        if lowest.is_none_or(|tsn| tsn > exit) {
            self.timeout_exit = None;
            self.rack.recovered();
        }
    }
}
