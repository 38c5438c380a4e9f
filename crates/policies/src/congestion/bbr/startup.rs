//! Startup and Drain.

use super::ack::Ack;
use super::model::Model;
use super::state::BbrState;

/// BBRStartupFullLossCnt: ranges lost in a round that end Startup.
const LOST_RANGES: u32 = 6;
/// Rounds after which Drain ends, whatever is in flight.
const DRAIN_ROUNDS: u64 = 3;

impl Model {
    /// `CheckFullBWReached`.
    pub(super) fn check_full_pipe(&mut self, ack: &Ack<'_>) {
        if self.rounds.started && !ack.sample.is_app_limited {
            self.full_pipe.round_started(ack.rate);
        }
    }

    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, ack: &Ack<'_>) {
        self.check_startup_high_loss(ack);
        if self.state == BbrState::Startup && self.full_pipe.reached {
            self.enter_drain();
        }
    }

    /// `EnterDrain`.
    pub(super) const fn enter_drain(&mut self) {
        self.state = BbrState::Drain;
        self.drain_began = self.rounds.count;
    }

    /// `CheckStartupHighLoss`: in recovery for a whole round, in which more than the threshold was
    /// lost, here and there.
    fn check_startup_high_loss(&mut self, ack: &Ack<'_>) {
        let whole_round = self.latest.round_started && self.recovery.lasts_since(&self.latest);
        if self.state != BbrState::Startup || self.full_pipe.reached || !whole_round {
            return;
        }
        let (lost, in_flight) = (ack.sample.lost, ack.sample.sent_in_flight);
        if self.latest.lost_ranges_before >= LOST_RANGES && self.is_too_much(lost, in_flight) {
            self.undo.state = Some(BbrState::Startup);
            self.full_pipe.reached = true;
            self.inflight_longterm = self.bdp().max(self.latest.inflight_before);
        }
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, ack: &Ack<'_>) {
        let is_over = ack.path.outstanding <= self.inflight(1.0)
            || self.rounds.count > self.drain_began + DRAIN_ROUNDS;
        if self.state == BbrState::Drain && is_over {
            self.start_down(ack.now, ack.path.delivered);
        }
    }
}
