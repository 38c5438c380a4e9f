//! Metrics about throughput bounds: what paths and buffers admit, and what was reached of it.

use super::metric::{Metric, Of, metric};
use super::unit::Unit;
use crate::limit::{FlowShares, Share};

/// The throughput bounds of a flow, and what was reached of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowBounds {
    /// Of data whose order does not matter.
    free: Share,
    /// Of one ordered stream.
    ordered: Share,
    /// Of the best path alone.
    best_path: Share,
}

impl FlowBounds {
    /// `None`: the flow has none.
    pub(super) fn of(shares: &FlowShares) -> Option<Self> {
        let FlowShares::Limited { free, ordered, best_path, .. } = shares else { return None };
        Some(Self { free: *free, ordered: *ordered, best_path: *best_path })
    }
}

pub(super) static METRICS: &[Metric] = &[
    of("limit", Unit::Rate, "what paths and buffers admit in any order; computed", |b| {
        limit(&b.free)
    }),
    of("limit-share", Unit::Share, "goodput over `limit`", |b| b.free.share),
    of("ordered-limit", Unit::Rate, "what they admit for one ordered stream; computed", |b| {
        limit(&b.ordered)
    }),
    of("ordered-limit-share", Unit::Share, "goodput over `ordered-limit`", |b| b.ordered.share),
    of("best-path", Unit::Rate, "what the best path alone admits; computed", |b| {
        limit(&b.best_path)
    }),
    of("best-path-share", Unit::Share, "goodput over `best-path`", |b| b.best_path.share),
];

pub(super) static JOINT: &[Metric] = &[
    joint(
        "joint-limit",
        Unit::Rate,
        "what all saturated flows can carry together; computed",
        limit,
    ),
    joint("joint-limit-share", Unit::Share, "their summed goodput over `joint-limit`", |b| b.share),
];

const fn of(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&FlowBounds) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::Bounds(of))
}

const fn joint(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&Share) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::JointBound(of))
}

fn limit(bound: &Share) -> Option<f64> {
    Some(bound.limit)
}
