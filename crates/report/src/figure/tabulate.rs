//! Tables of experiments with their units.

use polypath_experiments::evaluate::{
    Evaluator, FilledRow, FilledTable, NoValue, fill_table, quantity_unit,
};
use polypath_experiments::experiment::Table;
use polypath_experiments::stats::Interval;
use polypath_run::metrics::{Unit, format_pair};

use super::data::space_unit;
use super::rows::Rows;

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
    /// Whether its figures stand in a file of data beside that page.
    pub data: bool,
    /// How many columns say what a row is, before those with figures.
    pub labels: usize,
    /// Heading, which may be empty, and text of each part.
    pub panels: Vec<(String, Rows)>,
}

/// Fills a table, and writes its values in units that suit them.
///
/// # Errors
/// When the table names what does not exist.
pub fn tabulate_results(table: &Table, evaluator: &Evaluator<'_>) -> Result<Tabulated, NoValue> {
    let filled = fill_table(table, evaluator)?;
    let scales: Vec<Scale> =
        (0..table.cells.len()).map(|n| choose_scale(table, n, &filled)).collect();
    let head = format_head(table, &filled.columns);
    let panels = filled.panels.iter().map(|panel| {
        let heading = panel.label.as_deref().map(space_unit).unwrap_or_default();
        let rows = panel.rows.iter().map(|row| format_row(table, row, &scales)).collect();
        (heading, Rows { head: head.clone(), rows })
    });
    Ok(Tabulated {
        name: table.name.clone(),
        title: table.title.clone(),
        note: table.note.clone(),
        page: table.page.clone(),
        data: table.data,
        labels: head.len() - filled.columns.len(),
        panels: panels.collect(),
    })
}

/// What values are multiplied with, and the name of the unit that this makes.
type Scale = (f64, &'static str);

/// One unit for all rows of the table: its figures are there to be compared.
fn choose_scale(table: &Table, n: usize, filled: &FilledTable) -> Scale {
    let rows = filled.panels.iter().flat_map(|panel| &panel.rows);
    let own = rows.filter(|row| row.cells == n).flat_map(|row| row.values.iter().flatten());
    let largest = own.map(|value| value.mean.abs()).fold(0.0, f64::max);
    let unit = table.cells.get(n).map(|cells| match cells.share {
        true => Unit::Share,
        false => quantity_unit(&cells.of),
    });
    match unit.unwrap_or(Unit::Plain) {
        Unit::Time => (1e3, "ms"),
        unit => unit.scale_for(largest),
    }
}

/// Axes down, and the values of the axis across; between them what the row shows, if there are
/// several things.
fn format_head(table: &Table, columns: &[String]) -> Vec<String> {
    let several = table.cells.len() > 1;
    let axes = table.rows.iter().cloned().chain(several.then(String::new));
    axes.chain(columns.iter().map(|label| space_unit(label))).collect()
}

fn format_row(table: &Table, row: &FilledRow, scales: &[Scale]) -> Vec<String> {
    let several = table.cells.len() > 1;
    let (factor, unit) = scales.get(row.cells).copied().unwrap_or((1.0, ""));
    let name = || {
        let name = table.cells.get(row.cells).map_or("", |cells| cells.name.as_str());
        format!("{name} {unit}").trim().to_owned()
    };
    let error = if table.intervals { factor } else { 0.0 };
    let cell = |value: &Option<Interval>| {
        value.map_or("-".to_owned(), |value| format_pair(value.mean * factor, value.half * error))
    };
    let labels = row.labels.iter().map(|label| space_unit(label)).chain(several.then(name));
    labels.chain(row.values.iter().map(cell)).collect()
}
