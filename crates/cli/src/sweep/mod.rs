//! `polypath sweep`.

mod args;
mod table;

use std::sync::Mutex;

use polypath_experiments::evaluate::Evaluator;
use polypath_experiments::experiment::{
    Axis as GridAxis, Figure, Quantity, Selection, parse_amount,
};
use polypath_experiments::reproduce::{Seeds, Stored, Study, SweepError, Swept};
use polypath_experiments::store::Store;
use polypath_experiments::sweep::{Point, expand_sweep};
use polypath_report::figure::{Diagram, build_diagrams};
use polypath_report::write_runs;
use polypath_run::read_scenario;
use polypath_scenario::{Assignment, Axis, Policies, Scalar, Source};

pub(crate) use self::args::{SWEEP_HELP, SweepArgs};
use crate::failure::Failure;
use crate::plot::Canvas;
use crate::progress::advance_shared_bar;
use crate::talk::Talk;
use crate::{input, output};

pub(crate) fn sweep(args: &SweepArgs, talk: Talk, policies: &Policies) -> Result<(), Failure> {
    let mut source = input::read_source(&args.scenario, &args.set, talk, policies)?;
    let mut axes = read_scenario(&source)?.sweep;
    for text in &args.axis {
        let axis = parse_axis(text)?;
        axis.set.iter().try_for_each(|field| {
            let own = Assignment::new(field, false.into());
            refuse_swept_field(&axes, &own, &format!("--axis {text}"))
        })?;
        axes.push(axis);
    }
    for text in &args.set {
        refuse_swept_field(&axes, &text.parse()?, &format!("--set {text}"))?;
    }
    source.set_axes(&axes)?;
    let canvas = args.plot.as_ref().map(|path| Canvas::file(path, "--plot", None)).transpose()?;
    if canvas.is_some() && axes.is_empty() {
        let problem =
            "--plot: no axis to draw over (allowed: with --axis, or [[sweep]] in the file)";
        return Err(Failure::bad_input(problem));
    }
    let mut store = open_store(args, &source, policies, talk)?;
    let progress = Mutex::new(talk.progress());
    let report = |done| advance_shared_bar(&progress, done);
    let seeds = choose_seeds(args, &source)?;
    let metrics = choose_metrics(args, &source)?;
    let swept =
        polypath_experiments::reproduce::run_sweep(source, seeds, &metrics, &mut store, &report);
    let Swept { study, stored, rows, failed } = swept.map_err(|error| match error {
        SweepError::Scenario(error) => Failure::from(error),
        SweepError::Metric(_) => Failure::bad_input(format!("--metric: {error}")),
        SweepError::Run(error) => Failure::run_failed(error),
    })?;
    store.sort_tables().map_err(Failure::run_failed)?;
    drop(progress);
    let name = args.scenario.file_stem().unwrap_or_default();
    let folder = args.out.join(name);
    let path = write_runs(&folder, &study, &stored)?;
    talk.say(format_args!("runs: {}", path.display()));
    if let (Some(canvas), Some(file)) = (canvas, &args.plot) {
        canvas.draw(&draw_metrics(&study, &stored, &metrics)?)?;
        talk.say(format_args!("figure: {}", file.display()));
    }
    if args.json {
        output::print_json(&rows)?;
    } else {
        output::print_text(&table::format_sweep(&study, &rows, &metrics, args.format))?;
    }
    failed.map_or(Ok(()), |error| Err(Failure::run_failed(error)))
}

/// Runs of before are found again, unless a scheduler of the user's may have changed meanwhile.
fn open_store(
    args: &SweepArgs,
    source: &Source,
    policies: &Policies,
    talk: Talk,
) -> Result<Store, Failure> {
    let lasts = |point: &Point| point.scenario.scheduler_versions().is_some();
    if policies.has_own_schedulers() && !expand_sweep(source)?.iter().all(lasts) {
        talk.say("a path scheduler has no version: its runs are made anew each time");
        return Ok(Store::in_memory());
    }
    Store::open(&args.out.join("runs")).map_err(Failure::run_failed)
}

/// What an axis sets at every point cannot be set for all of them.
fn refuse_swept_field(axes: &[Axis], set: &Assignment, words: &str) -> Result<(), Failure> {
    let fields = |axis: &Axis| -> Vec<String> {
        let (first, others) = match axis.cases.split_first() {
            Some((first, others)) => (first.set.keys().cloned().collect(), others),
            None => (axis.set.clone(), axis.cases.as_slice()),
        };
        // What only some cases set keeps its value in the others.
        let everywhere = |field: &String| others.iter().all(|case| case.set.contains_key(field));
        first.into_iter().filter(everywhere).collect()
    };
    for axis in axes {
        if let Some(field) = fields(axis).into_iter().find(|field| set.is_within(field)) {
            let name = axis.name.clone().unwrap_or_else(|| field.clone());
            return Err(Failure::bad_input(format!(
                "{words}: {field} is swept by the axis {name:?} (allowed: fields that no axis sets)"
            )));
        }
    }
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

/// Those of the command line, or those of the scenario, or goodput.
fn choose_metrics(args: &SweepArgs, source: &Source) -> Result<Vec<String>, Failure> {
    let given = [args.metric.clone(), read_scenario(source)?.metrics];
    let given = given.into_iter().find(|names| !names.is_empty());
    Ok(given.unwrap_or_else(|| vec!["goodput".to_owned()]))
}

fn choose_seeds(args: &SweepArgs, source: &Source) -> Result<Seeds, Failure> {
    if let Some(share) = &args.ci {
        let wanted = parse_amount(share).filter(|share| *share > 0.0 && *share < 1.0);
        let refused = || Failure::bad_input(format!("--ci {share}: expected a share, such as 2%"));
        return wanted.map(Seeds::Precision).ok_or_else(refused);
    }
    let own = read_scenario(source)?.seeds.count;
    Ok(Seeds::Count(args.seeds.unwrap_or(own)))
}

/// An axis of the command line.
fn parse_axis(text: &str) -> Result<Axis, Failure> {
    let malformed = || {
        Failure::bad_input(format!(
            "--axis {text}: expected FIELD=FIRST..LAST/STEP or FIELD=A,B, such as path.B.delay=10ms..50ms/10ms"
        ))
    };
    let (field, values) = text.split_once('=').ok_or_else(malformed)?;
    if field.trim().is_empty() || values.trim().is_empty() {
        return Err(malformed());
    }
    let axis = Axis { set: vec![field.trim().to_owned()], ..Axis::default() };
    if values.contains("..") {
        return Ok(Axis { range: Some(values.to_owned()), ..axis });
    }
    let scalar = |value: &str| match (value.parse::<bool>(), value.parse::<i64>()) {
        (Ok(switch), _) => Scalar::Switch(switch),
        (_, Ok(number)) => Scalar::Number(number),
        _ => Scalar::Text(value.to_owned()),
    };
    Ok(Axis { values: values.split(',').map(str::trim).map(scalar).collect(), ..axis })
}
