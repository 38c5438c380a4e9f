//! Making the runs, on all cores.

use std::sync::{Mutex, PoisonError};

use polypath_run::limit;
use polypath_run::metrics;
use polypath_run::{RunError, refuse_failed, world_spec};
use polypath_scenario::profile::Layers;
use polypath_sim::SpecError;
use rayon::prelude::*;

use super::job::{Job, estimate_cost};
use crate::store::{Row, Store, StoreError};

/// Why the runs could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// A scenario cannot be simulated.
    #[error("the scenario cannot run: {0}")]
    Spec(#[from] SpecError),
    /// A policy does not exist.
    #[error(transparent)]
    Policy(#[from] polypath_policies::PolicyError),
    /// Path schedulers failed in the midst of runs. All other runs were made.
    #[error("{count} of {all} runs failed; the first: {first}")]
    Failed {
        /// How many runs.
        count: usize,
        /// Of how many.
        all: usize,
        /// The first of them, in the order of the jobs: where it was, and what it said.
        first: String,
    },
    /// It was to end. What was made until then is kept.
    #[error("ended before all runs were made")]
    Stopped,
    /// The results cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes the runs that the store does not have, and adds them to it. `progress` hears how much of
/// the work is done, from 0 to 1; what was found in the store is not part of it. The order in which
/// runs end does not touch their results.
///
/// # Errors
/// The first run that cannot be made or kept. A run whose path scheduler fails keeps no other from
/// being made.
pub fn execute_jobs(
    jobs: &[Job],
    store: &mut Store,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<usize, ExecuteError> {
    execute_until(jobs, store, progress, &|| false)
}

/// Likewise; once `stop` says so, no further run is begun.
///
/// # Errors
/// Likewise, and [`ExecuteError::Stopped`].
pub fn execute_until(
    jobs: &[Job],
    store: &mut Store,
    progress: &(dyn Fn(f64) + Sync),
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<usize, ExecuteError> {
    let missing: Vec<&Job> = jobs.iter().filter(|job| !store.has_run(&job.key)).collect();
    let total: f64 = missing.iter().map(|job| estimate_cost(job)).sum();
    let shared = Mutex::new((store, 0.0, Vec::new()));
    let made = missing.par_iter().enumerate().try_for_each(|(number, job)| {
        if stop() {
            return Err(ExecuteError::Stopped);
        }
        let made = run_job(job);
        // A panic elsewhere cannot leave a row half added: it is one insertion.
        let mut guard = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (store, done, failed) = &mut *guard;
        match made {
            Ok(row) => store.add_row(job.key, row)?,
            Err(JobError::Failed(error)) => failed.push((number, error)),
            Err(JobError::Impossible(error)) => return Err(error),
        }
        *done += estimate_cost(job);
        progress(*done / total);
        Ok::<(), ExecuteError>(())
    });
    let (store, _, mut failed) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Also those of before an error.
    let flushed = store.flush();
    made?;
    flushed?;
    failed.sort_by_key(|(number, _)| *number);
    match failed.first().and_then(|(number, error)| Some((missing.get(*number)?, error))) {
        None => Ok(missing.len()),
        Some((job, error)) => Err(ExecuteError::Failed {
            count: failed.len(),
            all: missing.len(),
            first: format!("{}, seed {}: {error}", describe_scheduler(job), job.seed),
        }),
    }
}

/// Why there is no row of a job.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The run failed, which says nothing of others.
    #[error(transparent)]
    Failed(RunError),
    /// It cannot be made at all.
    #[error(transparent)]
    Impossible(ExecuteError),
}

impl<E: Into<ExecuteError>> From<E> for JobError {
    fn from(error: E) -> Self {
        Self::Impossible(error.into())
    }
}

fn describe_scheduler(job: &Job) -> String {
    let scheduler = Layers::for_flow(&job.scenario, 0).sender().policies.path_scheduler;
    let title = job.scenario.title.iter().map(|title| format!("{title}, "));
    title.chain([format!("path scheduler {scheduler}")]).collect()
}

/// The metrics of a run.
///
/// # Errors
/// When it fails or cannot be made.
pub fn run_job(job: &Job) -> Result<Row, JobError> {
    let spec = world_spec(&job.scenario, job.traced)?;
    let limits = limit::of_world(&spec, job.seed);
    if !job.traced {
        let result = polypath_sim::run(&spec, job.seed, None)?;
        refuse_failed(&result).map_err(JobError::Failed)?;
        return Ok(Row::from_metrics(metrics::compute_metrics(&result, &limits, None)));
    }
    let mut probe = metrics::Probe::new(&job.scenario);
    let result = polypath_sim::run(&spec, job.seed, Some(&mut probe))?;
    refuse_failed(&result).map_err(JobError::Failed)?;
    Ok(Row::from_metrics(metrics::compute_metrics(&result, &limits, Some(probe))))
}
