//! What a sweep prints, draws and writes.

use std::path::Path;

use polypath_experiments::evaluate::Evaluator;
use polypath_experiments::experiment::{
    Axis as GridAxis, Figure, Quantity, Selection, parse_amount,
};
use polypath_experiments::reproduce::{Stored, Study, Swept};
use polypath_experiments::store::Store;
use polypath_report::figure::{Diagram, build_diagrams};
use polypath_report::write_runs;

use super::args::SweepArgs;
use super::table::format_sweep;
use crate::failure::Failure;
use crate::output;
use crate::plot::Canvas;
use crate::talk::Talk;

/// Runs that are exported without being asked to: beyond it a table takes minutes and gigabytes.
const MOST_EXPORTED: usize = 100_000;

/// How a sweep is shown.
pub(super) struct Shown<'a> {
    pub(super) args: &'a SweepArgs,
    /// What stands for the scenario's file.
    pub(super) name: &'a Path,
    pub(super) metrics: &'a [String],
    pub(super) canvas: Option<Canvas>,
    pub(super) talk: Talk,
}

impl Shown<'_> {
    /// Writes the table of runs and the figure, and prints the sweep.
    pub(super) fn show(self, swept: &Swept, store: &Store) -> Result<(), Failure> {
        let Self { args, metrics, talk, .. } = self;
        let Swept { study, stored, rows, .. } = swept;
        let name = self.name.file_stem().unwrap_or_default();
        export_runs(args.export, &args.out.join(name), study, store, talk)?;
        if let (Some(canvas), Some(file)) = (self.canvas, &args.plot) {
            canvas.draw(&draw_metrics(study, stored, metrics)?)?;
            talk.say(format_args!("figure: {}", file.display()));
        }
        if args.json {
            output::print_json(rows)
        } else {
            output::print_text(&format_sweep(study, rows, metrics, args.format))
        }
    }
}

/// Writes the table of all runs, unless they are many and nobody asked.
fn export_runs(
    asked: bool,
    folder: &Path,
    study: &Study,
    store: &Store,
    talk: Talk,
) -> Result<(), Failure> {
    let mut count = 0;
    study.points.each_run(usize::MAX, &mut |_| count += 1);
    if count > MOST_EXPORTED && !asked {
        talk.say(format_args!(
            "{count} runs are no table: --export writes {}/runs.csv",
            folder.display()
        ));
        return Ok(());
    }
    let path = write_runs(folder, study, store)?;
    talk.say(format_args!("runs: {}", path.display()));
    Ok(())
}

/// A diagram of each metric over the first axis with numbers; the others make the curves.
fn draw_metrics(
    study: &Study,
    stored: &Stored,
    metrics: &[String],
) -> Result<Vec<Diagram>, Failure> {
    let axes = study.points.grids.iter().flat_map(|grid| &grid.axes);
    let axes: Vec<&GridAxis> = axes.collect();
    let several = |axis: &&&GridAxis| axis.labels.len() > 1;
    let numbers = |axis: &&&GridAxis| axis.labels.iter().all(|label| parse_amount(label).is_some());
    let found = axes.iter().filter(several).find(numbers).or_else(|| axes.iter().find(several));
    let Some(x) = found.or(axes.first()) else { return Ok(Vec::new()) };
    let others = axes.iter().filter(|axis| axis.name != x.name && axis.labels.len() > 1);
    let curves: Vec<String> = others.map(|axis| axis.name.clone()).collect();
    let evaluator = Evaluator::new(stored);
    let mut drawn = Vec::new();
    for metric in metrics {
        let figure = Figure {
            title: format!("{metric} over {}", x.name),
            x: Some(x.name.clone()),
            curves: curves.clone(),
            y: Some(Quantity::Metric { metric: metric.clone(), at: Selection::default() }),
            ..Figure::default()
        };
        let diagrams = build_diagrams(&figure, &evaluator, &[], &[]);
        drawn.extend(diagrams.map_err(|why| Failure::run_failed(why.text()))?);
    }
    Ok(drawn)
}
