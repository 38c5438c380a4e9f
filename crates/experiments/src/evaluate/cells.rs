//! The values of a table: axes down and across.

use super::quantity::{Bindings, Evaluator, GRID, NoValue};
use crate::experiment::{Cells, Over, Pick, Table};
use crate::stats::Interval;

/// A table's values.
#[derive(Clone, Debug)]
pub struct FilledTable {
    /// Values of the axis across.
    pub columns: Vec<String>,
    /// Its parts; one without an axis of panels.
    pub panels: Vec<FilledPanel>,
}

/// A part of a table.
#[derive(Clone, Debug)]
pub struct FilledPanel {
    /// Its value of the axis of panels, if there is one.
    pub label: Option<String>,
    /// Rows that have a value.
    pub rows: Vec<FilledRow>,
}

/// A row of values in base units.
#[derive(Clone, Debug)]
pub struct FilledRow {
    /// Values of the axes down.
    pub labels: Vec<String>,
    /// Which of the table's cells it shows.
    pub cells: usize,
    /// One for each column.
    pub values: Vec<Option<Interval>>,
}

/// Fills a table.
///
/// # Errors
/// When the table names what does not exist.
pub fn fill_table(table: &Table, evaluator: &Evaluator<'_>) -> Result<FilledTable, NoValue> {
    let plan = Plan { table, evaluator };
    let axes: Vec<String> = table.panels.iter().cloned().collect();
    let panels = plan.list_places(&axes, &plan.pinned_axes()?)?;
    let panels = panels.iter().map(|panel| plan.fill_panel(panel)).collect::<Result<_, _>>()?;
    Ok(FilledTable { columns: plan.axis_labels(&table.columns)?, panels })
}

struct Plan<'a> {
    table: &'a Table,
    evaluator: &'a Evaluator<'a>,
}

impl Plan<'_> {
    /// The grid, and axes that `only` binds to one value.
    fn pinned_axes(&self) -> Result<Bindings, NoValue> {
        let mut pinned = Bindings::new();
        if let Some(grid) = &self.table.grid {
            pinned.insert(GRID.to_owned(), grid.clone());
        }
        for axis in self.table.only.0.keys() {
            if let [only] = self.axis_labels(axis)?.as_slice() {
                pinned.insert(axis.clone(), only.clone());
            }
        }
        Ok(pinned)
    }

    fn axis_pick(&self, axis: &str) -> Pick {
        self.table.only.0.get(axis).cloned().unwrap_or(Pick::All)
    }

    fn axis_labels(&self, axis: &str) -> Result<Vec<String>, NoValue> {
        self.evaluator.axis_labels(axis, &self.axis_pick(axis), self.table.grid.as_deref())
    }

    fn list_places(&self, axes: &[String], bound: &Bindings) -> Result<Vec<Bindings>, NoValue> {
        let over = axes.iter().map(|axis| (axis.clone(), self.axis_pick(axis))).collect();
        self.evaluator.walk_axes(&Over(over), bound)
    }

    fn fill_panel(&self, panel: &Bindings) -> Result<FilledPanel, NoValue> {
        let label = self.table.panels.as_ref().and_then(|axis| panel.get(axis)).cloned();
        Ok(FilledPanel { label, rows: self.fill_rows(panel)? })
    }

    /// Rows that have a value.
    fn fill_rows(&self, panel: &Bindings) -> Result<Vec<FilledRow>, NoValue> {
        let mut rows = Vec::new();
        for place in self.list_places(&self.table.rows, panel)? {
            for (cells, wanted) in self.table.cells.iter().enumerate() {
                let values = self.cell_values(wanted, &place)?;
                if values.iter().any(Option::is_some) {
                    let labels = self.table.rows.iter().filter_map(|axis| place.get(axis));
                    rows.push(FilledRow { labels: labels.cloned().collect(), cells, values });
                }
            }
        }
        Ok(rows)
    }

    fn cell_values(
        &self,
        cells: &Cells,
        place: &Bindings,
    ) -> Result<Vec<Option<Interval>>, NoValue> {
        let columns = self.list_places(std::slice::from_ref(&self.table.columns), place)?;
        let value = |bound: &Bindings| match self.evaluator.estimate_quantity(&cells.of, bound) {
            Ok(value) => Ok(Some(value.interval())),
            Err(NoValue::Missing(_)) => Ok(None),
            Err(mistake) => Err(mistake),
        };
        columns.iter().map(value).collect()
    }
}
