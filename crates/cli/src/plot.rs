//! `polypath plot`.

use polypath_lab::evaluate::Evaluator;
use polypath_lab::experiment::{Figure, Quantity, Selection};
use polypath_lab::figure::{diagrams, svg};
use polypath_lab::report::RunTable;

use crate::args::PlotArgs;
use crate::failure::Failure;
use crate::output;

pub(crate) fn plot(args: &PlotArgs) -> Result<(), Failure> {
    let shown = args.runs.display();
    let table = RunTable::read(&args.runs, &args.grid)
        .map_err(|error| Failure::input(format!("{shown}: cannot be read: {error}")))?;
    let others = table.shape().axes.iter().map(|axis| axis.name.clone());
    let others = others.filter(|axis| *axis != args.x).collect();
    let figure = Figure {
        name: "plot".to_owned(),
        x: Some(args.x.clone()),
        curves: args.curves.clone().unwrap_or(others),
        y: Some(Quantity::Metric { metric: args.y.clone(), at: Selection::default() }),
        ..Figure::default()
    };
    let drawn = diagrams(&figure, &Evaluator::new(&table), &[])
        .map_err(|why| Failure::input(format!("{shown}: {}", why.text())))?;
    for diagram in &drawn {
        output::text(&svg(diagram).map_err(Failure::run)?)?;
    }
    Ok(())
}
