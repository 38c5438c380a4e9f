//! Diagrams to SVG.

use plotters::coord::Shift;
use plotters::element::ComposedElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::data::{Curve, Diagram, Point};
use super::palette::{Look, Marker};

const WIDTH: u32 = 880;
const HEIGHT: u32 = 440;
/// Height of a row of the legend.
const ROW: i32 = 20;
const TEXT: i32 = 14;
const MARGIN: u32 = 12;
/// Size of the markers of a paper's figures.
const PAPER: i32 = 11;
/// Space for the labels left of the y axis and below the x axis.
const LEFT: u32 = 72;
const BELOW: u32 = 48;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

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
pub fn draw_svg(diagram: &Diagram) -> Result<String, DrawError> {
    let mut text = String::new();
    {
        let longest = legend_rows(diagram).map(|(label, ..)| label.len()).max().unwrap_or(0);
        let longest = longest.max(diagram.legend.len().saturating_sub(6));
        let beside = (longest as u32 * 7 + 60).clamp(90, 400);
        let rows = legend_rows(diagram).count() as u32;
        let height = HEIGHT.max((rows + 1) * ROW as u32 + 40);
        let root = SVGBackend::with_string(&mut text, (WIDTH + beside, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(WIDTH);
        draw_plot(&left, diagram)?;
        draw_legend(&right, diagram)?;
        root.present()?;
    }
    Ok(text)
}

fn draw_plot(area: &Area<'_>, diagram: &Diagram) -> Result<(), DrawError> {
    let pixels = WIDTH - LEFT - 2 * MARGIN;
    let (xs, ys) = (Axis::for_x(diagram, pixels), Axis::for_y(diagram));
    // Long names stand in two rows in turn; the upper row is the mesh's.
    let lower = |x: f64| xs.is_crowded(pixels) && x as usize % 2 == 1;
    let rows = if xs.is_crowded(pixels) { 2 } else { 1 };
    let mut builder = ChartBuilder::on(area);
    if !diagram.heading.is_empty() {
        builder.caption(&diagram.heading, ("sans-serif", TEXT + 2));
    }
    let mut chart = builder
        .margin(MARGIN)
        .x_label_area_size(BELOW + (rows - 1) * ROW as u32)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(xs.clone(), ys.clone())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc(&diagram.x_label)
        .y_desc(&diagram.y_label)
        .x_label_formatter(&|x| if lower(*x) { String::new() } else { xs.tick_label(*x) })
        .y_label_formatter(&|y| ys.tick_label(*y))
        .label_style(("sans-serif", TEXT))
        .axis_desc_style(("sans-serif", TEXT + 1))
        .draw()?;
    let bottom = ys.ends().0;
    let style = ("sans-serif", TEXT).into_text_style(area);
    let style = style.pos(Pos::new(HPos::Center, VPos::Top));
    chart.draw_series(xs.ticks().iter().filter(|x| lower(**x)).map(|x| {
        EmptyElement::at((*x, bottom)) + Text::new(xs.tick_label(*x), (0, ROW + 10), style.clone())
    }))?;
    draw_levels(&mut chart, diagram, xs.ends())?;
    let joined = diagram.categories.is_none();
    for (n, curve) in diagram.curves.iter().enumerate() {
        let curve = CurveIn { curve, look: Look::for_curve(n), xs: &xs, ys: &ys, joined };
        draw_curve(&mut chart, &curve)?;
    }
    Ok(())
}

/// A curve, its look, and the scales it is drawn on.
struct CurveIn<'a> {
    curve: &'a Curve,
    look: Look,
    xs: &'a Axis,
    ys: &'a Axis,
    /// Nothing lies between categories.
    joined: bool,
}

impl CurveIn<'_> {
    /// Points that both scales have: a logarithmic one has no zero.
    fn drawable_points<'p>(&self, points: &'p [Point]) -> impl Iterator<Item = &'p Point> + Clone {
        points.iter().filter(|point| self.xs.has_value(point.x) && self.ys.has_value(point.y.mean))
    }
}

fn draw_levels(
    chart: &mut Chart<'_, '_>,
    diagram: &Diagram,
    (start, end): (f64, f64),
) -> Result<(), DrawError> {
    for (y, label) in &diagram.levels {
        let style = RGBColor(110, 110, 110).stroke_width(1);
        chart.draw_series(DashedLineSeries::new([(start, *y), (end, *y)], 2, 4, style))?;
        let text = Text::new(label.clone(), (4, -TEXT), ("sans-serif", TEXT - 2));
        chart.draw_series([EmptyElement::at((start, *y)) + text])?;
    }
    Ok(())
}

fn draw_curve(chart: &mut Chart<'_, '_>, one: &CurveIn<'_>) -> Result<(), DrawError> {
    let CurveIn { curve, look, .. } = *one;
    let place = |point: &Point| (point.x, point.y.mean);
    let line: Vec<(f64, f64)> = one.drawable_points(&curve.points).map(place).collect();
    if one.joined {
        let style = look.colour.stroke_width(2);
        match look.dash {
            (_, 0) => chart.draw_series(LineSeries::new(line.clone(), style))?,
            (stroke, gap) => {
                chart.draw_series(DashedLineSeries::new(line.clone(), stroke, gap, style))?
            }
        };
    }
    draw_intervals(chart, one, &curve.points, 2)?;
    if curve.marked {
        chart.draw_series(line.into_iter().map(|at| build_marker(at, look, look.size, true)))?;
    }
    draw_intervals(chart, one, &curve.reference, 1)?;
    let reference = one.drawable_points(&curve.reference).map(place);
    chart.draw_series(reference.map(|at| build_marker(at, look, 9, false)))?;
    draw_intervals(chart, one, &curve.paper, 2)?;
    let paper = one.drawable_points(&curve.paper).map(place);
    chart.draw_series(paper.map(|at| build_marker(at, look.of_paper(), PAPER, false)))?;
    Ok(())
}

fn draw_intervals(
    chart: &mut Chart<'_, '_>,
    one: &CurveIn<'_>,
    points: &[Point],
    width: u32,
) -> Result<(), DrawError> {
    let (look, ys) = (one.look, one.ys);
    let wide =
        one.drawable_points(points).filter(|point| point.y.half.is_finite() && point.y.half > 0.0);
    let bar = |point: &Point| {
        let ends = [point.y.low(), point.y.high()].map(|y| (point.x, ys.clamp_value(y)));
        PathElement::new(ends.to_vec(), look.colour.stroke_width(width))
    };
    chart.draw_series(wide.clone().map(bar))?;
    for end in
        [polypath_experiments::stats::Interval::low, polypath_experiments::stats::Interval::high]
    {
        let cap = |point: &Point| {
            EmptyElement::at((point.x, ys.clamp_value(end(point.y))))
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
fn build_marker<'b, C: Clone>(at: C, look: Look, size: i32, filled: bool) -> Drawn<'b, C> {
    let corners = marker_corners(look.marker, size);
    let outline = corners.iter().chain(corners.first()).copied().collect::<Vec<_>>();
    // A white rim keeps markers apart that touch; a cross is too thin for one.
    let fill = if filled { look.colour.to_rgba() } else { TRANSPARENT };
    let rim = if filled && look.marker != Marker::Cross { WHITE } else { look.colour };
    EmptyElement::at(at)
        + Polygon::new(corners, fill.filled())
        + PathElement::new(outline, rim.stroke_width(1))
}

fn marker_corners(marker: Marker, s: i32) -> Vec<(i32, i32)> {
    match marker {
        Marker::Circle => {
            let corner = |n: i32| {
                let angle = f64::from(n) * std::f64::consts::TAU / 24.0;
                let part = |unit: f64| (unit * f64::from(s)).round() as i32;
                (part(angle.cos()), part(angle.sin()))
            };
            (0..24).map(corner).collect()
        }
        Marker::Square => vec![(-s, -s), (s, -s), (s, s), (-s, s)],
        Marker::Triangle => vec![(0, -s - 1), (s + 1, s), (-s - 1, s)],
        Marker::Down => vec![(0, s + 1), (s + 1, -s), (-s - 1, -s)],
        Marker::Bar => vec![(-s - 2, -2), (s + 2, -2), (s + 2, 2), (-s - 2, 2)],
        Marker::Star => {
            // Five points; the inner corners lie where the sides of a pentagram cross.
            let corner = |n: i32| {
                let angle = f64::from(n) * std::f64::consts::TAU / 10.0;
                let reach = f64::from(s) * if n % 2 == 0 { 1.0 } else { 0.382 };
                ((angle.sin() * reach).round() as i32, (-angle.cos() * reach).round() as i32)
            };
            (0..10).map(corner).collect()
        }
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
fn legend_rows(diagram: &Diagram) -> impl Iterator<Item = (String, Look, bool, bool)> {
    let own = diagram.curves.iter().enumerate().filter(|(_, curve)| !curve.label.is_empty());
    let rows = own.map(|(n, curve)| (curve.label.clone(), Look::for_curve(n), true, curve.marked));
    let reference = diagram.curves.iter().any(|curve| !curve.reference.is_empty());
    let row = ("hollow: original simulator".to_owned(), Look::for_curve(0), false, true);
    let paper = diagram.curves.iter().any(|curve| !curve.paper.is_empty());
    let star = ("paper (as read)".to_owned(), Look::for_curve(0).of_paper(), false, true);
    rows.chain(reference.then_some(row)).chain(paper.then_some(star))
}

fn draw_legend(area: &Area<'_>, diagram: &Diagram) -> Result<(), DrawError> {
    let heading = i32::from(!diagram.legend.is_empty());
    let style = ("sans-serif", TEXT).into_font().style(FontStyle::Bold);
    area.draw(&Text::new(diagram.legend.clone(), (4, 24 - TEXT / 2), style))?;
    for (n, (label, look, filled, marked)) in legend_rows(diagram).enumerate() {
        let y = 24 + ROW * (n as i32 + heading);
        if filled && diagram.categories.is_none() {
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
            let size = if filled { look.size } else { 9 };
            area.draw(&build_marker((22, y), look, size, filled))?;
        }
        area.draw(&Text::new(label, (48, y - TEXT / 2), ("sans-serif", TEXT)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use polypath_experiments::stats::Interval;

    use super::*;

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
            paper: Vec::new(),
            marked: true,
        };
        Diagram {
            heading: String::new(),
            x_label: "Buffer (KiB)".into(),
            y_label: "Throughput (Mbit/s)".into(),
            categories: None,
            log: (false, false),
            legend: String::new(),
            curves: (0..n).map(curve).collect(),
            levels: vec![(19.36, "both links".into())],
        }
    }

    #[test]
    fn every_curve_is_in_the_legend_and_axes_have_units() {
        let text = draw_svg(&diagram(9)).unwrap();
        for n in 0..9 {
            assert!(text.contains(&format!("curve {n}")), "{n}");
        }
        assert!(text.contains("Buffer (KiB)") && text.contains("Throughput (Mbit/s)"));
    }

    #[test]
    fn what_the_paper_prints_is_in_the_legend_and_within_the_axes() {
        let plain = draw_svg(&diagram(1)).unwrap();
        let mut printed = diagram(1);
        printed.curves[0].paper = vec![Point { x: 64.0, y: Interval { mean: 90.0, half: 5.0 } }];
        let text = draw_svg(&printed).unwrap();
        assert!(text.contains("paper (as read)") && !plain.contains("paper (as read)"));
        assert!(Axis::for_y(&printed).ends().1 > 95.0, "the error bar has room");
    }

    #[test]
    fn empty_and_logarithmic_diagrams_are_drawn_too() {
        let mut empty = diagram(0);
        empty.levels.clear();
        draw_svg(&empty).unwrap();
        let mut log = diagram(2);
        log.log = (true, true);
        draw_svg(&log).unwrap();
    }
}
