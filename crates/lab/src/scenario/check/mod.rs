//! What the types of a scenario cannot say.

mod changes;
mod cross;
mod flow;
mod nat;
mod plan;
mod stack;
mod topology;

use super::Scenario;
use super::error::Problem;

/// Finds the first thing in `scenario` that makes no sense.
pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    topology::check(scenario)?;
    nat::check(scenario)?;
    changes::check(scenario)?;
    cross::check(scenario)?;
    flow::check(scenario)?;
    stack::check(scenario)?;
    plan::check(scenario)?;
    metrics(scenario)
}

/// Only a scenario that is right otherwise says which metrics it has.
fn metrics(scenario: &Scenario) -> Result<(), Problem> {
    scenario.metrics.iter().enumerate().try_for_each(|(n, name)| {
        ensure(
            polypath_metrics::exists(name, &scenario.shape()),
            || format!("metrics[{n}]"),
            || "no such metric (docs/reference/metrics.md lists them)".into(),
        )
    })
}

/// Refuses `field` with `text` unless `holds`.
fn ensure(
    holds: bool,
    field: impl FnOnce() -> String,
    text: impl FnOnce() -> String,
) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err(Problem::new(field(), text())) }
}
