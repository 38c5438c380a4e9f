//! Metrics about throughput bounds: what paths and buffers admit, and what was reached of it.

use crate::metric::{Metric, Of, metric};
use crate::unit::Unit::{self, Rate, Share};

/// The throughput bounds of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// In the order of the flows; `None`: the flow has none.
    pub flows: Vec<Option<FlowBounds>>,
    /// Of all saturated flows together, if there are several.
    pub joint: Option<Bound>,
}

/// The throughput bounds of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowBounds {
    /// Of data whose order does not matter.
    pub free: Bound,
    /// Of one ordered stream.
    pub ordered: Bound,
    /// Of the best path alone.
    pub best_path: Bound,
}

/// A throughput bound, and what was reached of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Payload bit/s.
    pub limit: f64,
    /// Goodput over the limit; `None` where the limit is zero.
    pub share: Option<f64>,
}

pub(crate) static METRICS: &[Metric] = &[
    of("limit", Rate, "what paths and buffers admit in any order; computed", |b| limit(&b.free)),
    of("limit-share", Share, "goodput over `limit`", |b| b.free.share),
    of("ordered-limit", Rate, "what they admit for one ordered stream; computed", |b| {
        limit(&b.ordered)
    }),
    of("ordered-limit-share", Share, "goodput over `ordered-limit`", |b| b.ordered.share),
    of("best-path", Rate, "what the best path alone admits; computed", |b| limit(&b.best_path)),
    of("best-path-share", Share, "goodput over `best-path`", |b| b.best_path.share),
];

pub(crate) static JOINT: &[Metric] = &[
    joint("joint-limit", Rate, "what all saturated flows can carry together; computed", limit),
    joint("joint-limit-share", Share, "their summed goodput over `joint-limit`", |b| b.share),
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
    of: fn(&Bound) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::JointBound(of))
}

fn limit(bound: &Bound) -> Option<f64> {
    Some(bound.limit)
}
