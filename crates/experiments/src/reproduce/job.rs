//! One run, and what it may cost.

use std::sync::Arc;

use polypath_scenario::Scenario;
use polypath_scenario::units::Delay;

use crate::store::Key;

/// A run.
#[derive(Clone, Debug)]
pub struct Job {
    /// What it is known by.
    pub key: Key,
    /// What is run.
    pub scenario: Arc<Scenario>,
    /// With which seed.
    pub seed: u64,
    /// Whether its figures need traces.
    pub traced: bool,
}

/// A guess at how long a run takes, in about ms of one core: by the time it simulates, where that is
/// known.
pub fn estimate_cost(job: &Job) -> f64 {
    let time = &job.scenario.time;
    let seconds = |delay: Option<Delay>| delay.map_or(0.0, |d| d.as_secs_f64());
    let simulated = seconds(time.settle) + seconds(time.measure);
    let rates = job.scenario.path.values().chain(job.scenario.link.values());
    let rate: f64 = rates.filter_map(|path| path.rate).map(|rate| rate.0 as f64 / 1e7).sum();
    if simulated > 0.0 { 1.0 + simulated * rate.max(0.1) } else { 20.0 }
}
