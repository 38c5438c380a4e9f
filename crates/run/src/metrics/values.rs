//! Which metrics a run has, and their values.

use polypath_scenario::Scenario;
use polypath_sim::RunResult;
use polypath_sim::results::FlowResult;

use super::bounds;
use super::flow_bounds::FlowBounds;
use super::metric::{Metric, Needs, Of};
use super::probe::{Probe, Reported, Traces};
use super::registry::{OF_FLOWS, find_metric};
use super::shape::{FlowShape, Shape};
use super::time_series::TimeSeries;
use super::{link, pattern, traced};
use crate::limit::{Share, WorldLimits};

/// Metrics of a run by name, in base units. `None`: the run has no such number, such as the delay
/// without messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricValues(pub Vec<(String, Option<f64>)>);

impl MetricValues {
    /// The value of this name; `None` within where the run has none.
    pub fn find_value(&self, name: &str) -> Option<Option<f64>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    fn put_value(&mut self, name: String, value: Option<f64>) {
        self.0.push((name, value.filter(|value| value.is_finite())));
    }
}

/// Names of all metrics that runs of this scenario have, but for the numbers of their path
/// schedulers.
pub fn metric_names(scenario: &Scenario) -> Vec<String> {
    let shape = Shape::of_scenario(scenario);
    let mut names = Vec::new();
    for_each_of_result(&shape, &mut |name, _, _| names.push(name));
    if let Some(first) = shape.flows.first() {
        for_each_of_flow(traced::METRICS, first, &[], &mut |name, _, _| names.push(name));
    }
    names
}

/// Whether runs of this scenario have a metric of this name. The path scheduler decides which
/// numbers it reports.
pub fn metric_exists(name: &str, scenario: &Scenario) -> bool {
    find_metric(name).is_some_and(Metric::is_reported_by_scheduler)
        || metric_names(scenario).iter().any(|known| known == name)
}

/// The metrics of a run; those that need traces only with the probe that watched it.
pub fn compute_metrics(
    result: &RunResult,
    limits: &WorldLimits,
    probe: Option<Probe>,
) -> MetricValues {
    let mut out = MetricValues::default();
    let shape = Shape::of_result(result);
    let shares = limits.measure_utilisation(result);
    let bounds_of = |flow: usize| shares.flows.get(flow).and_then(FlowBounds::from_utilisation);
    let flows: Vec<FlowRun<'_>> = result
        .flows
        .iter()
        .enumerate()
        .map(|(n, flow)| FlowRun::new(flow, result, bounds_of(n)))
        .collect();
    for_each_of_result(&shape, &mut |name, metric, place| {
        let value = match place {
            Place::Run => of_run(metric, result, shares.joint.as_ref()),
            Place::Flow(n, part) => flows.get(n).and_then(|flow| flow.compute_value(metric, part)),
            Place::Link(n) => of_link(metric, result, n),
        };
        out.put_value(name, value);
    });
    if let (Some(probe), Some(first)) = (probe, shape.flows.first()) {
        let traces = probe.into_traces();
        let reported = traces.attempts.reported();
        for_each_of_flow(traced::METRICS, first, &reported, &mut |name, metric, part| {
            out.put_value(name, of_traces(metric, &traces, &reported, part));
        });
    }
    out
}

/// What one value of a metric is about.
#[derive(Clone, Copy, Debug)]
enum Place {
    Run,
    Flow(usize, Part),
    Link(usize),
}

/// Which part of a flow.
#[derive(Clone, Copy, Debug)]
enum Part {
    Whole,
    Stream(usize),
    Path(usize),
    Reported(usize),
}

/// Calls `visit` for each metric that the results of this shape have.
fn for_each_of_result(shape: &Shape, visit: &mut dyn FnMut(String, &'static Metric, Place)) {
    let several = shape.flows.len() > 1;
    let mut of_run = |metric: &'static Metric| visit(metric.name.to_owned(), metric, Place::Run);
    link::RUN.iter().for_each(&mut of_run);
    for (n, flow) in shape.flows.iter().enumerate() {
        let own = several.then(|| format!("flow.{}.", flow.name));
        let prefixes = (n == 0).then(String::new).into_iter().chain(own);
        for prefix in prefixes {
            for list in OF_FLOWS {
                for_each_of_flow(list, flow, &[], &mut |name, metric, part| {
                    visit(format!("{prefix}{name}"), metric, Place::Flow(n, part));
                });
            }
        }
    }
    let is_sampled = shape.flows.iter().any(|flow| flow.sampled);
    let is_recorded = |metric: &Metric| is_sampled || metric.needs() != Needs::Samples;
    let joint = if several { bounds::JOINT } else { &[] };
    joint.iter().for_each(|metric| visit(metric.name.to_owned(), metric, Place::Run));
    for (n, name) in shape.links.iter().enumerate().filter(|(_, name)| !name.contains("edge")) {
        let fill = |place: &str| (place == "link").then(|| name.clone());
        for metric in link::METRICS.iter().filter(|metric| is_recorded(metric)) {
            if let Some(name) = pattern::fill_pattern(metric.name, &fill) {
                visit(name, metric, Place::Link(n));
            }
        }
    }
}

/// Metrics of one kind that follow each other stay together for each path or stream.
fn for_each_of_flow(
    list: &'static [Metric],
    flow: &FlowShape,
    reported: &[Reported],
    visit: &mut dyn FnMut(String, &'static Metric, Part),
) {
    for group in list.chunk_by(Metric::is_of_same_kind) {
        let Some(first) = group.first() else { continue };
        for part in flow_parts(first, flow, reported.len()) {
            for metric in group {
                let fill = |place: &str| fill_place(place, part, flow, reported);
                if let Some(name) = pattern::fill_pattern(metric.name, &fill) {
                    visit(name, metric, part);
                }
            }
        }
    }
}

/// The parts of a flow that have this metric.
fn flow_parts(metric: &Metric, flow: &FlowShape, reported: usize) -> Vec<Part> {
    let whole = |exists: bool| exists.then_some(Part::Whole).into_iter().collect();
    let streams = (0..flow.streams).map(Part::Stream);
    let paths = (0..flow.paths.len()).map(Part::Path);
    match metric.of {
        Of::Run(_) | Of::JointBound(_) | Of::Link(_) | Of::SeriesOfLink(_) => Vec::new(),
        Of::Delivered(_) => core::iter::once(Part::Whole).chain(streams).collect(),
        Of::Flow(_) | Of::FlowInRun(_) | Of::Bounds(_) | Of::Traces(_) => whole(true),
        Of::GivenUp(_) => whole(flow.gives_up),
        Of::Responses(_) => whole(flow.asks),
        Of::Series(_) => whole(flow.sampled),
        Of::SeriesOfTwo(_) => whole(flow.sampled && flow.paths.len() == 2),
        Of::Path(_) | Of::TracesOfPath(_) => paths.collect(),
        Of::SeriesOfPath(_) => paths.filter(|_| flow.sampled).collect(),
        Of::SeriesOfStream(_) => streams.filter(|_| flow.sampled).collect(),
        Of::Reported(_) => (0..reported).map(Part::Reported).collect(),
    }
}

/// What stands in a place of a metric's name.
fn fill_place(place: &str, part: Part, flow: &FlowShape, reported: &[Reported]) -> Option<String> {
    let path = |n: usize| flow.paths.get(n).cloned();
    match (place, part) {
        ("stream", Part::Stream(n)) => Some(n.to_string()),
        ("path", Part::Path(n)) => path(n),
        ("path", Part::Reported(n)) => path(reported.get(n)?.path?),
        ("number", Part::Reported(n)) => Some(reported.get(n)?.key.to_owned()),
        ("quantity", Part::Reported(n)) => Some(reported.get(n)?.quantity.to_owned()),
        _ => None,
    }
}

/// A flow as its metrics see it.
struct FlowRun<'a> {
    flow: &'a FlowResult,
    result: &'a RunResult,
    series: TimeSeries<'a>,
    bounds: Option<FlowBounds>,
}

impl<'a> FlowRun<'a> {
    fn new(flow: &'a FlowResult, result: &'a RunResult, bounds: Option<FlowBounds>) -> Self {
        Self { flow, result, series: TimeSeries::from_result(flow, result), bounds }
    }

    fn compute_value(&self, metric: &Metric, part: Part) -> Option<f64> {
        match (metric.of, part) {
            (Of::Flow(of), Part::Whole) => of(self.flow),
            (Of::FlowInRun(of), Part::Whole) => of(self.flow, self.result),
            (Of::Delivered(of), Part::Whole) => of(&self.flow.total),
            (Of::Delivered(of), Part::Stream(n)) => of(self.flow.streams.get(n)?),
            (Of::GivenUp(of), Part::Whole) => of(self.flow.abandoned.as_ref()?),
            (Of::Responses(of), Part::Whole) => of(self.flow.responses.as_ref()?),
            (Of::Path(of), Part::Path(n)) => of(self.flow.paths.get(n)?, self.flow),
            (Of::Series(of) | Of::SeriesOfTwo(of), Part::Whole) => of(&self.series),
            (Of::SeriesOfPath(of), Part::Path(n)) => of(&self.series, n),
            (Of::SeriesOfStream(of), Part::Stream(n)) => of(&self.series, n),
            (Of::Bounds(of), Part::Whole) => of(self.bounds.as_ref()?),
            _ => None,
        }
    }
}

fn of_run(metric: &Metric, result: &RunResult, joint: Option<&Share>) -> Option<f64> {
    match metric.of {
        Of::Run(of) => of(result),
        Of::JointBound(of) => of(joint?),
        _ => None,
    }
}

fn of_link(metric: &Metric, result: &RunResult, link: usize) -> Option<f64> {
    let link = result.links.get(link)?;
    match metric.of {
        Of::Link(of) => of(link, result),
        Of::SeriesOfLink(of) => of(link),
        _ => None,
    }
}

fn of_traces(metric: &Metric, traces: &Traces, reported: &[Reported], part: Part) -> Option<f64> {
    match (metric.of, part) {
        (Of::Traces(of), Part::Whole) => of(traces),
        (Of::TracesOfPath(of), Part::Path(n)) => of(traces, n),
        (Of::Reported(of), Part::Reported(n)) => of(reported.get(n)?),
        _ => None,
    }
}
