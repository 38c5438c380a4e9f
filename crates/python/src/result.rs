//! What one run found out.

use numpy::PyArray1;
use polypath_run::limit;
use polypath_run::metrics::compute_metrics;
use polypath_sim::results::{MessageRecord, Sample};
use polypath_sim::{RunResult, WorldSpec};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::bad_run;

/// What one run found out. Rates in bit/s, times in seconds, sizes in bytes.
#[pyclass(frozen, module = "polypath")]
#[derive(Debug)]
pub(crate) struct Result {
    result: RunResult,
    paths: Vec<String>,
    metrics: Vec<(String, Option<f64>)>,
}

impl Result {
    pub(crate) fn new<'a>(
        spec: &WorldSpec,
        paths: impl Iterator<Item = &'a str>,
        result: RunResult,
    ) -> Self {
        let limits = limit::of_world(spec, result.seed);
        let metrics = compute_metrics(&result, &limits, None).0;
        Self { result, paths: paths.map(str::to_owned).collect(), metrics }
    }

    fn samples(&self) -> &[Sample] {
        self.result.flows.first().map_or(&[], |flow| &flow.samples)
    }

    /// The time series of the first flow: name, and value at each sample.
    fn all_series(&self) -> Vec<(String, Vec<f64>)> {
        type OfFlow = fn(&Sample) -> f64;
        let of_flow: [(&str, OfFlow); 6] = [
            ("peer_rwnd", |sample| sample.peer_rwnd as f64),
            ("send_buffer", |sample| sample.send_buffer as f64),
            ("unsent", |sample| sample.send_buffer_unsent as f64),
            ("receive_buffer", |sample| sample.receive_buffer as f64),
            ("out_of_order", |sample| sample.out_of_order as f64),
            ("delivered", |sample| sample.delivered as f64),
        ];
        let samples = self.samples();
        let mut all: Vec<(String, Vec<f64>)> = Vec::new();
        for (name, of) in of_flow {
            all.push((name.to_owned(), samples.iter().map(of).collect()));
        }
        for (number, path) in self.paths.iter().enumerate() {
            type OfPath = fn(&polypath_sim::results::PathSample) -> f64;
            let of_path: [(&str, OfPath); 4] = [
                ("cwnd", |path| path.cwnd as f64),
                ("ssthresh", |path| path.ssthresh as f64),
                ("outstanding", |path| path.outstanding as f64),
                ("srtt", |path| path.srtt.map_or(f64::NAN, |srtt| srtt as f64 / 1e9)),
            ];
            for (name, of) in of_path {
                let value = |sample: &Sample| sample.paths.get(number).map_or(f64::NAN, of);
                all.push((format!("path.{path}.{name}"), samples.iter().map(value).collect()));
            }
        }
        all
    }
}

#[pymethods]
impl Result {
    /// The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.result.seed
    }

    /// Payload bit/s that the application of the first flow received.
    #[getter]
    fn goodput(&self) -> f64 {
        self.result.flows.first().map_or(f64::NAN, |flow| flow.total.goodput)
    }

    /// All metrics by name, in base units; `None` where the run has no such number.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metrics = PyDict::new(py);
        for (name, value) in &self.metrics {
            metrics.set_item(name, value)?;
        }
        Ok(metrics)
    }

    /// When the samples were taken, in seconds.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let times = self.samples().iter().map(|sample| sample.at as f64 / 1e9);
        PyArray1::from_vec(py, times.collect())
    }

    /// All time series of the first flow by name: values at `times`.
    fn _series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let series = PyDict::new(py);
        for (name, values) in self.all_series() {
            series.set_item(name, PyArray1::from_vec(py, values))?;
        }
        Ok(series)
    }

    /// Messages of the first flow in the order of their delivery: `accepted` and `delivered` in
    /// seconds, `bytes`, `stream`. Only with `run(messages=True)`.
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let messages = self.result.flows.first().map_or(&[][..], |flow| &flow.messages);
        let column = |of: fn(&MessageRecord) -> f64| {
            PyArray1::from_vec(py, messages.iter().map(of).collect())
        };
        let columns = PyDict::new(py);
        columns.set_item("accepted", column(|message| message.accepted as f64 / 1e9))?;
        columns.set_item("delivered", column(|message| message.delivered as f64 / 1e9))?;
        let bytes = messages.iter().map(|message| message.bytes).collect();
        columns.set_item("bytes", PyArray1::from_vec(py, bytes))?;
        let streams = messages.iter().map(|message| message.stream).collect();
        columns.set_item("stream", PyArray1::from_vec(py, streams))?;
        Ok(columns)
    }

    /// Everything, as JSON: what `polypath simulate --json` calls `result`.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.result).map_err(bad_run)
    }

    fn __repr__(&self) -> String {
        format!("<Result of seed {}: {:.2} Mbit/s>", self.result.seed, self.goodput() / 1e6)
    }
}
