//! What the model makes of pacing rate and congestion window ("Updating Control Parameters").

use polypath_proto::time::Duration;

use super::ack::Ack;
use super::model::Model;
use super::state::BbrState;

/// BBR.PacingMarginPercent: paced below the bandwidth by so much.
const MARGIN: f64 = 0.01;
/// BBR.MinPipeCwnd, packets.
const LEAST_PACKETS: u64 = 4;
/// BBR.send_quantum at most, bytes: a GSO batch.
const MOST_QUANTUM: f64 = 65_536.0;
/// Quanta that are in flight beside the path's own volume: one waits at each end, one is under way
/// ("TCP Offload Budget").
const QUANTA: f64 = 3.0;

impl Model {
    /// BBR.pacing_gain. Of paths that share a bottleneck each accelerates by its part: together by
    /// as much as one flow of their rate.
    pub(super) const fn pacing_gain(&self) -> f64 {
        let gain = self.state.pacing_gain();
        match self.state {
            BbrState::Up => 1.0 + (gain - 1.0) * self.part,
            _ => gain,
        }
    }

    /// `BoundBWForModel`.
    pub(super) const fn bound_bandwidth(&mut self) {
        self.bw = self.max_bw.get().min(self.short_term.bw);
    }

    /// `SetPacingRateWithGain`: a rate that only limited samples speak for is not lowered.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - MARGIN);
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// BBR.bdp, bytes.
    pub(super) fn bdp(&self) -> f64 {
        self.bdp_at(self.bw)
    }

    fn bdp_at(&self, bw: f64) -> f64 {
        self.trip().map_or(self.initial_cwnd as f64, |rtt| bw * rtt.as_secs_f64())
    }

    /// The round trip without a queue.
    fn trip(&self) -> Option<Duration> {
        let mean = self.mean_trip.and_then(|trip| trip.least());
        mean.max(self.min_rtt.least)
    }

    /// `BDPMultiple`.
    pub(super) fn bdp_multiple(&self, gain: f64) -> f64 {
        match self.min_rtt.least {
            Some(_) => gain * self.bdp(),
            None => self.initial_cwnd as f64,
        }
    }

    /// BBR.MinPipeCwnd, bytes.
    pub(super) const fn least_window(&self) -> u64 {
        LEAST_PACKETS * self.smss
    }

    /// BBR.send_quantum, bytes: a millisecond, as the engine's pacer lets leave together.
    fn send_quantum(&self) -> f64 {
        (self.pacing_rate * 1e-3).min(MOST_QUANTUM).max(2.0 * self.smss as f64)
    }

    /// `QuantizationBudget`.
    fn with_quanta(&self, inflight: f64) -> f64 {
        let least = self.least_window() as f64;
        let cap = inflight.max(QUANTA * self.send_quantum()).max(least);
        if self.state == BbrState::Up { cap + 2.0 * self.smss as f64 } else { cap }
    }

    /// `Inflight`, bytes.
    pub(super) fn inflight(&self, gain: f64) -> u64 {
        self.inflight_at(self.bw, gain)
    }

    /// The same for a given bandwidth, bytes per second.
    pub(super) fn inflight_at(&self, bw: f64, gain: f64) -> u64 {
        let gain = if self.min_rtt.least.is_some() { gain } else { 1.0 };
        self.with_quanta(gain * self.bdp_at(bw)) as u64
    }

    /// `UpdateMaxInflight`.
    fn max_inflight(&self) -> u64 {
        let volume = self.bdp_multiple(self.state.cwnd_gain()) + self.aggregation.extra();
        self.with_quanta(volume) as u64
    }

    /// `SetCwnd`.
    pub(super) fn set_cwnd(&mut self, ack: &Ack<'_>) {
        let (most, newly_acked) = (self.max_inflight(), ack.sample.newly_acked);
        let grown = self.cwnd.saturating_add(newly_acked);
        if self.full_pipe.reached {
            self.cwnd = grown.min(most);
        } else if self.cwnd < most || ack.path.delivered < self.initial_cwnd {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.least_window());
        if self.state == BbrState::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd();
    }

    /// `BoundCwndForModel`.
    fn bound_cwnd(&mut self) {
        let cap = match self.state {
            BbrState::Startup => f64::INFINITY,
            BbrState::ProbeRtt | BbrState::Cruise => self.inflight_with_headroom(),
            _ => self.inflight_longterm,
        };
        let cap = cap.min(self.short_term.inflight).max(self.least_window() as f64);
        if (self.cwnd as f64) > cap {
            self.cwnd = cap as u64;
        }
    }

    /// `SaveCwnd`: the last good window, which neither recovery nor ProbeRTT cut.
    pub(super) fn save_cwnd(&mut self) {
        if !self.recovery.is_on() && self.state != BbrState::ProbeRtt {
            self.prior_cwnd = self.cwnd;
        } else {
            self.prior_cwnd = self.prior_cwnd.max(self.cwnd);
        }
    }

    /// `RestoreCwnd`.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
