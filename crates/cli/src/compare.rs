//! `polypath compare`.

use std::path::Path;

use polypath_experiments::evaluate::{Bindings, Evaluator};
use polypath_experiments::experiment::{Quantity, Selection};
use polypath_experiments::reproduce::point_bindings;
use polypath_report::RunTable;
use serde::Serialize;

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::output;
use crate::talk::Talk;

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
        output::print_json(&rows)
    } else {
        output::print_text(&rows.iter().map(format_row).collect::<String>())
    }
}

fn format_row(row: &Row<'_>) -> String {
    let unit = polypath_run::metrics::metric_unit(row.metric);
    let at: Vec<String> = row.at.iter().map(|(axis, label)| format!("{axis} {label}")).collect();
    let half =
        row.difference.1.map_or(String::new(), |half| format!(" +- {}", unit.format_value(half)));
    let differs = if row.differs { " *" } else { "" };
    let at = if at.is_empty() { String::new() } else { format!("{}: ", at.join(", ")) };
    format!(
        "{at}{} {} to {}, difference {}{half}{differs}\n",
        row.metric,
        unit.format_value(row.first),
        unit.format_value(row.second),
        unit.format_value(row.difference.0)
    )
}

fn read_run_table(path: &Path, grid: &str) -> Result<RunTable, Failure> {
    RunTable::read_csv(path, grid)
        .map_err(|error| Failure::bad_input(format!("{}: cannot be read: {error}", path.display())))
}
