//! Making the runs, on all cores.

use std::sync::{Mutex, PoisonError};

use polypath_run::limit;
use polypath_run::metrics;
use polypath_run::world_spec;
use polypath_sim::SpecError;
use rayon::prelude::*;

use super::study::Job;
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
    /// The results cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes the runs that the store does not have, and adds them to it. `progress` hears how much of
/// the work is done, from 0 to 1; what was found in the store is not part of it. The order in which
/// runs end does not touch their results.
///
/// # Errors
/// The first run that cannot be made or kept.
pub fn execute_jobs(
    jobs: &[Job],
    store: &mut Store,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<usize, ExecuteError> {
    let missing: Vec<&Job> = jobs.iter().filter(|job| store.find_row(&job.key).is_none()).collect();
    let total: f64 = missing.iter().map(|job| estimate_cost(job)).sum();
    let shared = Mutex::new((store, 0.0));
    missing.par_iter().try_for_each(|job| {
        let row = run_job(job)?;
        // A panic elsewhere cannot leave a row half added: it is one insertion.
        let mut guard = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (store, done) = &mut *guard;
        store.add_row(job.key, row)?;
        *done += estimate_cost(job);
        progress(*done / total);
        Ok::<(), ExecuteError>(())
    })?;
    Ok(missing.len())
}

/// The metrics of a run.
fn run_job(job: &Job) -> Result<Row, ExecuteError> {
    let spec = world_spec(&job.scenario, job.traced)?;
    let limits = limit::of_world(&spec, job.seed);
    if !job.traced {
        let result = polypath_sim::run(&spec, job.seed, None)?;
        return Ok(Row::from_metrics(metrics::compute_metrics(&result, &limits, None)));
    }
    let mut probe = metrics::Probe::new(&job.scenario);
    let result = polypath_sim::run(&spec, job.seed, Some(&mut probe))?;
    Ok(Row::from_metrics(metrics::compute_metrics(&result, &limits, Some(probe))))
}

/// A guess at how long a run takes: by the time it simulates, where that is known.
fn estimate_cost(job: &Job) -> f64 {
    let time = &job.scenario.time;
    let seconds =
        |delay: Option<polypath_scenario::units::Delay>| delay.map_or(0.0, |d| d.as_secs_f64());
    let simulated = seconds(time.settle) + seconds(time.measure);
    let rates = job.scenario.path.values().chain(job.scenario.link.values());
    let rate: f64 = rates.filter_map(|path| path.rate).map(|rate| rate.0 as f64 / 1e7).sum();
    if simulated > 0.0 { 1.0 + simulated * rate.max(0.1) } else { 20.0 }
}
