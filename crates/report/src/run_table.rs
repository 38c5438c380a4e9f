//! Tables of runs, read back: for figures and comparisons of any results.

use std::io;
use std::path::Path;

use indexmap::{IndexMap, IndexSet};
use polypath_experiments::evaluate::{GridTable, Results, Sample};
use polypath_experiments::experiment::{Axis, MAIN};

use crate::runs::SETTING;

/// Runs by point: what [`write_csv`](crate::write_csv) wrote of one grid, which takes the place of
/// the main one here.
#[derive(Clone, Debug)]
pub struct RunTable {
    table: GridTable,
    /// Metric by column.
    metrics: Vec<String>,
    /// By point, in the order of the file.
    runs: Vec<Vec<Run>>,
}

/// A row of the file.
#[derive(Clone, Debug)]
struct Run {
    seed: String,
    cells: Vec<Option<f64>>,
}

/// What two tables have in common, and the points that only one has.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The first table, without what the second does not have.
    pub first: RunTable,
    /// The second table, likewise; points and seeds in the order of the first.
    pub second: RunTable,
    /// Points that share no seed, in words: of the first table, of the second.
    pub alone: [Vec<String>; 2],
}

impl RunTable {
    /// Reads a grid from a CSV file.
    ///
    /// # Errors
    /// When it cannot be read, has no column `seed`, or no run of this grid.
    /// Cells that are no finite numbers have no value.
    pub fn read_csv(path: &Path, grid: &str) -> io::Result<Self> {
        let mut reader = csv::Reader::from_path(path)?;
        let header: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
        let seed = header.iter().position(|name| name == "seed");
        let seed = seed.ok_or_else(|| io::Error::other("no column seed (allowed: a runs.csv)"))?;
        let metric = |at: &usize| !header[*at].starts_with(SETTING);
        let metrics: Vec<usize> = (seed + 1..header.len()).filter(metric).collect();
        let mut points: IndexMap<Vec<String>, Vec<Run>> = IndexMap::new();
        let mut others = IndexSet::new();
        for record in reader.records() {
            let record = record?;
            if record.get(0) != Some(grid) {
                others.insert(record.get(0).unwrap_or_default().to_owned());
                continue;
            }
            let labels = record.iter().take(seed).skip(1).map(str::to_owned).collect();
            let cell =
                |at: &usize| record.get(*at)?.parse().ok().filter(|value: &f64| value.is_finite());
            let cells = metrics.iter().map(cell).collect();
            let seed = record.get(seed).unwrap_or_default().to_owned();
            points.entry(labels).or_default().push(Run { seed, cells });
        }
        if points.is_empty() && others.is_empty() {
            return Err(io::Error::other("no runs (allowed: at least one row below the header)"));
        }
        if points.is_empty() {
            let others: Vec<String> = others.into_iter().collect();
            let text = format!("no grid {grid:?} (allowed: {})", others.join(", "));
            return Err(io::Error::other(text));
        }
        let (labels, runs): (Vec<Vec<String>>, _) = points.into_iter().unzip();
        // Axes of other grids are empty here.
        let used = |at: &usize| labels.iter().any(|labels| !labels[*at].is_empty());
        let columns: Vec<usize> = (0..seed.saturating_sub(1)).filter(used).collect();
        let axes = columns.iter().map(|at| build_axis(&header[at + 1], *at, &labels)).collect();
        let keep = |labels: &Vec<String>| columns.iter().map(|at| labels[*at].clone()).collect();
        let points = labels.iter().map(keep).collect();
        Ok(Self {
            table: GridTable { name: MAIN.to_owned(), axes, points },
            metrics: metrics.into_iter().map(|at| header[at].clone()).collect(),
            runs,
        })
    }

    /// The points and seeds that both tables have, run by run beside each other.
    ///
    /// # Errors
    /// When the axes differ or nothing is shared, in words.
    pub fn shared_runs(&self, other: &Self) -> Result<Shared, String> {
        let names = |table: &Self| -> Vec<String> {
            table.table.axes.iter().map(|axis| axis.name.clone()).collect()
        };
        if names(self) != names(other) {
            let shown = |names: Vec<String>| {
                if names.is_empty() { "none".into() } else { names.join(", ") }
            };
            let (ours, theirs) = (shown(names(self)), shown(names(other)));
            return Err(format!("axes differ: {ours} and {theirs} (allowed: the same in both)"));
        }
        let (mut first, mut second) = (self.without_points(), other.without_points());
        let mut alone = [Vec::new(), Vec::new()];
        for (labels, runs) in self.table.points.iter().zip(&self.runs) {
            let theirs = other.runs_of(labels);
            let partner = |run: &Run| theirs.iter().find(|other| other.seed == run.seed).cloned();
            let pairs: Vec<(Run, Run)> =
                runs.iter().filter_map(|run| Some((run.clone(), partner(run)?))).collect();
            if pairs.is_empty() {
                alone[0].push(self.describe_point(labels));
                continue;
            }
            let (ours, theirs) = pairs.into_iter().unzip();
            first.push_point(labels, ours);
            second.push_point(labels, theirs);
        }
        let unpaired =
            other.table.points.iter().filter(|point| !first.table.points.contains(point));
        alone[1].extend(unpaired.map(|labels| other.describe_point(labels)));
        if first.runs.is_empty() {
            return Err("no point and seed in common (allowed: tables that share some)".to_owned());
        }
        Ok(Shared { first, second, alone })
    }

    /// Runs of points: labels by axis, a seed, and a cell by metric.
    pub(crate) fn from_runs(
        axes: &[String],
        metrics: Vec<String>,
        runs: impl IntoIterator<Item = (Vec<String>, String, Vec<Option<f64>>)>,
    ) -> Self {
        let mut points: IndexMap<Vec<String>, Vec<Run>> = IndexMap::new();
        for (labels, seed, cells) in runs {
            points.entry(labels).or_default().push(Run { seed, cells });
        }
        let (points, runs): (Vec<Vec<String>>, _) = points.into_iter().unzip();
        let axes =
            axes.iter().enumerate().map(|(at, name)| build_axis(name, at, &points)).collect();
        Self { table: GridTable { name: MAIN.to_owned(), axes, points }, metrics, runs }
    }

    fn runs_of(&self, labels: &[String]) -> &[Run] {
        let point = self.table.points.iter().position(|own| own == labels);
        point.and_then(|at| self.runs.get(at)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Its axes and metrics without its points.
    fn without_points(&self) -> Self {
        let table = GridTable { points: Vec::new(), ..self.table.clone() };
        Self { table, metrics: self.metrics.clone(), runs: Vec::new() }
    }

    fn push_point(&mut self, labels: &[String], runs: Vec<Run>) {
        self.table.points.push(labels.to_vec());
        self.runs.push(runs);
    }

    /// A point in words.
    fn describe_point(&self, labels: &[String]) -> String {
        let axes = self.table.axes.iter().zip(labels);
        let words: Vec<String> =
            axes.map(|(axis, label)| format!("{} {label}", axis.name)).collect();
        if words.is_empty() { "the only point".to_owned() } else { words.join(", ") }
    }

    /// Its axes and points.
    pub const fn shape(&self) -> &GridTable {
        &self.table
    }
}

fn build_axis(name: &str, at: usize, points: &[Vec<String>]) -> Axis {
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
        let runs = self.runs.get(point).map(Vec::as_slice).unwrap_or_default();
        let cells = runs.iter().map(|run| run.cells.get(at).copied().flatten());
        let values: Vec<f64> = cells.flatten().collect();
        if values.len() == runs.len() && !values.is_empty() {
            Sample::Values(values)
        } else {
            Sample::Missing(runs.len() - values.len(), runs.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use polypath_experiments::evaluate::{Bindings, Evaluator};
    use polypath_experiments::experiment::{Quantity, Selection};

    use super::*;

    const FILE: &str = "grid,buffer,loss,seed,scenario.stack.sfr,goodput\n\
        main,64KiB,,1,true,10\nmain,64KiB,,2,true,12\nlossy,,1%,1,true,3\nlossy,,1%,2,true,5\n";

    fn mean(table: &RunTable) -> f64 {
        let quantity = Quantity::Metric { metric: "goodput".into(), at: Selection::default() };
        Evaluator::new(table).estimate_quantity(&quantity, &Bindings::new()).unwrap().value
    }

    #[test]
    fn each_grid_is_read_with_its_own_axes_and_settings_are_no_metrics() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.csv");
        std::fs::write(&path, FILE).unwrap();
        let main = RunTable::read_csv(&path, "main").unwrap();
        assert_eq!(mean(&main), 11.0);
        assert_eq!(main.shape().axes[0].name, "buffer");
        assert_eq!(main.metrics, ["goodput"]);
        let lossy = RunTable::read_csv(&path, "lossy").unwrap();
        assert_eq!((mean(&lossy), lossy.shape().axes.len()), (4.0, 1));
        assert_eq!(lossy.shape().axes[0].name, "loss");
        let error = RunTable::read_csv(&path, "none").unwrap_err().to_string();
        assert_eq!(error, "no grid \"none\" (allowed: main, lossy)");
    }
}
