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
    let flows = (0..scenario.flow.len()).map(|n| flow::flow(scenario, n, trace));
    Ok(spec::WorldSpec {
        topology: topology::topology(scenario),
        flows: flows.collect::<Result<Vec<_>, _>>()?,
        actions: changes::wishes(scenario),
        repeats: changes::repeats(scenario),
        cross: cross::sources(scenario),
        time: time(scenario),
        sample_every: scenario.time.sample.map(|Delay(ns)| ns),
    })
}

fn time(scenario: &Scenario) -> spec::TimeSpec {
    let Delay(settle) = scenario.time.settle.unwrap_or_default();
    spec::TimeSpec {
        settle,
        measure: scenario.time.last_moment().0.saturating_sub(settle),
        stop_when_done: scenario.flow.iter().all(FlowSpec::ends_by_itself),
    }
}
