//! One run, and what it may cost.

use std::sync::Arc;

use polypath_scenario::units::Delay;
use polypath_scenario::{FlowSpec, Scenario};

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

/// A guess at how long a run takes, in ms of one core: by the time it simulates, where that is
/// known, or by what it carries.
pub fn estimate_cost(job: &Job) -> f64 {
    let time = &job.scenario.time;
    let seconds = |delay: Option<Delay>| delay.map_or(0.0, |d| d.as_secs_f64());
    let simulated = seconds(time.settle) + seconds(time.measure);
    if simulated > 0.0 {
        let rates = job.scenario.path.values().chain(job.scenario.link.values());
        let rate: f64 = rates.filter_map(|path| path.rate).map(|rate| rate.0 as f64 / 1e7).sum();
        return SET_UP + 1.3 * simulated * rate.max(0.1);
    }
    let bytes = |flow: &FlowSpec| {
        flow.size.map_or(0.0, |size| size.0 as f64) * flow.count.unwrap_or(1) as f64
    };
    SET_UP + job.scenario.flow.iter().map(bytes).sum::<f64>() / 1e6
}

/// What every run takes, ms.
const SET_UP: f64 = 0.3;
