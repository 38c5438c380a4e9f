//! `polypath worker`.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use polypath_shards::{Done, Plan, Shard, ShardError, run_shard};
use schemars::JsonSchema;
use serde::Serialize;

use super::args::WorkerArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::advance_shared_bar;
use crate::store::tell_damage;
use crate::talk::Talk;

/// What a worker did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkerJson {
    /// The plan's name.
    plan: String,
    /// What the machine's self-test came to.
    selftest: String,
    /// The shard's segment; none with --selftest.
    segment: Option<PathBuf>,
    /// Runs or draws of it.
    rows: usize,
    /// Those of them that were made now.
    made: usize,
}

pub(crate) fn worker(args: &WorkerArgs, talk: Talk) -> Result<(), Failure> {
    let plan = Plan::read(&args.plan)?;
    if args.selftest {
        plan.check_stack()?;
        plan.check_machine().map_err(failure_of)?;
        let text = format!("fit for plan {}: {}\n", plan.id(), plan.selftest);
        let fit = WorkerJson { segment: None, ..json_of(&plan, None) };
        return if args.json { output::print_json(&fit) } else { output::print_text(&text) };
    }
    let shard: Shard = args.shard.as_deref().unwrap_or_default().parse()?;
    let folder = args.out.as_deref().unwrap_or(Path::new("."));
    let progress = Mutex::new(talk.progress());
    let report = |done| advance_shared_bar(&progress, done);
    let done =
        run_shard(&plan, shard, folder, args.jobs, &report, &|| false).map_err(failure_of)?;
    drop(progress);
    tell_damage(&done.damage, talk);
    if args.json {
        return output::print_json(&json_of(&plan, Some(&done)));
    }
    let Done { path, rows, made, .. } = done;
    let unit = plan.work.unit();
    let place = path.display();
    output::print_text(&format!("shard {shard}: {made} of {rows} {unit} made: {place}\n"))
}

fn json_of(plan: &Plan, done: Option<&Done>) -> WorkerJson {
    WorkerJson {
        plan: plan.id(),
        selftest: plan.selftest.clone(),
        segment: done.map(|done| done.path.clone()),
        rows: done.map_or(0, |done| done.rows),
        made: done.map_or(0, |done| done.made),
    }
}

/// A machine that is unfit is no mistake of the user's.
fn failure_of(error: ShardError) -> Failure {
    match error {
        ShardError::OtherBits { .. } => Failure::missing_requirement(error),
        other => other.into(),
    }
}
