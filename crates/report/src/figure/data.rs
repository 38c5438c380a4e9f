//! What a figure shows.

use polypath_experiments::evaluate::{
    Bindings, Evaluator, GRID, NoValue, covers_quantity, measured_quantity,
};
use polypath_experiments::experiment::{
    Claim, Figure, Over, Pick, Quantity, Reading, Size, parse_amount,
};
use polypath_experiments::reproduce::Deviation;
use polypath_experiments::stats::Interval;
use polypath_run::metrics::Unit;

/// One coordinate system with its curves.
#[derive(Clone, Debug, Default)]
pub struct Diagram {
    /// What it is called by programs that read it aloud or list it; not drawn. May be empty.
    pub title: String,
    /// Drawn above it, such as what distinguishes it from the figure's other panels; may be empty.
    pub heading: String,
    /// With unit.
    pub x_label: String,
    /// With unit.
    pub y_label: String,
    /// Texts of categories in place of a scale; positions are 0, 1, ...
    pub categories: Option<Vec<String>>,
    /// Logarithmic axes.
    pub log: (bool, bool),
    /// What distinguishes the curves; may be empty.
    pub legend: String,
    /// In the order of the legend.
    pub curves: Vec<Curve>,
    /// Horizontal lines.
    pub levels: Vec<(f64, String)>,
    /// Intervals as bands along the curves in place of bars at the points.
    pub bands: bool,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// In the legend.
    pub label: String,
    /// From left to right.
    pub points: Vec<Point>,
    /// Points of the original simulator to draw beside it.
    pub reference: Vec<Point>,
    /// Points that the paper prints, with the error of reading.
    pub paper: Vec<Point>,
    /// Whether to mark the points; a time series has too many.
    pub marked: bool,
}

/// A point in the diagram's units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Along x.
    pub x: f64,
    /// Along y, with its interval.
    pub y: Interval,
}

/// The panels of a figure over axes.
///
/// # Errors
/// When the figure names what does not exist.
pub fn build_diagrams(
    figure: &Figure,
    evaluator: &Evaluator<'_>,
    deviations: &[Deviation],
    claims: &[Claim],
) -> Result<Vec<Diagram>, NoValue> {
    let (Some(x), Some(y)) = (&figure.x, &figure.y) else {
        return Err(NoValue::Mistake("a figure needs x and y, or series".to_owned()));
    };
    let plan = Plan { figure, evaluator, x, y, deviations, claims };
    let panels = figure.panels.iter().cloned().collect::<Vec<_>>();
    let panels = plan.list_places(&panels, &plan.pinned_axes()?)?;
    panels.iter().map(|panel| plan.build_diagram(panel)).collect()
}

struct Plan<'a> {
    figure: &'a Figure,
    evaluator: &'a Evaluator<'a>,
    x: &'a str,
    y: &'a Quantity,
    deviations: &'a [Deviation],
    claims: &'a [Claim],
}

impl Plan<'_> {
    /// Axes that `only` binds to one value and that nothing else walks over.
    fn pinned_axes(&self) -> Result<Bindings, NoValue> {
        let mut pinned = Bindings::new();
        if let Some(grid) = &self.figure.grid {
            pinned.insert(GRID.to_owned(), grid.clone());
        }
        for axis in self.figure.only.0.keys() {
            let labels = self.axis_labels(axis)?;
            if let [only] = labels.as_slice() {
                pinned.insert(axis.clone(), only.clone());
            }
        }
        Ok(pinned)
    }

    fn axis_labels(&self, axis: &str) -> Result<Vec<String>, NoValue> {
        self.evaluator.axis_labels(axis, &self.axis_pick(axis), self.figure.grid.as_deref())
    }

    fn axis_pick(&self, axis: &str) -> Pick {
        self.figure.only.0.get(axis).cloned().unwrap_or(Pick::All)
    }

    fn list_places(&self, axes: &[String], bound: &Bindings) -> Result<Vec<Bindings>, NoValue> {
        let over = axes.iter().map(|axis| (axis.clone(), self.axis_pick(axis))).collect();
        self.evaluator.walk_axes(&Over(over), bound)
    }

    fn build_diagram(&self, panel: &Bindings) -> Result<Diagram, NoValue> {
        let labels = self.axis_labels(self.x)?;
        let numbers: Option<Vec<f64>> = labels.iter().map(|label| parse_amount(label)).collect();
        let (x_unit, x_factor) = x_unit(&labels);
        let xs: Vec<f64> = match &numbers {
            Some(numbers) => numbers.iter().map(|x| x * x_factor).collect(),
            None => (0..labels.len()).map(|n| n as f64).collect(),
        };
        let mut curves = Vec::new();
        for place in self.list_places(&self.figure.curves, panel)? {
            curves.extend(self.build_curve(&place, &labels, &xs)?);
        }
        let unit = polypath_experiments::evaluate::quantity_unit(self.y);
        let (factor, y_unit) = unit.scale_for(largest_value(&curves));
        curves.iter_mut().for_each(|curve| curve.rescale_values(factor));
        let name = self.figure.x_label.clone().unwrap_or_else(|| self.x.to_owned());
        let y_name = self.figure.y_label.clone();
        let y_name =
            y_name.unwrap_or_else(|| polypath_experiments::evaluate::describe_quantity(self.y));
        let heading =
            self.figure.panels.as_ref().and_then(|axis| {
                panel.get(axis).map(|label| format!("{axis} {}", space_unit(label)))
            });
        let heading = heading.unwrap_or_default();
        let parts = [self.figure.title.as_str(), heading.as_str()];
        let title: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Ok(Diagram {
            title: title.join(": "),
            heading,
            x_label: with_unit(&name, if numbers.is_some() { x_unit } else { "" }),
            y_label: with_unit(&y_name, y_unit),
            categories: numbers.is_none().then_some(labels),
            log: (self.figure.x_log, self.figure.y_log),
            legend: self.figure.curves.join(", "),
            curves,
            levels: self
                .figure
                .level
                .iter()
                .map(|level| (level.at.0 * factor, level.label.clone()))
                .collect(),
            bands: self.figure.bands,
        })
    }

    /// `None`: no point of it was run.
    fn build_curve(
        &self,
        place: &Bindings,
        labels: &[String],
        xs: &[f64],
    ) -> Result<Option<Curve>, NoValue> {
        let (mut points, mut reference, mut paper) = (Vec::new(), Vec::new(), Vec::new());
        for (label, x) in labels.iter().zip(xs) {
            let mut bound = place.clone();
            bound.insert(self.x.to_owned(), label.clone());
            match self.evaluator.estimate_quantity(self.y, &bound) {
                Ok(value) => points.push(Point { x: *x, y: value.interval() }),
                Err(NoValue::Missing(_)) => {}
                Err(mistake) => return Err(mistake),
            }
            reference.extend(self.find_reference(&bound, *x));
            paper.extend(self.find_printed(&bound, *x));
        }
        let of = |axis: &String| place.get(axis).map(|label| space_unit(label));
        let label: Vec<String> = self.figure.curves.iter().filter_map(of).collect();
        let curve = Curve { label: label.join(", "), points, reference, paper, marked: true };
        Ok((!curve.points.is_empty()).then_some(curve))
    }

    /// What the paper prints of a point of this figure.
    fn find_printed(&self, bound: &Bindings, x: f64) -> Vec<Point> {
        let readings = self.claims.iter().flat_map(|claim| {
            claim.paper.0.iter().map(move |reading| (reading, measured_quantity(claim, reading)))
        });
        let mut found: Vec<Point> = Vec::new();
        for (reading, of) in readings {
            let (Reading::Printed { size: Size::About(value, error), .. }, Some(of)) =
                (reading, of)
            else {
                continue;
            };
            let y = Interval { mean: value.amount, half: error.amount };
            if covers_quantity(of, self.y, bound) && !found.iter().any(|point| point.y == y) {
                found.push(Point { x, y });
            }
        }
        found
    }

    /// Reference data that belong to a point of this figure.
    fn find_reference(&self, bound: &Bindings, x: f64) -> Option<Point> {
        let own =
            self.deviations.iter().filter(|one| one.figure.as_ref() == Some(&self.figure.name));
        let mut here = own.filter(|one| {
            one.at.iter().all(|(axis, label)| bound.get(axis).is_none_or(|bound| bound == label))
                && one.at.contains_key(self.x)
        });
        let (mean, half) = here.next()?.theirs;
        Some(Point { x, y: Interval { mean, half } })
    }
}

impl Curve {
    fn rescale_values(&mut self, factor: f64) {
        for point in self.points.iter_mut().chain(&mut self.reference).chain(&mut self.paper) {
            point.y.mean *= factor;
            point.y.half *= factor;
        }
    }
}

/// A quantity with a blank before its unit; other labels as they are.
pub fn space_unit(label: &str) -> String {
    let unit = label.find(|c: char| c.is_ascii_alphabetic() || c == '%');
    match unit.and_then(|at| label.split_at_checked(at)) {
        Some((number, unit)) if number.parse::<f64>().is_ok() && parse_amount(label).is_some() => {
            format!("{number} {unit}")
        }
        _ => label.to_owned(),
    }
}

fn largest_value(curves: &[Curve]) -> f64 {
    let points = curves.iter().flat_map(|curve| &curve.points);
    points.map(|point| point.y.mean.abs()).fold(0.0, f64::max)
}

/// The unit in which the labels of an axis are written, and the factor from base units to it.
fn x_unit(labels: &[String]) -> (&'static str, f64) {
    let all =
        |ending: &str| !labels.is_empty() && labels.iter().all(|label| label.ends_with(ending));
    let any = |ending: &str| labels.iter().any(|label| label.ends_with(ending));
    if all("bit/s") {
        ("Mbit/s", 1e-6)
    } else if all("B") {
        if any("KiB") || any("MiB") { ("KiB", 1.0 / 1024.0) } else { ("bytes", 1.0) }
    } else if all("%") || (any("%") && any("ppm")) {
        ("%", 100.0)
    } else if all("s") && !any("packets") {
        let seconds = |label: &String| parse_amount(label).is_some_and(|x| x.fract() == 0.0);
        if labels.iter().all(seconds) { ("s", 1.0) } else { ("ms", 1e3) }
    } else {
        ("", 1.0)
    }
}

fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") }
}

/// The unit in which a time series is drawn: all of them are of sizes.
pub(super) fn series_unit(largest: f64) -> (f64, &'static str) {
    Unit::Bytes.scale_for(largest)
}

#[cfg(test)]
mod tests {
    use super::space_unit;

    #[test]
    fn units_stand_apart_from_their_numbers() {
        assert_eq!(space_unit("10ms"), "10 ms");
        assert_eq!(space_unit("0.5%"), "0.5 %");
        assert_eq!(space_unit("64KiB"), "64 KiB");
        assert_eq!(space_unit("CMT-SCTP"), "CMT-SCTP");
        assert_eq!(space_unit("1 %, 10 %"), "1 %, 10 %");
        assert_eq!(space_unit("4"), "4");
    }
}
