//! `polypath sweep --from`: what shards have run.

use std::path::Path;

use polypath_experiments::reproduce::{
    Swept, collect_jobs, judge_sweep, next_seeds, widest_interval,
};
use polypath_shards::{Joined, Plan, Prepared, SeedRange, Work};

use super::args::SweepArgs;
use super::options::{open_canvas, read_precision};
use super::show::Shown;
use crate::failure::Failure;
use crate::shards::{join, write_plan};
use crate::talk::Talk;

pub(super) fn sweep_from(args: &SweepArgs, talk: Talk) -> Result<(), Failure> {
    if args.shards.plan.is_some() && args.ci.is_none() {
        let text = "--plan with --from: there is nothing to plan (allowed: with --ci)";
        return Err(Failure::bad_input(text));
    }
    let mut joined = join(&args.shards, "sweep", talk)?;
    choose_metrics(args, &mut joined)?;
    let Prepared::Sweep { study, metrics } = joined.plan.prepare()? else { return Ok(()) };
    let Work::Sweep { name, .. } = &joined.plan.work else { return Ok(()) };
    let has_axes = study.points.grids.iter().any(|grid| !grid.axes.is_empty());
    let canvas = open_canvas(args, has_axes)?;
    let (stored, rows) =
        judge_sweep(&study, &metrics, &joined.store).map_err(Failure::run_failed)?;
    let swept = Swept { study: *study, stored, rows, failed: None };
    let shown = Shown { args, name: Path::new(name), metrics: &metrics, canvas, talk };
    if let Some(share) = read_precision(args)? {
        let wide = widest_interval(&swept.rows);
        if wide > share {
            // The plan is what is printed then, in JSON; the table in any other case.
            if !args.json || args.shards.plan.is_none() {
                shown.show(&swept, &joined.store)?;
            }
            return plan_next_round(args, &joined, wide / share, talk);
        }
        talk.say(format_args!("every interval is within {:.2} %: no further round", 100.0 * wide));
    }
    shown.show(&swept, &joined.store)
}

/// Runs have all their figures, so others may be reported than were planned; not those that need a
/// trace, if no planned one did.
fn choose_metrics(args: &SweepArgs, joined: &mut Joined) -> Result<(), Failure> {
    let Work::Sweep { metrics, .. } = &mut joined.plan.work else { return Ok(()) };
    if args.metric.is_empty() || args.metric == *metrics {
        return Ok(());
    }
    metrics.clone_from(&args.metric);
    let prepared = joined.plan.prepare();
    let prepared = prepared.map_err(|error| Failure::bad_input(format!("--metric: {error}")))?;
    let Prepared::Sweep { study, .. } = prepared else { return Ok(()) };
    let jobs = collect_jobs([study.as_ref()]);
    if jobs.iter().any(|job| joined.store.has_run(&job.key)) {
        return Ok(());
    }
    let names = args.metric.join(", ");
    Err(Failure::bad_input(format!(
        "--metric {names}: needs traces, which these runs were made without (allowed: as planned, \
         or metrics without traces)"
    )))
}

/// Plans more seeds for every point: they are the same at all points, so that differences between
/// these stay narrow.
fn plan_next_round(
    args: &SweepArgs,
    joined: &Joined,
    times_too_wide: f64,
    talk: Talk,
) -> Result<(), Failure> {
    let Work::Sweep { name, scenario, metrics, seeds } = joined.plan.work.clone() else {
        return Ok(());
    };
    let to = next_seeds(seeds.to, times_too_wide);
    talk.say(format_args!("the widest interval is {times_too_wide:.1} times as wide as wanted"));
    if to <= seeds.to {
        talk.say(format_args!("each point has {} seeds, and more are not planned", seeds.to));
        return Ok(());
    }
    let Some(folder) = &args.shards.plan else {
        talk.say(format_args!("--plan DIR plans seeds {} to {to} of each point", seeds.to + 1));
        return Ok(());
    };
    let seeds = SeedRange { from: seeds.to, to };
    let work = Work::Sweep { name, scenario, metrics, seeds };
    let next = Plan { work, ..joined.plan.clone() };
    write_plan(&next, folder, args.json, talk)
}
