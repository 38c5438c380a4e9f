//! Many runs, as columns.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use numpy::PyArray1;
use polypath_experiments::stats::Estimate;
use polypath_experiments::sweep::{Point, expand_sweep};
use polypath_run::metrics::{self, MetricValues, Needs, Probe};
use polypath_run::{limit, world_spec};
use polypath_scenario::{Axis, Scalar, Source};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;

use crate::errors::{bad_policy, bad_run, bad_scenario};
use crate::execute;
use crate::failure::Failure;
use crate::scenario::Scenario;

/// One run of a sweep.
struct Row {
    point: usize,
    seed: u64,
    metrics: Result<MetricValues, Trouble>,
}

/// Why a row has no figures.
enum Trouble {
    /// The user's scheduler raised this.
    Policy(PyErr),
    /// The run cannot be made.
    Run(String),
    Stopped,
}

/// Runs of all combinations of values, each with as many seeds. Columns `axis name: labels`,
/// `seed`, and each metric; `errors` has what was raised by row.
#[pyfunction]
pub(crate) fn run_sweep<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    axes: Vec<(String, Vec<Bound<'py, PyAny>>)>,
    seeds: u32,
    metrics: Vec<String>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    if seeds == 0 {
        return Err(PyValueError::new_err("seeds = 0 (allowed: 1 or more)"));
    }
    let (scenario, axes) = plain_axes(scenario, axes)?;
    let (scenario, metrics) = (&scenario, &metrics);
    let source = source_with_axes(scenario, axes)?;
    let points = expand_sweep(&source).map_err(bad_scenario)?;
    let traced = check_metrics(&points, metrics)?;
    let runs: Vec<(usize, u64)> = points
        .iter()
        .enumerate()
        .flat_map(|(n, point)| {
            let first = point.scenario.seeds.first;
            (0..u64::from(seeds)).map(move |seed| (n, first + seed))
        })
        .collect();
    let done = AtomicUsize::new(0);
    let total = runs.len();
    let report = |_: Python<'py>| match &progress {
        Some(progress) => progress.call1((done.load(Ordering::Relaxed), total)).map(drop),
        None => Ok(()),
    };
    // The interpreter runs one scheduler at a time: more threads would only wait for each other.
    let serial = scenario.own().has_plain();
    let rows = execute::interruptible_with(py, &report, |stop| {
        let one = |&(point, seed): &(usize, u64)| {
            let metrics = run_one(scenario, &points[point], seed, traced, stop);
            done.fetch_add(1, Ordering::Relaxed);
            Row { point, seed, metrics }
        };
        if serial {
            runs.iter().map(one).collect::<Vec<_>>()
        } else {
            runs.par_iter().map(one).collect()
        }
    })?;
    columns(py, scenario, &points, metrics, rows)
}

/// Axes with values as a file has them.
pub(crate) type PlainAxes = Vec<(String, Vec<toml::Value>)>;

/// The scenario, which learns of the schedulers among the values, and the axes without Python.
pub(crate) fn plain_axes(
    scenario: &Scenario,
    axes: Vec<(String, Vec<Bound<'_, PyAny>>)>,
) -> PyResult<(Scenario, PlainAxes)> {
    let mut other = scenario.clone();
    let mut plain = Vec::new();
    for (field, values) in axes {
        let values = values.iter().map(|value| Scenario::to_toml(other.own_mut(), value));
        plain.push((field, values.collect::<PyResult<Vec<_>>>()?));
    }
    Ok((other, plain))
}

/// The scenario with these axes behind its own.
pub(crate) fn source_with_axes(scenario: &Scenario, axes: PlainAxes) -> PyResult<Source> {
    let mut source = scenario.source_for(&Failure::default());
    let mut all = polypath_run::read_scenario(&source).map_err(bad_scenario)?.sweep;
    for (field, values) in axes {
        let values = values.into_iter().map(|value| scalar(&field, value));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        all.push(Axis { set: vec![field], values, ..Axis::default() });
    }
    source.set_axes(&all).map_err(bad_scenario)?;
    Ok(source)
}

fn scalar(field: &str, value: toml::Value) -> PyResult<Scalar> {
    Ok(match value {
        toml::Value::Boolean(on) => Scalar::Switch(on),
        toml::Value::Integer(number) => Scalar::Number(number),
        toml::Value::Float(number) => Scalar::Text(number.to_string()),
        toml::Value::String(text) => Scalar::Text(text),
        other => {
            let text = format!("axis {field}: {other} (allowed: str, int, bool, a scheduler)");
            return Err(PyTypeError::new_err(text));
        }
    })
}

/// Whether runs must be traced for these metrics; each exists at some point.
fn check_metrics(points: &[Point], wanted: &[String]) -> PyResult<bool> {
    for name in wanted {
        if !points.iter().any(|point| metrics::metric_exists(name, &point.scenario)) {
            return Err(bad_scenario(format!(
                "no metric {name:?} here (docs/reference/metrics.md lists them)"
            )));
        }
    }
    let needs = |name: &String| metrics::find_metric(name).map(|metric| metric.needs());
    Ok(wanted.iter().any(|name| needs(name) == Some(Needs::Traces)))
}

fn run_one(
    own: &Scenario,
    point: &Point,
    seed: u64,
    traced: bool,
    stop: &AtomicBool,
) -> Result<MetricValues, Trouble> {
    if stop.load(Ordering::Relaxed) {
        return Err(Trouble::Stopped);
    }
    let failure = Failure::default();
    let mut scenario = point.scenario.clone();
    scenario.policies = own.own().policies(&failure);
    let fault = |error: String| Trouble::Run(error);
    let spec = world_spec(&scenario, traced).map_err(|error| fault(error.to_string()))?;
    let mut probe = traced.then(|| Probe::new(&scenario));
    let observer = probe.as_mut().map(|probe| probe as &mut dyn polypath_sim::Observer);
    let ran = execute::run_world(&spec, seed, observer, stop);
    if let Some(error) = failure.take() {
        return Err(Trouble::Policy(error));
    }
    let result = ran.map_err(|error| fault(error.to_string()))?.ok_or(Trouble::Stopped)?;
    Ok(metrics::compute_metrics(&result, &limit::of_world(&spec, seed), probe))
}

fn columns<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    points: &[Point],
    metrics: &[String],
    rows: Vec<Row>,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let errors = PyDict::new(py);
    let axes = points.first().map_or(&[][..], |point| &point.labels);
    for (number, (axis, _)) in axes.iter().enumerate() {
        let label = |row: &Row| points[row.point].labels[number].1.clone();
        columns.set_item(axis, PyList::new(py, rows.iter().map(label))?)?;
    }
    let seeds = rows.iter().map(|row| row.seed).collect();
    columns.set_item("seed", PyArray1::from_vec(py, seeds))?;
    for name in metrics {
        let value = |row: &Row| {
            let value = row.metrics.as_ref().ok().and_then(|all| all.find_value(name));
            value.flatten().unwrap_or(f64::NAN)
        };
        columns.set_item(name, PyArray1::from_vec(py, rows.iter().map(value).collect()))?;
    }
    for (number, row) in rows.into_iter().enumerate() {
        let labels = &points[row.point].labels;
        let place: Vec<String> = labels.iter().map(|(axis, at)| format!("{axis}={at}")).collect();
        let place = format!("{}, {}, seed {}", scenario.name(), place.join(", "), row.seed);
        match row.metrics {
            Ok(_) | Err(Trouble::Stopped) => {}
            Err(Trouble::Policy(error)) => {
                errors.set_item(number, bad_policy(py, &place, error))?;
            }
            Err(Trouble::Run(text)) => {
                errors.set_item(number, bad_run(format!("{place}: {text}")))?;
            }
        }
    }
    let swept = PyDict::new(py);
    swept.set_item("axes", PyList::new(py, axes.iter().map(|(axis, _)| axis))?)?;
    swept.set_item("columns", columns)?;
    swept.set_item("errors", errors)?;
    Ok(swept)
}

/// Means of samples and the half widths of their 95 % intervals: infinite for a single value, NaN
/// for none.
#[pyfunction]
pub(crate) fn mean_intervals(
    py: Python<'_>,
    samples: Vec<Vec<f64>>,
) -> (Bound<'_, PyArray1<f64>>, Bound<'_, PyArray1<f64>>) {
    let intervals = samples.iter().map(|sample| Estimate::of_runs(sample).interval());
    let (means, halves) = intervals.map(|interval| (interval.mean, interval.half)).unzip();
    (PyArray1::from_vec(py, means), PyArray1::from_vec(py, halves))
}
