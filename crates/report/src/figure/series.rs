//! Figures over time, of one run.

use polypath_experiments::experiment::Figure;
use polypath_experiments::stats::Interval;
use polypath_sim::RunResult;
use polypath_sim::results::Sample;

use super::data::{Curve, Diagram, Point, series_unit};

/// The diagram of a figure over time.
pub fn time_series(figure: &Figure, result: &RunResult) -> Diagram {
    let seconds = |sample: &Sample| sample.at as f64 / 1e9;
    let from = figure.from.map_or(0.0, |from| from.0);
    let to = figure.to.map_or(f64::INFINITY, |to| to.0);
    let mut curves = Vec::new();
    for series in &figure.series {
        let Some(flow) = find_flow(result, series) else { continue };
        let within = |sample: &&Sample| (from..=to).contains(&seconds(sample));
        let point = |sample: &Sample| {
            let paths: Vec<&str> = flow.paths.iter().map(|path| path.name.as_str()).collect();
            let mean = sample_value(own_name(series), sample, &paths)?;
            Some(Point { x: seconds(sample), y: Interval { mean, half: 0.0 } })
        };
        let points = flow.samples.iter().filter(within).filter_map(point).collect();
        let (reference, paper) = (Vec::new(), Vec::new());
        let label = legend_label(figure, series);
        curves.push(Curve { label, points, reference, paper, marked: false });
    }
    let largest = curves.iter().flat_map(|curve| &curve.points).map(|point| point.y.mean);
    let name = figure.series.first().map(|series| own_name(series)).unwrap_or_default();
    let (factor, unit) = series_unit(largest.fold(0.0, f64::max));
    for point in curves.iter_mut().flat_map(|curve| &mut curve.points) {
        point.y.mean *= factor;
    }
    let y_name = figure.y_label.clone().unwrap_or_else(|| name_quantity(name).to_owned());
    Diagram {
        title: figure.title.clone(),
        x_label: format!("{} (s)", figure.x_label.as_deref().unwrap_or("Time")),
        y_label: if unit.is_empty() { y_name } else { format!("{y_name} ({unit})") },
        log: (false, figure.y_log),
        curves,
        levels: figure.level.iter().map(|l| (l.at.0 * factor, l.label.clone())).collect(),
        ..Diagram::default()
    }
}

/// What a series shows, in words.
fn name_quantity(series: &str) -> &str {
    match series.split_once(".path.").map_or(series, |(what, _)| what) {
        "cwnd" => "Congestion window",
        "ssthresh" => "Slow start threshold",
        "outstanding" => "Outstanding",
        "peer-rwnd" => "Peer's receive window",
        "send-buffer" => "Send buffer",
        "receive-buffer" => "Receive buffer",
        "out-of-order" => "Out of order",
        other => other,
    }
}

/// In the legend: the path alone where all series show the same of their paths.
fn legend_label(figure: &Figure, series: &str) -> String {
    let what = |series: &str| series.split_once(".path.").map(|(what, _)| what.to_owned());
    let own = what(series);
    let alike = own.is_some() && figure.series.iter().all(|other| what(other) == own);
    match series.split_once(".path.") {
        Some((_, path)) if alike => format!("path {path}"),
        Some((what, path)) => format!("{what}, path {path}"),
        None => series.to_owned(),
    }
}

/// The flow of a series: the first, or as `flow.NAME.` says.
fn find_flow<'a>(
    result: &'a RunResult,
    series: &str,
) -> Option<&'a polypath_sim::results::FlowResult> {
    let named = series.strip_prefix("flow.").and_then(|rest| rest.split_once('.'));
    match named {
        Some((name, _)) => result.flows.iter().find(|flow| flow.name == name),
        None => result.flows.first(),
    }
}

fn own_name(series: &str) -> &str {
    let named = series.strip_prefix("flow.").and_then(|rest| rest.split_once('.'));
    named.map_or(series, |(_, name)| name)
}

fn sample_value(series: &str, sample: &Sample, paths: &[&str]) -> Option<f64> {
    if let Some((what, path)) = series.split_once(".path.") {
        let at = paths.iter().position(|name| *name == path)?;
        let path = sample.paths.get(at)?;
        return match what {
            "cwnd" => Some(path.cwnd as f64),
            "ssthresh" => Some(path.ssthresh as f64),
            "outstanding" => Some(path.outstanding as f64),
            _ => None,
        };
    }
    let bytes = match series {
        "peer-rwnd" => sample.peer_rwnd,
        "send-buffer" => sample.send_buffer,
        "receive-buffer" => sample.receive_buffer,
        "out-of-order" => sample.out_of_order,
        _ => return None,
    };
    Some(bytes as f64)
}
