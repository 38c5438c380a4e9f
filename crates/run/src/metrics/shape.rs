//! Which flows, paths, streams and links runs have: all that decides which metrics there are.

use polypath_scenario::{App, FlowSpec, Scenario};
use polypath_sim::RunResult;
use polypath_sim::results::FlowResult;

/// What decides which metrics the runs of a scenario have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// In the order of the scenario.
    pub(super) flows: Vec<FlowShape>,
    /// Names of the links with their direction, such as `A.forward`.
    pub(super) links: Vec<String>,
}

/// What decides which metrics a flow has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FlowShape {
    /// Its name.
    pub(super) name: String,
    /// Names of its paths, by path id.
    pub(super) paths: Vec<String>,
    /// Number of its streams.
    pub(super) streams: usize,
    /// Whether messages may be given up.
    pub(super) gives_up: bool,
    /// Whether it asks for responses.
    pub(super) asks: bool,
    /// Whether time series are recorded.
    pub(super) sampled: bool,
}

impl Shape {
    /// The shape that runs of this scenario have.
    pub(super) fn of_scenario(scenario: &Scenario) -> Self {
        let flows = scenario.flow.iter().enumerate();
        let flow = |(n, spec)| FlowShape::of_scenario(scenario, scenario.flow_name(n), spec);
        let links = scenario.path.keys().chain(scenario.link.keys());
        let directed = |name: &String| ["forward", "reverse"].map(|way| format!("{name}.{way}"));
        Self { flows: flows.map(flow).collect(), links: links.flat_map(directed).collect() }
    }

    /// The shape of the run that ended so.
    pub(super) fn of_result(result: &RunResult) -> Self {
        Self {
            flows: result.flows.iter().map(FlowShape::of_result).collect(),
            links: result.links.iter().map(|link| link.name.clone()).collect(),
        }
    }
}

impl FlowShape {
    fn of_scenario(scenario: &Scenario, name: String, flow: &FlowSpec) -> Self {
        let all = || scenario.path_names().map(str::to_owned).collect();
        Self {
            name,
            paths: flow.paths.clone().unwrap_or_else(all),
            streams: usize::from(flow.stream_count()),
            gives_up: flow.may_give_up(),
            asks: flow.app == App::Request,
            sampled: scenario.time.sample.is_some(),
        }
    }

    fn of_result(flow: &FlowResult) -> Self {
        Self {
            name: flow.name.clone(),
            paths: flow.paths.iter().map(|path| path.name.clone()).collect(),
            streams: flow.streams.len(),
            gives_up: flow.abandoned.is_some(),
            asks: flow.responses.is_some(),
            sampled: !flow.samples.is_empty(),
        }
    }
}
