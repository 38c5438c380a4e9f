//! `polypath sweep`.

mod args;
mod from;
mod options;
mod show;
mod table;

use std::path::Path;
use std::sync::Mutex;

use polypath_experiments::reproduce::{FIRST_SEEDS, Seeds, SweepError, run_sweep};
use polypath_experiments::store::Store;
use polypath_experiments::sweep::{Point, expand_sweep};
use polypath_run::read_scenario;
use polypath_scenario::{Assignment, Axis, Policies, Scalar, Source};
use polypath_shards::{Plan, SeedRange};

pub(crate) use self::args::{SWEEP_HELP, SweepArgs};
use self::options::{open_canvas, read_precision};
use self::show::Shown;
use crate::failure::Failure;
use crate::input;
use crate::progress::advance_shared_bar;
use crate::shards::{watch, write_plan};
use crate::store::tell_damage;
use crate::talk::Talk;

pub(crate) fn sweep(args: &SweepArgs, talk: Talk, policies: &Policies) -> Result<(), Failure> {
    if !args.watch.is_empty() {
        return watch(&args.watch, args.json, talk);
    }
    if !args.shards.from.is_empty() {
        return from::sweep_from(args, talk);
    }
    let file = args.scenario.as_deref().unwrap_or(Path::new("-"));
    let (source, axes) = read_swept(args, file, talk, policies)?;
    let canvas = open_canvas(args, !axes.is_empty())?;
    let (seeds, metrics) = (choose_seeds(args, &source)?, choose_metrics(args, &source)?);
    if let Some(folder) = &args.shards.plan {
        let to = match seeds {
            Seeds::Count(count) => count,
            Seeds::Precision(_) => FIRST_SEEDS,
        };
        let plan = Plan::of_sweep(source, policies, SeedRange { from: 0, to }, &metrics)?;
        return write_plan(&plan, folder, args.json, talk);
    }
    let mut store = open_store(args, &source, policies, talk)?;
    let progress = Mutex::new(talk.progress());
    let report = |done| advance_shared_bar(&progress, done);
    let swept = run_sweep(source, seeds, &metrics, &mut store, &report).map_err(failure_of)?;
    store.settle().map_err(Failure::run_failed)?;
    drop(progress);
    Shown { args, name: file, metrics: &metrics, canvas, talk }.show(&swept, &store)?;
    swept.failed.map_or(Ok(()), |error| Err(Failure::run_failed(error)))
}

/// The scenario with the axes of the command line, and all axes.
fn read_swept(
    args: &SweepArgs,
    file: &Path,
    talk: Talk,
    policies: &Policies,
) -> Result<(Source, Vec<Axis>), Failure> {
    let mut source = input::read_source(file, &args.set, talk, policies)?;
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
    Ok((source, axes))
}

fn failure_of(error: SweepError) -> Failure {
    match error {
        SweepError::Scenario(error) => Failure::from(error),
        SweepError::Metric(_) => Failure::bad_input(format!("--metric: {error}")),
        SweepError::Run(error) => Failure::run_failed(error),
        SweepError::Store(error) => Failure::run_failed(error),
    }
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
    let store = Store::open(&args.out.join("runs")).map_err(Failure::run_failed)?;
    tell_damage(store.damage(), talk);
    Ok(store)
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

/// Those of the command line, or those of the scenario, or goodput.
fn choose_metrics(args: &SweepArgs, source: &Source) -> Result<Vec<String>, Failure> {
    let given = [args.metric.clone(), read_scenario(source)?.metrics];
    let given = given.into_iter().find(|names| !names.is_empty());
    Ok(given.unwrap_or_else(|| vec!["goodput".to_owned()]))
}

fn choose_seeds(args: &SweepArgs, source: &Source) -> Result<Seeds, Failure> {
    if let Some(share) = read_precision(args)? {
        return Ok(Seeds::Precision(share));
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
