//! What the types of a scenario cannot say.

mod changes;
mod cross;
mod flow;
mod nat;
mod plan;
mod stack;
mod topology;

use crate::error::Problem;
use crate::scenario::Scenario;

/// Finds the first thing in `scenario` that makes no sense.
pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    topology::check(scenario)?;
    nat::check(scenario)?;
    changes::check(scenario)?;
    cross::check(scenario)?;
    flow::check(scenario)?;
    stack::check(scenario)?;
    plan::check(scenario)
}
