//! Random networks: single ones as scenarios, and many of them with each of several schedulers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use numpy::{PyArray1, PyArray2, PyArrayMethods as _};
use polypath_population::{
    Draw, Outcome, Population, limit_of_draw, other_schedulers, own_scheduler,
};
use polypath_run::world_spec;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;

use crate::errors::{bad_policy, bad_run, bad_scenario};
use crate::execute;
use crate::failure::Failure;
use crate::own::OwnSchedulers;
use crate::scenario::Scenario;

/// The network of this number, with its traffic, as a scenario.
#[pyfunction]
#[pyo3(signature = (seed, number, packets = 30_000))]
pub(crate) fn draw_network(seed: u64, number: u64, packets: u64) -> PyResult<Scenario> {
    let draw = Population { seed, packets }.draw(number).map_err(bad_run)?;
    Scenario::of_draw(&draw)
}

/// The path schedulers that make sense on every network without a setting; the profile's own first.
#[pyfunction]
pub(crate) fn all_round_schedulers() -> Vec<String> {
    core::iter::once(own_scheduler()).chain(other_schedulers()).collect()
}

/// What one scheduler came to on one network.
enum Trouble {
    Policy(PyErr),
    Run(String),
    Stopped,
}

/// Runs the first `draws` networks of a seed with each scheduler, named or made in Python. Returns
/// the performance by network and scheduler, the limit of each network (NaN where it is not
/// defined), its application, and what was raised by place.
#[pyfunction]
#[pyo3(signature = (schedulers, draws, seed, packets, first = 0, progress = None))]
pub(crate) fn run_population<'py>(
    py: Python<'py>,
    schedulers: Vec<Bound<'py, PyAny>>,
    draws: u64,
    seed: u64,
    packets: u64,
    first: u64,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut own = OwnSchedulers::default();
    let names = schedulers.iter().map(|scheduler| own.name_of(scheduler));
    let names: Vec<String> = names.collect::<PyResult<_>>()?;
    let policies = own.policies(&Failure::default());
    for name in &names {
        drop(policies.path_scheduler(name).map_err(bad_scenario)?);
    }
    let drawn = Networks::draw(py, Population { seed, packets }, first..first + draws)?;
    let done = AtomicUsize::new(0);
    let total = drawn.0.len() * names.len();
    let report = |_: Python<'py>| match &progress {
        Some(progress) => progress.call1((done.load(Ordering::Relaxed), total)).map(drop),
        None => Ok(()),
    };
    let serial = own.has_plain();
    let jobs: Vec<(usize, usize)> = (0..drawn.0.len())
        .flat_map(|draw| (0..names.len()).map(move |name| (draw, name)))
        .collect();
    let results = execute::interruptible_with(py, &report, |stop| {
        let one = |&(draw, name): &(usize, usize)| {
            let result = run_draw(&drawn.0[draw], &own, &names[name], stop);
            done.fetch_add(1, Ordering::Relaxed);
            result
        };
        if serial {
            jobs.iter().map(one).collect::<Vec<_>>()
        } else {
            jobs.par_iter().map(one).collect()
        }
    })?;
    let errors = PyDict::new(py);
    let mut performance = Vec::with_capacity(results.len());
    for (result, (draw, name)) in results.into_iter().zip(&jobs) {
        let place = format!("network {} of seed {seed}, {}", drawn.0[*draw].number, names[*name]);
        let error = match result {
            Ok(outcome) => {
                performance.push(outcome.performance);
                continue;
            }
            Err(Trouble::Policy(error)) => Some(bad_policy(py, &place, error)),
            Err(Trouble::Run(text)) => Some(bad_run(format!("{place}: {text}"))),
            Err(Trouble::Stopped) => None,
        };
        performance.push(f64::NAN);
        if let Some(error) = error {
            errors.set_item((*draw, *name), error)?;
        }
    }
    let limits = drawn.0.iter().map(|draw| limit_of_draw(draw).unwrap_or(f64::NAN)).collect();
    let applications = drawn.0.iter().map(|draw| draw.application.to_string());
    let performance = PyArray1::from_vec(py, performance);
    let all = PyDict::new(py);
    all.set_item("schedulers", &names)?;
    let performance: Bound<'_, PyArray2<f64>> =
        performance.reshape([drawn.0.len(), names.len()])?;
    all.set_item("performance", performance)?;
    all.set_item("limit", PyArray1::from_vec(py, limits))?;
    all.set_item("application", PyList::new(py, applications)?)?;
    all.set_item("errors", errors)?;
    Ok(all)
}

struct Networks(Vec<Draw>);

impl Networks {
    fn draw(
        py: Python<'_>,
        population: Population,
        numbers: core::ops::Range<u64>,
    ) -> PyResult<Self> {
        let drawn = py.detach(|| {
            let one = |number| population.draw(number).map_err(|error| error.to_string());
            numbers.into_par_iter().map(one).collect::<Result<Vec<_>, _>>()
        });
        Ok(Self(drawn.map_err(bad_run)?))
    }
}

fn run_draw(
    draw: &Draw,
    own: &OwnSchedulers,
    scheduler: &str,
    stop: &AtomicBool,
) -> Result<Outcome, Trouble> {
    if stop.load(Ordering::Relaxed) {
        return Err(Trouble::Stopped);
    }
    let failure = Failure::default();
    let mut scenario = draw.scenario.clone();
    scenario.policies = own.policies(&failure);
    scenario.stack.path_scheduler = Some(scheduler.to_owned());
    let fault = |error: String| Trouble::Run(error);
    let spec = world_spec(&scenario, false).map_err(|error| fault(error.to_string()))?;
    let ran = execute::run_world(&spec, scenario.seeds.first, None, stop);
    if let Some(error) = failure.take() {
        return Err(Trouble::Policy(error));
    }
    let result = ran.map_err(|error| fault(error.to_string()))?.ok_or(Trouble::Stopped)?;
    Ok(Outcome::of_run(&scenario, draw.application, &result))
}
