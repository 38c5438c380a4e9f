//! What losses do to the model ("Updating the Model Upon Packet Loss").

use polypath_proto::time::Time;
use polypath_proto::view::LostTransmission;

use super::ack::Ack;
use super::model::Model;
use super::signals::Undo;
use super::state::BbrState;

/// BBR.LossThresh.
pub(super) const LOSS_THRESHOLD: f64 = 0.02;
/// BBR.Beta: what is left, at least, of a bound after a round with losses.
pub(super) const BETA: f64 = 0.7;

impl Model {
    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest_signals(&mut self, ack: &Ack<'_>) {
        let latest = &mut self.latest;
        latest.round_started = false;
        latest.bw = latest.bw.max(ack.rate);
        latest.inflight = latest.inflight.max(ack.sample.delivered as f64);
        latest.acked += ack.sample.newly_acked;
        if ack.sample.prior_delivered >= latest.delivered {
            latest.delivered = ack.path.delivered;
            latest.round_started = true;
            latest.inflight_before = latest.inflight;
            latest.lost_ranges_before = core::mem::take(&mut latest.lost_ranges);
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) const fn advance_latest_signals(&mut self, ack: &Ack<'_>) {
        if self.latest.round_started {
            self.latest.bw = ack.rate;
            self.latest.inflight = ack.sample.delivered as f64;
            (self.latest.lost, self.latest.acked) = (0, 0);
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) const fn reset_congestion_signals(&mut self) {
        self.latest.has_loss = false;
        (self.latest.bw, self.latest.inflight) = (0.0, 0.0);
    }

    /// `UpdateCongestionSignals`, beside `UpdateMaxBw`.
    pub(super) fn update_congestion_signals(&mut self, ack: &Ack<'_>) {
        self.rounds.update(ack.sample.prior_delivered, ack.path.delivered);
        self.cycle.note_round(self.rounds.started);
        if ack.rate > 0.0 {
            self.max_bw.update(ack.rate, ack.sample.is_app_limited);
        }
        if !self.latest.round_started {
            return;
        }
        self.residual_round_ended(ack);
        if !self.state.is_accelerating() && self.latest.has_loss && !self.is_round_excused() {
            self.lower_bounds();
        }
        self.latest.has_loss = false;
    }

    /// `InitLowerBounds` and `LossLowerBounds`: towards what was delivered in the latest round.
    fn lower_bounds(&mut self) {
        let short = &mut self.short_term;
        if short.bw.is_infinite() {
            short.bw = self.max_bw.get();
        }
        if short.inflight.is_infinite() {
            short.inflight = self.cwnd as f64;
        }
        short.bw = self.latest.bw.max(BETA * short.bw);
        short.inflight = self.latest.inflight.max(BETA * short.inflight);
    }

    /// `IsInflightTooHigh`: so much was lost of what was in flight.
    pub(super) fn is_too_much(&self, lost: u64, in_flight: u64) -> bool {
        lost as f64 > in_flight as f64 * LOSS_THRESHOLD + self.expected_loss(in_flight)
    }

    /// `NoteLoss`: the round that counts begins with its first loss.
    fn note_loss(&mut self, now: Time, delivered: u64) {
        if !self.latest.has_loss {
            self.latest.delivered = delivered;
            self.latest.began = now;
            self.save_state_upon_loss(now);
        }
        self.latest.has_loss = true;
    }

    /// `HandleLostPacket`.
    pub(super) fn on_transmission_lost(
        &mut self,
        now: Time,
        delivered: u64,
        lost: &LostTransmission,
    ) {
        self.note_loss(now, delivered);
        self.latest.lost += lost.bytes;
        self.latest.lost_ranges = self.latest.lost_ranges.saturating_add(1);
        if self.cycle.is_probe_sample && self.is_too_much(lost.lost, lost.sent_in_flight) {
            let safe = self.inflight_at_loss(lost);
            self.on_inflight_too_high(now, delivered, safe, lost.is_app_limited);
        }
    }

    /// `InflightAtLoss`: at what volume losses passed the threshold. What left in one instant may
    /// be many packets, of which the first fitted.
    fn inflight_at_loss(&self, lost: &LostTransmission) -> f64 {
        let before = lost.sent_in_flight.saturating_sub(lost.bytes);
        let lost_before = lost.lost.saturating_sub(lost.bytes);
        let expected = LOSS_THRESHOLD * before as f64 + self.expected_loss(before);
        let prefix = (expected - lost_before as f64).max(0.0) / (1.0 - LOSS_THRESHOLD);
        before as f64 + prefix.min(lost.bytes as f64)
    }

    /// `HandleInflightTooHigh`: once for each probe.
    fn on_inflight_too_high(&mut self, now: Time, delivered: u64, safe: f64, app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_probe_sample = false;
        if !app_limited {
            self.inflight_longterm = safe.max(self.target_inflight() * BETA);
        }
        if self.state == BbrState::Up {
            (self.undo.state, self.undo.saved) = (Some(BbrState::Up), now);
            self.start_down(now, delivered);
        }
    }

    /// `SaveStateUponLoss`: once for all that is found lost at one time. After the first loss that
    /// ends UP, a timeout's others would find nothing to go back to.
    pub(super) fn save_state_upon_loss(&mut self, now: Time) {
        self.save_cwnd();
        if self.undo.saved == now {
            return;
        }
        self.undo = Undo {
            state: None,
            saved: now,
            short_term: self.short_term,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn on_spurious_loss(&mut self, delivered: u64) {
        self.restore_cwnd();
        self.latest.has_loss = false;
        self.full_pipe.restart(0.0);
        let short = &mut self.short_term;
        short.bw = short.bw.max(self.undo.short_term.bw);
        short.inflight = short.inflight.max(self.undo.short_term.inflight);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(BbrState::Startup) if self.state != BbrState::Startup => {
                self.full_pipe.reached = false;
                if self.state != BbrState::ProbeRtt {
                    self.state = BbrState::Startup;
                }
            }
            Some(BbrState::Up) if !matches!(self.state, BbrState::Up | BbrState::ProbeRtt) => {
                self.start_refill(delivered);
            }
            _ => {}
        }
    }
}
