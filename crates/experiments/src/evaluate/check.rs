//! Claims against the shape of an experiment, before anything is run.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use polypath_run::metrics;
use polypath_scenario::ScenarioError;

use super::cells::fill_table;
use super::compare::evaluate_test;
use super::quantity::{Bindings, Evaluator, NoValue};
use super::reading::measured_quantity;
use super::reference::read_points;
use super::table::{GridTable, Results, Sample};
use crate::experiment::{Alternative, Claim, Experiment, Grid, Pick};

/// Finds claims and tables that name what does not exist.
///
/// # Errors
/// The first one.
pub fn check_experiment(experiment: &Experiment, grids: &[Grid]) -> Result<(), ScenarioError> {
    let shape = Shape::from_grids(grids);
    let evaluator = Evaluator::new(&shape);
    for (n, claim) in experiment.claims.iter().enumerate() {
        let problem =
            |why: NoValue| experiment.field_error(&format!("claim[{n}].test"), why.text());
        evaluate_test(&evaluator, &claim.test).map_err(problem)?;
        check_readings(experiment, n, claim, &evaluator)?;
    }
    for (n, alternative) in experiment.alternatives.iter().enumerate() {
        check_alternative(experiment, n, alternative)?;
    }
    for (n, table) in experiment.tables.iter().enumerate() {
        let problem = |why: NoValue| experiment.field_error(&format!("table[{n}]"), why.text());
        fill_table(table, &evaluator).map_err(problem)?;
    }
    check_references(experiment, &evaluator)
}

/// Figures of the paper are of quantities that exist.
fn check_readings(
    experiment: &Experiment,
    n: usize,
    claim: &Claim,
    evaluator: &Evaluator<'_>,
) -> Result<(), ScenarioError> {
    for reading in &claim.paper.0 {
        let Some(of) = measured_quantity(claim, reading) else { continue };
        match evaluator.estimate_quantity(of, &Bindings::new()) {
            Err(why @ NoValue::Mistake(_)) => {
                return Err(experiment.field_error(&format!("claim[{n}].paper"), why.text()));
            }
            Ok(_) | Err(NoValue::Open(_) | NoValue::Missing(_)) => {}
        }
    }
    Ok(())
}

fn check_alternative(
    experiment: &Experiment,
    n: usize,
    alternative: &Alternative,
) -> Result<(), ScenarioError> {
    let problem = |field: &str, text: &str| {
        Err(experiment.field_error(&format!("alternative[{n}].{field}"), text))
    };
    if alternative.reading && !alternative.claims.is_empty() {
        return problem(
            "claims",
            "beside reading = true, which judges every claim (allowed: none)",
        );
    }
    if alternative.reading && alternative.set.is_empty() && alternative.cases.is_empty() {
        return problem("reading", "changes nothing (allowed: true beside set or cases)");
    }
    let known = |id: &String| experiment.claims.iter().any(|claim| claim.id == *id);
    match alternative.claims.iter().find(|id| !known(id)) {
        Some(id) => problem("claims", &format!("no claim {id:?}")),
        None => Ok(()),
    }
}

fn check_references(
    experiment: &Experiment,
    evaluator: &Evaluator<'_>,
) -> Result<(), ScenarioError> {
    for (n, reference) in experiment.references.iter().enumerate() {
        let place = format!("reference[{n}]");
        for (axis, of) in &reference.axes {
            for label in of.values.values() {
                let pick = Pick::These(vec![label.clone()]);
                evaluator
                    .axis_labels(axis, &pick, reference.grid.as_deref())
                    .map_err(|why| experiment.field_error(&format!("{place}.axes"), why.text()))?;
            }
        }
        match read_points(experiment, reference).map(|points| points.len()) {
            None => {
                let text = "cannot be read (allowed: a CSV file, from the repository's root)";
                return Err(experiment.field_error(&format!("{place}.file"), text));
            }
            Some(0) => {
                let text = "no row of the file names a point (see only, axes and value)";
                return Err(experiment.field_error(&place, text));
            }
            Some(_) => {}
        }
        if let Some(figure) = &reference.figure
            && !experiment.figures.iter().any(|known| known.name == *figure)
        {
            let field = format!("{place}.figure");
            return Err(experiment.field_error(&field, "no figure of this name"));
        }
    }
    Ok(())
}

/// The points that claims need, and which of their metrics.
pub type Needs = BTreeMap<(String, usize), BTreeSet<String>>;

/// What these claims need.
pub fn collect_needs<'a>(claims: impl IntoIterator<Item = &'a Claim>, grids: &[Grid]) -> Needs {
    let shape = Shape::from_grids(grids);
    let evaluator = Evaluator::new(&shape);
    for claim in claims {
        // Mistakes were found by `check`.
        let _ = evaluate_test(&evaluator, &claim.test);
    }
    shape.used.into_inner()
}

/// Results in which every metric that exists is one, and which remember what was asked.
struct Shape {
    tables: Vec<(GridTable, Vec<Vec<String>>)>,
    used: RefCell<Needs>,
}

impl Shape {
    fn from_grids(grids: &[Grid]) -> Self {
        let table = |grid: &Grid| {
            let names = grid.points.iter().map(|point| metrics::metric_names(&point.scenario));
            (GridTable::from_grid(grid), names.collect())
        };
        Self { tables: grids.iter().map(table).collect(), used: RefCell::default() }
    }
}

impl Results for Shape {
    fn grid(&self, name: &str) -> Option<&GridTable> {
        self.tables.iter().map(|(table, _)| table).find(|table| table.name == name)
    }

    fn grid_names(&self) -> Vec<&str> {
        self.tables.iter().map(|(table, _)| table.name.as_str()).collect()
    }

    fn sample(&self, grid: &GridTable, point: usize, metric: &str) -> Sample {
        let at = (grid.name.clone(), point);
        self.used.borrow_mut().entry(at).or_default().insert(metric.to_owned());
        let own = self.tables.iter().find(|(table, _)| table.name == grid.name);
        let names = own.and_then(|(_, names)| names.get(point));
        let known = names.is_some_and(|names| names.iter().any(|name| name == metric));
        if known || is_reported(metric) { Sample::Values(vec![1.0, 1.0]) } else { Sample::Unknown }
    }
}

/// Whether the path scheduler decides if there is a metric of this name.
fn is_reported(metric: &str) -> bool {
    metrics::find_metric(metric).is_some_and(metrics::Metric::is_reported_by_scheduler)
}
