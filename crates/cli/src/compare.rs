//! `polypath compare`.

use std::path::Path;

use polypath_experiments::evaluate::{Bindings, Evaluator};
use polypath_experiments::experiment::{Quantity, Selection};
use polypath_experiments::reproduce::places;
use polypath_report::RunTable;
use polypath_run::metrics::Unit;
use serde::Serialize;

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::output;

/// A metric at a point of both tables.
#[derive(Serialize)]
struct Row<'a> {
    at: &'a Bindings,
    metric: &'a str,
    first: f64,
    second: f64,
    /// Second minus first, with the half width of its paired 95 % interval.
    difference: (f64, Option<f64>),
    differs: bool,
}

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let table = |path| read(path, &args.grid);
    let shared = table(&args.first)?.shared(&table(&args.second)?).map_err(Failure::input)?;
    let (before, after) = (Evaluator::new(&shared.first), Evaluator::new(&shared.second));
    let points = places(shared.first.shape());
    let mut rows = Vec::new();
    for at in &points {
        for metric in &args.metric {
            let quantity = Quantity::Metric { metric: metric.clone(), at: Selection::default() };
            let both = before
                .estimate(&quantity, at)
                .and_then(|a| Ok((a, after.estimate(&quantity, at)?)));
            let (a, b) = both.map_err(|why| Failure::input(why.text()))?;
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
        alone.iter().for_each(|point| eprintln!("only in {}: {point}", file.display()));
    }
    if args.json {
        output::json(&rows)
    } else {
        output::text(&rows.iter().map(line).collect::<String>())
    }
}

fn line(row: &Row<'_>) -> String {
    let unit = Unit::of(row.metric);
    let at: Vec<String> = row.at.iter().map(|(axis, label)| format!("{axis} {label}")).collect();
    let half = row.difference.1.map_or(String::new(), |half| format!(" +- {}", unit.show(half)));
    let differs = if row.differs { " *" } else { "" };
    let at = if at.is_empty() { String::new() } else { format!("{}: ", at.join(", ")) };
    format!(
        "{at}{} {} to {}, difference {}{half}{differs}\n",
        row.metric,
        unit.show(row.first),
        unit.show(row.second),
        unit.show(row.difference.0)
    )
}

fn read(path: &Path, grid: &str) -> Result<RunTable, Failure> {
    RunTable::read(path, grid)
        .map_err(|error| Failure::input(format!("{}: cannot be read: {error}", path.display())))
}
