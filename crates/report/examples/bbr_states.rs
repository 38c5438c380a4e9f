//! The states of `bbr` over one simulated run: draws the figure of
//! `docs/explanation/congestion-control.md`.
//!
//! `cargo run -p polypath-report --example bbr_states > docs/figures/bbr-states.svg`
//!
//! One saturated sender on one path whose capacity halves for a while. The curves are the
//! samples and the trace of that run, so the same command gives the same file again.

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use polypath_run::{Recording, RunResult, read_scenario, run};
use polypath_scenario::Source;
use serde::Deserialize;

/// 50 Mbit/s times a round trip of 40 ms are 250 kB; the queue holds as much again.
const SCENARIO: &str = "
    [path.only]
    rate = '50Mbit/s'
    delay = '20ms'
    queue = '250000B'

    [[at]]
    time = '4s'
    target = 'only'
    rate = '25Mbit/s'

    [[at]]
    time = '8s'
    target = 'only'
    rate = '50Mbit/s'

    [stack]
    profile = 'fast'
    path-scheduler = 'min-rtt'
    congestion = 'bbr?residual=on&trip=mean'
    send-buffer = '4MiB'
    receive-buffer = '4MiB'

    [[flow]]
    app = 'saturated'
    unordered = true

    [time]
    settle = '0s'
    measure = '12s'
    sample = '10ms'
";
const SEED: u64 = 1;
const END: f64 = 12.0;
/// Capacity in Mbit/s from these times on, in seconds.
const CAPACITY: [(f64, f64); 3] = [(0.0, 50.0), (4.0, 25.0), (8.0, 50.0)];
/// The round trip without a queue, in seconds.
const TRIP: f64 = 0.04;

const TITLE: &str =
    "States of bbr: 50 Mbit/s (25 Mbit/s from 4 to 8 s), round trip 40 ms, queue 250 kB";
const WIDTH: u32 = 1000;
const LEFT: u32 = 130;
const MARGIN: u32 = 16;
/// Heights: the title, the legend above a panel, a panel, a state's row, the time axis.
const HEAD: u32 = 40;
const LEGEND: u32 = 28;
const PANEL: u32 = 180;
const ROW: u32 = 21;
const BELOW: u32 = 48;
const TEXT: i32 = 14;

/// What bounds the sender lies under what comes of it, and is wider.
const LIMIT: RGBColor = RGBColor(160, 160, 160);
const BLUE: RGBColor = RGBColor(0, 114, 178);

/// A state and its colour.
struct State {
    name: &'static str,
    colour: RGBColor,
}

/// In the order of a run. Colours by Okabe and Ito (2008).
const STATES: [State; 7] = [
    State { name: "Startup", colour: RGBColor(230, 159, 0) },
    State { name: "Drain", colour: BLUE },
    State { name: "ProbeBW_DOWN", colour: RGBColor(86, 180, 233) },
    State { name: "ProbeBW_CRUISE", colour: RGBColor(150, 150, 150) },
    State { name: "ProbeBW_REFILL", colour: RGBColor(0, 158, 115) },
    State { name: "ProbeBW_UP", colour: RGBColor(213, 94, 0) },
    State { name: "ProbeRTT", colour: RGBColor(204, 121, 167) },
];
const CRUISE: usize = 3;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What is read of a line of a trace.
#[derive(Deserialize)]
struct Line {
    /// Nanoseconds.
    at: u64,
    phase: Option<String>,
    pacing_rate: Option<u64>,
    /// Nanoseconds.
    sample: Option<u64>,
}

/// Time in seconds, and a value.
type Curve = Vec<(f64, f64)>;

/// What the figure shows of a run.
#[derive(Default)]
struct Seen {
    /// Of which state, and when.
    spans: Vec<(usize, Range<f64>)>,
    /// Mbit/s.
    pacing: Curve,
    delivered: Curve,
    /// Kilobytes.
    window: Curve,
    in_flight: Curve,
    /// Milliseconds.
    trips: Curve,
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", draw()?);
    Ok(())
}

fn draw() -> Result<String, Box<dyn Error>> {
    let scenario = read_scenario(&Source::new("bbr_states.toml", SCENARIO)?)?;
    let mut trace = Vec::new();
    let recording = Recording { pcap: None, trace: Some(&mut trace) };
    let result = run(&scenario, SEED, recording, &mut |_done| ())?;
    draw_figure(&read_run(&result, std::str::from_utf8(&trace)?)?)
}

fn read_run(result: &RunResult, trace: &str) -> Result<Seen, Box<dyn Error>> {
    let mut seen = Seen::default();
    let from_sender = |line: &&str| line.contains("\"host\":\"client\"");
    for line in trace.lines().filter(from_sender) {
        if !line.contains("\"event\":\"window\"") && !line.contains("\"event\":\"rtt\"") {
            continue;
        }
        let line: Line = serde_json::from_str(line)?;
        let at = line.at as f64 / 1e9;
        if let Some(sample) = line.sample {
            push_apart(&mut seen.trips, at, sample as f64 / 1e6);
        }
        if let Some(rate) = line.pacing_rate {
            push_step(&mut seen.pacing, at, rate as f64 * 8e-6);
        }
        if let Some(phase) = line.phase {
            let state = STATES.iter().position(|state| state.name == phase);
            let state = state.ok_or_else(|| format!("no state is called {phase}"))?;
            match seen.spans.last_mut() {
                Some((last, span)) if *last == state => span.end = at,
                last => {
                    last.into_iter().for_each(|(_, span)| span.end = at);
                    seen.spans.push((state, at..at));
                }
            }
        }
    }
    seen.spans.last_mut().into_iter().for_each(|(_, span)| span.end = END);
    let flow = result.flows.first().ok_or("no flow")?;
    let mut earlier = std::collections::VecDeque::new();
    for sample in &flow.samples {
        let at = sample.at as f64 / 1e9;
        let path = sample.paths.first().ok_or("no path")?;
        seen.window.push((at, path.cwnd as f64 / 1e3));
        seen.in_flight.push((at, path.outstanding as f64 / 1e3));
        earlier.push_back((at, sample.delivered));
        if earlier.len() > MEAN_OF
            && let Some((then, before)) = earlier.pop_front()
        {
            let rate = (sample.delivered - before) as f64 * 8e-6 / (at - then);
            seen.delivered.push((at, rate));
        }
    }
    Ok(seen)
}

/// Samples over which the delivered rate is a mean.
const MEAN_OF: usize = 4;
/// Values of a trace that are nearer to the one before are left out, in seconds.
const APART: f64 = 0.01;

fn push_apart(curve: &mut Curve, at: f64, value: f64) {
    if curve.last().is_none_or(|(last, _)| at - last >= APART) {
        curve.push((at, value));
    }
}

/// A value that holds until the next one.
fn push_step(curve: &mut Curve, at: f64, value: f64) {
    let Some(&(last, before)) = curve.last() else { return curve.push((at, value)) };
    if at - last >= APART || (value - before).abs() > 0.05 * before {
        curve.extend([(at, before), (at, value)]);
    }
}

/// A curve of a panel.
struct Drawn<'a> {
    label: &'a str,
    points: &'a [(f64, f64)],
    style: ShapeStyle,
    dashed: bool,
}

fn draw_figure(seen: &Seen) -> Result<String, Box<dyn Error>> {
    let capacity = steps(|rate| rate);
    let holds = steps(|rate| rate * 1e6 / 8.0 * TRIP / 1e3);
    let empty = [(0.0, TRIP * 1e3), (END, TRIP * 1e3)];
    let own = |label, points, colour: RGBColor, width| {
        let style = colour.stroke_width(width);
        Drawn { label, points, style, dashed: false }
    };
    let dashed = |label, points| Drawn { dashed: true, ..own(label, points, BLACK, 1) };
    let rate = [
        own("pacing rate", &seen.pacing, LIMIT, 5),
        own("delivered to the application", &seen.delivered, BLUE, 2),
        dashed("capacity of the path", &capacity),
    ];
    let volume = [
        own("congestion window", &seen.window, LIMIT, 5),
        own("in flight", &seen.in_flight, BLUE, 2),
        dashed("capacity times round trip without a queue", &holds),
    ];
    let trip =
        [own("round trip", &seen.trips, BLUE, 2), dashed("round trip without a queue", &empty)];
    let panels: [(&str, &[Drawn<'_>]); 3] =
        [("Rate (Mbit/s)", &rate), ("Volume (kB)", &volume), ("Time (ms)", &trip)];

    let rows = LEGEND + ROW * STATES.len() as u32 + BELOW;
    let height = HEAD + (LEGEND + PANEL) * panels.len() as u32 + rows;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (head, mut rest) = root.split_vertically(HEAD);
        let style = ("sans-serif", TEXT + 4).into_text_style(&head);
        let style = style.pos(Pos::new(HPos::Center, VPos::Center));
        head.draw(&Text::new(TITLE, (WIDTH as i32 / 2, HEAD as i32 / 2), style))?;
        for (name, curves) in panels {
            let (panel, below) = rest.split_vertically(LEGEND + PANEL);
            draw_panel(&panel, name, curves, &seen.spans)?;
            rest = below;
        }
        draw_states(&rest, &seen.spans)?;
        root.present()?;
    }
    Ok(text + "\n")
}

/// The capacity over time, as something else.
fn steps(value: impl Fn(f64) -> f64) -> Curve {
    let ends = CAPACITY.iter().skip(1).map(|(from, _)| *from).chain([END]);
    let both = CAPACITY.iter().zip(ends);
    both.flat_map(|((from, rate), to)| [(*from, value(*rate)), (to, value(*rate))]).collect()
}

fn draw_panel(
    area: &Area<'_>,
    name: &str,
    curves: &[Drawn<'_>],
    spans: &[(usize, Range<f64>)],
) -> Result<(), Box<dyn Error>> {
    let (legend, area) = area.split_vertically(LEGEND);
    draw_legend(&legend, curves)?;
    let most = curves.iter().flat_map(|curve| curve.points).map(|(_, y)| *y).fold(0.0, f64::max);
    let top = 1.08 * most;
    let mut chart = ChartBuilder::on(&area)
        .margin_left(MARGIN)
        .margin_right(MARGIN)
        .margin_top(4)
        .margin_bottom(8)
        .y_label_area_size(LEFT - MARGIN)
        .build_cartesian_2d(0.0..END, 0.0..top)?;
    // CRUISE stays white: it is what lies between the others.
    let coloured = spans.iter().filter(|(state, _)| *state != CRUISE);
    chart.draw_series(coloured.map(|(state, span)| {
        let fill = STATES[*state].colour.mix(0.25).filled();
        Rectangle::new([(span.start, 0.0), (span.end, top)], fill)
    }))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .y_desc(name)
        .y_labels(6)
        .y_label_formatter(&|y| format!("{y:.0}"))
        .label_style(("sans-serif", TEXT - 1))
        .axis_desc_style(("sans-serif", TEXT))
        .draw()?;
    for curve in curves {
        let points = curve.points.iter().copied().filter(|(x, _)| *x <= END);
        if curve.dashed {
            chart.draw_series(DashedLineSeries::new(points, 6, 4, curve.style))?;
        } else {
            chart.draw_series(LineSeries::new(points, curve.style))?;
        }
    }
    Ok(())
}

/// One row above a panel.
fn draw_legend(area: &Area<'_>, curves: &[Drawn<'_>]) -> Result<(), Box<dyn Error>> {
    let (mut x, y) = (LEFT as i32, LEGEND as i32 - 10);
    let style = ("sans-serif", TEXT).into_text_style(area);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    for curve in curves {
        let strokes: &[(i32, i32)] =
            if curve.dashed { &[(0, 6), (10, 16), (20, 26)] } else { &[(0, 26)] };
        for (from, to) in strokes {
            area.draw(&PathElement::new(vec![(x + from, y), (x + to, y)], curve.style))?;
        }
        area.draw(&Text::new(curve.label, (x + 32, y), style.clone()))?;
        x += 32 + 7 * curve.label.len() as i32 + 24;
    }
    Ok(())
}

/// A row for each state.
fn draw_states(area: &Area<'_>, spans: &[(usize, Range<f64>)]) -> Result<(), Box<dyn Error>> {
    let (heading, area) = area.split_vertically(LEGEND);
    let style = ("sans-serif", TEXT).into_text_style(&heading);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    let text = "state (its colour is behind the curves, but for ProbeBW_CRUISE)";
    heading.draw(&Text::new(text, (LEFT as i32, LEGEND as i32 - 10), style))?;
    let rows = STATES.len() as f64;
    let mut chart = ChartBuilder::on(&area)
        .margin_right(MARGIN)
        .x_label_area_size(BELOW)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(0.0..END, 0.0..rows)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc("Time (s)")
        .x_labels(END as usize + 1)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .label_style(("sans-serif", TEXT - 1))
        .axis_desc_style(("sans-serif", TEXT))
        .draw()?;
    chart.draw_series(spans.iter().map(|(state, span)| {
        let bottom = rows - 1.0 - *state as f64;
        let corners = [(span.start, bottom + 0.15), (span.end, bottom + 0.85)];
        Rectangle::new(corners, STATES[*state].colour.filled())
    }))?;
    let style = ("sans-serif", TEXT - 1).into_text_style(&area);
    let style = style.pos(Pos::new(HPos::Right, VPos::Center));
    for (n, state) in (0..).zip(&STATES) {
        let at = (LEFT as i32 - 8, ROW as i32 * n + ROW as i32 / 2);
        area.draw(&Text::new(state.name, at, style.clone()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_in_the_documentation_is_this_one() {
        let drawn = draw().expect("a scenario that runs");
        let there = include_str!("../../../docs/figures/bbr-states.svg");
        assert!(
            drawn == there,
            "draw it again: \
             cargo run -p polypath-report --example bbr_states > docs/figures/bbr-states.svg"
        );
    }
}
