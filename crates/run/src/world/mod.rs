//! From a scenario to the simulator's world.

mod app;
mod changes;
mod cross;
mod flow;
mod links;
mod nat;
mod places;
mod topology;

use polypath_policies::PolicyError;
use polypath_scenario::units::Delay;
use polypath_scenario::{FlowSpec, Scenario};
use polypath_sim::spec;

/// The world of a checked scenario. `trace` makes the ends record their events.
///
/// # Errors
/// A policy that does not exist; checked scenarios have none.
pub fn world_spec(scenario: &Scenario, trace: bool) -> Result<spec::WorldSpec, PolicyError> {
    let flows = (0..scenario.flow.len()).map(|n| flow::build_flow_spec(scenario, n, trace));
    Ok(spec::WorldSpec {
        topology: topology::build_topology(scenario),
        flows: flows.collect::<Result<Vec<_>, _>>()?,
        actions: changes::build_path_actions(scenario),
        repeats: changes::build_repeat_specs(scenario),
        cross: cross::build_cross_specs(scenario),
        time: build_time_spec(scenario),
        sample_every: scenario.time.sample.map(|Delay(ns)| ns),
    })
}

fn build_time_spec(scenario: &Scenario) -> spec::TimeSpec {
    let Delay(settle) = scenario.time.settle.unwrap_or_default();
    spec::TimeSpec {
        settle,
        measure: scenario.time.last_moment().0.saturating_sub(settle),
        stop_when_done: scenario.flow.iter().all(FlowSpec::ends_by_itself),
    }
}
