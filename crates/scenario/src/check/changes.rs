//! Changes at set times and changes that repeat.

use super::nat;
use super::topology::{check_probability, check_rate};
use crate::changes::{Change, Repeat, Series};
use crate::error::{Problem, ensure, unknown_name};
use crate::flow::Direction;
use crate::scenario::Scenario;
use crate::units::{Delay, Probability, Rate};

/// Changes that a schedule may make in a run (the simulator's bound).
const MAX_CHANGES: u64 = 1_000_000;

pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    scenario.at.iter().enumerate().try_for_each(|(n, change)| check_change(scenario, n, change))?;
    for (n, repeat) in scenario.every.iter().enumerate() {
        check_repeat(scenario, n, repeat)?;
        check_overlaps(scenario, n, repeat)?;
    }
    Ok(())
}

/// `boxes` are the names of those that a change may also mean.
fn known_target<'a>(
    scenario: &'a Scenario,
    place: String,
    target: &str,
    boxes: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Problem> {
    let links = scenario.link.keys().map(String::as_str);
    let names = || scenario.path_names().chain(links.clone()).chain(boxes.clone());
    let what = if boxes.clone().next().is_some() { "path, link or nat" } else { "path or link" };
    ensure(names().any(|name| name == target), || place, || unknown_name(what, target, names()))
}

fn check_change(scenario: &Scenario, n: usize, change: &Change) -> Result<(), Problem> {
    let place = |field: &str| format!("at[{n}].{field}");
    let target = &change.target;
    if scenario.nat.contains_key(target) {
        return nat::check_change(n, change);
    }
    let boxes = scenario.nat.keys().map(String::as_str);
    known_target(scenario, place("target"), target, boxes)?;
    let empty = change.action.is_none()
        && change.rate.is_none()
        && change.delay.is_none()
        && change.loss.is_none()
        && change.admin.is_none();
    ensure(
        !empty,
        || format!("at[{n}]"),
        || "changes nothing (allowed: action, rate, delay, loss, admin)".into(),
    )?;
    let path = scenario.path_names().any(|name| name == target);
    ensure(
        change.admin.is_none() || path,
        || place("admin"),
        || format!("{target} is a link (allowed: with a path as target)"),
    )?;
    nat::links_only(|| place("action"), change.action.as_slice())?;
    check_rate(&place("rate"), change.rate)?;
    check_probability(&place("loss"), change.loss)
}

fn check_repeat(scenario: &Scenario, n: usize, repeat: &Repeat) -> Result<(), Problem> {
    let place = |field: &str| format!("every[{n}].{field}");
    known_target(scenario, place("target"), &repeat.target, std::iter::empty())?;
    ensure(
        changed_fields(repeat).next().is_some(),
        || format!("every[{n}]"),
        || "changes nothing (allowed: rate, delay, loss, action)".into(),
    )?;
    ensure(
        repeat.period != Delay(0),
        || place("period"),
        || "no time at all (allowed: at least 1ns)".into(),
    )?;
    let Delay(end) = scenario.time.last_moment();
    ensure(
        end / repeat.period.0 <= MAX_CHANGES,
        || place("period"),
        || format!("too many changes in the run (allowed: up to {MAX_CHANGES})"),
    )?;
    ensure(
        repeat.until.is_none_or(|until| until > repeat.start.unwrap_or_default()),
        || place("until"),
        || "nothing ever changes (allowed: later than start)".into(),
    )?;
    nat::links_only(|| place("action"), repeat.action.as_deref().unwrap_or_default())?;
    let empty = [
        ("rate", is_empty(repeat.rate.as_ref())),
        ("delay", is_empty(repeat.delay.as_ref())),
        ("loss", is_empty(repeat.loss.as_ref())),
        ("action", repeat.action.as_ref().is_some_and(Vec::is_empty)),
    ];
    for (field, empty) in empty {
        ensure(!empty, || place(field), || "empty (allowed: at least one value)".into())?;
    }
    let zero = series_ends(repeat.rate.as_ref()).any(|value| value == Rate(0));
    check_rate(&place("rate"), zero.then_some(Rate(0)))?;
    let beyond = series_ends(repeat.loss.as_ref()).find(|p| *p > Probability::ONE);
    check_probability(&place("loss"), beyond)
}

fn is_empty<Q>(series: Option<&Series<Q>>) -> bool {
    matches!(series, Some(Series::List(list)) if list.is_empty())
}

/// The values of a list, or the ends of a range.
fn series_ends<Q: Copy>(series: Option<&Series<Q>>) -> impl Iterator<Item = Q> {
    let values = match series {
        None => Vec::new(),
        Some(Series::List(list)) => list.clone(),
        Some(Series::Range(from, to)) => vec![*from, *to],
    };
    values.into_iter()
}

/// The names of the fields that a schedule changes.
fn changed_fields(repeat: &Repeat) -> impl Iterator<Item = &'static str> {
    let given = [
        ("rate", repeat.rate.is_some()),
        ("delay", repeat.delay.is_some()),
        ("loss", repeat.loss.is_some()),
        ("action", repeat.action.is_some()),
    ];
    given.into_iter().filter_map(|(field, given)| given.then_some(field))
}

/// No two schedules pull at the same thing at the same time.
fn check_overlaps(scenario: &Scenario, n: usize, repeat: &Repeat) -> Result<(), Problem> {
    for (other_n, other) in scenario.every.iter().enumerate().take(n) {
        if !(shares_link(scenario, repeat, other) && overlaps_in_time(repeat, other)) {
            continue;
        }
        let twice = changed_fields(repeat)
            .find(|field| changed_fields(other).any(|of_other| of_other == *field));
        let place = || format!("every[{n}].{}", twice.unwrap_or_default());
        ensure(twice.is_none(), place, || {
            format!(
                "every[{other_n}] changes it too (allowed: one schedule for a link and direction at a time)"
            )
        })?;
    }
    Ok(())
}

/// Whether two schedules have a link and a direction in common.
fn shares_link(scenario: &Scenario, a: &Repeat, b: &Repeat) -> bool {
    let ways = |repeat: &Repeat, way: Direction| repeat.direction.is_none_or(|only| only == way);
    let links_of_b = scenario.links_of(&b.target);
    let links = scenario.links_of(&a.target).into_iter().any(|link| links_of_b.contains(&link));
    let way = |way| ways(a, way) && ways(b, way);
    links && (way(Direction::Forward) || way(Direction::Reverse))
}

fn overlaps_in_time(a: &Repeat, b: &Repeat) -> bool {
    let span = |r: &Repeat| (r.start.unwrap_or_default(), r.until.unwrap_or(Delay(u64::MAX)));
    let ((a_start, a_end), (b_start, b_end)) = (span(a), span(b));
    a_start < b_end && b_start < a_end
}
