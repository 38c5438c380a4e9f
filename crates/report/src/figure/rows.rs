//! Diagrams as tables: x down, curves across.

use polypath_run::metrics::{format_digits, format_pair};

use super::data::{Curve, Diagram, Point};

/// What is smaller than this share of the largest figure is shown as zero.
const NOTHING: f64 = 1e-6;

/// A table's head and rows; the first column is x, or what is told of a time series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Names of the columns.
    pub head: Vec<String>,
    /// Texts; `-` where a curve has no point.
    pub rows: Vec<Vec<String>>,
}

/// The figures of a diagram with the half widths of their intervals; with `reference`, the original
/// simulator's beside each curve that has any.
pub fn tabulate_diagram(diagram: &Diagram, reference: bool) -> Rows {
    if diagram.curves.iter().any(|curve| !curve.marked) {
        return tabulate_extremes(diagram);
    }
    let mut columns: Vec<(String, &[Point])> = Vec::new();
    for curve in &diagram.curves {
        let label = if curve.label.is_empty() { &diagram.y_label } else { &curve.label };
        columns.push((label.clone(), &curve.points));
        if reference && !curve.reference.is_empty() {
            columns.push((format!("{label}, original"), &curve.reference));
        }
        if !curve.paper.is_empty() {
            columns.push((format!("{label}, paper"), &curve.paper));
        }
    }
    let mut xs: Vec<f64> =
        columns.iter().flat_map(|(_, points)| points.iter().map(|point| point.x)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let largest = columns.iter().flat_map(|(_, points)| *points).map(|point| point.y.mean.abs());
    let least = NOTHING * largest.fold(0.0, f64::max);
    let cell = |points: &[Point], x: f64| {
        let here = points.iter().find(|point| point.x == x);
        here.map_or("-".to_owned(), |Point { y, .. }| {
            if y.mean.abs() + y.half < least { "0".to_owned() } else { format_pair(y.mean, y.half) }
        })
    };
    let row = |x: &f64| {
        let cells = columns.iter().map(|(_, points)| cell(points, *x));
        std::iter::once(x_text(diagram, *x)).chain(cells).collect()
    };
    let head = columns.iter().map(|(label, _)| label.clone());
    Rows {
        head: std::iter::once(diagram.x_label.clone()).chain(head).collect(),
        rows: xs.iter().map(row).collect(),
    }
}

/// Time series have too many points to list.
fn tabulate_extremes(diagram: &Diagram) -> Rows {
    let row = |curve: &Curve| {
        let values = || curve.points.iter().map(|point| point.y.mean);
        let count = curve.points.len();
        if count == 0 {
            return [&curve.label, "-", "-", "-"].map(str::to_owned).to_vec();
        }
        let mean = values().sum::<f64>() / count as f64;
        let least = values().fold(f64::INFINITY, f64::min);
        let most = values().fold(f64::NEG_INFINITY, f64::max);
        vec![curve.label.clone(), format_digits(least), format_digits(mean), format_digits(most)]
    };
    let head = [diagram.y_label.as_str(), "least", "mean", "greatest"];
    Rows { head: head.map(str::to_owned).to_vec(), rows: diagram.curves.iter().map(row).collect() }
}

fn x_text(diagram: &Diagram, x: f64) -> String {
    match &diagram.categories {
        Some(labels) => labels.get(x as usize).cloned().unwrap_or_default(),
        None => format_digits(x),
    }
}

#[cfg(test)]
mod tests {
    use polypath_experiments::stats::Interval;

    use super::*;

    fn curve(label: &str, xs: &[f64], marked: bool) -> Curve {
        let point = |x: &f64| Point { x: *x, y: Interval { mean: 10.0 * x, half: 0.5 } };
        let points: Vec<Point> = xs.iter().map(point).collect();
        Curve {
            label: label.into(),
            reference: points[..1].to_vec(),
            points,
            paper: Vec::new(),
            marked,
        }
    }

    fn diagram(curves: Vec<Curve>) -> Diagram {
        Diagram {
            x_label: "Buffer (KiB)".into(),
            y_label: "Throughput (Mbit/s)".into(),
            curves,
            ..Diagram::default()
        }
    }

    #[test]
    fn x_goes_down_and_curves_across() {
        let shown = diagram(vec![curve("a", &[1.0, 2.0], true), curve("b", &[2.0, 3.0], true)]);
        let table = tabulate_diagram(&shown, false);
        assert_eq!(table.head, ["Buffer (KiB)", "a", "b"]);
        assert_eq!(table.rows[0], ["1", "10.00 +- 0.50", "-"]);
        assert_eq!(table.rows[1], ["2", "20.00 +- 0.50", "20.00 +- 0.50"]);
        assert_eq!(tabulate_diagram(&shown, true).head[2], "a, original");
    }

    #[test]
    fn a_time_series_is_told_by_its_extremes() {
        let table = tabulate_diagram(&diagram(vec![curve("cwnd", &[1.0, 2.0, 6.0], false)]), false);
        assert_eq!(table.rows, [["cwnd", "10", "30", "60"]]);
    }
}
