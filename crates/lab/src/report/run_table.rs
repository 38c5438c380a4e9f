//! Tables of runs, read back: for figures and comparisons of any results.

use std::io;
use std::path::Path;

use indexmap::IndexMap;

use crate::evaluate::{GridTable, Results, Sample};
use crate::experiment::{Axis, MAIN};

/// Runs by point: what [`write_runs`](super::write_runs) wrote. Only the main grid.
#[derive(Clone, Debug)]
pub struct RunTable {
    table: GridTable,
    /// Metric by column.
    metrics: Vec<String>,
    /// By point and seed, in the order of the file.
    rows: Vec<Vec<Vec<Option<f64>>>>,
}

impl RunTable {
    /// Reads a CSV file.
    ///
    /// # Errors
    /// When it cannot be read, or has no column `seed`.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut reader = csv::Reader::from_path(path)?;
        let header: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
        let seed = header.iter().position(|name| name == "seed");
        let seed = seed.ok_or_else(|| io::Error::other("no column seed (allowed: a runs.csv)"))?;
        let mut points: IndexMap<Vec<String>, Vec<Vec<Option<f64>>>> = IndexMap::new();
        for record in reader.records() {
            let record = record?;
            if record.get(0) != Some(MAIN) {
                continue;
            }
            let labels = record.iter().take(seed).skip(1).map(str::to_owned).collect();
            let cells = record.iter().skip(seed + 1).map(|cell| cell.parse().ok()).collect();
            points.entry(labels).or_default().push(cells);
        }
        let (labels, rows): (Vec<Vec<String>>, _) = points.into_iter().unzip();
        // Axes of other grids are empty here.
        let used = |at: &usize| labels.iter().any(|labels| !labels[*at].is_empty());
        let columns: Vec<usize> = (0..seed.saturating_sub(1)).filter(used).collect();
        let axes = columns.iter().map(|at| axis(&header[at + 1], *at, &labels)).collect();
        let keep = |labels: &Vec<String>| columns.iter().map(|at| labels[*at].clone()).collect();
        let points = labels.iter().map(keep).collect();
        Ok(Self {
            table: GridTable { name: MAIN.to_owned(), axes, points },
            metrics: header.into_iter().skip(seed + 1).collect(),
            rows,
        })
    }

    /// Its axes and points.
    pub const fn shape(&self) -> &GridTable {
        &self.table
    }
}

fn axis(name: &str, at: usize, points: &[Vec<String>]) -> Axis {
    let mut labels: Vec<String> = Vec::new();
    for label in points.iter().filter_map(|labels| labels.get(at)) {
        if !labels.contains(label) {
            labels.push(label.clone());
        }
    }
    Axis { name: name.to_owned(), labels }
}

impl Results for RunTable {
    fn grid(&self, name: &str) -> Option<&GridTable> {
        (name == MAIN).then_some(&self.table)
    }

    fn grid_names(&self) -> Vec<&str> {
        vec![MAIN]
    }

    fn sample(&self, _: &GridTable, point: usize, metric: &str) -> Sample {
        let Some(at) = self.metrics.iter().position(|name| name == metric) else {
            return Sample::Unknown;
        };
        let runs = self.rows.get(point).map(Vec::as_slice).unwrap_or_default();
        let cells = runs.iter().map(|cells| cells.get(at).copied().flatten());
        let values: Vec<f64> = cells.flatten().collect();
        if values.len() == runs.len() && !values.is_empty() {
            Sample::Values(values)
        } else {
            Sample::Missing(runs.len() - values.len(), runs.len())
        }
    }
}
