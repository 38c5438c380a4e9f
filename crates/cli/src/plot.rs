//! `polypath plot`.

use polypath_experiments::evaluate::{Evaluator, Results as _, Sample};
use polypath_experiments::experiment::{Figure, Quantity, Selection};
use polypath_report::RunTable;
use polypath_report::figure::{build_diagrams, draw_svg};

use crate::args::PlotArgs;
use crate::failure::Failure;
use crate::output;

pub(crate) fn plot(args: &PlotArgs) -> Result<(), Failure> {
    let shown = args.runs.display();
    let table = RunTable::read_csv(&args.runs, &args.grid)
        .map_err(|error| Failure::bad_input(format!("{shown}: cannot be read: {error}")))?;
    check_axes(args, &table).map_err(|why| Failure::bad_input(format!("{shown}: {why}")))?;
    let others = table.shape().axes.iter().map(|axis| axis.name.clone());
    let others = others.filter(|axis| *axis != args.x).collect();
    let figure = Figure {
        name: "plot".to_owned(),
        x: Some(args.x.clone()),
        curves: args.curves.clone().unwrap_or(others),
        y: Some(Quantity::Metric { metric: args.y.clone(), at: Selection::default() }),
        ..Figure::default()
    };
    let drawn = build_diagrams(&figure, &Evaluator::new(&table), &[], &[])
        .map_err(|why| Failure::bad_input(format!("{shown}: {}", why.text())))?;
    for diagram in &drawn {
        output::print_text(&draw_svg(diagram).map_err(Failure::run_failed)?)?;
    }
    Ok(())
}

/// Every axis exists, and the metric has a value somewhere.
fn check_axes(args: &PlotArgs, table: &RunTable) -> Result<(), String> {
    let shape = table.shape();
    let known: Vec<&str> = shape.axes.iter().map(|axis| axis.name.as_str()).collect();
    let mut asked = std::iter::once(&args.x).chain(args.curves.iter().flatten());
    if let Some(name) = asked.find(|name| !known.contains(&name.as_str())) {
        let known = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
        return Err(format!("no axis {name:?} (allowed: {known})"));
    }
    let mut samples = (0..shape.points.len()).map(|point| table.sample(shape, point, &args.y));
    if samples.all(|sample| matches!(sample, Sample::Missing(..))) {
        return Err(format!("{} has no value in any run", args.y));
    }
    Ok(())
}
