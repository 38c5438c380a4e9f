//! `bbr`: rates and volumes by a model of the path (BBRv3, draft-ietf-ccwg-bbr), on each path by
//! itself.
//!
//! The model has two halves: how fast the path delivers (the greatest of its delivery-rate samples)
//! and how long its round trip is without a queue (the smallest). Packets leave at the first; the
//! product of both, twice, bounds what is in flight. To notice changes a path accelerates now and
//! then, in search of more, and holds back now and then, to see its round trip. Losses bound the
//! volume for long if they come while it accelerates, and rate and volume for a cycle if not.
//!
//! | file | of the draft |
//! |---|---|
//! | `model` | `OnInit`, `UpdateOnACK`, restart from idle |
//! | `state` | gains of each state |
//! | `startup` | Startup, Drain |
//! | `probe_bw`, `cycle` | DOWN, CRUISE, REFILL, UP; the long-term inflight limit |
//! | `probe_rtt`, `min_rtt` | ProbeRTT, the smallest round trip |
//! | `bandwidth`, `rounds`, `aggregation` | their estimators |
//! | `loss`, `signals`, `recovery` | responses to loss |
//! | `control` | pacing rate and window |
//! | `residual`, `lost_anyway` | not of the draft: losses without congestion |
//! | `trip` | not of the draft: round trips that scatter |
//!
//! Where SCTP differs: DATA chunk bytes are counted. C.SMSS is the largest chunk that fits. A loss
//! is reported by path and transmission, also when the data is sent again on another path. Ranges
//! lost are transmissions lost. The inflight limit bounds Drain, too, as the draft's table has it
//! and its pseudocode has not. State to go back to after spurious losses is saved once for all that
//! is found lost at one time. What was lost before a transmission never makes the part of it that
//! fitted negative (`InflightAtLoss`), as in Linux.

mod ack;
mod aggregation;
mod bandwidth;
mod control;
mod cycle;
mod loss;
mod lost_anyway;
mod min_rtt;
mod model;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod residual;
mod rounds;
mod signals;
mod startup;
mod state;
#[cfg(test)]
mod tests;
mod trip;
mod windowed_max;

use core::num::NonZeroU64;

use polypath_proto::PathId;
use polypath_proto::config::CcConfig;
use polypath_proto::policy::{AckedInfo, CongestionControl, LossInfo, Policy};
use polypath_proto::rng::Rng;
use polypath_proto::view::{AssocView, LossKind, LostTransmission, PathView, RateSample};

use self::ack::Ack;
use self::model::Model;
use super::coupling_mode;
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub use model::Beyond;
pub use state::BbrState;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("bbr", read_options)
    .summary("BBRv3 on each path by itself: rate and volume by a model of the path, not by losses")
    .source("draft-ietf-ccwg-bbr")
    .options(&[
        OptionEntry {
            name: "residual",
            default: "off",
            values: "off|on",
            summary: "losses that come without a queue, as on radio, do not slow it down",
        },
        OptionEntry {
            name: "trip",
            default: "least",
            values: "least|mean",
            summary: "the round trip without a queue: the smallest, or the mean where they scatter",
        },
        coupling_mode::NEVER,
    ]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    let residual = options.choice("residual", &[("off", false), ("on", true)])?;
    let mean_trip = options.choice("trip", &[("least", false), ("mean", true)])?;
    let beyond = Beyond { residual, mean_trip };
    let couple = coupling_mode::read_mode(options)?;
    Ok(Box::new(move |config, rng| {
        coupling_mode::with_groups(couple, Bbr::new(config.clone(), rng.fork(), beyond))
    }))
}

/// BBRv3 on each path by itself.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: CcConfig,
    rng: Rng,
    beyond: Beyond,
    paths: Vec<Option<Box<OnPath>>>,
}

/// What is known of one path.
#[derive(Clone, Debug)]
struct OnPath {
    model: Model,
    /// The sample of the SACK at hand.
    sample: Option<RateSample>,
    /// The window of the peer when the path began: until the pipe is full, no smaller threshold is
    /// known.
    ssthresh: u64,
}

impl Bbr {
    /// No path yet.
    pub const fn new(config: CcConfig, rng: Rng, beyond: Beyond) -> Self {
        Self { config, rng, beyond, paths: Vec::new() }
    }

    /// The state of `path`.
    pub fn state(&self, path: PathId) -> Option<BbrState> {
        self.on(path).map(|own| own.model.state)
    }

    fn on(&self, path: PathId) -> Option<&OnPath> {
        self.paths.get(path.index())?.as_deref()
    }

    fn on_mut(&mut self, path: PathId) -> Option<&mut OnPath> {
        self.paths.get_mut(path.index())?.as_deref_mut()
    }

    /// The part of the bandwidth of its group (paths that share one bottleneck) that `path` has.
    fn part_of_group(&self, view: &AssocView<'_>, path: &PathView) -> f64 {
        let bandwidth = |path: &PathView| self.on(path.id).map_or(0.0, |own| own.model.bw);
        let group = view.paths.iter().filter(|other| other.group == path.group && other.usable);
        let total: f64 = group.map(bandwidth).sum();
        let own = bandwidth(path);
        if own > 0.0 && total > own { own / total } else { 1.0 }
    }

    fn start(&mut self, view: &AssocView<'_>, path: &PathView, cwnd: u64) {
        let model = Model::new(view.now, path, cwnd, self.rng.fork(), self.beyond);
        let (index, ssthresh) = (path.id.index(), view.peer_rwnd_max);
        if self.paths.len() <= index {
            self.paths.resize(index + 1, None);
        }
        if let Some(own) = self.paths.get_mut(index) {
            *own = Some(Box::new(OnPath { model, sample: None, ssthresh }));
        }
    }
}

impl Policy for Bbr {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl CongestionControl for Bbr {
    fn path_added(&mut self, view: &AssocView<'_>, path: PathId) {
        let Some(path) = view.path(path) else { return };
        self.start(view, path, self.config.initial_window(path));
    }

    fn on_rate_sample(&mut self, _view: &AssocView<'_>, path: PathId, sample: &RateSample) {
        if let Some(own) = self.on_mut(path) {
            own.sample = Some(*sample);
        }
    }

    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        let Some(path) = view.path(ev.path) else { return };
        let part = self.part_of_group(view, path);
        let Some(own) = self.on_mut(ev.path) else { return };
        own.model.part = part;
        let Some(sample) = own.sample.take() else { return };
        let rate = sample.bytes_per_second().unwrap_or(0.0);
        let is_full = ev.outstanding_before + own.model.smss > own.model.cwnd;
        let is_cwnd_limited = own.model.note_window(is_full, path.delivered, &sample);
        let rtt = ev.rtt;
        let ack = Ack { now: view.now, path, sample: &sample, rate, rtt, is_cwnd_limited };
        own.model.on_ack(&ack);
    }

    fn on_transmission_lost(
        &mut self,
        view: &AssocView<'_>,
        path: PathId,
        lost: &LostTransmission,
    ) {
        let delivered = view.path(path).map_or(0, |path| path.delivered);
        if let Some(own) = self.on_mut(path) {
            own.model.on_transmission_lost(view.now, delivered, lost);
        }
    }

    /// Losses were told one by one; what is new is that recovery begins.
    fn on_lost(&mut self, view: &AssocView<'_>, ev: &LossInfo) {
        let Some(path) = view.path(ev.path) else { return };
        let Some(own) = self.on_mut(ev.path) else { return };
        match ev.kind {
            LossKind::FastRetransmit => own.model.recovery.enter_fast(view.now),
            LossKind::Timeout => own.model.on_timeout(view.now, path),
        }
    }

    fn on_spurious_timeout(&mut self, view: &AssocView<'_>, path: PathId) {
        let delivered = view.path(path).map_or(0, |path| path.delivered);
        if let Some(own) = self.on_mut(path) {
            own.model.on_spurious_loss(delivered);
        }
    }

    fn on_silent(&mut self, view: &AssocView<'_>, path: PathId) {
        let Some(path) = view.path(path) else { return };
        if let Some(own) = self.on_mut(path.id) {
            own.model.on_silent(view.now, path);
        }
    }

    fn on_restart(&mut self, view: &AssocView<'_>, path: PathId, is_app_limited: bool) {
        let delivered = view.path(path).map_or(0, |path| path.delivered);
        if let Some(own) = self.on_mut(path).filter(|_| is_app_limited) {
            own.model.on_restart(view.now, delivered);
        }
    }

    /// The path may be another one by now: what was known of it is forgotten.
    fn on_resumed(&mut self, view: &AssocView<'_>, path: PathId, mtus: u32) {
        let Some(path) = view.path(path) else { return };
        self.start(view, path, u64::from(mtus) * self.config.mtu(path));
    }

    fn pacing_rate(&self, _view: &AssocView<'_>, path: PathId) -> Option<u64> {
        Some(self.on(path)?.model.pacing_rate as u64)
    }

    fn is_rate_based(&self) -> bool {
        true
    }

    fn bandwidth(&self, path: PathId) -> Option<NonZeroU64> {
        let model = &self.on(path)?.model;
        NonZeroU64::new(model.bw as u64).filter(|_| model.full_pipe.reached)
    }

    fn holds_back(&self, path: PathId) -> bool {
        self.state(path) == Some(BbrState::ProbeRtt)
    }

    fn phase(&self, path: PathId) -> Option<&'static str> {
        self.state(path).map(BbrState::name)
    }

    fn cwnd(&self, path: PathId) -> u64 {
        self.on(path).map_or(0, |own| own.model.cwnd)
    }

    /// Until the pipe was full the path is in slow start, as far as others are concerned.
    fn ssthresh(&self, path: PathId) -> u64 {
        self.on(path).map_or(0, |own| {
            let was_full = own.model.full_pipe.reached;
            if was_full { own.model.cwnd.min(own.ssthresh) } else { own.ssthresh }
        })
    }
}
