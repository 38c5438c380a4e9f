//! The points of an experiment.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use polypath_run::read_scenario;
use polypath_scenario::{Assignment, Scalar, Scenario, ScenarioError, Source};
use toml::Value;

use super::file::{Cases, GridSpec, Settings};
use super::select::{Over, Pick};
use super::{Experiment, MAIN};
use crate::sweep;

/// A set of points that share their axes.
#[derive(Clone, Debug)]
pub struct Grid {
    /// `main`, or as `[[grid]]` names it.
    pub name: String,
    /// The first varies slowest.
    pub axes: Vec<Axis>,
    /// In the order of the sweep.
    pub points: Vec<GridPoint>,
    /// Seeds of its runs, the same at every point.
    pub seeds: Vec<u64>,
}

/// An axis and the labels of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// In the order of the sweep.
    pub labels: Vec<String>,
}

/// A point of a grid.
#[derive(Clone, Debug)]
pub struct GridPoint {
    /// One label per axis, in the order of the axes.
    pub labels: Vec<String>,
    /// What is run here.
    pub scenario: Arc<Scenario>,
}

/// How an experiment is run.
#[derive(Clone, Debug, Default)]
pub struct Variant {
    /// Fewer seeds, shorter runs.
    pub quick: bool,
    /// This many seeds, whatever the file says.
    pub seeds: Option<u32>,
    /// Settings over the scenario and below the axes.
    pub set: Settings,
    /// Settings over single values of axes.
    pub cases: Cases,
    /// Where these settings stand in the file.
    pub place: String,
}

impl Experiment {
    /// All grids, expanded and checked.
    ///
    /// # Errors
    /// The first setting or axis that makes no scenario.
    pub fn expand_grids(&self, variant: &Variant) -> Result<Vec<Grid>, ScenarioError> {
        let main = GridSpec {
            name: MAIN.to_owned(),
            set: Settings::new(),
            only: Over::default(),
            sweep: None,
            seeds: None,
            skip: self.runs.skip.clone(),
        };
        let specs = std::iter::once(&main).chain(&self.runs.grids);
        let mut grids = Vec::new();
        for (n, spec) in specs.enumerate() {
            let place = n.checked_sub(1).map_or("experiment".into(), |n| format!("grid[{n}]"));
            grids.push(self.expand_grid(spec, &place, variant)?);
        }
        Ok(grids)
    }

    fn expand_grid(
        &self,
        spec: &GridSpec,
        place: &str,
        v: &Variant,
    ) -> Result<Grid, ScenarioError> {
        let mut source = self.runs.scenario.clone();
        if let Some(axes) = &spec.sweep {
            let axes = Assignment::new("sweep", Value::Array(axes.clone()));
            self.apply_assignment(&mut source, &format!("{place}.sweep"), &axes)?;
        }
        // The variant comes last, but axes set their fields after all of this.
        let quick = v.quick.then_some(("experiment.quick", &self.runs.quick.set));
        let (own, variant) = ((place, &spec.set), (v.place.as_str(), &v.set));
        for (place, set) in std::iter::once(own).chain(quick).chain([variant]) {
            self.apply_settings(&mut source, place, set)?;
        }
        self.apply_cases(&mut source, v)?;
        let seeds = read_scenario(&source)?.seeds;
        let points = sweep::expand_sweep(&source)?;
        let points: Vec<GridPoint> = points
            .into_iter()
            .map(|point| GridPoint {
                labels: point.labels.iter().map(|(_, label)| label.clone()).collect(),
                scenario: Arc::new(point.scenario),
            })
            .collect();
        let axes = list_axes(&source, &points)?;
        let count = match (v.seeds, v.quick) {
            (Some(seeds), _) => seeds,
            (None, true) => self.runs.quick.seeds.min(spec.seeds.unwrap_or(seeds.count)),
            (None, false) => spec.seeds.unwrap_or(seeds.count),
        };
        let mut grid = Grid {
            name: spec.name.clone(),
            axes,
            points,
            seeds: (0..u64::from(count)).map(|n| seeds.first.saturating_add(n)).collect(),
        };
        self.restrict_points(&mut grid, spec, place, v.quick)?;
        Ok(grid)
    }

    /// Lays the variant's settings over the values of axes that it names.
    fn apply_cases(&self, source: &mut Source, v: &Variant) -> Result<(), ScenarioError> {
        if v.cases.is_empty() {
            return Ok(());
        }
        let mut axes = read_scenario(source)?.sweep;
        for (name, labels) in &v.cases {
            // A grid without this axis has nothing to change.
            let named = axes.iter_mut().find(|axis| axis.name.as_ref() == Some(name));
            let Some(axis) = named else { continue };
            let place = |label: &str| format!("{}.cases.{name}.{label}", v.place);
            for (label, settings) in labels {
                let Some(case) = axis.cases.iter_mut().find(|case| case.label == *label) else {
                    let known = axis.cases.iter().map(|case| case.label.as_str());
                    let known = known.collect::<Vec<_>>().join(", ");
                    let known = if known.is_empty() { "none: it has no cases" } else { &known };
                    let text = format!("no case of the axis {name:?} (allowed: {known})");
                    return Err(self.field_error(&place(label), &text));
                };
                case.set.extend(settings.clone());
            }
        }
        source.set_axes(&axes)
    }

    /// Keeps the points that `only` names and drops those that `skip` names.
    fn restrict_points(
        &self,
        grid: &mut Grid,
        spec: &GridSpec,
        place: &str,
        quick: bool,
    ) -> Result<(), ScenarioError> {
        let problem = |field: String, text: String| self.field_error(&field, &text);
        for (axis, pick) in &spec.only.0 {
            let keep = chosen_labels(grid, axis, pick)
                .map_err(|text| problem(format!("{place}.only.{axis}"), text))?;
            grid.points.retain(|point| keep.1.contains(&point.labels[keep.0]));
            grid.axes[keep.0].labels.retain(|label| keep.1.contains(label));
        }
        let quick = self.runs.quick.skip.iter().filter(|_| quick && spec.name == MAIN);
        for skip in spec.skip.iter().chain(quick) {
            let mut parts = Vec::new();
            for (axis, pick) in skip {
                let part = chosen_labels(grid, axis, pick);
                parts.push(part.map_err(|text| problem(format!("{place}.skip"), text))?);
            }
            grid.points.retain(|point| {
                !parts.iter().all(|(axis, labels)| labels.contains(&point.labels[*axis]))
            });
        }
        Ok(())
    }

    fn apply_settings(
        &self,
        source: &mut Source,
        place: &str,
        set: &IndexMap<String, Scalar>,
    ) -> Result<(), ScenarioError> {
        for (field, value) in set {
            let assignment = Assignment::new(field, value.to_toml());
            self.apply_assignment(source, &format!("{place}.set"), &assignment)?;
        }
        Ok(())
    }

    fn apply_assignment(
        &self,
        source: &mut Source,
        place: &str,
        assignment: &Assignment,
    ) -> Result<(), ScenarioError> {
        let origin = format!("{}: {place}", source.name());
        let set = source.set_by(&origin, assignment);
        set.map_err(|error| self.field_error(place, &error.to_string()))
    }
}

impl Grid {
    /// The axis of this name and its position.
    pub fn find_axis(&self, name: &str) -> Option<(usize, &Axis)> {
        self.axes.iter().enumerate().find(|(_, axis)| axis.name == name)
    }
}

/// Position of the axis, and the chosen labels.
fn chosen_labels(grid: &Grid, axis: &str, pick: &Pick) -> Result<(usize, Vec<String>), String> {
    let Some((position, found)) = grid.find_axis(axis) else {
        let names: Vec<&str> = grid.axes.iter().map(|axis| axis.name.as_str()).collect();
        return Err(format!("no axis {axis:?} (allowed: {})", names.join(", ")));
    };
    Ok((position, pick.choose_among(&found.labels)?))
}

/// Names of the sweep's axes, and the labels in the order of their first use.
fn list_axes(source: &Source, points: &[GridPoint]) -> Result<Vec<Axis>, ScenarioError> {
    let axis = |(n, name): (usize, String)| {
        let labels: IndexSet<&String> =
            points.iter().filter_map(|point| point.labels.get(n)).collect();
        Axis { name, labels: labels.into_iter().cloned().collect() }
    };
    Ok(sweep::axis_names(source)?.into_iter().enumerate().map(axis).collect())
}
