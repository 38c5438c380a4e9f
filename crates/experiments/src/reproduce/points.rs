//! The points of a study that are run, and what became of them.

use std::ops::Range;
use std::sync::Arc;

use super::job::Job;
use crate::evaluate::{GridTable, Results, Sample};
use crate::experiment::{Grid, GridPoint};
use crate::store::{Columns, Key, RunKeys, Store, StoreError, Wanted};

/// Points to run.
#[derive(Debug)]
pub struct Points {
    /// All grids.
    pub grids: Vec<Grid>,
    /// Grids and points that are run; the others are not needed.
    run: Vec<Vec<Run>>,
}

/// How a point is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Not,
    Plain,
    Traced,
}

/// A run of a point.
#[derive(Clone, Copy, Debug)]
pub struct PointRun<'a> {
    /// The number of its grid.
    pub grid: usize,
    /// The number of its point there.
    pub number: usize,
    /// The point.
    pub point: &'a GridPoint,
    /// With which seed.
    pub seed: u64,
    /// Whether its figures need traces.
    pub traced: bool,
    /// What it is known by.
    pub key: Key,
}

impl PointRun<'_> {
    pub(super) fn to_job(self) -> Job {
        let scenario = Arc::clone(&self.point.scenario);
        Job { key: self.key, scenario, seed: self.seed, traced: self.traced }
    }
}

impl Points {
    pub(super) const fn new(grids: Vec<Grid>, run: Vec<Vec<Run>>) -> Self {
        Self { grids, run }
    }

    /// Hands over the runs by grid, point and seed; of so many seeds at most.
    pub fn each_run(&self, seeds: usize, take: &mut dyn FnMut(PointRun<'_>)) {
        for (g, (grid, run)) in self.grids.iter().zip(&self.run).enumerate() {
            for (number, (point, run)) in grid.points.iter().zip(run).enumerate() {
                if *run == Run::Not {
                    continue;
                }
                let traced = *run == Run::Traced;
                let keys = RunKeys::new(&point.scenario, traced);
                for &seed in grid.seeds.iter().take(seeds) {
                    let key = keys.of_seed(seed);
                    take(PointRun { grid: g, number, point, seed, traced, key });
                }
            }
        }
    }

    /// Their figures in the store; runs that it does not have are not made there.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find_stored(&self, store: &Store, wanted: Wanted<'_>) -> Result<Stored, StoreError> {
        self.stored_first(usize::MAX, store, wanted)
    }

    /// Likewise, but of so many seeds only.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn stored_first(
        &self,
        seeds: usize,
        store: &Store,
        wanted: Wanted<'_>,
    ) -> Result<Stored, StoreError> {
        let empty = |grid: &Grid| vec![0..0; grid.points.len()];
        let mut runs: Vec<Vec<Range<usize>>> = self.grids.iter().map(empty).collect();
        let mut keys = Vec::new();
        self.each_run(seeds, &mut |run| {
            let range = runs.get_mut(run.grid).and_then(|points| points.get_mut(run.number));
            if let Some(range) = range {
                if range.start == range.end {
                    *range = keys.len()..keys.len();
                }
                range.end += 1;
            }
            keys.push(run.key);
        });
        let columns = store.collect(&keys, wanted)?;
        let tables = self.grids.iter().map(GridTable::from_grid).collect();
        Ok(Stored { tables, runs, columns })
    }
}

/// The figures of some points.
#[derive(Debug)]
pub struct Stored {
    tables: Vec<GridTable>,
    /// By grid and point: the runs of its seeds.
    runs: Vec<Vec<Range<usize>>>,
    columns: Columns,
}

impl Stored {
    /// How many runs of these points are missing.
    pub fn count_missing(&self) -> usize {
        let all = self.runs.iter().flatten().cloned().flatten();
        all.filter(|run| !self.columns.is_made(*run)).count()
    }
}

impl Results for Stored {
    fn grid(&self, name: &str) -> Option<&GridTable> {
        self.tables.iter().find(|table| table.name == name)
    }

    fn grid_names(&self) -> Vec<&str> {
        self.tables.iter().map(|table| table.name.as_str()).collect()
    }

    fn sample(&self, grid: &GridTable, point: usize, metric: &str) -> Sample {
        let at = self.tables.iter().position(|table| table.name == grid.name);
        let runs = at.and_then(|at| self.runs.get(at)).and_then(|points| points.get(point));
        let made = runs.cloned().unwrap_or(0..0).filter(|run| self.columns.is_made(*run));
        let cells: Option<Vec<Option<f64>>> =
            made.map(|run| self.columns.find_metric(run, metric)).collect();
        match cells {
            None => Sample::Unknown,
            Some(cells) if cells.is_empty() => Sample::Missing(0, 0),
            Some(cells) => {
                let values: Vec<f64> = cells.iter().copied().flatten().collect();
                if values.len() == cells.len() {
                    Sample::Values(values)
                } else {
                    Sample::Missing(cells.len() - values.len(), cells.len())
                }
            }
        }
    }
}
