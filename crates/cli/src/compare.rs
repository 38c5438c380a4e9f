//! `polypath compare`.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use polypath_experiments::evaluate::{Bindings, Evaluator};
use polypath_experiments::experiment::{Quantity, Selection};
use polypath_experiments::reproduce::point_bindings;
use polypath_report::figure::Rows;
use polypath_report::{Listing, RunTable, TableFormat, format_listings, space_unit};
use polypath_run::metrics::{format_pair, metric_unit};
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;
use crate::talk::Talk;

/// What stands below the options.
pub(crate) const COMPARE_HELP: &str = "\
The difference is the second minus the first, paired by seed, with the half
width of its 95 % interval; * where the interval does not hold zero.

Examples:
  polypath compare before/runs.csv after/runs.csv
  polypath compare a.csv b.csv --metric goodput --metric delay.mean
  polypath compare a.csv b.csv --format markdown > difference.md";

#[derive(Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// Table of runs (CSV).
    pub(crate) first: PathBuf,
    /// Another one with the same axes.
    pub(crate) second: PathBuf,
    /// What to compare; may be repeated.
    #[arg(long, value_name = "METRIC", default_value = "goodput")]
    pub(crate) metric: Vec<String>,
    /// Grid of the experiment, in both tables.
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) grid: String,
    /// Table as text, markdown, csv or latex.
    #[arg(long, value_name = "FORMAT", default_value_t, conflicts_with = "json")]
    pub(crate) format: TableFormat,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A metric at a point of both tables.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Row<'a> {
    /// Value of each axis.
    at: &'a Bindings,
    /// The metric.
    metric: &'a str,
    /// Mean in the first table.
    first: f64,
    /// Mean in the second table.
    second: f64,
    /// Second minus first, with the half width of its paired 95 % interval;
    /// that is `None` for a single run.
    difference: (f64, Option<f64>),
    /// Whether the interval leaves zero out.
    differs: bool,
}

pub(crate) fn compare(args: &CompareArgs, talk: Talk) -> Result<(), Failure> {
    let table = |path| read_run_table(path, &args.grid);
    let shared =
        table(&args.first)?.shared_runs(&table(&args.second)?).map_err(Failure::bad_input)?;
    let (before, after) = (Evaluator::new(&shared.first), Evaluator::new(&shared.second));
    let points = point_bindings(shared.first.shape());
    let mut rows = Vec::new();
    for at in &points {
        for metric in &args.metric {
            let quantity = Quantity::Metric { metric: metric.clone(), at: Selection::default() };
            let both = before
                .estimate_quantity(&quantity, at)
                .and_then(|a| Ok((a, after.estimate_quantity(&quantity, at)?)));
            let (a, b) = both.map_err(|why| Failure::bad_input(why.text()))?;
            let difference = b.minus(1.0, &a).interval();
            rows.push(Row {
                at,
                metric,
                first: a.value,
                second: b.value,
                difference: (
                    difference.mean,
                    Some(difference.half).filter(|half| half.is_finite()),
                ),
                differs: difference.low() > 0.0 || difference.high() < 0.0,
            });
        }
    }
    for (file, alone) in [&args.first, &args.second].into_iter().zip(&shared.alone) {
        let say = |point: &String| talk.say(format_args!("only in {}: {point}", file.display()));
        alone.iter().for_each(say);
    }
    if args.json {
        return output::print_json(&rows);
    }
    let text = match args.format {
        TableFormat::Csv => format_listings(&[list_values(&rows)], "", args.format),
        format => {
            let tables = args.metric.iter().map(|metric| compare_table(&rows, metric));
            format_listings(&tables.collect::<Vec<_>>(), NOTE, format)
        }
    };
    output::print_text(&text)
}

const NOTE: &str = "Difference: second minus first, paired by seed, +- half width of its 95 % \
                    interval; * where it does not hold zero.";

/// The points down, in a unit that suits them all.
fn compare_table(rows: &[Row<'_>], metric: &str) -> Listing {
    let own = || rows.iter().filter(|row| row.metric == metric);
    let values = own().flat_map(|row| [row.first, row.second]);
    let (factor, unit) = metric_unit(metric).scale_for(values.map(f64::abs).fold(0.0, f64::max));
    let cells = |row: &Row<'_>| {
        let half = row.difference.1.unwrap_or(f64::INFINITY) * factor;
        let pairs = [(row.first, 0.0), (row.second, 0.0)];
        let both = pairs.map(|(value, half)| format_pair(value * factor, half));
        let difference = format_pair(row.difference.0 * factor, half);
        let differs = if row.differs { "*" } else { "" }.to_owned();
        let labels = row.at.values().map(|label| space_unit(label));
        labels.chain(both).chain([difference, differs]).collect()
    };
    let axes: Vec<String> =
        own().next().map(|row| row.at.keys().cloned().collect()).unwrap_or_default();
    let figures = ["first", "second", "difference", ""].map(str::to_owned);
    let rows = own().map(cells).collect();
    Listing {
        title: if unit.is_empty() { metric.to_owned() } else { format!("{metric} ({unit})") },
        labels: axes.len(),
        rows: Rows { head: axes.into_iter().chain(figures).collect(), rows },
    }
}

/// Every value in a cell of its own, in base units.
fn list_values(rows: &[Row<'_>]) -> Listing {
    let axes: Vec<String> =
        rows.first().map(|row| row.at.keys().cloned().collect()).unwrap_or_default();
    let figures = ["metric", "unit", "first", "second", "difference", "half_width", "differs"];
    let cells = |row: &Row<'_>| {
        let half = row.difference.1.map_or(String::new(), |half| half.to_string());
        let base = metric_unit(row.metric).base();
        let values = [row.first, row.second, row.difference.0].map(|value| value.to_string());
        let labels = row.at.values().cloned().chain([row.metric.to_owned(), base.to_owned()]);
        labels.chain(values).chain([half, row.differs.to_string()]).collect()
    };
    let labels = axes.len() + 2;
    let head = axes.into_iter().chain(figures.map(str::to_owned)).collect();
    let rows = rows.iter().map(cells).collect();
    Listing { title: String::new(), labels, rows: Rows { head, rows } }
}

fn read_run_table(path: &Path, grid: &str) -> Result<RunTable, Failure> {
    RunTable::read_csv(path, grid)
        .map_err(|error| Failure::bad_input(format!("{}: cannot be read: {error}", path.display())))
}
