//! Tables of figures: axes down and across.

use polypath_metrics::{Unit, pair};

use super::data::spaced;
use super::rows::Rows;
use crate::evaluate::{Bindings, Evaluator, GRID, NoValue};
use crate::experiment::{Cells, Over, Pick, Table};
use crate::stats::Interval;

/// A table of an experiment, ready to be written.
#[derive(Clone, Debug)]
pub struct Tabulated {
    /// File name without its ending.
    pub name: String,
    /// Heading.
    pub title: String,
    /// What a reader should know; may be empty.
    pub note: String,
    /// Page of the documentation that shows it, without its ending.
    pub page: Option<String>,
    /// Heading, which may be empty, and text of each part.
    pub panels: Vec<(String, Rows)>,
}

/// Fills a table.
///
/// # Errors
/// When the table names what does not exist.
pub fn tabulate(table: &Table, evaluator: &Evaluator<'_>) -> Result<Tabulated, NoValue> {
    let plan = Plan { table, evaluator };
    let axes: Vec<String> = table.panels.iter().cloned().collect();
    let panels = plan.places(&axes, &plan.pinned()?)?;
    let filled = panels.iter().map(|panel| plan.panel(panel)).collect::<Result<Vec<_>, _>>()?;
    let units: Vec<(f64, &str)> =
        (0..table.cells.len()).map(|n| plan.unit(n, filled.iter().flatten())).collect();
    let shown = panels.iter().zip(&filled);
    let shown = shown.map(|(panel, rows)| Ok((plan.heading(panel), plan.rows(rows, &units)?)));
    Ok(Tabulated {
        name: table.name.clone(),
        title: table.title.clone(),
        note: table.note.clone(),
        page: table.page.clone(),
        panels: shown.collect::<Result<_, NoValue>>()?,
    })
}

struct Plan<'a> {
    table: &'a Table,
    evaluator: &'a Evaluator<'a>,
}

/// A row before its unit is known.
struct Row {
    labels: Vec<String>,
    /// Which of the table's cells it shows.
    cells: usize,
    values: Vec<Option<Interval>>,
}

impl Plan<'_> {
    /// The grid, and axes that `only` binds to one value.
    fn pinned(&self) -> Result<Bindings, NoValue> {
        let mut pinned = Bindings::new();
        if let Some(grid) = &self.table.grid {
            pinned.insert(GRID.to_owned(), grid.clone());
        }
        for axis in self.table.only.0.keys() {
            if let [only] = self.labels(axis)?.as_slice() {
                pinned.insert(axis.clone(), only.clone());
            }
        }
        Ok(pinned)
    }

    fn pick(&self, axis: &str) -> Pick {
        self.table.only.0.get(axis).cloned().unwrap_or(Pick::All)
    }

    fn labels(&self, axis: &str) -> Result<Vec<String>, NoValue> {
        self.evaluator.labels(axis, &self.pick(axis), self.table.grid.as_deref())
    }

    fn places(&self, axes: &[String], bound: &Bindings) -> Result<Vec<Bindings>, NoValue> {
        let over = axes.iter().map(|axis| (axis.clone(), self.pick(axis))).collect();
        self.evaluator.walk(&Over(over), bound)
    }

    /// Rows that have a value.
    fn panel(&self, panel: &Bindings) -> Result<Vec<Row>, NoValue> {
        let mut rows = Vec::new();
        for place in self.places(&self.table.rows, panel)? {
            for (cells, wanted) in self.table.cells.iter().enumerate() {
                let values = self.values(wanted, &place)?;
                if values.iter().any(Option::is_some) {
                    let label = |axis: &String| place.get(axis).map(|label| spaced(label));
                    let labels = self.table.rows.iter().filter_map(label).collect();
                    rows.push(Row { labels, cells, values });
                }
            }
        }
        Ok(rows)
    }

    fn values(&self, cells: &Cells, place: &Bindings) -> Result<Vec<Option<Interval>>, NoValue> {
        let columns = self.places(std::slice::from_ref(&self.table.columns), place)?;
        let value = |bound: &Bindings| match self.evaluator.estimate(&cells.of, bound) {
            Ok(value) => Ok(Some(value.interval())),
            Err(NoValue::Missing(_)) => Ok(None),
            Err(mistake) => Err(mistake),
        };
        columns.iter().map(value).collect()
    }

    /// One unit for all rows of the table: its figures are there to be compared.
    fn unit<'b>(&self, n: usize, rows: impl Iterator<Item = &'b Row>) -> (f64, &'static str) {
        let own = rows.filter(|row| row.cells == n).flat_map(|row| row.values.iter().flatten());
        let largest = own.map(|value| value.mean.abs()).fold(0.0, f64::max);
        let unit = self.table.cells.get(n).map(|cells| match cells.share {
            true => Unit::Share,
            false => crate::evaluate::unit(&cells.of),
        });
        match unit.unwrap_or(Unit::Plain) {
            Unit::Time => (1e3, "ms"),
            unit => unit.scale(largest),
        }
    }

    fn heading(&self, panel: &Bindings) -> String {
        let label = self.table.panels.as_ref().and_then(|axis| panel.get(axis));
        label.map(|label| spaced(label)).unwrap_or_default()
    }

    fn rows(&self, rows: &[Row], units: &[(f64, &str)]) -> Result<Rows, NoValue> {
        let several = self.table.cells.len() > 1;
        let name = |n: usize| {
            let name = self.table.cells.get(n).map_or("", |cells| cells.name.as_str());
            let unit = units.get(n).map_or("", |(_, unit)| unit);
            format!("{name} {unit}").trim().to_owned()
        };
        let columns = self.labels(&self.table.columns)?;
        let axes = self.table.rows.iter().cloned();
        let what = if several { Some(String::new()) } else { None };
        let cell = |row: &Row, value: &Option<Interval>| {
            let factor = units.get(row.cells).map_or(1.0, |(factor, _)| *factor);
            let error = if self.table.intervals { factor } else { 0.0 };
            value.map_or("-".to_owned(), |value| pair(value.mean * factor, value.half * error))
        };
        let line = |row: &Row| {
            let labels = row.labels.iter().cloned().chain(several.then(|| name(row.cells)));
            labels.chain(row.values.iter().map(|value| cell(row, value))).collect()
        };
        Ok(Rows {
            head: axes.chain(what).chain(columns.iter().map(|label| spaced(label))).collect(),
            rows: rows.iter().map(line).collect(),
        })
    }
}
