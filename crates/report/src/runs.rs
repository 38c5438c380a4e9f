//! The runs of an experiment as one table: a row per run, with every setting and the seed.

use std::sync::Arc;

use polypath_experiments::experiment::Grid;
use polypath_experiments::reproduce::{Stored, Study};
use polypath_experiments::store::Row;
use polypath_scenario::Scenario;
use serde_json::Value;

/// What columns of settings begin with, so that none is taken for an axis or a metric.
pub(crate) const SETTING: &str = "scenario.";

/// Columns and rows.
#[derive(Debug)]
pub struct Runs {
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
}

/// One run.
#[derive(Debug)]
pub(crate) struct Run {
    /// Which of the points.
    pub(crate) point: usize,
    /// Its seed.
    pub(crate) seed: u64,
    /// Its figures.
    pub(crate) figures: Arc<Row>,
}

impl Runs {
    /// The runs of a study that were made.
    pub fn from_study(study: &Study, stored: &Stored) -> Self {
        let grids = &study.points.grids;
        let made = |g: usize, p: usize| stored.rows(g, p);
        let mut runs = Self {
            axes: Vec::new(),
            settings: Vec::new(),
            metrics: Vec::new(),
            points: Vec::new(),
            rows: Vec::new(),
        };
        let mut points = Vec::new();
        for (g, grid) in grids.iter().enumerate() {
            grid.axes.iter().for_each(|axis| add_name(&mut runs.axes, &axis.name));
            for (p, point) in
                grid.points.iter().enumerate().filter(|(p, _)| !made(g, *p).is_empty())
            {
                let settings = list_settings(&point.scenario);
                settings.iter().for_each(|(name, _)| add_name(&mut runs.settings, name));
                for (seed, figures) in grid.seeds.iter().zip(made(g, p)) {
                    figures.iter().for_each(|(name, _)| add_name(&mut runs.metrics, name));
                    let figures = Arc::clone(figures);
                    runs.rows.push(Run { point: points.len(), seed: *seed, figures });
                }
                points.push((grid, point.labels.as_slice(), settings));
            }
        }
        runs.points = points.into_iter().map(|(g, l, s)| runs.point_cells(g, l, &s)).collect();
        runs.settings.iter_mut().for_each(|name| name.insert_str(0, SETTING));
        runs
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

fn add_name(list: &mut Vec<String>, name: &str) {
    if !list.iter().any(|known| known == name) {
        list.push(name.to_owned());
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
