//! ProbeRTT: little in flight now and then, to see the round trip without a queue.

use polypath_proto::time::{Duration, Time};

use super::ack::Ack;
use super::model::Model;
use super::state::{BbrState, PROBE_RTT_CWND_GAIN};

/// BBR.ProbeRTTDuration.
const DURATION: Duration = Duration::from_millis(200);

impl Model {
    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack<'_>) {
        if self.state != BbrState::ProbeRtt && self.min_rtt.is_due && !self.idle_restart {
            // In this order: the window may be one that losses cut.
            self.state = BbrState::ProbeRtt;
            self.save_cwnd();
            self.min_rtt.done = None;
            self.cycle.stop_probing();
            self.rounds.begin(ack.path.delivered);
        }
        if self.state == BbrState::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if ack.sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`; samples meanwhile count as application-limited
    /// ([`holds_back`](polypath_proto::policy::CongestionControl::holds_back)).
    fn handle_probe_rtt(&mut self, ack: &Ack<'_>) {
        if self.min_rtt.done.is_none() {
            if ack.path.outstanding <= self.probe_rtt_cwnd() {
                self.min_rtt.done = Some(ack.now + DURATION);
                self.min_rtt.round_done = false;
                self.rounds.begin(ack.path.delivered);
            }
            return;
        }
        self.min_rtt.round_done |= self.rounds.started;
        if self.min_rtt.round_done {
            self.check_probe_rtt_done(ack.now, ack.path.delivered);
        }
    }

    /// `CheckProbeRTTDone`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, delivered: u64) {
        if self.min_rtt.done.is_some_and(|done| now > done) {
            self.min_rtt.probed_at = now;
            self.restore_cwnd();
            self.exit_probe_rtt(now, delivered);
        }
    }

    /// `ExitProbeRTT`: what is in flight is below what the path holds, so DOWN is over at once.
    fn exit_probe_rtt(&mut self, now: Time, delivered: u64) {
        self.short_term.forget();
        if self.full_pipe.reached {
            self.start_down(now, delivered);
            self.state = BbrState::Cruise;
        } else {
            self.state = BbrState::Startup;
        }
    }

    /// `ProbeRTTCwnd`, bytes.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        (self.bdp_multiple(PROBE_RTT_CWND_GAIN) as u64).max(self.least_window())
    }
}
