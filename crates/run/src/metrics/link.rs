//! Metrics of links, and of the run as a whole.

use polypath_sim::RunResult;
use polypath_sim::results::LinkResult;

use super::metric::{Metric, Of, metric};
use super::number::{to_seconds, whole};
use super::unit::Unit::{self, Plain, Rate, Share, Time};

pub(super) static RUN: &[Metric] = &[
    metric("measured", Time, "measuring time", Of::Run(|run| Some(to_seconds(run.measured)))),
    metric(
        "goodput-balance",
        Share,
        "least goodput of all flows over the greatest",
        Of::Run(|run| {
            let goodputs = || run.flows.iter().map(|flow| flow.total.goodput);
            Some(goodputs().reduce(f64::min)? / goodputs().reduce(f64::max)?)
        }),
    ),
];

pub(super) static METRICS: &[Metric] = &[
    of("link.{link}.rate", Rate, "bits delivered per second, headers included", |link, run| {
        Some(link.delivered_bytes as f64 * 8.0 / to_seconds(run.measured))
    }),
    of("link.{link}.overflowed", Plain, "packets that found the queue full", |link, _| {
        whole(link.overflowed)
    }),
    of("link.{link}.lost", Plain, "packets that loss models took", |link, _| whole(link.lost)),
    of("link.{link}.max-queue", Plain, "most packets that waited, whole run", |link, _| {
        whole(link.max_queue_packets)
    }),
    of(
        "link.{link}.utilisation",
        Share,
        "share of the time with something to send",
        |link, run| Some(to_seconds(link.busy) / to_seconds(run.measured)),
    ),
    metric(
        "link.{link}.wait.p95",
        Time,
        "how long a packet that came would wait for those before it: 95th percentile",
        Of::SeriesOfLink(|link| link.wait_p95.map(to_seconds)),
    ),
];

const fn of(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&LinkResult, &RunResult) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::Link(of))
}
