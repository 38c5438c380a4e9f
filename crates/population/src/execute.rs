//! Running a population on all cores.

use std::sync::{Mutex, PoisonError};

use polypath_run::RunError;
use polypath_scenario::Policies;
use rayon::prelude::*;

use crate::draw::{DrawError, Population};
use crate::record::{Record, Records, RecordsError};

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where draws come from.
    pub population: Population,
    /// Numbers 0 to one below this.
    pub draws: u64,
    /// Other path schedulers to compare with.
    pub schedulers: Vec<String>,
    /// Draws at the same time; 0: one per core.
    pub jobs: usize,
    /// What the names of schedulers stand for.
    pub policies: Policies,
}

/// Why a population was not run.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// A draw.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// A run of it.
    #[error("draw {number} of seed {seed}: {error}")]
    Run {
        /// The population's seed.
        seed: u64,
        /// The draw's number.
        number: u64,
        /// Why.
        error: RunError,
    },
    /// Its record.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The threads.
    #[error("--jobs: {0}")]
    Jobs(#[from] rayon::ThreadPoolBuildError),
}

/// Runs what `records` does not have, and adds it there. `progress` hears how much is done, from 0
/// to 1; once `stop` says so, no further draw is begun. The records are those of the plan, by
/// number.
///
/// # Errors
/// The first draw that cannot be run or kept.
pub fn execute(
    plan: &Plan,
    records: &mut Records,
    progress: &(dyn Fn(f64) + Sync),
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Record>, ExecuteError> {
    let (mut done, mut missing) = (Vec::new(), Vec::new());
    for number in 0..plan.draws {
        match find_known(plan, records, number)? {
            Some(record) => done.push(record),
            None => missing.push(number),
        }
    }
    let shared = Mutex::new((records, done));
    let one = |number: u64| {
        if stop() {
            return Ok(());
        }
        let record = run_draw(plan, number)?;
        // A panic elsewhere cannot leave a record half added.
        let mut guard = shared.lock().unwrap_or_else(PoisonError::into_inner);
        guard.0.add_record(&record)?;
        guard.1.push(record);
        progress(guard.1.len() as f64 / plan.draws as f64);
        Ok::<(), ExecuteError>(())
    };
    let threads = rayon::ThreadPoolBuilder::new().num_threads(plan.jobs).build()?;
    // In order, so that a run that is ended early has the first draws.
    threads.install(|| missing.into_iter().par_bridge().try_for_each(one))?;
    let mut done = shared.into_inner().unwrap_or_else(PoisonError::into_inner).1;
    done.sort_by_key(|record| record.number);
    Ok(done)
}

/// The record of a draw, if there is one of this very scenario and stack.
fn find_known(plan: &Plan, records: &Records, number: u64) -> Result<Option<Record>, ExecuteError> {
    let mut found = records.find_records(plan.population, number, &plan.schedulers).peekable();
    if found.peek().is_none() {
        return Ok(None);
    }
    // What has no version cannot be told from what it was before.
    let is_lasting = |name: &String| match plan.policies.own_scheduler(name) {
        Ok(Some(own)) => own.version().is_some(),
        _ => !matches!(plan.policies.file_of_scheduler(name), Ok(Some(_))),
    };
    if !plan.schedulers.iter().all(is_lasting) {
        return Ok(None);
    }
    let key = plan.population.draw(number)?.key();
    Ok(found.find(|record| record.key == key).cloned())
}

/// Runs one draw of the plan.
///
/// # Errors
/// A draw that cannot be made or run.
pub fn run_draw(plan: &Plan, number: u64) -> Result<Record, ExecuteError> {
    let Population { seed, packets } = plan.population;
    let mut draw = plan.population.draw(number)?;
    draw.scenario.policies = plan.policies.clone();
    Record::of_draw(&draw, packets, &plan.schedulers).map_err(|error| ExecuteError::Run {
        seed,
        number,
        error,
    })
}
