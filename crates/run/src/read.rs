//! From a scenario's text to what can run.

use polypath_scenario::{Scenario, ScenarioError, Source};

use crate::metrics;

/// The scenario of `source`, checked, and every metric that it names is one that its runs have.
///
/// # Errors
/// The first field that is unknown, malformed or makes no sense.
pub fn read_scenario(source: &Source) -> Result<Scenario, ScenarioError> {
    let scenario = source.parse_scenario()?;
    // Only a scenario that is right otherwise says which metrics it has.
    let unknown = scenario.metrics.iter().position(|name| !metrics::metric_exists(name, &scenario));
    unknown.map_or(Ok(scenario), |n| {
        let text = "no such metric (docs/reference/metrics.md lists them)";
        Err(source.problem(&format!("metrics[{n}]"), text))
    })
}
