//! One path as BBR knows it, and the order in which an acknowledgement changes that.

use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

use super::ack::Ack;
use super::aggregation::{Aggregation, Round};
use super::bandwidth::{FullPipe, MaxBandwidth};
use super::cycle::Cycle;
use super::min_rtt::MinRtt;
use super::recovery::Recovery;
use super::residual::ResidualLoss;
use super::rounds::Rounds;
use super::signals::{LatestRound, ShortTerm, Undo};
use super::state::{BbrState, STARTUP_PACING_GAIN};
use super::trip::MeanTrip;

/// What goes beyond the draft.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beyond {
    /// Losses that come without a queue do not count as congestion.
    pub residual: bool,
    /// A path holds its rate times its mean round trip without a queue, not the smallest one.
    pub mean_trip: bool,
}

/// The state of BBR on one path; the names of the draft stand beside the fields. Rates are DATA
/// chunk bytes per second, volumes DATA chunk bytes.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// BBR.state.
    pub(super) state: BbrState,
    /// C.SMSS: the largest DATA chunk that fits.
    pub(super) smss: u64,
    /// C.InitialCwnd.
    pub(super) initial_cwnd: u64,
    pub(super) rounds: Rounds,
    pub(super) max_bw: MaxBandwidth,
    /// BBR.bw.
    pub(super) bw: f64,
    pub(super) short_term: ShortTerm,
    /// BBR.inflight_longterm; infinite while nothing showed a limit.
    pub(super) inflight_longterm: f64,
    pub(super) min_rtt: MinRtt,
    pub(super) full_pipe: FullPipe,
    /// BBR.drain_start_round.
    pub(super) drain_began: u64,
    pub(super) cycle: Cycle,
    pub(super) latest: LatestRound,
    pub(super) aggregation: Aggregation,
    pub(super) recovery: Recovery,
    pub(super) undo: Undo,
    /// What had been delivered when the window was full the last time.
    pub(super) full_window_delivered: u64,
    /// BBR.idle_restart.
    pub(super) idle_restart: bool,
    /// C.cwnd.
    pub(super) cwnd: u64,
    /// BBR.prior_cwnd.
    pub(super) prior_cwnd: u64,
    /// C.pacing_rate.
    pub(super) pacing_rate: f64,
    /// The mean round trip of an empty path; `None`: the smallest one counts, as in the draft.
    pub(super) mean_trip: Option<MeanTrip>,
    /// What is lost without congestion; `None`: all losses are congestion, as in the draft.
    pub(super) residual: Option<ResidualLoss>,
    /// The part of its group's bandwidth that the path has; 1 while it shares no bottleneck.
    pub(super) part: f64,
    /// Nothing was acknowledged since the path last fell silent.
    is_unheard: bool,
    /// The smallest round trip of the round under way.
    pub(super) round_least_rtt: Option<Duration>,
}

impl Model {
    /// `OnInit`, with a window of `cwnd` bytes.
    pub(super) fn new(now: Time, path: &PathView, cwnd: u64, rng: Rng, beyond: Beyond) -> Self {
        let trip = path.srtt.unwrap_or(Duration::from_millis(1)).as_secs_f64().max(1e-6);
        Self {
            state: BbrState::Startup,
            smss: u64::from(path.pmdcs).max(1),
            initial_cwnd: cwnd,
            rounds: Rounds::default(),
            max_bw: MaxBandwidth::default(),
            bw: 0.0,
            short_term: ShortTerm::default(),
            inflight_longterm: f64::INFINITY,
            min_rtt: MinRtt::new(now, path.srtt),
            full_pipe: FullPipe::default(),
            drain_began: 0,
            cycle: Cycle::new(rng),
            latest: LatestRound::from(now),
            aggregation: Aggregation::new(now),
            recovery: Recovery::default(),
            undo: Undo::default(),
            full_window_delivered: 0,
            idle_restart: false,
            cwnd,
            prior_cwnd: 0,
            pacing_rate: STARTUP_PACING_GAIN * cwnd as f64 / trip,
            mean_trip: beyond.mean_trip.then(MeanTrip::default),
            residual: beyond.residual.then(ResidualLoss::default),
            part: 1.0,
            is_unheard: false,
            round_least_rtt: None,
        }
    }

    /// `UpdateOnACK`, in the draft's order.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>) {
        self.smss = u64::from(ack.path.pmdcs).max(1);
        self.is_unheard = false;
        self.round_least_rtt = self.round_least_rtt.into_iter().chain(ack.rtt).min();
        let (in_fast, prior) = (ack.path.in_recovery, ack.sample.prior_delivered);
        let recovered = self.recovery.update(ack.now, in_fast, prior);
        self.update_latest_signals(ack);
        self.update_congestion_signals(ack);
        self.update_aggregation(ack);
        self.check_full_pipe(ack);
        self.check_startup_done(ack);
        self.check_drain_done(ack);
        self.update_cycle(ack);
        self.min_rtt.update(ack.now, ack.rtt);
        if let Some((trip, rtt)) = self.mean_trip.as_mut().zip(ack.rtt) {
            trip.update(ack.now, rtt, self.rounds.started);
        }
        self.check_probe_rtt(ack);
        self.advance_latest_signals(ack);
        self.bound_bandwidth();
        if recovered {
            self.restore_cwnd();
        }
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(ack);
    }

    fn update_aggregation(&mut self, ack: &Ack<'_>) {
        let when = Round { count: self.rounds.count, was_full: self.full_pipe.reached };
        self.aggregation.update(ack.now, ack.sample.newly_acked, self.bw, self.cwnd, when);
    }

    /// `HandleRestartFromIdle`.
    pub(super) fn on_restart(&mut self, now: Time, delivered: u64) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == BbrState::ProbeRtt {
            self.check_probe_rtt_done(now, delivered);
        }
    }

    /// The path fell silent, and its data goes out on others, as after a timeout. If it does so in
    /// Startup again and again, it lives and went too far: what it delivers is credited to nobody,
    /// so nothing else would tell.
    pub(super) fn on_silent(&mut self, now: Time, path: &PathView) {
        self.on_timeout(now, path);
        let again = core::mem::replace(&mut self.is_unheard, true);
        if again && self.state == BbrState::Startup {
            self.full_pipe.reached = true;
            self.max_bw.halve();
            self.enter_drain();
            self.bound_bandwidth();
            self.set_pacing_rate(self.pacing_gain());
        }
    }

    /// `OnEnterRTO`: one packet may go beside what is in flight, until something of what is sent
    /// from now on is acknowledged.
    pub(super) fn on_timeout(&mut self, now: Time, path: &PathView) {
        self.save_state_upon_loss(now);
        self.recovery.enter_timeout(path.delivered);
        self.cwnd = path.outstanding + self.smss;
    }
}
