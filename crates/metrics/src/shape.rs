//! Which flows, paths, streams and links runs have: all that decides which metrics there are.

use polypath_sim::RunResult;
use polypath_sim::results::FlowResult;

/// What decides which metrics the runs of a scenario have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// In the order of the scenario.
    pub flows: Vec<FlowShape>,
    /// Names of the links with their direction, such as `A.forward`.
    pub links: Vec<String>,
}

/// What decides which metrics a flow has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowShape {
    /// Its name.
    pub name: String,
    /// Names of its paths, by path id.
    pub paths: Vec<String>,
    /// Number of its streams.
    pub streams: usize,
    /// Whether messages may be given up.
    pub gives_up: bool,
    /// Whether time series are recorded.
    pub sampled: bool,
}

impl Shape {
    /// The shape of the run that ended so.
    pub fn of(result: &RunResult) -> Self {
        Self {
            flows: result.flows.iter().map(FlowShape::of).collect(),
            links: result.links.iter().map(|link| link.name.clone()).collect(),
        }
    }
}

impl FlowShape {
    fn of(flow: &FlowResult) -> Self {
        Self {
            name: flow.name.clone(),
            paths: flow.paths.iter().map(|path| path.name.clone()).collect(),
            streams: flow.streams.len(),
            gives_up: flow.abandoned.is_some(),
            sampled: !flow.samples.is_empty(),
        }
    }
}
