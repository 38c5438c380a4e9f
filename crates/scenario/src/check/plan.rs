//! Times, seeds and the form of sweep axes.

use crate::error::{Problem, ensure};
use crate::plan::Axis;
use crate::scenario::Scenario;
use crate::units::Delay;

pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    check_times(scenario)?;
    ensure(
        scenario.seeds.count > 0,
        || "seeds.count".into(),
        || "no seeds (allowed: at least 1)".into(),
    )?;
    scenario.sweep.iter().enumerate().try_for_each(|(n, axis)| axis_form(n, axis))
}

fn check_times(scenario: &Scenario) -> Result<(), Problem> {
    let time = &scenario.time;
    let zero = |field: &str, value: Option<Delay>| {
        ensure(
            value != Some(Delay(0)),
            || format!("time.{field}"),
            || "no time at all (allowed: at least 1ns)".into(),
        )
    };
    zero("measure", time.measure)?;
    zero("end", time.end)?;
    zero("sample", time.sample)?;
    ensure(
        time.measure.is_none() || time.end.is_none(),
        || "time.end".into(),
        || "measure is set, which ends the run (allowed: one of them)".into(),
    )?;
    let late = time.end.is_some_and(|end| time.settle.unwrap_or_default() >= end);
    ensure(
        !late,
        || "time.end".into(),
        || "nothing is left to measure (allowed: later than settle)".into(),
    )?;
    let endless = scenario.flow.iter().position(|flow| !flow.ends_by_itself());
    let Some(endless) = endless else { return Ok(()) };
    ensure(
        time.measure.is_some() || time.end.is_some(),
        || "time.measure".into(),
        || format!("missing (flow[{endless}] has no end of its own)"),
    )
}

fn axis_form(n: usize, axis: &Axis) -> Result<(), Problem> {
    let by_value = [!axis.values.is_empty(), axis.range.is_some()];
    let by_case = !axis.cases.is_empty();
    let forms = by_value.iter().filter(|given| **given).count() + usize::from(by_case);
    ensure(
        forms == 1,
        || format!("sweep[{n}]"),
        || "has no values or too many kinds (allowed: one of values, range, cases)".into(),
    )?;
    ensure(
        by_case == axis.set.is_empty(),
        || format!("sweep[{n}].set"),
        || "expected field names beside values or range, and none beside cases".into(),
    )
}
