//! Reference data beside ours.

use polypath_run::metrics::{Unit, format_pair};
use schemars::JsonSchema;
use serde::Serialize;

use crate::evaluate::{Bindings, Evaluator, GRID, ReferencePoint, read_points};
use crate::experiment::{Experiment, Quantity, Reference};
use crate::stats::Interval;

/// Means that differ by less than this agree.
const TOLERANCE: f64 = 0.15;

/// A point of the reference data and ours.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Deviation {
    /// Name of the data.
    pub reference: String,
    /// What is compared.
    pub metric: String,
    /// What both are measured in.
    #[serde(skip)]
    pub unit: Unit,
    /// Values of the axes.
    pub at: Bindings,
    /// The figure in which it is drawn.
    pub figure: Option<String>,
    /// Theirs: value and half width of the interval; infinite, which JSON has as null, where there
    /// is none.
    #[schemars(with = "(f64, Option<f64>)")]
    pub theirs: (f64, f64),
    /// Ours likewise, if there is any.
    #[schemars(with = "Option<(f64, Option<f64>)>")]
    pub ours: Option<(f64, f64)>,
    /// Ours over theirs, less one.
    pub deviation: Option<f64>,
    /// Within 15 %, or the intervals overlap.
    pub agrees: bool,
}

impl Deviation {
    /// Data, metric, axes and labels in a line.
    pub fn describe_place(&self) -> String {
        let at: Vec<String> =
            self.at.iter().map(|(axis, label)| format!("{axis} {label}")).collect();
        format!("{}: {}, {}", self.reference, self.metric, at.join(", "))
    }

    /// Theirs, ours, and the deviation as people read them; `-` where there are none.
    pub fn format_values(&self) -> [String; 3] {
        let value = |(mean, half): (f64, f64)| {
            let (factor, name) = self.unit.scale_for(mean);
            format!("{} {name}", format_pair(mean * factor, half * factor)).trim_end().to_owned()
        };
        let ours = self.ours.map_or("-".to_owned(), value);
        let by = self.deviation.map_or("-".to_owned(), |by| format!("{:+.1} %", 100.0 * by));
        [value(self.theirs), ours, by]
    }
}

/// All points of an experiment's reference data.
pub(super) fn find_deviations(
    experiment: &Experiment,
    evaluator: &Evaluator<'_>,
) -> Vec<Deviation> {
    let of = |reference: &Reference| {
        let points = read_points(experiment, reference).unwrap_or_default();
        points
            .into_iter()
            .map(|point| find_deviation(reference, point, evaluator))
            .collect::<Vec<_>>()
    };
    experiment.references.iter().flat_map(of).collect()
}

fn find_deviation(
    reference: &Reference,
    point: ReferencePoint,
    evaluator: &Evaluator<'_>,
) -> Deviation {
    let mut bound = point.at.clone();
    if let Some(grid) = &reference.grid {
        bound.insert(GRID.to_owned(), grid.clone());
    }
    let mut at = point.at;
    // What the metric binds by itself belongs to the point, too: it says on which curve it is
    // drawn.
    if let Quantity::Metric { at: own, .. } = &reference.metric {
        let missing = own.fixed.iter().filter(|(axis, _)| !bound.contains_key(*axis));
        at.extend(missing.map(|(axis, label)| (axis.clone(), label.clone())));
    }
    let ours =
        evaluator.estimate_quantity(&reference.metric, &bound).ok().map(|ours| ours.interval());
    let deviation = ours.map(|ours| ours.mean / point.value - 1.0);
    let theirs = Interval { mean: point.value, half: point.half };
    let overlap = |ours: Interval| ours.low() <= theirs.high() && ours.high() >= theirs.low();
    Deviation {
        reference: reference.name.clone(),
        metric: crate::evaluate::describe_quantity(&reference.metric),
        unit: crate::evaluate::quantity_unit(&reference.metric),
        at,
        figure: reference.figure.clone(),
        theirs: (theirs.mean, theirs.half),
        ours: ours.map(|ours| (ours.mean, ours.half)),
        deviation,
        agrees: deviation.is_some_and(|d| d.abs() <= TOLERANCE) || ours.is_some_and(overlap),
    }
}
