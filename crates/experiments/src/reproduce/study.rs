//! What is run for an experiment.

use std::collections::BTreeSet;

use polypath_policies::profile::Profile;
use polypath_run::metrics;
use polypath_scenario::ScenarioError;
use polypath_scenario::profile::Layers;
use polypath_sim::RunResult;

use super::job::Job;
use super::points::{Points, Run};
use crate::evaluate::{check_experiment, collect_needs};
use crate::experiment::{Alternative, Experiment, Figure, Grid, Quantity, Variant};

/// How much is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Fewer seeds, shorter runs.
    pub quick: bool,
    /// This many seeds.
    pub seeds: Option<u32>,
    /// Run the alternatives, too. Readings that are judged in full run in any case.
    pub sensitivity: bool,
}

/// An experiment and its points.
#[derive(Debug)]
pub struct Study {
    /// The file.
    pub experiment: Experiment,
    /// The points.
    pub points: Points,
    /// Points of the readings that are judged in full, in the order of the file.
    pub readings: Vec<(Alternative, Points)>,
    /// Points of the other alternatives, likewise.
    pub alternatives: Vec<(Alternative, Points)>,
    /// How it was run.
    pub options: Options,
}

/// Reads what an experiment needs; checks its claims against its points.
///
/// # Errors
/// What is wrong with the file.
pub fn prepare_study(experiment: Experiment, options: Options) -> Result<Study, ScenarioError> {
    let base = Variant { quick: options.quick, seeds: options.seeds, ..Variant::default() };
    let grids = experiment.expand_grids(&base)?;
    // A quick run leaves points out, which claims may name all the same.
    if options.quick {
        check_experiment(&experiment, &experiment.expand_grids(&Variant::default())?)?;
    } else {
        check_experiment(&experiment, &grids)?;
    }
    let run = all_points(&experiment, &grids);
    let (mut readings, mut alternatives) = (Vec::new(), Vec::new());
    for (n, alternative) in experiment.alternatives.iter().enumerate() {
        let few = options.seeds.unwrap_or(u32::MAX).min(experiment.sensitivity_seeds());
        let variant = Variant {
            seeds: if alternative.reading { options.seeds } else { Some(few) },
            set: alternative.set.clone(),
            cases: alternative.cases.clone(),
            place: format!("alternative[{n}]"),
            ..base.clone()
        };
        let grids = experiment.expand_grids(&variant)?;
        if alternative.reading || options.sensitivity {
            let run = needed_points(&experiment, alternative, &grids);
            let list = if alternative.reading { &mut readings } else { &mut alternatives };
            list.push((alternative.clone(), Points::new(grids, run)));
        }
    }
    Ok(Study { experiment, points: Points::new(grids, run), readings, alternatives, options })
}

impl Study {
    /// A study of all points with so many seeds, without claims.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn without_claims(experiment: Experiment, seeds: u32) -> Result<Self, ScenarioError> {
        let options = Options { seeds: Some(seeds), ..Options::default() };
        prepare_study(experiment, options)
    }

    /// The seeds of the main grid: the first and the last.
    pub fn seeds(&self) -> Option<(u64, u64)> {
        let seeds = &self.points.grids.first()?.seeds;
        Some((*seeds.first()?, *seeds.last()?))
    }

    /// The profiles of all stacks that are run, alternatives left aside.
    pub fn profiles(&self) -> Vec<Profile> {
        let points = self.points.grids.iter().flat_map(|grid| &grid.points);
        let flows = points.flat_map(|point| {
            (0..point.scenario.flow.len()).map(|flow| Layers::for_flow(&point.scenario, flow))
        });
        let used: Vec<Profile> = flows.flat_map(|layers| layers.profiles()).collect();
        Profile::ALL.into_iter().filter(|profile| used.contains(profile)).collect()
    }

    /// Makes the one run that a figure over time shows, with its time series.
    ///
    /// # Errors
    /// When the figure names no point, or the run cannot be made; in one line.
    pub fn observe_run(&self, figure: &Figure) -> Result<RunResult, String> {
        let name = figure.at.grid.as_deref().unwrap_or(crate::experiment::MAIN);
        let grid = self.points.grids.iter().find(|grid| grid.name == name);
        let grid = grid.ok_or_else(|| format!("no grid {name:?}"))?;
        let fits = |point: &&crate::experiment::GridPoint| {
            grid.axes.iter().zip(&point.labels).all(|(axis, label)| {
                figure.at.fixed.get(&axis.name).is_none_or(|wanted| wanted == label)
            })
        };
        let point = grid.points.iter().find(fits).ok_or("where names no point of the grid")?;
        let seed = figure.seed.or(grid.seeds.first().copied()).unwrap_or(1);
        let spec = polypath_run::world_spec(&point.scenario, false).map_err(|e| e.to_string())?;
        polypath_sim::run(&spec, seed, None).map_err(|error| error.to_string())
    }
}

/// Every point; those traced of which a claim or figure needs it.
fn all_points(experiment: &Experiment, grids: &[Grid]) -> Vec<Vec<Run>> {
    let mut run: Vec<Vec<Run>> =
        grids.iter().map(|grid| vec![Run::Plain; grid.points.len()]).collect();
    mark_needed(&mut run, grids, &collect_needs(&experiment.claims, grids));
    let figures = experiment.figures.iter();
    let figures = figures.map(|one| (&one.grid, one.y.as_ref().is_some_and(is_traced)));
    let tables = experiment.tables.iter();
    let tables = tables.map(|one| (&one.grid, one.cells.iter().any(|cells| is_traced(&cells.of))));
    for (grid, traced) in figures.chain(tables) {
        let name = grid.as_deref().unwrap_or(crate::experiment::MAIN);
        let own = run.iter_mut().zip(grids).filter(|(_, grid)| traced && grid.name == name);
        own.for_each(|(run, _)| run.fill(Run::Traced));
    }
    run
}

/// The points of the claims that an alternative runs again.
fn needed_points(
    experiment: &Experiment,
    alternative: &Alternative,
    grids: &[Grid],
) -> Vec<Vec<Run>> {
    let mut run: Vec<Vec<Run>> =
        grids.iter().map(|grid| vec![Run::Not; grid.points.len()]).collect();
    let claims = experiment.claims.iter().filter(|claim| concerns_claim(alternative, &claim.id));
    mark_needed(&mut run, grids, &collect_needs(claims, grids));
    run
}

/// Whether an alternative runs this claim again.
pub(super) fn concerns_claim(alternative: &Alternative, claim: &str) -> bool {
    alternative.claims.is_empty() || alternative.claims.iter().any(|id| id == claim)
}

fn mark_needed(run: &mut [Vec<Run>], grids: &[Grid], needs: &crate::evaluate::Needs) {
    for ((name, point), metrics) in needs {
        let Some(grid) = grids.iter().position(|grid| grid.name == *name) else { continue };
        let traced = metrics.iter().any(|metric| needs_traces(metric));
        if let Some(run) = run.get_mut(grid).and_then(|run| run.get_mut(*point)) {
            *run = if traced { Run::Traced } else { Run::Plain };
        }
    }
}

fn is_traced(quantity: &Quantity) -> bool {
    let mut traced = false;
    quantity.each_metric(&mut |metric| traced |= needs_traces(metric));
    traced
}

fn needs_traces(metric: &str) -> bool {
    metrics::find_metric(metric).is_some_and(|metric| metric.needs() == metrics::Needs::Traces)
}

/// All runs of these studies, each once.
pub fn collect_jobs<'a>(studies: impl IntoIterator<Item = &'a Study>) -> Vec<Job> {
    let mut known = BTreeSet::new();
    let mut jobs = Vec::new();
    for study in studies {
        let others = study.readings.iter().chain(&study.alternatives).map(|(_, points)| points);
        for points in std::iter::once(&study.points).chain(others) {
            points.each_run(usize::MAX, &mut |run| {
                if known.insert(run.key) {
                    jobs.push(run.to_job());
                }
            });
        }
    }
    jobs
}
