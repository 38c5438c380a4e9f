//! From the axes of a scenario to its points.

use polypath_run::read_scenario;
use polypath_scenario::units::{Delay, Kind, Mtus, Packets, Probability, Quantity, Rate, Size};
use polypath_scenario::{Assignment, Axis, Scalar, Scenario, ScenarioError, Source};
use rayon::prelude::*;

/// Points of a sweep, at most: beyond it a range was mistyped.
const MAX_POINTS: usize = 100_000;

/// One combination of values.
#[derive(Clone, Debug)]
pub struct Point {
    /// The name of each axis and the label of its value here.
    pub labels: Vec<(String, String)>,
    /// The scenario with these values.
    pub scenario: Scenario,
}

/// All points of a scenario's sweep in order; the first axis varies slowest. Without axes: one
/// point.
///
/// # Errors
/// A range that cannot be read, a value that its field does not take, too many points.
pub fn expand_sweep(source: &Source) -> Result<Vec<Point>, ScenarioError> {
    let axes = read_axes(source)?;
    let mut count = 1_usize;
    for (n, (_, steps)) in axes.iter().enumerate() {
        count = count.saturating_mul(steps.len());
        if count > MAX_POINTS {
            return Err(source.problem(
                &format!("sweep[{n}]"),
                format!("too many points (allowed: up to {MAX_POINTS})"),
            ));
        }
    }
    (0..count).into_par_iter().map(|number| build_point(source, &axes, number)).collect()
}

/// The names of the axes of a scenario's sweep.
///
/// # Errors
/// A scenario that cannot be read.
pub fn axis_names(source: &Source) -> Result<Vec<String>, ScenarioError> {
    Ok(read_axes(source)?.into_iter().map(|(name, _)| name).collect())
}

/// The point with this number: the last axis varies fastest.
fn build_point(
    source: &Source,
    axes: &[(String, Vec<Step>)],
    number: usize,
) -> Result<Point, ScenarioError> {
    let mut chosen = Vec::with_capacity(axes.len());
    let mut rest = number;
    for (name, steps) in axes.iter().rev() {
        let step = steps.get(rest % steps.len().max(1));
        rest /= steps.len().max(1);
        chosen.extend(step.map(|step| (name, step)));
    }
    let (mut source, mut labels) = (source.clone(), Labels::with_capacity(axes.len()));
    for (n, (name, step)) in chosen.into_iter().rev().enumerate() {
        take_step(n, step, &mut source)?;
        labels.push((name.clone(), step.label.clone()));
    }
    Ok(Point { labels, scenario: read_scenario(&source)? })
}

type Labels = Vec<(String, String)>;

/// A value of an axis: its label and what it sets.
struct Step {
    label: String,
    set: Vec<Assignment>,
}

/// Sets what a step of axis `n` sets.
fn take_step(n: usize, step: &Step, source: &mut Source) -> Result<(), ScenarioError> {
    for assignment in &step.set {
        let origin = format!("{}: sweep[{n}]", source.name());
        let set = source.set_by(&origin, assignment);
        set.map_err(|error| source.problem(&format!("sweep[{n}].set"), error.to_string()))?;
    }
    Ok(())
}

/// Name and values of each axis.
fn read_axes(source: &Source) -> Result<Vec<(String, Vec<Step>)>, ScenarioError> {
    let axes = read_scenario(source)?.sweep;
    let named = |(n, axis): (usize, &Axis)| {
        let name = axis.name.clone().or_else(|| axis.set.first().cloned());
        let name = name.unwrap_or_else(|| "case".to_owned());
        let steps = axis_steps(source, n, axis)?;
        // Segments of others bring their scenarios with them, and these words go to a terminal.
        let is_safe = |word: &String| !word.contains(char::is_control);
        if !is_safe(&name) || !steps.iter().all(|step| is_safe(&step.label)) {
            let text = "a name or label with a control character (allowed: what can be printed)";
            return Err(source.problem(&format!("sweep[{n}]"), text));
        }
        Ok((name, steps))
    };
    axes.iter().enumerate().map(named).collect()
}

fn axis_steps(source: &Source, n: usize, axis: &Axis) -> Result<Vec<Step>, ScenarioError> {
    if !axis.cases.is_empty() {
        let step = |case: &polypath_scenario::Case| Step {
            label: case.label.clone(),
            set: case
                .set
                .iter()
                .map(|(field, value)| Assignment::new(field, value.to_toml()))
                .collect(),
        };
        return Ok(axis.cases.iter().map(step).collect());
    }
    let values = match &axis.range {
        Some(text) => expand_range(text)
            .map_err(|problem| source.problem(&format!("sweep[{n}].range"), problem))?,
        None => axis.values.clone(),
    };
    let step = |value: &Scalar| Step {
        label: value.to_string(),
        set: axis.set.iter().map(|field| Assignment::new(field, value.to_toml())).collect(),
    };
    Ok(values.iter().map(step).collect())
}

/// The values of `first..last/step`.
fn expand_range(text: &str) -> Result<Vec<Scalar>, String> {
    let malformed = || "expected FIRST..LAST/STEP, such as 10ms..100ms/10ms or 1..10/1".to_owned();
    let (ends, step) = text
        .split_once('/')
        .and_then(|(ends, step)| match ends.split_once("..") {
            // A rate has a slash of its own: 1Mbit/s..5Mbit/s/1Mbit/s.
            Some(_) if !ends.ends_with("bit") => Some((ends, step)),
            _ => rate_range(text),
        })
        .ok_or_else(malformed)?;
    let (first, last) = ends.split_once("..").ok_or_else(malformed)?;
    let parts = [first.trim(), last.trim(), step.trim()];
    if let [Ok(first), Ok(last), Ok(step)] = parts.map(str::parse::<u64>) {
        let number = |n: u64| i64::try_from(n).map(Scalar::Number).map_err(|_| malformed());
        return count_up(first, last, step)?.into_iter().map(number).collect();
    }
    let kinds = [Delay::KIND, Size::KIND, Rate::KIND, Probability::KIND, Packets::KIND, Mtus::KIND];
    let read = |kind: &&'static Kind| {
        let [first, last, step] = parts.map(|part| kind.parse(part).ok());
        Some((*kind, first?, last?, step?))
    };
    let (kind, first, last, step) = kinds.iter().find_map(read).ok_or_else(malformed)?;
    let text = |base| Scalar::Text(kind.show(base));
    Ok(count_up(first, last, step)?.into_iter().map(text).collect())
}

/// Splits `A..B/STEP` where A, B and STEP are rates, which end in `bit/s`.
fn rate_range(text: &str) -> Option<(&str, &str)> {
    let end = text.match_indices("bit/s").nth(1).map(|(at, unit)| at + unit.len())?;
    let (ends, step) = text.split_at_checked(end)?;
    Some((ends, step.trim_start().strip_prefix('/')?))
}

fn count_up(first: u64, last: u64, step: u64) -> Result<Vec<u64>, String> {
    if step == 0 || first > last {
        return Err("never arrives (allowed: a step above 0, and last not below first)".to_owned());
    }
    if (last - first) / step >= MAX_POINTS as u64 {
        return Err(format!("too many values (allowed: up to {MAX_POINTS})"));
    }
    let mut values: Vec<u64> = Vec::new();
    let mut next = Some(first);
    while let Some(value) = next.filter(|value| *value <= last) {
        values.push(value);
        next = value.checked_add(step);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "
        path.A = { rate = '10Mbit/s', delay = '10ms' }
        path.B = { rate = '10Mbit/s', delay = '10ms' }
        flow = [{ app = 'saturated' }]
        time.measure = '10s'
    ";

    fn labels(sweep: &str) -> Result<Vec<String>, String> {
        let source = Source::new("test", format!("{BASE}\n{sweep}")).unwrap();
        let points = expand_sweep(&source).map_err(|error| error.to_string())?;
        let row = |point: &Point| {
            let parts = point.labels.iter().map(|(name, label)| format!("{name}={label}"));
            parts.collect::<Vec<_>>().join(" ")
        };
        Ok(points.iter().map(row).collect())
    }

    #[test]
    fn the_first_axis_varies_slowest() {
        let sweep = "
            [[sweep]]
            set = ['path.B.delay']
            range = '10ms..30ms/10ms'
            [[sweep]]
            name = 'protocol'
            cases = [
                { label = 'CMT', set = { 'stack.buffer' = 'shared' } },
                { label = 'RBS', set = { 'stack.buffer' = 'split?side=both' } },
            ]";
        let rows = labels(sweep).unwrap();
        assert_eq!(rows.len(), 6);
        assert_eq!(rows[0], "path.B.delay=10ms protocol=CMT");
        assert_eq!(rows[1], "path.B.delay=10ms protocol=RBS");
        assert_eq!(rows[5], "path.B.delay=30ms protocol=RBS");
    }

    #[test]
    fn fields_move_together() {
        let sweep = "[[sweep]]\nset = ['stack.send-buffer', 'stack.receive-buffer']\n\
                     values = ['64KiB', '128KiB']";
        let source = Source::new("test", format!("{BASE}\n{sweep}")).unwrap();
        let points = expand_sweep(&source).unwrap();
        let stack = &points[1].scenario.stack;
        assert_eq!(stack.receive_buffer, Some(Size(131_072)));
        assert_eq!(stack.send_buffer, Some(polypath_scenario::units::Limit::Bytes(Size(131_072))));
    }

    #[test]
    fn no_axes_make_one_point() {
        assert_eq!(labels("").unwrap(), [""]);
    }

    #[test]
    fn ranges_hold_both_ends() {
        let texts = |text: &str| {
            expand_range(text).map(|v| v.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(texts("10ms..30ms/10ms").unwrap(), ["10ms", "20ms", "30ms"]);
        assert_eq!(texts("1%..2%/0.5%").unwrap(), ["1%", "1.5%", "2%"]);
        assert_eq!(
            texts("1Mbit/s..2Mbit/s/500kbit/s").unwrap(),
            ["1Mbit/s", "1.5Mbit/s", "2Mbit/s"]
        );
        assert_eq!(texts("64KiB..128KiB/32KiB").unwrap(), ["64KiB", "96KiB", "128KiB"]);
        assert_eq!(texts("1..7/3").unwrap(), ["1", "4", "7"]);
        for bad in ["", "1..2", "1ms..2ms", "1ms..2s/1B", "2..1/1", "1..2/0", "0..9999999/1"] {
            assert!(expand_range(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_that_a_terminal_would_obey_are_refused() {
        for sweep in [
            "name = \"x\\u001b[2J\"\nset = ['path.B.delay']\nvalues = ['1ms']",
            "cases = [{ label = \"\\u0007\", set = { 'path.B.delay' = '1ms' } }]",
        ] {
            let refusal = labels(&format!("[[sweep]]\n{sweep}")).unwrap_err();
            assert!(refusal.contains("control character"), "{refusal}");
        }
    }

    #[test]
    fn what_an_axis_sets_is_checked() {
        let refusal = |set: &str, values: &str| {
            labels(&format!("[[sweep]]\nset = ['{set}']\n{values}")).unwrap_err()
        };
        let unknown = refusal("path.B.dely", "values = ['64KiB']");
        assert!(unknown.starts_with("test: sweep[0]: path.B.dely = \"64KiB\": unknown field"));
        let stranger = refusal("path.C.delay", "values = ['1ms']");
        assert!(stranger.contains("\"C\" is no path of the scenario"), "{stranger}");
        let duration = refusal("path.B.delay", "values = ['64KiB']");
        assert!(duration.contains("path.B.delay = \"64KiB\": expected a duration"), "{duration}");
        let range = refusal("path.B.delay", "range = '64KiB'");
        assert!(range.starts_with("test:9: sweep[0].range = \"64KiB\": expected FIRST..LAST"));
    }
}
