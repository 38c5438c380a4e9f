//! Running a shard.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use polypath_experiments::reproduce::{ExecuteError, Job, estimate_cost, execute_until};
use polypath_experiments::store::{Damage, LineWriter, Store, read_texts};
use polypath_population::{Plan as PopulationPlan, Record, run_draw};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::ShardError;
use crate::plan::Plan;
use crate::prepare::Prepared;
use crate::shard::Shard;
use crate::shard_files::ShardFiles;

/// What a segment says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) plan: Plan,
    pub(crate) number: u32,
    pub(crate) of: u32,
    /// Rows that it has once it is whole.
    pub(crate) rows: u64,
}

impl About {
    pub(crate) fn to_json(&self) -> String {
        // Plain data, which always has a JSON text.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None`: not of a shard, or of one that no command plans.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        let about: Self = serde_json::from_str(text).ok()?;
        let shard = Shard { number: about.number, of: about.of };
        (shard.is_possible() && about.plan.work.find_problem().is_none()).then_some(about)
    }
}

/// What a worker did.
#[derive(Clone, Debug)]
pub struct Done {
    /// The shard's segment.
    pub path: PathBuf,
    /// Runs or draws of the shard.
    pub rows: usize,
    /// How many of them were made now.
    pub made: usize,
    /// Damaged places of what was there before; their runs were made again.
    pub damage: Vec<(PathBuf, Damage)>,
}

/// Runs a shard of a plan into a segment in `folder`, with so many threads (0: one a core).
/// `progress` hears how much is done, from 0 to 1. What an earlier process of the shard finished is
/// not run again; a shard that is whole is left as it is. Once `stop` says so, no further run is
/// begun.
///
/// # Errors
/// When it was stopped, the plan is of another program or machine, a run fails, or the folder takes
/// no files.
pub fn run_shard(
    plan: &Plan,
    shard: Shard,
    folder: &Path,
    threads: usize,
    progress: &(dyn Fn(f64) + Sync),
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Done, ShardError> {
    let watch = Watch { progress, stop };
    plan.check_stack()?;
    plan.check_machine()?;
    let files = ShardFiles::new(folder, &plan.id(), shard)?;
    files.refuse_busy()?;
    let work = || match plan.prepare()? {
        Prepared::Population(draws) => {
            let numbers: Vec<u64> = (0..draws.draws)
                .filter(|draw| Shard::of_draw(*draw, shard.of) == shard.number)
                .collect();
            let about = about(plan, shard, numbers.len());
            run_draws(&draws, &numbers, &files, &about, watch)
        }
        prepared => {
            let jobs = choose_shard(plan.choose_jobs(&prepared), shard);
            let about = about(plan, shard, jobs.len());
            run_jobs(&jobs, &files, &about, watch)
        }
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(work)
}

/// Who hears how far it is, and may end it.
#[derive(Clone, Copy)]
struct Watch<'a> {
    progress: &'a (dyn Fn(f64) + Sync),
    stop: &'a (dyn Fn() -> bool + Sync),
}

fn about(plan: &Plan, shard: Shard, rows: usize) -> About {
    About { plan: plan.clone(), number: shard.number, of: shard.of, rows: rows as u64 }
}

/// The runs of a shard.
fn choose_shard(mut jobs: Vec<Job>, shard: Shard) -> Vec<Job> {
    let costs: Vec<f64> = jobs.iter().map(estimate_cost).collect();
    let own = shard.choose_jobs(&costs);
    jobs.truncate(own.end);
    jobs.drain(..own.start.min(own.end));
    jobs
}

fn run_jobs(
    jobs: &[Job],
    files: &ShardFiles,
    about: &About,
    watch: Watch<'_>,
) -> Result<Done, ShardError> {
    let found = files.found()?;
    let before = Store::of_segments(&found)?;
    let damage = before.damage().to_vec();
    let is_whole = jobs.iter().all(|job| before.has_run(&job.key));
    if is_whole && damage.is_empty() && found == [files.whole()] {
        return Ok(Done { path: files.whole(), rows: jobs.len(), made: 0, damage });
    }
    drop(before);
    let part = files.next_part()?;
    let mut store = Store::continue_segments(&found, &part, &about.to_json())?;
    let made = execute_until(jobs, &mut store, watch.progress, watch.stop)?;
    store.sync()?;
    drop(store);
    Ok(Done { path: files.finish(&part)?, rows: jobs.len(), made, damage })
}

fn run_draws(
    plan: &PopulationPlan,
    numbers: &[u64],
    files: &ShardFiles,
    about: &About,
    watch: Watch<'_>,
) -> Result<Done, ShardError> {
    let found = files.found()?;
    let texts = read_texts(&found)?;
    let known = read_records(&texts.lines);
    let missing: Vec<u64> =
        numbers.iter().copied().filter(|number| !known.contains_key(number)).collect();
    let (rows, damage) = (numbers.len(), texts.damage);
    if missing.is_empty() && damage.is_empty() && found == [files.whole()] {
        return Ok(Done { path: files.whole(), rows, made: 0, damage });
    }
    let part = files.next_part()?;
    let mut writer = LineWriter::create(&part, &about.to_json())?;
    known.values().try_for_each(|line| writer.add(line))?;
    let shared = Mutex::new((writer, 0));
    missing.par_iter().try_for_each(|number| {
        if (watch.stop)() {
            return Err(ExecuteError::Stopped.into());
        }
        let record = run_draw(plan, *number)?;
        // A record is plain data, which always has a JSON text.
        let line = serde_json::to_string(&record).unwrap_or_default();
        let mut guard = shared.lock().unwrap_or_else(PoisonError::into_inner);
        guard.0.add(&line)?;
        guard.1 += 1;
        (watch.progress)(f64::from(guard.1) / missing.len() as f64);
        Ok::<(), ShardError>(())
    })?;
    let (writer, _) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    writer.sync()?;
    drop(writer);
    Ok(Done { path: files.finish(&part)?, rows, made: missing.len(), damage })
}

/// Records by number, as their lines; of several the first counts.
fn read_records(lines: &[String]) -> BTreeMap<u64, &String> {
    let mut records = BTreeMap::new();
    for line in lines {
        if let Ok(record) = serde_json::from_str::<Record>(line) {
            records.entry(record.number).or_insert(line);
        }
    }
    records
}
