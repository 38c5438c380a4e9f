//! Congestion control: one object for the association, so that it can couple paths.

use core::num::NonZeroU64;

use super::common::Policy;
use crate::ids::PathId;
use crate::time::Duration;
use crate::view::{AssocView, LossKind, LostTransmission, RateSample};

/// The congestion windows of all paths.
///
/// The engine calls [`on_acked`](Self::on_acked) for each path of a SACK, then
/// [`on_lost`](Self::on_lost) for the paths that enter fast recovery by it (increase before
/// decrease, RFC 9260 section 7.2.4), then [`sack_done`](Self::sack_done), and then reads
/// [`cwnd`](Self::cwnd), [`ssthresh`](Self::ssthresh) and [`group_of`](Self::group_of) back into
/// the views.
pub trait CongestionControl: Policy {
    /// `path` joins, or starts anew after a restart of the peer.
    fn path_added(&mut self, view: &AssocView<'_>, path: PathId);

    /// A SACK acknowledged data of a path.
    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo);

    /// A SACK gave a delivery-rate sample of `path`; before [`on_acked`](Self::on_acked).
    fn on_rate_sample(&mut self, _view: &AssocView<'_>, _path: PathId, _sample: &RateSample) {}

    /// Data of `path` was declared lost; what left in one instant comes as one. Before the samples
    /// of the SACK that showed it, and before [`on_lost`](Self::on_lost).
    fn on_transmission_lost(
        &mut self,
        _view: &AssocView<'_>,
        _path: PathId,
        _lost: &LostTransmission,
    ) {
    }

    /// A path lost data: once when it enters fast recovery, once per expiry of T3-rtx.
    fn on_lost(&mut self, view: &AssocView<'_>, ev: &LossInfo);

    /// The timeout that `path` last suffered was spurious (F-RTO, RFC 5682): its data had only been
    /// late. Take back what [`on_lost`](Self::on_lost) did to the windows at the first expiry in a
    /// row.
    fn on_spurious_timeout(&mut self, _view: &AssocView<'_>, _path: PathId) {}

    /// The SACK is processed.
    fn sack_done(&mut self, _view: &AssocView<'_>) {}

    /// `path` sent no data for another RTO (RFC 9260 section 7.2.1).
    fn on_idle(&mut self, _view: &AssocView<'_>, _path: PathId) {}

    /// `path` fell silent although SACKs should have told of its data, which goes out on others
    /// now: it is broken, or far slower than it was thought. What it delivers of that data nobody
    /// will be able to say.
    fn on_silent(&mut self, _view: &AssocView<'_>, _path: PathId) {}

    /// Data goes out on `path`, which has nothing in flight. `is_app_limited`: it rested for want
    /// of data, or since a policy left it idle. Asked of controls that are
    /// [rate-based](Self::is_rate_based).
    fn on_restart(&mut self, _view: &AssocView<'_>, _path: PathId, _is_app_limited: bool) {}

    /// `path` answers again after it was potentially failed: start with `mtus` path MTUs in slow
    /// start (CMT-PF).
    fn on_resumed(&mut self, view: &AssocView<'_>, path: PathId, mtus: u32);

    /// The rate at which packets should leave on `path`, bytes per second, for an engine that
    /// spreads them over the round trip. `None`: no opinion, send when the window lets you.
    fn pacing_rate(&self, _view: &AssocView<'_>, _path: PathId) -> Option<u64> {
        None
    }

    /// Rates send, and windows only bound what is in flight (BBR). Then packets leave at
    /// [`pacing_rate`](Self::pacing_rate), retransmissions too; a path whose time has not come
    /// takes no data, as one whose window is full; and the control itself says what a path in fast
    /// recovery may send, not PRR (RFC 6937).
    fn is_rate_based(&self) -> bool {
        false
    }

    /// What a rate-based control takes `path` to carry, DATA chunk bytes per second; `None` while
    /// it has not found out. Path schedulers see it.
    fn bandwidth(&self, _path: PathId) -> Option<NonZeroU64> {
        None
    }

    /// A rate-based control holds `path` below what it carries, to measure: delivery-rate samples
    /// of what is sent meanwhile count as application-limited.
    fn holds_back(&self, _path: PathId) -> bool {
        false
    }

    /// The state that the control is in on `path`, by its name in the control's specification, for
    /// traces; `None` where it has no such states.
    fn phase(&self, _path: PathId) -> Option<&'static str> {
        None
    }

    /// The group of `path`: the lowest path among those that are taken to share one bottleneck with
    /// it.
    fn group_of(&self, path: PathId) -> PathId {
        path
    }

    /// Congestion window of `path`, bytes.
    fn cwnd(&self, path: PathId) -> u64;

    /// Slow start threshold of `path`, bytes.
    fn ssthresh(&self, path: PathId) -> u64;
}

/// What a SACK acknowledged on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckedInfo {
    /// The path of the latest transmission of these chunks.
    pub path: PathId,
    /// DATA chunk bytes newly acknowledged, by the cum-ack or by gap ack blocks.
    pub bytes: u64,
    /// O_p before this SACK: growth is judged by whether the window was full then.
    pub outstanding_before: u64,
    /// O_p after it.
    pub outstanding: u64,
    /// The window may grow: not in fast recovery, and the cum-ack advanced (without CUC) or the
    /// path's pseudo-cum-ack did.
    pub may_grow: bool,
    /// A round-trip time sample of the path that came with the SACK: with time-based loss detection
    /// that of the latest chunk acknowledged, without it one per round trip.
    pub rtt: Option<Duration>,
    /// The path that the SACK came by: the way back of that round trip.
    pub sack_path: PathId,
}

/// A loss on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossInfo {
    /// The path of the latest transmission of the lost chunks.
    pub path: PathId,
    /// How it was noticed.
    pub kind: LossKind,
}
