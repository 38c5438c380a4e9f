//! Quantities to estimates.

use indexmap::IndexMap;
use polypath_run::metrics::Unit;

use super::table::{GridTable, Results, Sample};
use crate::experiment::{Fold, MAIN, Over, Pick, Quantity, Selection};
use crate::stats::Estimate;

/// Values of axes that hold at the moment.
pub type Bindings = IndexMap<String, String>;

/// Binds the grid as if it were an axis.
pub const GRID: &str = "grid";

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// The experiment file asks for what cannot be.
    Mistake(String),
    /// Axes are left open, so that it stands for many values.
    Open(String),
    /// The runs have no such figure.
    Missing(String),
}

impl NoValue {
    /// In one line.
    pub fn text(&self) -> &str {
        match self {
            Self::Mistake(text) | Self::Open(text) | Self::Missing(text) => text,
        }
    }
}

/// Reads quantities from results.
pub struct Evaluator<'a> {
    results: &'a dyn Results,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of these results.
    pub fn new(results: &'a dyn Results) -> Self {
        Self { results }
    }

    /// The value of a quantity with these axes bound.
    ///
    /// # Errors
    /// When the quantity names what does not exist, or the runs have no figure for it.
    pub fn estimate_quantity(
        &self,
        quantity: &Quantity,
        bound: &Bindings,
    ) -> Result<Estimate, NoValue> {
        let estimate = match quantity {
            Quantity::Constant(value) => Estimate::constant(*value),
            Quantity::Metric { metric, at } => return self.estimate_metric(metric, at, bound),
            Quantity::Ratio(two) => {
                let [above, below] = self.estimate_both(two, bound)?;
                above.over(&below)
            }
            Quantity::Difference(two) => {
                let [first, second] = self.estimate_both(two, bound)?;
                first.minus(1.0, &second)
            }
            Quantity::Fold(fold, list) => {
                let parts = list.iter().map(|one| self.estimate_quantity(one, bound));
                fold_estimates(*fold, &parts.collect::<Result<Vec<_>, _>>()?)?
            }
            Quantity::FoldOver(fold, one, over) => {
                let places = self.walk_axes(over, bound)?;
                let parts = places.iter().map(|bound| self.estimate_quantity(one, bound));
                fold_estimates(*fold, &parts.collect::<Result<Vec<_>, _>>()?)?
            }
        };
        if estimate.value.is_finite() {
            return Ok(estimate);
        }
        let why = match quantity {
            Quantity::Ratio(_) => "divides by zero",
            _ => "is not a finite number",
        };
        Err(NoValue::Missing(format!("no value: {} {why}", describe_quantity(quantity))))
    }

    fn estimate_both(
        &self,
        two: &[Quantity; 2],
        bound: &Bindings,
    ) -> Result<[Estimate; 2], NoValue> {
        Ok([self.estimate_quantity(&two[0], bound)?, self.estimate_quantity(&two[1], bound)?])
    }

    /// Every combination of the chosen values, on top of `bound`; the first axis varies slowest.
    ///
    /// # Errors
    /// An axis or value that no grid has.
    pub fn walk_axes(&self, over: &Over, bound: &Bindings) -> Result<Vec<Bindings>, NoValue> {
        let mut places = vec![bound.clone()];
        for (axis, pick) in &over.0 {
            let labels = self.axis_labels(axis, pick, bound.get(GRID).map(String::as_str))?;
            let step = |place: &Bindings| {
                let place = place.clone();
                let bind = move |label: &String| {
                    let mut place = place.clone();
                    place.insert(axis.clone(), label.clone());
                    place
                };
                labels.iter().map(bind).collect::<Vec<_>>()
            };
            places = places.iter().flat_map(step).collect();
        }
        Ok(places)
    }

    /// The chosen values of an axis: of one grid, or looked up in all of them, the main one first.
    ///
    /// # Errors
    /// An axis or value that no such grid has.
    pub fn axis_labels(
        &self,
        axis: &str,
        pick: &Pick,
        grid: Option<&str>,
    ) -> Result<Vec<String>, NoValue> {
        let names = self.results.grid_names().into_iter();
        let grids = names.filter(|name| grid.is_none_or(|grid| grid == *name));
        let mut known: Vec<String> = Vec::new();
        for labels in grids.filter_map(|grid| self.results.grid(grid)?.axis_labels(axis)) {
            for label in labels {
                if !known.contains(label) {
                    known.push(label.clone());
                }
            }
        }
        if known.is_empty() {
            return Err(NoValue::Mistake(format!("no grid has an axis {axis:?}")));
        }
        pick.choose_among(&known).map_err(|text| NoValue::Mistake(format!("axis {axis:?}: {text}")))
    }

    fn estimate_metric(
        &self,
        metric: &str,
        at: &Selection,
        bound: &Bindings,
    ) -> Result<Estimate, NoValue> {
        let name = at.grid.as_deref().or(bound.get(GRID).map(String::as_str)).unwrap_or(MAIN);
        let grid = self.results.grid(name).ok_or_else(|| {
            let names = self.results.grid_names().join(", ");
            NoValue::Mistake(format!("no grid {name:?} (allowed: {names})"))
        })?;
        self.estimate_point(grid, find_point(grid, at, bound)?, metric)
    }

    /// The value of a metric at a point of a grid, by its number.
    ///
    /// # Errors
    /// When the runs have no such figure.
    pub fn estimate_point(
        &self,
        grid: &GridTable,
        point: usize,
        metric: &str,
    ) -> Result<Estimate, NoValue> {
        match self.results.sample(grid, point, metric) {
            Sample::Values(values) => estimate_runs(metric, &values),
            Sample::Unknown => Err(NoValue::Mistake(format!(
                "no metric {metric:?} here (docs/reference/metrics.md lists them)"
            ))),
            Sample::Missing(missing, runs) => {
                Err(NoValue::Missing(format!("{metric} has no value in {missing} of {runs} runs")))
            }
        }
    }
}

/// The mean of a metric; one figure that is no number leaves none.
fn estimate_runs(metric: &str, values: &[f64]) -> Result<Estimate, NoValue> {
    let runs = values.len();
    match values.iter().filter(|value| !value.is_finite()).count() {
        0 if runs > 0 => Ok(Estimate::of_runs(values)),
        0 => Err(NoValue::Missing(format!("{metric} has no runs"))),
        n => {
            let text = format!("{metric} is not a finite number in {n} of {runs} runs");
            Err(NoValue::Missing(text))
        }
    }
}

/// The point that selection and bindings determine.
fn find_point(grid: &GridTable, at: &Selection, bound: &Bindings) -> Result<usize, NoValue> {
    if let Some(axis) = at.fixed.keys().find(|axis| grid.axis_labels(axis).is_none()) {
        let names: Vec<&str> = grid.axes.iter().map(|axis| axis.name.as_str()).collect();
        let names = names.join(", ");
        let text = format!("{} has no axis {axis:?} (allowed: {names})", grid.display_name());
        return Err(NoValue::Mistake(text));
    }
    let mut wanted = Vec::new();
    for axis in &grid.axes {
        let chosen = at.fixed.get(&axis.name).or_else(|| bound.get(&axis.name));
        let label = match (chosen, axis.labels.as_slice()) {
            (Some(label), _) => label,
            (None, [only]) => only,
            (None, _) => {
                let text = format!(
                    "axis {:?} of {} is open (allowed: a value in where, or over)",
                    axis.name,
                    grid.display_name()
                );
                return Err(NoValue::Open(text));
            }
        };
        if !axis.labels.contains(label) {
            let text = format!(
                "{} has no {} {label:?} (allowed: {})",
                grid.display_name(),
                axis.name,
                axis.labels.join(", ")
            );
            return Err(NoValue::Mistake(text));
        }
        wanted.push(label.clone());
    }
    let found = grid.points.iter().position(|labels| *labels == wanted);
    found.ok_or_else(|| NoValue::Missing(format!("the point {} was skipped", wanted.join(", "))))
}

fn fold_estimates(fold: Fold, parts: &[Estimate]) -> Result<Estimate, NoValue> {
    let by = |a: &&Estimate, b: &&Estimate| a.value.total_cmp(&b.value);
    let folded = match fold {
        Fold::Sum => Some(Estimate::sum(parts)),
        Fold::Product => {
            let one = Estimate::constant(1.0);
            Some(parts.iter().fold(one, |product, part| product.times(part)))
        }
        Fold::Mean => (!parts.is_empty()).then(|| Estimate::mean(parts)),
        Fold::Max => parts.iter().max_by(by).cloned(),
        Fold::Min => parts.iter().min_by(by).cloned(),
    };
    folded.ok_or_else(|| NoValue::Mistake("nothing to take the mean of".to_owned()))
}

/// The unit of a quantity.
pub fn quantity_unit(quantity: &Quantity) -> Unit {
    match quantity {
        Quantity::Metric { metric, .. } => polypath_run::metrics::metric_unit(metric),
        Quantity::Difference(two) => quantity_unit(&two[0]),
        Quantity::FoldOver(Fold::Product, ..)
        | Quantity::Fold(Fold::Product, _)
        | Quantity::Ratio(_)
        | Quantity::Constant(_) => Unit::Plain,
        Quantity::Fold(_, list) => list.first().map_or(Unit::Plain, quantity_unit),
        Quantity::FoldOver(_, one, _) => quantity_unit(one),
    }
}

/// A quantity in words.
pub fn describe_quantity(quantity: &Quantity) -> String {
    match quantity {
        Quantity::Constant(value) => polypath_run::metrics::format_digits(*value),
        Quantity::Metric { metric, at } => {
            let grid = at.grid.iter().map(String::as_str);
            let fixed = at.fixed.values().map(String::as_str);
            let place: Vec<&str> = grid.chain(fixed).collect();
            if place.is_empty() {
                metric.clone()
            } else {
                format!("{metric} [{}]", place.join(", "))
            }
        }
        Quantity::Ratio(two) => {
            format!("{} / {}", describe_quantity(&two[0]), describe_quantity(&two[1]))
        }
        Quantity::Difference(two) => {
            format!("({} - {})", describe_quantity(&two[0]), describe_quantity(&two[1]))
        }
        Quantity::Fold(fold, list) => {
            let parts: Vec<String> = list.iter().map(describe_quantity).collect();
            format!("{}({})", fold_name(*fold), parts.join(", "))
        }
        Quantity::FoldOver(fold, one, over) => {
            let axes: Vec<&str> = over.0.keys().map(String::as_str).collect();
            format!(
                "{} over {} of {}",
                fold_name(*fold),
                axes.join(" and "),
                describe_quantity(one)
            )
        }
    }
}

const fn fold_name(fold: Fold) -> &'static str {
    match fold {
        Fold::Sum => "sum",
        Fold::Product => "product",
        Fold::Mean => "mean",
        Fold::Max => "greatest",
        Fold::Min => "least",
    }
}
