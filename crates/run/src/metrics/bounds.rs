//! Metrics about throughput bounds: what paths and buffers admit, and what was reached of it.

use super::flow_bounds::FlowBounds;
use super::metric::{Metric, Of, metric};
use super::unit::Unit;
use crate::limit::Share;

pub(super) static METRICS: &[Metric] = &[
    of("limit", Unit::Rate, "what paths and buffers admit in any order; computed", |b| {
        bound_limit(&b.free)
    }),
    of("limit-share", Unit::Share, "goodput over `limit`", |b| b.free.share),
    of("ordered-limit", Unit::Rate, "what they admit for one ordered stream; computed", |b| {
        bound_limit(&b.ordered)
    }),
    of("ordered-limit-share", Unit::Share, "goodput over `ordered-limit`", |b| b.ordered.share),
    of("best-path", Unit::Rate, "what the best path alone admits; computed", |b| {
        bound_limit(&b.best_path)
    }),
    of("best-path-share", Unit::Share, "goodput over `best-path`", |b| b.best_path.share),
];

pub(super) static JOINT: &[Metric] = &[
    joint(
        "joint-limit",
        Unit::Rate,
        "what all saturated flows can carry together; computed",
        bound_limit,
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

fn bound_limit(bound: &Share) -> Option<f64> {
    Some(bound.limit)
}
