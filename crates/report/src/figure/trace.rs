//! Figures over time from the trace file of a run.

use std::collections::BTreeSet;
use std::io::BufRead;

use indexmap::IndexMap;
use polypath_experiments::stats::Interval;
use polypath_run::metrics::Unit;
use serde_json::{Map, Value};

use super::data::{Curve, Diagram, Point};

/// Fields that say whose event it is: what differs in one of them is never in one curve.
const OWNERS: [&str; 3] = ["flow", "host", "path"];
/// Steps that a curve may have, about: more than there are pixels only make large files.
const STEPS: usize = 800;

/// Which events to draw, and what of them.
#[derive(Clone, Debug)]
pub struct TraceFigure<'a> {
    /// Field of the events, such as `cwnd`.
    pub y: &'a str,
    /// Fields whose values make the curves, beside those that say whose event it is.
    pub curves: &'a [String],
    /// Fields and the values that they must have.
    pub keep: &'a [(String, String)],
}

/// Why there is no figure, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TraceProblem(String);

/// What is drawn of a trace.
#[derive(Clone, Debug)]
pub struct TraceDrawing {
    /// The picture.
    pub diagram: Diagram,
    /// The last line of the trace ends in its midst, as a program that was killed or a full disk
    /// leaves it: what came then is not drawn.
    pub cut_short: bool,
}

/// A field of the events of a trace over time; between events it stays as it is.
///
/// # Errors
/// When the file is no trace, or has no such event.
pub fn read_trace(
    mut input: impl BufRead,
    figure: &TraceFigure<'_>,
) -> Result<TraceDrawing, TraceProblem> {
    let mut cut_short = false;
    let mut fields = BTreeSet::new();
    let mut values: IndexMap<&str, BTreeSet<String>> = IndexMap::new();
    let mut curves: IndexMap<Vec<String>, Vec<(f64, f64)>> = IndexMap::new();
    let own = figure.curves.iter().map(String::as_str);
    let keys: Vec<&str> = own
        .clone()
        .chain(OWNERS.into_iter().filter(|name| !own.clone().any(|own| own == *name)))
        .collect();
    let mut line = Vec::new();
    for n in 1.. {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| TraceProblem(error.to_string()))? == 0 {
            break;
        }
        let event = match read_event(n, &line) {
            Ok(event) => event,
            // No part of an object is one.
            Err(_) if n > 1 && line.last() != Some(&b'\n') => {
                cut_short = true;
                break;
            }
            Err(problem) => return Err(problem),
        };
        let numbers = event.iter().filter(|(_, value)| value.is_number());
        for (name, _) in numbers.filter(|(name, _)| *name != "at") {
            if !fields.contains(name) {
                fields.insert(name.clone());
            }
        }
        let (Some(at), Some(y)) = (number_of(&event, "at"), number_of(&event, figure.y)) else {
            continue;
        };
        for (name, _) in figure.keep {
            values.entry(name).or_default().insert(text_of(&event, name));
        }
        if figure.keep.iter().all(|(name, value)| text_of(&event, name) == *value) {
            let key = keys.iter().map(|name| text_of(&event, name)).collect();
            curves.entry(key).or_default().push((at / 1e9, y));
        }
    }
    if !fields.contains(figure.y) {
        let known: Vec<String> = fields.into_iter().collect();
        let problem =
            format!("no field {:?} in any event (allowed: {})", figure.y, known.join(", "));
        return Err(TraceProblem(problem));
    }
    if curves.is_empty() {
        return Err(unmet_condition(figure, &values));
    }
    Ok(TraceDrawing { diagram: build_diagram(figure, &keys, curves), cut_short })
}

fn read_event(n: usize, line: &[u8]) -> Result<Map<String, Value>, TraceProblem> {
    let problem =
        || TraceProblem(format!("line {n}: no event of a trace (allowed: what --trace writes)"));
    let event: Map<String, Value> = serde_json::from_slice(line).map_err(|_| problem())?;
    if event.get("at").is_some_and(Value::is_number) { Ok(event) } else { Err(problem()) }
}

fn number_of(event: &Map<String, Value>, name: &str) -> Option<f64> {
    event.get(name).and_then(Value::as_f64)
}

/// A value as it is written on a command line; nothing where there is none.
fn text_of(event: &Map<String, Value>, name: &str) -> String {
    match event.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.replace(is_unfit, "\u{fffd}"),
        Some(other) => other.to_string(),
    }
}

/// A terminal would obey it, or no picture may contain it (XML 1.0 section 2.2).
fn is_unfit(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{fffe}' | '\u{ffff}')
}

fn unmet_condition(
    figure: &TraceFigure<'_>,
    values: &IndexMap<&str, BTreeSet<String>>,
) -> TraceProblem {
    let known = |name: &str, value: &str| values.get(name).is_some_and(|all| all.contains(value));
    let unmet = figure.keep.iter().find(|(name, value)| !known(name, value));
    let Some((name, value)) = unmet else {
        return TraceProblem(format!("no event with {} meets all conditions at once", figure.y));
    };
    let known: Vec<&str> = values
        .get(name.as_str())
        .into_iter()
        .flatten()
        .map(|value| if value.is_empty() { "none" } else { value })
        .collect();
    let known = known.join(", ");
    TraceProblem(format!("no event with {} has {name}={value} (allowed: {known})", figure.y))
}

fn build_diagram(
    figure: &TraceFigure<'_>,
    keys: &[&str],
    curves: IndexMap<Vec<String>, Vec<(f64, f64)>>,
) -> Diagram {
    // What all curves share tells none of them apart.
    let differs = |at: &usize| {
        let mut values = curves.keys().filter_map(|key| key.get(*at));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let telling: Vec<usize> = (0..keys.len()).filter(differs).collect();
    let times = curves.values().flatten().map(|(at, _)| *at);
    let (from, to) =
        times.fold((f64::INFINITY, 0.0), |(a, b), at| (f64::min(a, at), f64::max(b, at)));
    let (unit, base) = unit_of(figure.y);
    let most = curves.values().flatten().map(|(_, y)| y * base).fold(0.0, f64::max);
    let (factor, unit) = unit.scale_for(most);
    let mut drawn: Vec<Curve> = curves
        .iter()
        .map(|(key, values)| {
            let point = |(x, y): (f64, f64)| Point {
                x,
                y: Interval { mean: y * base * factor, half: 0.0 },
            };
            Curve {
                label: name_curve(keys, &telling, key),
                points: thin_out(values, from..to).into_iter().map(point).collect(),
                reference: Vec::new(),
                paper: Vec::new(),
                marked: false,
            }
        })
        .collect();
    drawn.sort_by(|a, b| a.label.cmp(&b.label));
    let y_label =
        if unit.is_empty() { figure.y.to_owned() } else { format!("{} ({unit})", figure.y) };
    Diagram {
        title: format!("{} over time", figure.y),
        x_label: "time (s)".to_owned(),
        y_label,
        curves: drawn,
        ..Diagram::default()
    }
}

fn name_curve(keys: &[&str], telling: &[usize], key: &[String]) -> String {
    let part = |at: &usize| match (keys.get(*at)?, key.get(*at)?.as_str()) {
        (name, "") => Some(format!("no {name}")),
        // A bare number says nothing.
        (name, value) if value.parse::<f64>().is_ok() => Some(format!("{name} {value}")),
        (_, value) => Some(value.to_owned()),
    };
    telling.iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

/// The unit of a field of a trace, and what its numbers are multiplied with to be in base units.
fn unit_of(field: &str) -> (Unit, f64) {
    match field {
        "sample" | "srtt" | "rto" => (Unit::Time, 1e-9),
        "pacing_rate" => (Unit::Rate, 8.0),
        "cwnd" | "ssthresh" | "outstanding" | "bytes" | "held" | "out_of_order" | "a_rwnd"
        | "peer_rwnd" | "send_buffer" => (Unit::Bytes, 1.0),
        _ => (Unit::Plain, 1.0),
    }
}

/// The corners of the steps, until the end; where many events lie within a pixel, the first, least, greatest and
/// last of them.
fn thin_out(values: &[(f64, f64)], range: std::ops::Range<f64>) -> Vec<(f64, f64)> {
    let width = (range.end - range.start).max(f64::MIN_POSITIVE);
    let pixel = |at: f64| ((at - range.start) / width * STEPS as f64) as usize;
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for within in values.chunk_by(|a, b| pixel(a.0) == pixel(b.0)) {
        let by_value = |a: &(usize, &(f64, f64)), b: &(usize, &(f64, f64))| a.1.1.total_cmp(&b.1.1);
        let events = || within.iter().enumerate();
        let chosen = [
            events().next(),
            events().min_by(by_value),
            events().max_by(by_value),
            events().next_back(),
        ];
        let chosen: BTreeSet<usize> = chosen.into_iter().flatten().map(|(n, _)| n).collect();
        for (at, y) in chosen.into_iter().filter_map(|n| within.get(n)) {
            corners.extend(corners.last().map(|(_, before)| (*at, *before)));
            corners.push((*at, *y));
        }
    }
    corners.extend(corners.last().map(|(_, last)| (range.end, *last)));
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"{"flow":"f","host":"client","at":0,"event":"window","path":0,"cwnd":4096}
{"flow":"f","host":"client","at":1000000000,"event":"window","path":1,"cwnd":8192}
{"flow":"f","host":"server","at":1500000000,"event":"window","path":0,"cwnd":4096}
{"flow":"f","host":"client","at":2000000000,"event":"window","path":0,"cwnd":8192}
{"flow":"f","host":"client","at":2000000000,"event":"round","packets":6,"stop":"paths"}
"#;

    fn draw(y: &str, curves: &[&str], keep: &[(&str, &str)]) -> Result<Diagram, String> {
        let curves: Vec<String> = curves.iter().map(|name| (*name).to_owned()).collect();
        let keep: Vec<(String, String)> =
            keep.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let figure = TraceFigure { y, curves: &curves, keep: &keep };
        let drawn = read_trace(TRACE.as_bytes(), &figure);
        drawn.map(|drawn| drawn.diagram).map_err(|problem| problem.to_string())
    }

    fn labels(diagram: &Diagram) -> Vec<&str> {
        diagram.curves.iter().map(|curve| curve.label.as_str()).collect()
    }

    #[test]
    fn events_of_different_owners_are_never_in_one_curve() {
        let all = draw("cwnd", &["path"], &[]).unwrap();
        assert_eq!(labels(&all), ["path 0, client", "path 0, server", "path 1, client"]);
        assert_eq!((all.x_label.as_str(), all.y_label.as_str()), ("time (s)", "cwnd (KiB)"));
        let own = draw("cwnd", &[], &[("host", "client")]).unwrap();
        assert_eq!(labels(&own), ["path 0", "path 1"]);
        let one = draw("packets", &[], &[]).unwrap();
        assert_eq!(labels(&one), [""]);
    }

    #[test]
    fn a_value_stays_until_the_next_event() {
        let own = draw("cwnd", &[], &[("host", "client")]).unwrap();
        let points: Vec<(f64, f64)> =
            own.curves[0].points.iter().map(|point| (point.x, point.y.mean)).collect();
        assert_eq!(points, [(0.0, 4.0), (2.0, 4.0), (2.0, 8.0), (2.0, 8.0)]);
        let short: Vec<f64> = own.curves[1].points.iter().map(|point| point.x).collect();
        assert_eq!(short, [1.0, 2.0], "until the end of the trace");
    }

    #[test]
    fn many_events_leave_their_extremes() {
        let values: Vec<(f64, f64)> =
            (0..100_000).map(|n| (f64::from(n), f64::from(n % 977))).collect();
        let thin = thin_out(&values, 0.0..99_999.0);
        assert!(thin.len() < 10 * STEPS, "{}", thin.len());
        assert_eq!(thin.iter().map(|(_, y)| *y).fold(0.0, f64::max), 976.0);
        assert_eq!(thin.last(), values.last());
    }

    #[test]
    fn a_last_line_that_ends_in_its_midst_ends_the_trace() {
        let figure = TraceFigure { y: "cwnd", curves: &[], keep: &[] };
        let cut = |at: usize| read_trace(&TRACE.as_bytes()[..at], &figure);
        let whole = read_trace(TRACE.trim_end().as_bytes(), &figure).unwrap();
        assert!(!whole.cut_short, "its last line is whole");
        let short = cut(TRACE.len() - 3).unwrap();
        assert!(short.cut_short);
        assert_eq!(short.diagram.curves.len(), whole.diagram.curves.len());
        assert!(cut(20).unwrap_err().to_string().starts_with("line 1: no event"), "none is whole");
    }

    #[test]
    fn no_name_controls_a_terminal_or_breaks_a_picture() {
        let text = TRACE.replace("server", "\\u001b[31m\\uffff");
        let figure = TraceFigure { y: "cwnd", curves: &[], keep: &[] };
        let drawn = read_trace(text.as_bytes(), &figure).unwrap();
        assert!(labels(&drawn.diagram).contains(&"\u{fffd}[31m\u{fffd}, path 0"));
    }

    #[test]
    fn mistakes_say_what_there_is() {
        let refusal = |y, keep: &[(&str, &str)]| draw(y, &[], keep).unwrap_err();
        assert_eq!(
            refusal("cwdn", &[]),
            "no field \"cwdn\" in any event (allowed: cwnd, packets, path)"
        );
        assert_eq!(
            refusal("cwnd", &[("host", "clint")]),
            "no event with cwnd has host=clint (allowed: client, server)"
        );
        let both = refusal("cwnd", &[("host", "server"), ("path", "1")]);
        assert!(both.contains("all conditions at once"), "{both}");
        let figure = TraceFigure { y: "cwnd", curves: &[], keep: &[] };
        let noise = read_trace(&b"{\"at\":1}\nnoise\n"[..], &figure).unwrap_err();
        assert!(noise.to_string().starts_with("line 2: no event"), "{noise}");
    }
}
