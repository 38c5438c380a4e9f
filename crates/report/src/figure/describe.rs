//! Pictures in words, for who does not see them.

use std::fmt::Write as _;

use polypath_run::metrics::format_digits;

use super::data::{Curve, Diagram, Point};

/// What a diagram shows: its axes, and where each curve begins and ends.
pub(super) fn describe_diagram(diagram: &Diagram) -> String {
    let scale = |log: bool| if log { ", logarithmic" } else { "" };
    let mut text = format!(
        "{}{} over {}{}.",
        diagram.y_label,
        scale(diagram.log.1),
        diagram.x_label,
        scale(diagram.log.0)
    );
    let by = match diagram.legend.as_str() {
        "" => String::new(),
        legend => format!(" by {legend}"),
    };
    let curves: Vec<String> =
        diagram.curves.iter().filter_map(|curve| describe_curve(diagram, curve)).collect();
    // Writing to a String cannot fail.
    let _ = match curves.as_slice() {
        [] => write!(text, " No curve."),
        [one] => write!(text, " One curve{by}: {one}."),
        all => write!(text, " {} curves{by}: {}.", all.len(), all.join("; ")),
    };
    for (y, label) in &diagram.levels {
        let _ = write!(text, " A line at {}: {label}.", format_digits(*y));
    }
    text
}

/// `None` for a curve without points.
fn describe_curve(diagram: &Diagram, curve: &Curve) -> Option<String> {
    let (first, last) = (curve.points.first()?, curve.points.last()?);
    let place = |point: &Point| match &diagram.categories {
        Some(labels) => labels.get(point.x as usize).cloned().unwrap_or_default(),
        None => format_digits(point.x),
    };
    let end = |point: &Point| format!("{} at {}", format_digits(point.y.mean), place(point));
    let label = if curve.label.is_empty() { "" } else { &format!("{} ", curve.label) };
    Some(format!("{label}from {} to {}", end(first), end(last)))
}

/// Gives an SVG document a title and a description, which programs read aloud in its place.
pub(super) fn name_picture(svg: &str, title: &str, words: &str) -> String {
    let Some((opening, rest)) = svg.split_once('>') else { return svg.to_owned() };
    let element = |name: &str, text: &str| match text {
        "" => String::new(),
        text => format!("<{name}>{}</{name}>\n", escape_xml(text)),
    };
    let title = element("title", title);
    format!("{opening} role=\"img\">\n{title}{}{}", element("desc", words), rest.trim_start())
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use polypath_experiments::stats::Interval;

    use super::*;

    #[test]
    fn a_diagram_is_told_by_its_axes_and_the_ends_of_its_curves() {
        let point = |x: f64| Point { x, y: Interval { mean: 2.5 * x, half: 0.1 } };
        let curve = Curve {
            label: "rr".into(),
            points: vec![point(0.0), point(1.0), point(2.0)],
            reference: Vec::new(),
            paper: Vec::new(),
            marked: true,
        };
        let empty = Curve { points: Vec::new(), ..curve.clone() };
        let mut diagram = Diagram {
            x_label: "Buffer (KiB)".into(),
            y_label: "Goodput (Mbit/s)".into(),
            log: (true, false),
            legend: "scheduler".into(),
            curves: vec![curve, empty],
            levels: vec![(4.0, "both links".into())],
            ..Diagram::default()
        };
        assert_eq!(
            describe_diagram(&diagram),
            "Goodput (Mbit/s) over Buffer (KiB), logarithmic. One curve by scheduler: rr from 0 at 0 \
             to 5 at 2. A line at 4: both links."
        );
        diagram.categories = Some(["CMT", "RBS", "both"].map(str::to_owned).to_vec());
        assert!(describe_diagram(&diagram).contains("rr from 0 at CMT to 5 at both"));
    }

    #[test]
    fn a_picture_has_its_title_before_all_else() {
        let svg = name_picture("<svg width=\"1\">\n<rect/>\n</svg>\n", "a & b", "");
        assert_eq!(
            svg,
            "<svg width=\"1\" role=\"img\">\n<title>a &amp; b</title>\n<rect/>\n</svg>\n"
        );
    }
}
