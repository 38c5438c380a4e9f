//! The runs of an experiment as one table: a row per run, with every setting and the seed.

use indexmap::IndexSet;
use polypath_experiments::experiment::Grid;
use polypath_experiments::reproduce::Study;
use polypath_experiments::store::{Columns, Key, Store, StoreError, Wanted};
use polypath_scenario::Scenario;
use serde_json::Value;

/// What columns of settings begin with, so that none is taken for an axis or a metric.
pub(crate) const SETTING: &str = "scenario.";
/// Runs whose figures are held in memory at a time: with 130 figures each, 70 MB.
const PIECE: usize = 1 << 16;

/// Columns and rows; their figures are read piece by piece.
#[derive(Debug)]
pub struct Runs<'a> {
    /// Names of the axes of all grids.
    pub(crate) axes: Vec<String>,
    /// Dotted fields of the scenarios, with [`SETTING`] before them.
    pub(crate) settings: Vec<String>,
    /// Names of the figures.
    pub(crate) metrics: Vec<String>,
    /// Grid, axes and settings of each point; empty where a grid lacks the axis or a scenario the
    /// setting.
    pub(crate) points: Vec<Vec<String>>,
    /// In the order of grids, points and seeds.
    pub(crate) rows: Vec<Run>,
    /// Has the figures.
    pub(crate) store: &'a Store,
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Which of the points.
    pub(crate) point: usize,
    /// Its seed.
    pub(crate) seed: u64,
    /// What the store knows it by.
    pub(crate) key: Key,
}

/// Some runs and their figures.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) rows: &'a [Run],
    figures: Columns,
}

impl Piece<'_> {
    /// A figure of the run with this number in the piece.
    pub(crate) fn figure(&self, run: usize, name: &str) -> Option<f64> {
        self.figures.find_metric(run, name).flatten()
    }
}

impl<'a> Runs<'a> {
    /// The runs of a study that were made.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn from_study(study: &Study, store: &'a Store) -> Result<Self, StoreError> {
        let grids = &study.points.grids;
        let (mut axes, mut names) = (IndexSet::new(), IndexSet::new());
        let axis_names = grids.iter().flat_map(|grid| &grid.axes).map(|axis| axis.name.clone());
        axes.extend(axis_names);
        let (mut points, mut rows) = (Vec::new(), Vec::new());
        let mut last = None;
        study.points.each_run(usize::MAX, &mut |run| {
            if !store.has_run(&run.key) {
                return;
            }
            if last.replace((run.grid, run.number)) != Some((run.grid, run.number)) {
                let settings = list_settings(&run.point.scenario);
                names.extend(settings.iter().map(|(name, _)| name.clone()));
                points.push((run.grid, run.point.labels.clone(), settings));
            }
            rows.push(Run { point: points.len() - 1, seed: run.seed, key: run.key });
        });
        let mut runs = Self {
            axes: axes.into_iter().collect(),
            settings: names.into_iter().collect(),
            metrics: Vec::new(),
            points: Vec::new(),
            rows,
            store,
        };
        let cells = |(grid, labels, settings): &(usize, Vec<String>, Vec<(String, String)>)| {
            grids.get(*grid).map(|grid| runs.point_cells(grid, labels, settings))
        };
        runs.points = points.iter().filter_map(cells).collect();
        runs.settings.iter_mut().for_each(|name| name.insert_str(0, SETTING));
        runs.metrics = runs.list_metrics()?;
        Ok(runs)
    }

    /// The names of all figures, in the order in which the runs have them.
    fn list_metrics(&self) -> Result<Vec<String>, StoreError> {
        let keys: Vec<Key> = self.rows.iter().map(|run| run.key).collect();
        let known = self.store.collect(&keys, Wanted::Only(&[]))?;
        let mut names: IndexSet<&str> = IndexSet::new();
        let mut last: &[String] = &[];
        for run in 0..keys.len() {
            let own = known.names_of(run);
            // Runs of a point have the same ones, so most of them say nothing new.
            if !std::ptr::eq(own, last) {
                names.extend(own.iter().map(String::as_str));
                last = own;
            }
        }
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    /// The runs with their figures, in pieces that memory holds.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Result<Piece<'_>, StoreError>> {
        self.rows.chunks(PIECE).map(|rows| {
            let keys: Vec<Key> = rows.iter().map(|run| run.key).collect();
            Ok(Piece { rows, figures: self.store.collect(&keys, Wanted::All)? })
        })
    }

    /// Grid, axes and settings of a point, in the order of the columns.
    fn point_cells(
        &self,
        grid: &Grid,
        labels: &[String],
        settings: &[(String, String)],
    ) -> Vec<String> {
        let label = |axis: &String| {
            let at = grid.axes.iter().position(|known| known.name == *axis)?;
            labels.get(at).cloned()
        };
        let setting = |name: &String| {
            settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let axes = self.axes.iter().map(|axis| label(axis).unwrap_or_default());
        let settings = self.settings.iter().map(|name| setting(name).unwrap_or_default());
        std::iter::once(grid.name.clone()).chain(axes).chain(settings).collect()
    }
}

/// Everything that a scenario sets, by dotted field; lists count from 0. What only people read and
/// what makes other points is left out.
pub fn list_settings(scenario: &Scenario) -> Vec<(String, String)> {
    let bare = Scenario {
        title: None,
        description: None,
        sweep: Vec::new(),
        metrics: Vec::new(),
        ..scenario.clone()
    };
    let mut out = Vec::new();
    // A scenario is plain data, which always has a JSON value.
    let fields = serde_json::to_value(&bare).unwrap_or_default();
    if let Value::Object(fields) = fields {
        let fields = fields.iter().filter(|(name, _)| *name != "seeds");
        fields.for_each(|(name, value)| flatten_value(name, value, &mut out));
    }
    if !out.iter().any(|(name, _)| name == "stack.profile") {
        out.push(("stack.profile".to_owned(), "paper".to_owned()));
    }
    out
}

fn flatten_value(name: &str, value: &Value, out: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(field, value)| flatten_value(&format!("{name}.{field}"), value, out));
        }
        Value::Array(list) => {
            let numbered = list.iter().enumerate();
            numbered.for_each(|(n, value)| flatten_value(&format!("{name}.{n}"), value, out));
        }
        Value::String(text) => out.push((name.to_owned(), text.clone())),
        other => out.push((name.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use polypath_scenario::Source;

    use super::*;

    #[test]
    fn settings_are_told_by_field_and_with_units() {
        let text = "title = 'x'\n[path.A]\nrate = '10Mbit/s'\ndelay = '10ms'\n[stack]\nsfr = false\n\
                    [[flow]]\napp = 'saturated'\n[time]\nmeasure = '10s'\n[seeds]\ncount = 3";
        let settings = list_settings(&Source::new("test", text).unwrap().parse_scenario().unwrap());
        let find = |name: &str| {
            settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
        };
        assert_eq!(find("path.A.rate"), Some("10Mbit/s"));
        assert_eq!(find("flow.0.app"), Some("saturated"));
        assert_eq!(find("stack.sfr"), Some("false"));
        assert_eq!(find("stack.profile"), Some("paper"));
        assert_eq!(find("title"), None);
        assert_eq!(find("seeds.count"), None);
    }
}
