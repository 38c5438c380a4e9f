//! Many worlds that an agent steps: the native half of `polypath.gym`.
//!
//! An agent sees what an interval policy sees (`polypath_policies::scheduler::interval`), when it
//! would see it: a step ends with the first send attempt at or after the next multiple of the
//! interval, or after a while without one.

mod agent;
mod pool;
mod world;

use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods as _, PyReadonlyArray3};
use polypath_policies::scheduler::interval::{ASSOC_FIGURES, Action, PATH_FIGURES};
use polypath_proto::time::Duration;
use polypath_run::world_spec;
use polypath_scenario::Assignment;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use self::pool::Pool;
use self::world::{MEASURES, Seen};
use crate::errors::{bad_run, bad_scenario};
use crate::failure::Failure;
use crate::scenario::Scenario;

/// As many worlds as there are environments, on all cores.
#[pyclass(frozen, module = "polypath")]
#[derive(Debug)]
pub(crate) struct Worlds {
    pool: std::sync::Mutex<Pool>,
    count: usize,
    paths: usize,
    every: Duration,
}

type Arrays<'py> = (
    Bound<'py, PyArray3<f32>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<bool>>,
);

#[pymethods]
impl Worlds {
    /// `count` places for worlds of up to `paths` paths; a step is `every` seconds.
    #[new]
    fn new(count: usize, paths: usize, every: f64, threads: usize) -> PyResult<Self> {
        if !(1e-3..=10.0).contains(&every) {
            return Err(PyValueError::new_err(format!("every = {every} (allowed: 0.001 to 10 s)")));
        }
        if !(1..=255).contains(&paths) {
            return Err(PyValueError::new_err(format!("paths = {paths} (allowed: 1 to 255)")));
        }
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let pool = Pool::new(threads.clamp(1, count.max(1))).map_err(bad_run)?;
        let every = Duration::from_secs_f64(every);
        Ok(Self { pool: pool.into(), count, paths, every })
    }

    /// Puts a new world of this scenario and seed into a place.
    fn reset(&self, py: Python<'_>, place: usize, scenario: &Scenario, seed: u64) -> PyResult<()> {
        if place >= self.count {
            let text = format!("world {place} (allowed: 0 to {})", self.count.saturating_sub(1));
            return Err(PyIndexError::new_err(text));
        }
        let agent = Arc::default();
        let mut source = scenario.source_for(&Failure::default());
        let mut policies = agent::policies(&agent);
        source = source.with_policies(core::mem::take(&mut policies));
        let field = "flow.0.stack.sender.path-scheduler";
        let assignment = Assignment::new(field, agent::NAME.into());
        source.set_by("environment", &assignment).map_err(bad_scenario)?;
        let read = polypath_run::read_scenario(&source).map_err(bad_scenario)?;
        let paths = read.path_names().count();
        if paths > self.paths {
            let text =
                format!("{}: {paths} paths (allowed: up to {})", scenario.name(), self.paths);
            return Err(PyValueError::new_err(text));
        }
        let spec = world_spec(&read, false).map_err(bad_run)?;
        let every = self.every;
        py.detach(|| self.lock().reset(place, spec, seed, agent, every)).map_err(bad_run)
    }

    /// One step of all worlds: `actions[world, path]` is a weight and a factor of the congestion
    /// window. Returns figures of paths and of associations, what was measured in the step, and
    /// which worlds are over. A world that is over stays as it is.
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: PyReadonlyArray3<'py, f32>,
    ) -> PyResult<Arrays<'py>> {
        let shape = actions.as_array().dim();
        if shape != (self.count, self.paths, 2) {
            let allowed = (self.count, self.paths, 2);
            let text = format!("actions of shape {shape:?} (allowed: {allowed:?})");
            return Err(PyValueError::new_err(text));
        }
        let mut read = Vec::with_capacity(self.count);
        for of_world in actions.as_array().outer_iter() {
            let column = |n: usize| of_world.column(n).to_vec();
            let action = Action::new(&column(0), &column(1));
            read.push(action.map_err(|error| PyValueError::new_err(error.to_string()))?);
        }
        let seen = py.detach(|| self.lock().step(read)).map_err(bad_run)?;
        self.arrays(py, &seen)
    }

    /// What is seen now, without a step.
    fn look<'py>(&self, py: Python<'py>) -> PyResult<Arrays<'py>> {
        let seen = py.detach(|| self.lock().look(self.count)).map_err(bad_run)?;
        self.arrays(py, &seen)
    }
}

impl Worlds {
    fn lock(&self) -> std::sync::MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn arrays<'py>(&self, py: Python<'py>, seen: &[Seen]) -> PyResult<Arrays<'py>> {
        let mut paths = vec![0.0; self.count * self.paths * PATH_FIGURES.len()];
        let of_world = self.paths * PATH_FIGURES.len();
        for (to, seen) in paths.chunks_mut(of_world).zip(seen) {
            let figures = seen.paths.as_flattened();
            let known = figures.len().min(to.len());
            to[..known].copy_from_slice(&figures[..known]);
        }
        let assoc: Vec<f32> = seen.iter().flat_map(|seen| seen.assoc).collect();
        let measured: Vec<f64> = seen.iter().flat_map(|seen| seen.measured).collect();
        let over = seen.iter().map(|seen| seen.is_over).collect();
        let count = self.count;
        Ok((
            PyArray1::from_vec(py, paths).reshape([count, self.paths, PATH_FIGURES.len()])?,
            PyArray1::from_vec(py, assoc).reshape([count, ASSOC_FIGURES.len()])?,
            PyArray1::from_vec(py, measured).reshape([count, MEASURES.len()])?,
            PyArray1::from_vec(py, over),
        ))
    }
}

/// Names of the figures of a path, of an association, and of what is measured in a step.
#[pyfunction]
pub(crate) fn figure_names() -> (Vec<&'static str>, Vec<&'static str>, Vec<&'static str>) {
    (PATH_FIGURES.to_vec(), ASSOC_FIGURES.to_vec(), MEASURES.to_vec())
}
