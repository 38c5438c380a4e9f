//! Where the cycle of ProbeBW is, and how long until the next probe.

use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};

/// T_bbr: so many seconds, and up to one more.
const WAIT: f64 = 2.0;
/// The slope doubles no more often.
const MOST_DOUBLINGS: u32 = 30;

/// Which acknowledgements come in (BBR.ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Where the cycle is.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    pub(super) rng: Rng,
    /// BBR.cycle_stamp.
    pub(super) began: Time,
    /// BBR.bw_probe_wait.
    pub(super) wait: Duration,
    /// BBR.rounds_since_probe_up.
    pub(super) rounds: u64,
    pub(super) phase: AckPhase,
    /// BBR.is_bw_probe_sample: what is acknowledged may have been sent while accelerating.
    pub(super) is_probe_sample: bool,
    /// BBR.prev_probe_too_high.
    pub(super) prev_probe_too_high: bool,
    /// BBR.prev_probe_precautionary.
    pub(super) prev_probe_precautionary: bool,
    /// BBR.probe_up_acked_per_inc, bytes; `None` while the limit does not grow.
    pub(super) acked_per_increment: Option<f64>,
    /// BBR.bw_probe_up_acked, bytes.
    pub(super) acked: f64,
    /// BBR.bw_probe_up_rounds.
    pub(super) doublings: u32,
}

impl Cycle {
    pub(super) fn new(rng: Rng) -> Self {
        Self {
            rng,
            began: Time::ZERO,
            wait: Duration::ZERO,
            rounds: 0,
            phase: AckPhase::Init,
            is_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            acked_per_increment: None,
            acked: 0.0,
            doublings: 0,
        }
    }

    pub(super) const fn note_round(&mut self, started: bool) {
        self.rounds += started as u64;
    }

    /// What comes in was sent while probing; what is sent from now on is not.
    pub(super) const fn stop_probing(&mut self) {
        self.phase = AckPhase::ProbeStopping;
    }

    /// `PickProbeWait`.
    pub(super) fn pick_wait(&mut self) {
        self.rounds = self.rng.below(2) as u64;
        self.wait = Duration::from_secs_f64(WAIT + self.rng.unit());
    }

    /// `RaiseInflightLongtermSlope`.
    pub(super) fn raise_slope(&mut self, cwnd: u64, smss: u64) {
        let growth = 1_u64 << self.doublings;
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
        self.acked_per_increment = Some((cwnd / growth).max(smss) as f64);
    }
}
