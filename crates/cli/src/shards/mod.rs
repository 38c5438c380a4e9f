//! Work in shards: plans, workers, what they wrote, and how far they are.

mod args;
mod verify;
mod watch;
mod worker;

use std::path::{Path, PathBuf};

use polypath_shards::{Joined, Plan, Shard, ShardError, choose_shards, join_segments};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::args::{PlanArgs, VERIFY_HELP, VerifyArgs, WORKER_HELP, WorkerArgs};
pub(crate) use self::verify::verify;
pub(crate) use self::watch::watch;
pub(crate) use self::worker::{WorkerJson, worker};
use crate::failure::Failure;
use crate::output;
use crate::store::tell_damage;
use crate::talk::Talk;

/// Shards that lack runs and are named, at most.
const MOST_NAMED: usize = 8;

impl From<ShardError> for Failure {
    fn from(error: ShardError) -> Self {
        if error.is_bad_input() { Self::bad_input(error) } else { Self::run_failed(error) }
    }
}

/// A plan that was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlanJson {
    /// Its name, which its segments bear.
    id: String,
    /// Its file.
    path: PathBuf,
    /// Runs or draws of it.
    rows: usize,
    /// About how many seconds they take on one core.
    seconds: f64,
    /// How many shards it is best run in.
    shards: u32,
}

/// Writes a plan, and says what it is and how it is run.
pub(crate) fn write_plan(
    plan: &Plan,
    folder: &Path,
    json: bool,
    talk: Talk,
) -> Result<(), Failure> {
    let (rows, cost) = plan.estimate()?;
    let path = plan.write(folder)?;
    let shards = choose_shards(cost);
    let planned = PlanJson { id: plan.id(), path, rows, seconds: cost / 1e3, shards };
    if json {
        return output::print_json(&planned);
    }
    let PlanJson { id, path, seconds, .. } = &planned;
    let (minutes, unit) = ((seconds / 60.0).ceil(), plan.work.unit());
    output::print_text(&format!(
        "plan {id}: {rows} {unit}, about {minutes:.0} min of one core: {}\n",
        path.display()
    ))?;
    talk.say(format_args!(
        "each of its shards: polypath worker {} --shard 1/{shards} --out DIR, and so on to \
         {shards}/{shards}",
        folder.display()
    ));
    Ok(())
}

/// Joins the segments of a command. Missing runs are an error unless a part is enough.
pub(crate) fn join(args: &PlanArgs, command: &str, talk: Talk) -> Result<Joined, Failure> {
    if args.plan.is_some() && command != "sweep" {
        let text = "--plan with --from (allowed: in `polypath sweep --ci`, for the next round)";
        return Err(Failure::bad_input(text));
    }
    let joined = join_segments(&args.from)?;
    if joined.plan.work.command() != command {
        return Err(ShardError::OtherCommand(joined.plan.work.command()).into());
    }
    tell_damage(&joined.damage, talk);
    let missing = joined.find_missing()?;
    let lacks: usize = missing.iter().map(|(_, _, lacks, _)| lacks).sum();
    if lacks == 0 {
        talk.say(format_args!("{} {}, all there", joined.count_rows(), joined.plan.work.unit()));
        return Ok(joined);
    }
    let text = describe_missing(lacks, joined.plan.work.unit(), &missing);
    if args.partial {
        talk.say(text);
        return Ok(joined);
    }
    Err(Failure::run_failed(format!("{text} (allowed: with --partial)")))
}

fn describe_missing(lacks: usize, unit: &str, missing: &[(String, Shard, usize, usize)]) -> String {
    let name = |(plan, shard, lacks, all): &(String, Shard, usize, usize)| {
        format!("{shard} of plan {plan} ({lacks} of {all})")
    };
    let named: Vec<String> = missing.iter().take(MOST_NAMED).map(name).collect();
    let more = missing.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{lacks} {unit} are missing: shards {}{more}", named.join(", "))
}
