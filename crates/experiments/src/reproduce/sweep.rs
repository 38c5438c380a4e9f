//! Sweeps of one's own scenarios.

use polypath_run::metrics;
use polypath_scenario::{ScenarioError, Source};

use super::execute::{ExecuteError, execute_jobs};
use super::points::Stored;
use super::study::{Study, collect_jobs};
use crate::evaluate::{Bindings, Evaluator, GridTable};
use crate::experiment::{Experiment, Figure, Quantity, Selection};
use crate::stats::{Estimate, Interval};
use crate::store::{Store, StoreError, Wanted};

/// Seeds per point, at most, however wide the interval.
const MAX_SEEDS: u32 = 1000;
/// Seeds per point that tell first how wide the intervals are.
pub const FIRST_SEEDS: u32 = 4;

/// How many seeds a sweep uses.
#[derive(Clone, Copy, Debug)]
pub enum Seeds {
    /// So many.
    Count(u32),
    /// As many as make every interval at most this share of its mean.
    Precision(f64),
}

/// A row of a sweep's table.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct SweepRow {
    /// Value of each axis.
    pub at: Bindings,
    /// By metric: value, half width of its interval, and ratio to the first point with its own
    /// interval.
    pub metrics: Vec<(String, Option<Measured>)>,
}

/// A metric at a point.
#[derive(Clone, Copy, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Measured {
    /// Mean over the seeds.
    pub mean: f64,
    /// Half width of the 95 % interval; infinite, which JSON has as null, of a single seed.
    #[schemars(with = "Option<f64>")]
    pub half: f64,
    /// Over the first point: ratio and half width. The seeds are the same, so it is narrower than
    /// the means' intervals.
    #[schemars(with = "Option<(f64, Option<f64>)>")]
    pub against_first: Option<(f64, f64)>,
}

/// Which runs a sweep has, and what came out.
#[derive(Debug)]
pub struct Swept {
    /// The points.
    pub study: Study,
    /// Their runs: the metrics that were asked for.
    pub stored: Stored,
    /// A row for each point.
    pub rows: Vec<SweepRow>,
    /// [`ExecuteError::Failed`], if runs are missing for that reason.
    pub failed: Option<ExecuteError>,
}

/// Makes the runs of a sweep.
///
/// # Errors
/// When the scenario is wrong, has no such metric, or a run cannot be made.
pub fn run_sweep(
    source: Source,
    seeds: Seeds,
    metrics: &[String],
    store: &mut Store,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Swept, SweepError> {
    let mut count = match seeds {
        Seeds::Count(count) => count,
        Seeds::Precision(_) => FIRST_SEEDS,
    };
    loop {
        let study = prepare_sweep(source.clone(), count, metrics)?;
        let failed = match execute_jobs(&collect_jobs([&study]), store, progress) {
            Err(error @ ExecuteError::Failed { .. }) => Some(error),
            done => done.map(|_| None)?,
        };
        let (stored, rows) = judge_sweep(&study, metrics, store)?;
        match seeds {
            Seeds::Precision(share)
                if failed.is_none() && widest_interval(&rows) > share && count < MAX_SEEDS =>
            {
                count = (count * 3 / 2).min(MAX_SEEDS);
            }
            _ => return Ok(Swept { study, stored, rows, failed }),
        }
    }
}

/// What is run for a sweep with so many seeds.
///
/// # Errors
/// When the scenario is wrong or has no such metric.
pub fn prepare_sweep(source: Source, seeds: u32, metrics: &[String]) -> Result<Study, SweepError> {
    // A figure for each metric: those that need traces get them.
    let shown =
        metrics.iter().map(|name| Figure { y: Some(metric_quantity(name)), ..Figure::default() });
    let mut experiment = Experiment::from_scenario(source);
    experiment.figures = shown.collect();
    let study = Study::without_claims(experiment, seeds)?;
    check_metrics(&study, metrics)?;
    Ok(study)
}

/// What the store has of a sweep.
///
/// # Errors
/// When the store cannot be read.
pub fn judge_sweep(
    study: &Study,
    metrics: &[String],
    store: &Store,
) -> Result<(Stored, Vec<SweepRow>), StoreError> {
    let stored = study.points.find_stored(store, Wanted::Only(metrics))?;
    let rows = sweep_rows(study, &stored, metrics);
    Ok((stored, rows))
}

/// The half width of the widest interval, as a share of its mean.
pub fn widest_interval(rows: &[SweepRow]) -> f64 {
    let all = rows.iter().flat_map(|row| &row.metrics).filter_map(|(_, value)| *value);
    // Nothing about nothing is no interval; a width about nothing is as wide as can be.
    let share = |value: Measured| match value.half {
        0.0 => 0.0,
        half => half / value.mean.abs(),
    };
    all.map(share).fold(0.0, f64::max)
}

/// How many seeds the next round takes, so that an interval that is so many times as wide as wanted
/// becomes narrow enough: half widths shrink with the square root. At most four times as many, for
/// few seeds tell little of the spread.
pub fn next_seeds(count: u32, times_too_wide: f64) -> u32 {
    let least = count.saturating_mul(3) / 2;
    let wanted = f64::from(count) * times_too_wide * times_too_wide;
    (wanted.ceil() as u32).clamp(least, count.saturating_mul(4)).min(MAX_SEEDS)
}

/// Every metric exists at some point.
fn check_metrics(study: &Study, metrics: &[String]) -> Result<(), SweepError> {
    let points = study.points.grids.iter().flat_map(|grid| &grid.points);
    let missing = metrics
        .iter()
        .find(|name| !points.clone().any(|point| metrics::metric_exists(name, &point.scenario)));
    missing.map_or(Ok(()), |name| Err(SweepError::Metric(name.clone())))
}

fn metric_quantity(name: &str) -> Quantity {
    Quantity::Metric { metric: name.to_owned(), at: Selection::default() }
}

/// Why a sweep did not end.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A metric does not exist.
    #[error("no metric {0:?} here (docs/reference/metrics.md lists them)")]
    Metric(String),
    /// A run could not be made.
    #[error(transparent)]
    Run(#[from] ExecuteError),
    /// The runs cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A sweep has one grid.
fn sweep_rows(study: &Study, stored: &Stored, metrics: &[String]) -> Vec<SweepRow> {
    let evaluator = Evaluator::new(stored);
    let Some(table) = study.points.grids.first().map(GridTable::from_grid) else {
        return Vec::new();
    };
    let value = |name: &String, point: usize| evaluator.estimate_point(&table, point, name).ok();
    let first: Vec<Option<Estimate>> = metrics.iter().map(|name| value(name, 0)).collect();
    let measured = |point: usize, name: &String, first: &Option<Estimate>| {
        let own = value(name, point)?;
        let ratio = first.as_ref().map(|first| own.over(first).interval());
        let ratio = ratio.filter(|ratio| ratio.mean.is_finite());
        let Interval { mean, half } = own.interval();
        Some(Measured { mean, half, against_first: ratio.map(|ratio| (ratio.mean, ratio.half)) })
    };
    let row = |(point, at): (usize, Bindings)| {
        let metrics = metrics.iter().zip(&first);
        let metrics = metrics.map(|(name, first)| (name.clone(), measured(point, name, first)));
        SweepRow { at, metrics: metrics.collect() }
    };
    point_bindings(&table).into_iter().enumerate().map(row).collect()
}

/// The points of a grid as bindings.
pub fn point_bindings(table: &GridTable) -> Vec<Bindings> {
    let names = || table.axes.iter().map(|axis| axis.name.clone());
    table.points.iter().map(|labels| names().zip(labels.iter().cloned()).collect()).collect()
}
