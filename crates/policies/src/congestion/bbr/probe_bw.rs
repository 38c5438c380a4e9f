//! The cycle of ProbeBW: DOWN, CRUISE, REFILL, UP.

use polypath_proto::time::Time;
use polypath_proto::view::RateSample;

use super::ack::Ack;
use super::cycle::AckPhase;
use super::model::Model;
use super::state::BbrState;

/// BBR.Headroom: the part of the inflight limit that is left to others.
const HEADROOM: f64 = 0.15;
/// T_reno_bound: rounds after which bandwidth is probed at the latest.
const MOST_ROUNDS: u64 = 63;

impl Model {
    /// `StartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, now: Time, delivered: u64) {
        self.reset_congestion_signals();
        self.cycle.acked_per_increment = None;
        self.cycle.pick_wait();
        self.cycle.began = now;
        self.cycle.stop_probing();
        self.rounds.begin(delivered);
        self.state = BbrState::Down;
    }

    /// `StartProbeBW_REFILL`.
    pub(super) const fn start_refill(&mut self, delivered: u64) {
        self.short_term.forget();
        self.cycle.doublings = 0;
        self.cycle.acked = 0.0;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.phase = AckPhase::Refilling;
        self.rounds.begin(delivered);
        self.state = BbrState::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, ack: &Ack<'_>) {
        self.cycle.phase = AckPhase::ProbeStarting;
        self.rounds.begin(ack.path.delivered);
        self.full_pipe.restart(ack.rate);
        self.state = BbrState::Up;
        self.cycle.raise_slope(self.cwnd, self.smss);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, ack: &Ack<'_>) {
        if !self.full_pipe.reached || self.adapt_long_term_model(ack) {
            return;
        }
        let state = self.state;
        match state {
            BbrState::Down | BbrState::Cruise if self.is_time_to_probe(ack.now) => {
                self.start_refill(ack.path.delivered);
            }
            BbrState::Down if self.is_time_to_cruise(ack) => self.state = BbrState::Cruise,
            BbrState::Refill if self.rounds.started => {
                self.cycle.is_probe_sample = true;
                self.start_up(ack);
            }
            BbrState::Up if self.is_time_to_go_down(ack) => {
                self.cycle.prev_probe_too_high = false;
                self.start_down(ack.now, ack.path.delivered);
            }
            _ => {}
        }
    }

    /// Whether the window was full in the last round trip: when what is acknowledged left, or since
    /// then. `is_full`: it was right before this acknowledgement.
    pub(super) const fn note_window(
        &mut self,
        is_full: bool,
        delivered: u64,
        sample: &RateSample,
    ) -> bool {
        let was_full = sample.prior_delivered < self.full_window_delivered;
        if is_full {
            self.full_window_delivered = delivered;
        }
        is_full || was_full
    }

    /// `IsTimeToProbeBW`: the sooner one of the clock of BBR and of that of a Reno flow of the same
    /// window.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno = (self.target_inflight() / self.smss as f64) as u64;
        now > self.cycle.began + self.cycle.wait || self.cycle.rounds >= reno.min(MOST_ROUNDS)
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, ack: &Ack<'_>) -> bool {
        let in_flight = ack.path.outstanding;
        in_flight as f64 <= self.inflight_with_headroom()
            && in_flight <= self.inflight_at(self.max_bw.get(), 1.0)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, ack: &Ack<'_>) -> bool {
        let limit = self.inflight_longterm;
        if self.cycle.prev_probe_too_high && ack.path.outstanding as f64 >= limit {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if ack.is_cwnd_limited && self.cwnd as f64 >= limit {
            // The bandwidth is limited by the inflight limit.
            self.full_pipe.restart(ack.rate);
            return false;
        }
        self.full_pipe.now
    }

    /// `InflightWithHeadroom`, bytes.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let limit = self.inflight_longterm;
        if limit.is_infinite() {
            return limit;
        }
        let headroom = (HEADROOM * limit).max(self.smss as f64);
        (limit - headroom).max(self.least_window() as f64)
    }

    /// `TargetInflight`, bytes: what the path holds, unless congestion cut the window.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp().min(self.cwnd as f64)
    }

    /// `AdaptLongTermModel`: gives whether it decided on a state.
    fn adapt_long_term_model(&mut self, ack: &Ack<'_>) -> bool {
        let started = self.rounds.started;
        if self.cycle.phase == AckPhase::ProbeStarting && started {
            self.cycle.phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.phase == AckPhase::ProbeStopping && started && self.probe_ended(ack) {
            return true;
        }
        if !self.is_too_much(ack.sample.lost, ack.sample.sent_in_flight)
            && self.inflight_longterm.is_finite()
        {
            let sent = ack.sample.sent_in_flight as f64;
            self.inflight_longterm = self.inflight_longterm.max(sent);
            if self.state == BbrState::Up {
                self.probe_inflight_upward(ack);
            }
        }
        false
    }

    /// All that was sent while probing is answered. Gives whether it probes again at once: the
    /// limit that an earlier probe had found to be too high was not, this time.
    fn probe_ended(&mut self, ack: &Ack<'_>) -> bool {
        self.cycle.is_probe_sample = false;
        self.cycle.phase = AckPhase::Init;
        if !self.state.is_probe_bw() {
            return false;
        }
        if !ack.sample.is_app_limited {
            self.max_bw.advance();
        }
        let again = self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high;
        if again {
            self.start_refill(ack.path.delivered);
        }
        again
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_inflight_upward(&mut self, ack: &Ack<'_>) {
        if !ack.is_cwnd_limited || (self.cwnd as f64) < self.inflight_longterm {
            return;
        }
        let Some(per_increment) = self.cycle.acked_per_increment else { return };
        self.cycle.acked += ack.sample.newly_acked as f64;
        if self.cycle.acked >= per_increment {
            let steps = (self.cycle.acked / per_increment).floor();
            self.cycle.acked -= steps * per_increment;
            self.inflight_longterm += steps * self.smss as f64;
        }
        if self.rounds.started {
            self.cycle.raise_slope(self.cwnd, self.smss);
        }
    }
}
