//! Diagrams to SVG.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::canvas::{Area, DrawError, TEXT, WIDTH};
use super::data::{Curve, Diagram, Point};
use super::describe::{describe_diagram, name_picture};
use super::legend::{ROW, draw_legend, legend_size};
use super::marker::build_marker;
use super::palette::Look;

const HEIGHT: u32 = 440;
/// How much of its colour a band has.
const BAND: f64 = 0.2;
const MARGIN: u32 = 12;
/// Size of the markers of a paper's figures.
const PAPER: i32 = 11;
/// Space for the labels left of the y axis and below the x axis.
const LEFT: u32 = 72;
const BELOW: u32 = 48;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// Draws a diagram, with its legend beside it.
///
/// # Errors
/// When the drawing library refuses.
pub fn draw_svg(diagram: &Diagram) -> Result<String, DrawError> {
    draw_panels(std::slice::from_ref(diagram))
}

/// Draws diagrams one below the other, each with its legend beside it.
///
/// # Errors
/// When the drawing library refuses.
pub fn draw_panels(diagrams: &[Diagram]) -> Result<String, DrawError> {
    let sizes: Vec<(u32, u32)> = diagrams.iter().map(legend_size).collect();
    let beside = sizes.iter().map(|(width, _)| *width).max().unwrap_or(0);
    let height = |(_, rows): &(u32, u32)| HEIGHT.max(*rows);
    let size = (WIDTH as u32 + beside, sizes.iter().map(height).sum());
    let mut text = String::new();
    {
        let mut rest = SVGBackend::with_string(&mut text, size).into_drawing_area();
        rest.fill(&WHITE)?;
        for (diagram, size) in diagrams.iter().zip(&sizes) {
            let (own, below) = rest.split_vertically(height(size));
            let (left, right) = own.split_horizontally(WIDTH as u32);
            draw_plot(&left, diagram)?;
            draw_legend(&right, diagram)?;
            rest = below;
        }
        rest.present()?;
    }
    let title: Vec<&str> = diagrams.iter().map(|one| one.title.as_str()).collect();
    let words: Vec<String> = diagrams.iter().map(describe_diagram).collect();
    Ok(name_picture(&text, &title.join("; "), &words.join(" ")))
}

fn draw_plot(area: &Area<'_>, diagram: &Diagram) -> Result<(), DrawError> {
    let pixels = WIDTH as u32 - LEFT - 2 * MARGIN;
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
    let banded = joined && diagram.bands;
    let curves = diagram.curves.iter().enumerate();
    let curves: Vec<CurveIn<'_>> = curves
        .map(|(n, curve)| {
            let look = Look::for_curve(n);
            CurveIn { curve, look, xs: &xs, ys: &ys, joined, banded }
        })
        .collect();
    // Bands first: no curve lies under the band of another.
    for curve in curves.iter().filter(|_| banded) {
        draw_band(&mut chart, curve)?;
    }
    curves.iter().try_for_each(|curve| draw_curve(&mut chart, curve))
}

/// A curve, its look, and the scales it is drawn on.
struct CurveIn<'a> {
    curve: &'a Curve,
    look: Look,
    xs: &'a Axis,
    ys: &'a Axis,
    /// Nothing lies between categories.
    joined: bool,
    /// Its intervals are a band.
    banded: bool,
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
    if !one.banded {
        draw_intervals(chart, one, &curve.points, 2)?;
    }
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

/// From the lower ends of the intervals to the upper ones; without an interval it has no width.
fn draw_band(chart: &mut Chart<'_, '_>, one: &CurveIn<'_>) -> Result<(), DrawError> {
    let half = |point: &Point| if point.y.half.is_finite() { point.y.half } else { 0.0 };
    let end = |sign: f64| {
        move |point: &Point| (point.x, one.ys.clamp_value(point.y.mean + sign * half(point)))
    };
    let points = || one.drawable_points(&one.curve.points).collect::<Vec<_>>();
    let upper = points().into_iter().map(end(1.0));
    let lower = points().into_iter().rev().map(end(-1.0));
    let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
    if outline.len() > 2 {
        chart.draw_series([Polygon::new(outline, one.look.colour.mix(BAND).filled())])?;
    }
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
            x_label: "Buffer (KiB)".into(),
            y_label: "Throughput (Mbit/s)".into(),
            curves: (0..n).map(curve).collect(),
            levels: vec![(19.36, "both links".into())],
            ..Diagram::default()
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
    fn bands_take_the_place_of_bars() {
        let bars = draw_svg(&diagram(2)).unwrap();
        let bands = draw_svg(&Diagram { bands: true, ..diagram(2) }).unwrap();
        let translucent = |text: &str| text.matches("opacity=\"0.2\"").count();
        assert_eq!((translucent(&bars), translucent(&bands)), (0, 2));
        assert!(bands.len() < bars.len());
    }

    #[test]
    fn panels_stand_in_one_picture_and_are_told_in_words() {
        let titled = |title: &str| Diagram { title: title.into(), ..diagram(1) };
        let text = draw_panels(&[titled("first"), titled("a < b")]).unwrap();
        assert_eq!(text.matches("<svg").count(), 1);
        assert!(text.contains("height=\"880\""), "twice as high as one");
        assert!(text.contains("<title>first; a &lt; b</title>"));
        assert_eq!(text.matches("curve 0 from 1 at 32 to 8 at 256").count(), 2);
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
