//! `polypath plot`.

mod args;
mod picture;

use std::fs::File;
use std::io::{BufRead as _, BufReader};

use polypath_experiments::evaluate::{Evaluator, Results as _, Sample};
use polypath_experiments::experiment::{Figure, Quantity, Selection};
use polypath_report::figure::{Diagram, TraceFigure, build_diagrams, read_trace};
use polypath_report::{ChosenColumns, ChosenTable};
use polypath_run::metrics::Unit;

pub(crate) use self::args::{PLOT_HELP, PlotArgs};
pub(crate) use self::picture::Canvas;
use crate::failure::Failure;
use crate::talk::Talk;

pub(crate) fn plot(args: &PlotArgs) -> Result<(), Failure> {
    let canvas = match &args.out {
        Some(path) => Canvas::file(path, "--out", args.format)?,
        None => Canvas::stdout(args.format)?,
    };
    if args.y_label.is_some() && args.y.len() > 1 {
        let problem = "--y-label: one name for several diagrams (allowed: with one column along y)";
        return Err(Failure::bad_input(problem));
    }
    let shown = args.input.display();
    let is_trace = begins_as_trace(args)
        .map_err(|error| Failure::bad_input(format!("{shown}: cannot be read: {error}")))?;
    let drawn = if is_trace { trace_diagrams(args) } else { table_diagrams(args) };
    let mut drawn = drawn.map_err(|why| Failure::bad_input(format!("{shown}: {why}")))?;
    if let (Some(title), Some(first)) = (&args.title, drawn.first_mut()) {
        first.heading.clone_from(title);
        first.title.clone_from(title);
    }
    canvas.draw(&drawn)
}

/// A trace is lines of JSON, whatever its name.
fn begins_as_trace(args: &PlotArgs) -> std::io::Result<bool> {
    let mut input = BufReader::new(File::open(&args.input)?);
    Ok(input.fill_buf()?.first() == Some(&b'{'))
}

/// Columns along y, or what is asked for most.
fn figures_of(args: &PlotArgs, default: &str) -> Vec<String> {
    if args.y.is_empty() { vec![default.to_owned()] } else { args.y.clone() }
}

fn trace_diagrams(args: &PlotArgs) -> Result<Vec<Diagram>, String> {
    if let Some(x) = args.x.as_ref().filter(|x| *x != "time") {
        return Err(format!("--x {x}: a trace is drawn over its time (allowed: time)"));
    }
    let one = |y: &String| {
        let input = BufReader::new(File::open(&args.input).map_err(|error| error.to_string())?);
        let curves = args.curves.as_deref().unwrap_or_default();
        let figure = TraceFigure { y, curves, keep: &args.keep };
        let drawn = read_trace(input, &figure).map_err(|problem| problem.to_string())?;
        let mut diagram = drawn.diagram;
        diagram.log = (args.log_x, args.log_y);
        for (label, name) in
            [(&mut diagram.x_label, &args.x_label), (&mut diagram.y_label, &args.y_label)]
        {
            if let Some(name) = name {
                let unit =
                    label.split_once(" (").map_or(String::new(), |(_, unit)| format!(" ({unit}"));
                *label = format!("{name}{unit}");
            }
        }
        Ok((diagram, drawn.cut_short))
    };
    let drawn: Result<Vec<_>, String> = figures_of(args, "cwnd").iter().map(one).collect();
    let (diagrams, cut_short): (Vec<_>, Vec<_>) = drawn?.into_iter().unzip();
    if cut_short.contains(&true) {
        let file = args.input.display();
        let note = format!("note: {file} ends in the midst of a line: the rest is missing");
        Talk::new(false).say(note);
    }
    Ok(diagrams)
}

fn table_diagrams(args: &PlotArgs) -> Result<Vec<Diagram>, String> {
    let y = figures_of(args, "goodput");
    let chosen = ChosenColumns {
        grid: &args.grid,
        x: args.x.as_deref(),
        y: &y,
        curves: args.curves.as_deref(),
        keep: &args.keep,
    };
    let chosen = ChosenTable::read_csv(&args.input, &chosen)
        .map_err(|error| format!("cannot be read: {error}"))?;
    let mut drawn = Vec::new();
    for (name, unit) in y.iter().zip(&chosen.units) {
        check_values(&chosen, name)?;
        let figure = table_figure(args, &chosen, name, *unit);
        let diagrams = build_diagrams(&figure, &Evaluator::new(&chosen.table), &[], &[]);
        drawn.extend(diagrams.map_err(|why| why.text().to_owned())?);
    }
    Ok(drawn)
}

fn table_figure(args: &PlotArgs, chosen: &ChosenTable, y: &str, unit: Unit) -> Figure {
    // What the cells are written in is known here; of metrics it is known anyway.
    let label = args.y_label.clone().or_else(|| match unit.base() {
        "" => None,
        base => Some(format!("{y} ({base})")),
    });
    Figure {
        name: "plot".to_owned(),
        title: format!("{y} over {}", chosen.x),
        x: Some(chosen.x.clone()),
        curves: chosen.curves.clone(),
        y: Some(Quantity::Metric { metric: y.to_owned(), at: Selection::default() }),
        x_label: args.x_label.clone(),
        y_label: label,
        x_log: args.log_x,
        y_log: args.log_y,
        bands: args.bands,
        ..Figure::default()
    }
}

/// The column has a value somewhere.
fn check_values(chosen: &ChosenTable, y: &str) -> Result<(), String> {
    let shape = chosen.table.shape();
    let mut samples = (0..shape.points.len()).map(|point| chosen.table.sample(shape, point, y));
    if samples.all(|sample| matches!(sample, Sample::Missing(..))) {
        return Err(format!("{y} has no value in any run"));
    }
    Ok(())
}
