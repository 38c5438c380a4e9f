//! Losses found by their times (RFC 8985 section 6.2), and how a path reacts to a loss: fast
//! recovery begins, goes on, ends.

use super::frto::Resent;
use super::loss_recovery::{LossRecovery, PathRecovery};
use super::prr::Prr;
use crate::config::RateReduction;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::outstanding::OutstandingQueue;
use crate::sender::sack_outcome::SackOutcome;
use crate::sender::types::Losses;
use crate::time::{Duration, Time};
use crate::view::LossKind;

impl LossRecovery {
    /// Miss indications are counted: what do times say, and did a probe repair a loss?
    pub(super) fn detect_losses_by_time(
        &mut self,
        now: Time,
        outcome: &mut SackOutcome,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) {
        if !self.config.watches_deliveries() {
            return;
        }
        for p in paths.ids() {
            let newest = outcome.path(p).and_then(|o| o.newest_delivered);
            let Some(own) = self.paths.get_mut(p.index()) else { continue };
            let PathRecovery { rack, tail, stats, .. } = own;
            if let Some(newest) = newest {
                rack.note_delivered(now, newest);
            }
            let repaired =
                tail.take_repaired_loss(rack.latest_delivered(), longest_overtaking(paths, p));
            if repaired {
                stats.get_or_insert_default().tail_losses += 1;
            }
            let mut losses = self.detect_losses_on(now, p, outstanding, paths);
            losses.react |= repaired;
            if let Some(outcome) = outcome.path_mut(p) {
                outcome.lost += losses.lost;
                outcome.entered_recovery |= losses.react;
            }
        }
    }

    /// RFC 8985 section 6.2, step 5: declares lost what was sent before the latest delivery and has
    /// had its time; for the rest, sets the reordering timer.
    fn detect_losses_on(
        &mut self,
        now: Time,
        p: PathId,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) -> Losses {
        let Some(own) = self.paths.get_mut(p.index()).filter(|_| self.config.rack) else {
            return Losses::default();
        };
        own.rack.timer = Time::MAX;
        let Some(latest) = own.rack.latest_delivered() else { return Losses::default() };
        let mut suspicious = core::mem::take(&mut self.tsns);
        suspicious.clear();
        outstanding.list_in_flight_before(p, latest, &mut suspicious);
        let loss_delay = self.loss_delay(p, paths);
        let (mut losses, mut highest, mut again) = (Losses::default(), 0, false);
        for &tsn in &suspicious {
            let Some(chunk) = outstanding.get(tsn) else { continue };
            let Some(sent) = chunk.in_flight_on(p) else { continue };
            if tsn > self.reported_to {
                continue;
            }
            let retransmission = chunk.transmissions > 1 || chunk.path != p;
            let due = sent + loss_delay;
            let after_cut = self.was_sent_after_cut(p, sent);
            if due > now {
                self.wait_for_reordering(p, due);
                continue;
            }
            losses.lost += 1;
            highest = highest.max(tsn);
            again |= retransmission && after_cut;
            self.declare_transmission_lost(p, tsn, retransmission, outstanding, paths);
        }
        self.tsns = suspicious;
        if losses.lost > 0 {
            losses.react = self.enter_fast_recovery(now, p, highest, outstanding, paths)
                || again && self.react_again(now, p);
        }
        losses
    }

    /// How long after a transmission on `p` it counts as lost.
    fn loss_delay(&self, p: PathId, paths: &PathSet) -> Duration {
        let Some(own) = self.paths.get(p.index()) else { return Duration::MAX };
        own.rack.loss_delay(paths.view(p).and_then(|v| v.srtt), own.is_recovering())
    }

    fn was_sent_after_cut(&self, p: PathId, sent: Time) -> bool {
        self.paths.get(p.index()).is_some_and(|own| sent >= own.cut)
    }

    /// The timer runs until all that are within the window would be lost, as RFC 8985 has it: SACKs
    /// may come first.
    fn wait_for_reordering(&mut self, p: PathId, due: Time) {
        if let Some(own) = self.paths.get_mut(p.index()) {
            let timer = &mut own.rack.timer;
            *timer = if *timer == Time::MAX { due } else { due.max(*timer) };
        }
    }

    /// The transmission of a chunk on `p` is lost: that of its own path, or a copy.
    fn declare_transmission_lost(
        &mut self,
        p: PathId,
        tsn: u64,
        retransmission: bool,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) {
        if outstanding.get(tsn).is_some_and(|chunk| chunk.path == p) {
            outstanding.note_fast_retransmit(tsn);
            self.declare_lost(tsn, LossKind::FastRetransmit, outstanding, paths);
        } else {
            outstanding.lose_copy(tsn, p, paths);
        }
        if let Some(own) = self.paths.get_mut(p.index()) {
            let stats = own.stats.get_or_insert_default();
            stats.rack_losses += 1;
            stats.lost_again += u64::from(retransmission);
        }
    }

    /// A retransmission was lost: another reaction, unless PRR paces the recovery (RFC 8985 section
    /// 9.3).
    fn react_again(&mut self, now: Time, p: PathId) -> bool {
        let Some(own) = self.paths.get_mut(p.index()) else { return false };
        let react = own.fast_recovery_exit.is_some() && !self.config.reduces_rate();
        if react {
            own.cut = now;
        }
        react
    }

    /// The reordering timer of `p`: what is to do if it expired.
    pub(crate) fn expire_reordering_timer(
        &mut self,
        now: Time,
        p: PathId,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) -> Losses {
        let expired = |own: &PathRecovery| own.rack.timer <= now;
        if !self.config.rack || !self.paths.get(p.index()).is_some_and(expired) {
            return Losses::default();
        }
        if let Some(view) = paths.view(p) {
            self.note_flight(p, view.outstanding);
        }
        self.detect_losses_on(now, p, outstanding, paths)
    }

    /// Fast recovery per path: until the TSNs in flight now are dealt with, the window is cut only
    /// once. `highest` is the highest TSN just lost. Gives whether fast recovery begins.
    pub(crate) fn enter_fast_recovery(
        &mut self,
        now: Time,
        p: PathId,
        highest: u64,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) -> bool {
        let reduces = self.config.reduces_rate();
        let Some(own) = self.paths.get_mut(p.index()) else { return false };
        // Losses that belong to the timeout that the path is recovering from: no further reaction.
        let of_timeout = own.timeout_exit.is_some_and(|exit| highest <= exit.get());
        if of_timeout || own.fast_recovery_exit.is_some() {
            return false;
        }
        // Copies may have taken over all that was in flight here: with nothing to wait for,
        // recovery is over with the next SACK.
        own.fast_recovery_exit = outstanding.highest_unacked(p).max(Some(highest));
        own.allowance = true;
        own.cut = now;
        own.tail.reset();
        own.resent = Resent::default();
        own.prr = reduces.then(|| Box::new(Prr::new(own.flight)));
        if let Some((view, path)) = paths.both_mut(p) {
            view.in_recovery = true;
            path.stats.fast_recoveries += 1;
        }
        true
    }

    /// Fast recovery ends when no TSN up to the exit point, last sent on the path, is
    /// unacknowledged: by the cum-ack or by the path's pseudo-cum-acks alike.
    pub(super) fn leave_recoveries(
        &mut self,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) {
        for (view, own) in paths.views.iter_mut().zip(&mut self.paths) {
            if !own.is_recovering() {
                continue;
            }
            let lowest = outstanding.lowest_unacked_of_any_class(view.id);
            own.leave_timeout(lowest);
            let over = |exit: u64| lowest.is_none_or(|tsn| tsn > exit);
            if own.fast_recovery_exit.is_some_and(over) {
                own.fast_recovery_exit = None;
                view.in_recovery = false;
                own.prr = None;
                own.rack.note_recovery_end();
            }
        }
    }

    /// A SACK delivered so many bytes of `p`, or a timer found losses: how much may be sent on `p`
    /// now, if PRR governs it. `target` is the window that congestion control wants.
    pub(crate) fn step_rate(&mut self, p: PathId, delivered: u64, target: u64, paths: &PathSet) {
        let (bound, view) = (self.config.rate_reduction, paths.view(p));
        let prr = self.paths.get_mut(p.index()).and_then(|own| own.prr.as_mut());
        if let Some((prr, view)) = prr.zip(view) {
            prr.update_budget(bound, delivered, view.outstanding, target, u64::from(view.pmdcs));
        }
    }

    /// The window of `p` while PRR governs it.
    #[inline]
    pub(crate) fn window(&self, p: PathId, outstanding: u64) -> Option<u64> {
        if self.config.rate_reduction == RateReduction::Off {
            return None;
        }
        self.paths.get(p.index())?.prr.as_ref()?.window(outstanding)
    }
}

impl PathRecovery {
    /// Losses are not all repaired: of a fast recovery, or of a timeout.
    pub(super) const fn is_recovering(&self) -> bool {
        self.fast_recovery_exit.is_some() || self.timeout_exit.is_some()
    }

    /// Recovery from a timeout is over once `lowest`, the lowest unacknowledged TSN, is above what
    /// was in flight then.
    fn leave_timeout(&mut self, lowest: Option<u64>) {
        let Some(exit) = self.timeout_exit else { return };
        if lowest.is_none_or(|tsn| tsn > exit.get()) {
            self.timeout_exit = None;
            self.rack.note_recovery_end();
        }
    }
}

/// By how much a SACK of what came by `p` may be overtaken by later ones, which come back by
/// another path: what its round trip may be.
fn longest_overtaking(paths: &PathSet, p: PathId) -> Duration {
    let Some(view) = paths.view(p).filter(|_| paths.len() > 1) else { return Duration::ZERO };
    view.srtt.unwrap_or_default() + 4 * view.rttvar
}
