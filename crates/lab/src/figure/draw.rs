//! Diagrams to SVG.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::element::ComposedElement;
use plotters::prelude::*;

use super::data::{Curve, Diagram, Point};
use super::palette::{Look, Marker};
use crate::experiment::metrics::digits;

const WIDTH: u32 = 880;
const HEIGHT: u32 = 440;
/// Height of a row of the legend.
const ROW: i32 = 20;
const TEXT: i32 = 14;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Why a diagram could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the diagram cannot be drawn: {0}")]
pub struct DrawError(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for DrawError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}

/// Draws a diagram, with its legend beside it.
///
/// # Errors
/// When the drawing library refuses.
pub fn svg(diagram: &Diagram) -> Result<String, DrawError> {
    let mut text = String::new();
    {
        let longest = legend(diagram).map(|(label, ..)| label.len()).max().unwrap_or(0);
        let beside = (longest as u32 * 7 + 60).clamp(90, 400);
        let rows = legend(diagram).count() as u32;
        let height = HEIGHT.max(rows * ROW as u32 + 40);
        let root = SVGBackend::with_string(&mut text, (WIDTH + beside, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(WIDTH);
        plot(&left, diagram)?;
        draw_legend(&right, diagram)?;
        root.present()?;
    }
    Ok(text)
}

fn plot(area: &Area<'_>, diagram: &Diagram) -> Result<(), DrawError> {
    let (xs, ys) = (x_range(diagram), y_range(diagram));
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(xs, ys)?;
    let categories = diagram.categories.clone();
    let (x_log, y_log) = diagram.log;
    let number = |log: bool, v: f64| digits(if log { 10f64.powf(v) } else { tidy(v) });
    let x_text = move |v: &f64| match &categories {
        Some(labels) if v.fract() == 0.0 && *v >= 0.0 => {
            labels.get(*v as usize).cloned().unwrap_or_default()
        }
        Some(_) => String::new(),
        None => number(x_log, *v),
    };
    let ticks = diagram.categories.as_ref().map_or(10, |labels| 2 * labels.len() + 1);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_labels(ticks)
        .x_desc(&diagram.x_label)
        .y_desc(&diagram.y_label)
        .x_label_formatter(&x_text)
        .y_label_formatter(&|v| number(y_log, *v))
        .label_style(("sans-serif", TEXT))
        .axis_desc_style(("sans-serif", TEXT + 1))
        .draw()?;
    levels(&mut chart, diagram)?;
    for (n, curve) in diagram.curves.iter().enumerate() {
        draw_curve(&mut chart, diagram, curve, Look::of(n))?;
    }
    Ok(())
}

/// Steps of a scale leave rounding errors behind, such as 0.30000000000000004.
fn tidy(value: f64) -> f64 {
    if value.abs() < 1e-9 { 0.0 } else { value }
}

fn levels(chart: &mut Chart<'_, '_>, diagram: &Diagram) -> Result<(), DrawError> {
    let range = x_range(diagram);
    for (y, label) in &diagram.levels {
        let y = on_scale(*y, diagram.log.1);
        let style = RGBColor(110, 110, 110).stroke_width(1);
        let ends = [(range.start, y), (range.end, y)];
        chart.draw_series(DashedLineSeries::new(ends, 2, 4, style))?;
        let text = Text::new(label.clone(), (4, -TEXT), ("sans-serif", TEXT - 2));
        chart.draw_series([EmptyElement::at((range.start, y)) + text])?;
    }
    Ok(())
}

fn draw_curve(
    chart: &mut Chart<'_, '_>,
    diagram: &Diagram,
    curve: &Curve,
    look: Look,
) -> Result<(), DrawError> {
    let place = |point: &Point| scaled(diagram, point.x, point.y.mean);
    let line: Vec<(f64, f64)> = curve.points.iter().map(place).collect();
    let style = look.colour.stroke_width(2);
    match look.dash {
        (_, 0) => chart.draw_series(LineSeries::new(line.clone(), style))?,
        (stroke, gap) => {
            chart.draw_series(DashedLineSeries::new(line.clone(), stroke, gap, style))?
        }
    };
    intervals(chart, diagram, &curve.points, look, 2)?;
    if curve.marked {
        chart.draw_series(line.into_iter().map(|at| marker(at, look, 5, true)))?;
    }
    intervals(chart, diagram, &curve.reference, look, 1)?;
    let reference = curve.reference.iter().map(place);
    chart.draw_series(reference.map(|at| marker(at, look, 8, false)))?;
    Ok(())
}

fn intervals(
    chart: &mut Chart<'_, '_>,
    diagram: &Diagram,
    points: &[Point],
    look: Look,
    width: u32,
) -> Result<(), DrawError> {
    let wide = points.iter().filter(|point| point.y.half.is_finite() && point.y.half > 0.0);
    let bar = |point: &Point| {
        let ends = [point.y.low(), point.y.high()].map(|y| scaled(diagram, point.x, y));
        PathElement::new(ends.to_vec(), look.colour.stroke_width(width))
    };
    chart.draw_series(wide.clone().map(bar))?;
    for end in [crate::stats::Interval::low, crate::stats::Interval::high] {
        let cap = |point: &Point| {
            EmptyElement::at(scaled(diagram, point.x, end(point.y)))
                + PathElement::new(vec![(-4, 0), (4, 0)], look.colour.stroke_width(width))
        };
        chart.draw_series(wide.clone().map(cap))?;
    }
    Ok(())
}

/// What a marker is made of: its filling and its outline, around a point.
type Drawn<'b, C> =
    ComposedElement<C, SVGBackend<'b>, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

/// A marker; hollow ones are the reference's.
fn marker<'b, C: Clone>(at: C, look: Look, size: i32, filled: bool) -> Drawn<'b, C> {
    let corners = corners(look.marker, size);
    let outline = corners.iter().chain(corners.first()).copied().collect::<Vec<_>>();
    let fill = if filled { look.colour.to_rgba() } else { TRANSPARENT };
    EmptyElement::at(at)
        + Polygon::new(corners, fill.filled())
        + PathElement::new(outline, look.colour.stroke_width(1))
}

fn corners(marker: Marker, s: i32) -> Vec<(i32, i32)> {
    match marker {
        Marker::Circle => {
            let corner = |n: i32| {
                let angle = f64::from(n) * std::f64::consts::TAU / 16.0;
                let part = |unit: f64| (unit * f64::from(s)).round() as i32;
                (part(angle.cos()), part(angle.sin()))
            };
            (0..16).map(corner).collect()
        }
        Marker::Square => vec![(-s, -s), (s, -s), (s, s), (-s, s)],
        Marker::Triangle => vec![(0, -s - 1), (s + 1, s), (-s - 1, s)],
        Marker::Diamond => vec![(0, -s - 2), (s + 2, 0), (0, s + 2), (-s - 2, 0)],
        Marker::Cross => {
            let (arm, waist) = (s + 1, 2);
            let (out, side) = (arm, arm - waist);
            vec![
                (-out, -side),
                (-side, -out),
                (0, -waist),
                (side, -out),
                (out, -side),
                (waist, 0),
                (out, side),
                (side, out),
                (0, waist),
                (-side, out),
                (-out, side),
                (-waist, 0),
            ]
        }
    }
}

/// Rows of the legend: text, look, and whether it stands for the reference.
fn legend(diagram: &Diagram) -> impl Iterator<Item = (String, Look, bool, bool)> {
    let own = diagram.curves.iter().enumerate().filter(|(_, curve)| !curve.label.is_empty());
    let rows = own.map(|(n, curve)| (curve.label.clone(), Look::of(n), true, curve.marked));
    let reference = diagram.curves.iter().any(|curve| !curve.reference.is_empty());
    let row = ("hollow: original simulator".to_owned(), Look::of(2), false, true);
    rows.chain(reference.then_some(row))
}

fn draw_legend(area: &Area<'_>, diagram: &Diagram) -> Result<(), DrawError> {
    for (n, (label, look, filled, marked)) in legend(diagram).enumerate() {
        let y = 24 + ROW * n as i32;
        if filled {
            let style = look.colour.stroke_width(2);
            match look.dash {
                (_, 0) => area.draw(&PathElement::new(vec![(4, y), (40, y)], style))?,
                (stroke, gap) => {
                    let (stroke, gap) = (stroke as i32, gap as i32);
                    let mut x = 4;
                    while x < 40 {
                        let end = (x + stroke).min(40);
                        area.draw(&PathElement::new(vec![(x, y), (end, y)], style))?;
                        x += stroke + gap;
                    }
                }
            }
        }
        if marked {
            let size = if filled { 5 } else { 8 };
            area.draw(&marker((22, y), look, size, filled))?;
        }
        area.draw(&Text::new(label, (48, y - TEXT / 2), ("sans-serif", TEXT)))?;
    }
    Ok(())
}

fn on_scale(value: f64, log: bool) -> f64 {
    if log { value.max(f64::MIN_POSITIVE).log10() } else { value }
}

fn scaled(diagram: &Diagram, x: f64, y: f64) -> (f64, f64) {
    (on_scale(x, diagram.log.0), on_scale(y, diagram.log.1))
}

fn points(diagram: &Diagram) -> impl Iterator<Item = &Point> {
    diagram.curves.iter().flat_map(|curve| curve.points.iter().chain(&curve.reference))
}

fn x_range(diagram: &Diagram) -> std::ops::Range<f64> {
    let xs = points(diagram).map(|point| on_scale(point.x, diagram.log.0));
    let (low, high) = ends(xs);
    let margin = if diagram.categories.is_some() { 0.5 } else { 0.03 * (high - low).max(1e-9) };
    low - margin..high + margin
}

/// From zero, unless the scale is logarithmic.
fn y_range(diagram: &Diagram) -> std::ops::Range<f64> {
    let log = diagram.log.1;
    let reach = |point: &Point| {
        let half = if point.y.half.is_finite() { point.y.half } else { 0.0 };
        let low = if log && point.y.mean <= half { point.y.mean } else { point.y.mean - half };
        [low, point.y.mean + half].map(|y| on_scale(y, log))
    };
    let levels = diagram.levels.iter().map(|(y, _)| on_scale(*y, log));
    let (low, high) = ends(points(diagram).flat_map(reach).chain(levels));
    let margin = 0.06 * (high - low).max(1e-9);
    if log { low - margin..high + margin } else { low.min(0.0)..high.max(0.0) + margin.max(1e-9) }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high { (0.0, 1.0) } else { (low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    fn diagram(n: usize) -> Diagram {
        let point = |n: usize| {
            move |x: usize| Point {
                x: x as f64 * 32.0,
                y: Interval { mean: (x * (n + 1)) as f64, half: 0.4 },
            }
        };
        let curve = |n: usize| Curve {
            label: format!("curve {n}"),
            points: (1..9).map(point(n)).collect(),
            reference: (1..3).map(point(n)).collect(),
            marked: true,
        };
        Diagram {
            heading: String::new(),
            x_label: "Buffer (KiB)".into(),
            y_label: "Throughput (Mbit/s)".into(),
            categories: None,
            log: (false, false),
            curves: (0..n).map(curve).collect(),
            levels: vec![(19.36, "both links".into())],
        }
    }

    #[test]
    fn every_curve_is_in_the_legend_and_axes_have_units() {
        let text = svg(&diagram(9)).unwrap();
        for n in 0..9 {
            assert!(text.contains(&format!("curve {n}")), "{n}");
        }
        assert!(text.contains("Buffer (KiB)") && text.contains("Throughput (Mbit/s)"));
    }

    #[test]
    fn empty_and_logarithmic_diagrams_are_drawn_too() {
        let mut empty = diagram(0);
        empty.levels.clear();
        svg(&empty).unwrap();
        let mut log = diagram(2);
        log.log = (true, true);
        svg(&log).unwrap();
    }
}
