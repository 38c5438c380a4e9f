//! What a metric is.

use polypath_sim::RunResult;
use polypath_sim::results::{Abandoned, Delivered, FlowResult, LinkResult, PathResult};

use super::flow_bounds::FlowBounds;
use super::probe::{Reported, Traces};
use super::time_series::TimeSeries;
use super::unit::Unit;
use crate::limit::Share;

/// A number that the result of a run has.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name. A word in braces stands for a name or number of the run; what stands in brackets
    /// may be left out: `goodput[.stream.{stream}]` is the goodput of one stream or of all of them.
    pub name: &'static str,
    /// What it is measured in.
    pub unit: Unit,
    /// What it tells, in one line.
    pub help: &'static str,
    pub(super) of: Of,
}

/// What must be recorded while a run is made for a metric to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Its result, which every run has.
    Result,
    /// Time series: the scenario sets `time.sample`. A mean is one over the samples of the
    /// measuring time.
    Samples,
    /// The trace events of the whole run, which make it slower; they are switched on where a metric
    /// needs them.
    Traces,
}

/// What a metric is computed from. `None` as a value: the run has no such number, as there is no
/// delay without messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    /// The run.
    Run(fn(&RunResult) -> Option<f64>),
    /// What a flow delivered: all of it, and each stream's.
    Delivered(fn(&Delivered) -> Option<f64>),
    /// A flow.
    Flow(fn(&FlowResult) -> Option<f64>),
    /// A flow, as part of its run.
    FlowInRun(fn(&FlowResult, &RunResult) -> Option<f64>),
    /// The messages that a flow gave up; only flows that may give up have them.
    GivenUp(fn(&Abandoned) -> Option<f64>),
    /// The answers to a flow's requests; only flows that ask have them.
    Responses(fn(&Delivered) -> Option<f64>),
    /// A path, as part of its flow.
    Path(fn(&PathResult, &FlowResult) -> Option<f64>),
    /// The time series of a flow.
    Series(fn(&TimeSeries<'_>) -> Option<f64>),
    /// The time series of a flow with exactly two paths.
    SeriesOfTwo(fn(&TimeSeries<'_>) -> Option<f64>),
    /// The time series of a path, by its number.
    SeriesOfPath(fn(&TimeSeries<'_>, usize) -> Option<f64>),
    /// The time series of a stream, by its number.
    SeriesOfStream(fn(&TimeSeries<'_>, usize) -> Option<f64>),
    /// The throughput bounds of a flow.
    Bounds(fn(&FlowBounds) -> Option<f64>),
    /// The throughput bound of all saturated flows together.
    JointBound(fn(&Share) -> Option<f64>),
    /// A link, in one direction.
    Link(fn(&LinkResult, &RunResult) -> Option<f64>),
    /// The time series of a link, in one direction.
    SeriesOfLink(fn(&LinkResult) -> Option<f64>),
    /// The trace events of the first flow's sender.
    Traces(fn(&Traces) -> Option<f64>),
    /// Likewise, of one path, by its number.
    TracesOfPath(fn(&Traces, usize) -> Option<f64>),
    /// A number that the path scheduler reports with its decisions.
    Reported(fn(&Reported) -> Option<f64>),
}

impl Metric {
    /// What must be recorded for it.
    pub const fn needs(&self) -> Needs {
        match self.of {
            Of::Run(_)
            | Of::Delivered(_)
            | Of::Flow(_)
            | Of::FlowInRun(_)
            | Of::GivenUp(_)
            | Of::Responses(_)
            | Of::Path(_)
            | Of::Bounds(_)
            | Of::JointBound(_)
            | Of::Link(_) => Needs::Result,
            Of::Series(_)
            | Of::SeriesOfTwo(_)
            | Of::SeriesOfPath(_)
            | Of::SeriesOfStream(_)
            | Of::SeriesOfLink(_) => Needs::Samples,
            Of::Traces(_) | Of::TracesOfPath(_) | Of::Reported(_) => Needs::Traces,
        }
    }

    /// Whether a run of several flows has it once for each, with `flow.NAME.` in front.
    pub const fn is_per_flow(&self) -> bool {
        !matches!(self.of, Of::Run(_) | Of::JointBound(_))
            && !self.is_of_link()
            && !matches!(self.needs(), Needs::Traces)
    }

    /// Whether each link has it, in each direction.
    pub(super) const fn is_of_link(&self) -> bool {
        matches!(self.of, Of::Link(_) | Of::SeriesOfLink(_))
    }

    /// Whether the path scheduler decides if there is one of this name.
    pub const fn is_reported_by_scheduler(&self) -> bool {
        matches!(self.of, Of::Reported(_))
    }

    /// Whether both are computed from the same thing, and stand beside each other in tables for
    /// each such thing.
    pub(super) fn is_of_same_kind(&self, other: &Self) -> bool {
        core::mem::discriminant(&self.of) == core::mem::discriminant(&other.of)
    }
}

pub(super) const fn metric(name: &'static str, unit: Unit, help: &'static str, of: Of) -> Metric {
    Metric { name, unit, help, of }
}
