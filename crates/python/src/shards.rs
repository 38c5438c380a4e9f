//! Plans, their shards, and what came of them.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use numpy::PyArray1;
use polypath_experiments::reproduce::PointRun;
use polypath_experiments::store::{Key, Wanted};
use polypath_shards::{Done, Prepared, SeedRange, Shard, ShardError, join_segments, run_shard};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::bad_scenario;
use crate::execute;
use crate::failure::Failure;
use crate::scenario::Scenario;
use crate::sweep::{plain_axes, source_with_axes};

/// What other machines run, in shards.
#[pyclass(frozen, module = "polypath")]
#[derive(Debug)]
pub(crate) struct Plan(polypath_shards::Plan);

/// What a shard's run came to.
#[pyclass(frozen, get_all, module = "polypath")]
#[derive(Debug)]
pub(crate) struct ShardDone {
    /// The shard's segment.
    path: PathBuf,
    /// Runs of the shard.
    rows: usize,
    /// Those of them that were made now.
    made: usize,
}

fn refuse(error: ShardError) -> PyErr {
    match error {
        ShardError::Scenario(error) => bad_scenario(error),
        ShardError::File { .. } | ShardError::Store(_) => PyOSError::new_err(error.to_string()),
        error if error.is_bad_input() => PyValueError::new_err(error.to_string()),
        error => PyRuntimeError::new_err(error.to_string()),
    }
}

#[pymethods]
impl Plan {
    /// Reads the plan of a folder.
    #[staticmethod]
    fn read(folder: PathBuf) -> PyResult<Self> {
        polypath_shards::Plan::read(&folder).map(Self).map_err(refuse)
    }

    /// Writes it into a folder, which is made if it is missing, and gives its file.
    fn write(&self, folder: PathBuf) -> PyResult<PathBuf> {
        self.0.write(&folder).map_err(refuse)
    }

    /// Eight hexadecimal digits that stand for it, and that its segments bear.
    #[getter]
    fn id(&self) -> String {
        self.0.id()
    }

    /// Number of runs, and about how many seconds of one core they take.
    fn estimate(&self) -> PyResult<(usize, f64)> {
        let (rows, cost) = self.0.estimate().map_err(refuse)?;
        Ok((rows, cost / 1e3))
    }

    /// Runs a shard into a segment in the folder `out`, on `jobs` cores; 0: all. Ctrl-C ends it
    /// once the runs that are being made are over; what was made is not made again.
    #[pyo3(signature = (number, of, out, *, jobs = 0))]
    fn run_shard(
        &self,
        py: Python<'_>,
        number: u32,
        of: u32,
        out: PathBuf,
        jobs: usize,
    ) -> PyResult<ShardDone> {
        let shard: Shard = format!("{number}/{of}").parse().map_err(refuse)?;
        let done = execute::interruptible(py, |stop| {
            let stop = || stop.load(Ordering::Relaxed);
            run_shard(&self.0, shard, &out, jobs, &|_done| (), &stop)
        });
        let Done { path, rows, made, .. } = done?.map_err(refuse)?;
        Ok(ShardDone { path, rows, made })
    }

    fn __repr__(&self) -> String {
        format!("<polypath.Plan {} of polypath {}>", self.0.id(), self.0.work.command())
    }
}

#[pymethods]
impl ShardDone {
    fn __repr__(&self) -> String {
        let Self { path, rows, made } = self;
        format!("<polypath.ShardDone {}: {made} of {rows} runs made>", path.display())
    }
}

/// Plans all combinations of values, each with as many seeds.
#[pyfunction]
pub(crate) fn plan_sweep(
    scenario: &Scenario,
    axes: Vec<(String, Vec<Bound<'_, PyAny>>)>,
    seeds: u32,
    metrics: Vec<String>,
) -> PyResult<Plan> {
    if seeds == 0 {
        return Err(PyValueError::new_err("seeds = 0 (allowed: 1 or more)"));
    }
    let (scenario, axes) = plain_axes(scenario, axes)?;
    let source = source_with_axes(&scenario, axes)?;
    let policies = scenario.own().policies(&Failure::default());
    let range = SeedRange { from: 0, to: seeds };
    polypath_shards::Plan::of_sweep(source, &policies, range, &metrics).map(Plan).map_err(refuse)
}

/// The runs of segments as columns, and how many are missing.
#[pyfunction]
pub(crate) fn join_runs<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
) -> PyResult<(Bound<'py, PyDict>, usize)> {
    let joined = py.detach(|| join_segments(&paths)).map_err(refuse)?;
    let Prepared::Sweep { study, metrics } = joined.plan.prepare().map_err(refuse)? else {
        return Err(refuse(ShardError::OtherCommand(joined.plan.work.command())));
    };
    let mut runs: Vec<(usize, u64)> = Vec::new();
    let mut keys: Vec<Key> = Vec::new();
    study.points.each_run(usize::MAX, &mut |run: PointRun<'_>| {
        if joined.store.has_run(&run.key) {
            runs.push((run.number, run.seed));
            keys.push(run.key);
        }
    });
    let all: usize =
        study.points.grids.iter().map(|grid| grid.points.len() * grid.seeds.len()).sum();
    let figures = joined.store.collect(&keys, Wanted::Only(&metrics));
    let figures = figures.map_err(|error| refuse(error.into()))?;
    let columns = PyDict::new(py);
    let grid = study.points.grids.first();
    let axes = grid.map(|grid| grid.axes.as_slice()).unwrap_or_default();
    for (number, axis) in axes.iter().enumerate() {
        let label = |(point, _): &(usize, u64)| {
            grid.and_then(|grid| grid.points.get(*point)?.labels.get(number)).cloned()
        };
        columns.set_item(&axis.name, PyList::new(py, runs.iter().map(label))?)?;
    }
    columns
        .set_item("seed", PyArray1::from_vec(py, runs.iter().map(|(_, seed)| *seed).collect()))?;
    for name in &metrics {
        let value = |run| figures.find_metric(run, name).flatten().unwrap_or(f64::NAN);
        columns.set_item(name, PyArray1::from_vec(py, (0..runs.len()).map(value).collect()))?;
    }
    let swept = PyDict::new(py);
    swept.set_item("axes", PyList::new(py, axes.iter().map(|axis| &axis.name))?)?;
    swept.set_item("columns", columns)?;
    Ok((swept, all - runs.len()))
}
