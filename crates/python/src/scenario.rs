//! Scenarios: read, changed, run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use polypath_experiments::carried::Carried;
use polypath_experiments::disk;
use polypath_experiments::experiment::{Experiment, is_experiment};
use polypath_policies::{PolicyKind, did_you_mean};
use polypath_population::Draw;
use polypath_run::{read_scenario, world_spec};
use polypath_scenario::units::{Delay, Quantity as _};
use polypath_scenario::{Assignment, Files, Source};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple, PyType};

use crate::errors::{bad_policy, bad_run, bad_scenario};
use crate::execute;
use crate::failure::Failure;
use crate::own::OwnSchedulers;
use crate::result::Result as RunResult;

/// A network, the hosts' stacks, the traffic between them, and how long to watch it.
///
/// It never changes: `set` returns another one.
#[pyclass(frozen, module = "polypath")]
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    source: Source,
    own: OwnSchedulers,
}

impl Scenario {
    fn new(source: Result<Source, polypath_scenario::ScenarioError>) -> PyResult<Self> {
        let scenario =
            Self { source: source.map_err(bad_scenario)?, own: OwnSchedulers::default() };
        scenario.check()?;
        Ok(scenario)
    }

    /// A random network.
    pub(crate) fn of_draw(draw: &Draw) -> PyResult<Self> {
        let files = draw.files.iter().map(|(name, text)| (PathBuf::from(name), text.clone()));
        let files: BTreeMap<PathBuf, String> = files.collect();
        let name = format!("network {} of seed {}", draw.number, draw.seed);
        Self::new(Source::with_files(name, &draw.text, Arc::new(files)))
    }

    fn check(&self) -> PyResult<()> {
        self.read(&Failure::default()).map(drop)
    }

    /// The scenario as it is run; what fails in it goes to `failure`.
    pub(crate) fn read(&self, failure: &Failure) -> PyResult<polypath_scenario::Scenario> {
        read_scenario(&self.source_for(failure)).map_err(bad_scenario)
    }

    pub(crate) fn source_for(&self, failure: &Failure) -> Source {
        self.source.clone().with_policies(self.own.policies(failure))
    }

    pub(crate) fn own_mut(&mut self) -> &mut OwnSchedulers {
        &mut self.own
    }

    pub(crate) fn own(&self) -> &OwnSchedulers {
        &self.own
    }

    pub(crate) fn name(&self) -> &str {
        self.source.name()
    }

    /// What a Python value is in a scenario; classes become the names of schedulers.
    pub(crate) fn to_toml(
        own: &mut OwnSchedulers,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<toml::Value> {
        if value.is_instance_of::<PyBool>() {
            return Ok(toml::Value::Boolean(value.extract()?));
        }
        if value.is_instance_of::<PyString>() {
            return Ok(toml::Value::String(value.extract()?));
        }
        if let Ok(number) = value.extract::<i64>() {
            return Ok(toml::Value::Integer(number));
        }
        if let Ok(number) = value.extract::<f64>() {
            return Ok(toml::Value::Float(number));
        }
        if let Ok(table) = value.cast::<PyDict>() {
            let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                Ok((key.str()?.to_string(), Self::to_toml(own, &value)?))
            };
            return Ok(toml::Value::Table(table.iter().map(entry).collect::<PyResult<_>>()?));
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            let items = value.try_iter()?.map(|item| Self::to_toml(own, &item?));
            return Ok(toml::Value::Array(items.collect::<PyResult<_>>()?));
        }
        if value.is_callable() {
            return Ok(toml::Value::String(own.insert(value)?));
        }
        let shown = value.repr()?;
        let allowed = "allowed: str, bool, int, float, list, dict, the class of a scheduler";
        Err(PyTypeError::new_err(format!("a scenario cannot hold {shown} ({allowed})")))
    }
}

#[pymethods]
impl Scenario {
    /// Takes TOML text, or a dict of the same shape.
    #[new]
    #[pyo3(signature = (content, name = "scenario"))]
    fn from_content(content: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if content.is_instance_of::<PyString>() {
            return Self::new(disk::source_from_text(name, content.extract::<String>()?));
        }
        let mut own = OwnSchedulers::default();
        let toml::Value::Table(table) = Self::to_toml(&mut own, content)? else {
            return Err(PyTypeError::new_err("a scenario is made of TOML text or a dict"));
        };
        let source = disk::source_from_text(name, table.to_string()).map_err(bad_scenario)?;
        let scenario = Self { source, own };
        scenario.check()?;
        Ok(scenario)
    }

    /// Reads a scenario from a file; or an example by its name, such as `"three-dissimilar"`; or the
    /// scenario of a paper's experiment, such as `"iyengar-2007/figure-4"`, with its sweep.
    #[classmethod]
    fn load(_class: &Bound<'_, PyType>, path: PathBuf) -> PyResult<Self> {
        if !path.exists()
            && let Some(example) = find_example(&path)
        {
            let text = Carried.text(&example).map_err(bad_scenario)?;
            let name = example.display().to_string();
            return Self::new(Source::with_files(name, text, Arc::new(Carried)));
        }
        if !path.exists()
            && let Some(file) = find_experiment(&path)
        {
            let experiment = Experiment::from_files(Arc::new(Carried), &file);
            let text = experiment.map_err(bad_scenario)?.scenario_text();
            let name = file.display().to_string();
            return Self::new(Source::with_files(name, text, Arc::new(Carried)));
        }
        if !path.exists() {
            return Err(bad_scenario(describe_absence(&path)));
        }
        if std::fs::read_to_string(&path).is_ok_and(|text| is_experiment(&path, &text)) {
            let text = Experiment::from_file(&path).map_err(bad_scenario)?.scenario_text();
            return Self::new(disk::source_from_text(path.display().to_string(), text));
        }
        Self::new(disk::read_source(&path))
    }

    /// The same with another value for one field, by its dotted name.
    fn set(&self, field: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut other = self.clone();
        let value = Self::to_toml(&mut other.own, value)?;
        let assignment = Assignment::new(field, value);
        other.source.set_by("set", &assignment).map_err(bad_scenario)?;
        other.check()?;
        Ok(other)
    }

    /// As TOML.
    #[getter]
    fn text(&self) -> String {
        self.source.resolved()
    }

    /// Names of its paths, by number.
    #[getter]
    fn paths(&self) -> PyResult<Vec<String>> {
        let scenario = self.read(&Failure::default())?;
        Ok(scenario.path_names().map(str::to_owned).collect())
    }

    /// One run.
    #[pyo3(signature = (seed = None, *, sample = None, messages = false))]
    fn run(
        &self,
        py: Python<'_>,
        seed: Option<&Bound<'_, PyAny>>,
        sample: Option<&Bound<'_, PyAny>>,
        messages: bool,
    ) -> PyResult<RunResult> {
        let whole = "a whole number from 0 to 2**64 - 1";
        let seed = seed.map(|seed| extract_argument::<u64>("seed", seed, whole)).transpose()?;
        let text = "a duration such as \"100ms\"";
        let sample = sample.map(|sample| extract_argument::<String>("sample", sample, text));
        let sample = sample.transpose()?;
        let failure = Failure::default();
        let mut scenario = self.read(&failure)?;
        if let Some(sample) = sample {
            let delay = Delay::KIND.parse(&sample);
            let delay =
                delay.map_err(|error| bad_scenario(format!("sample = {sample:?}: {error}")))?;
            scenario.time.sample = Some(Delay(delay));
        }
        let seed = seed.unwrap_or(scenario.seeds.first);
        let mut spec = world_spec(&scenario, false).map_err(bad_run)?;
        spec.flows.iter_mut().for_each(|flow| flow.record_messages = messages);
        let ran = execute::interruptible(py, |stop| execute::run_world(&spec, seed, None, stop))?;
        if let Some(error) = failure.take() {
            return Err(bad_policy(py, &format!("{}, seed {seed}", self.name()), error));
        }
        let result = ran.map_err(bad_run)?.ok_or_else(|| bad_run("the run was stopped"))?;
        Ok(RunResult::new(&spec, scenario.path_names(), result))
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {}>", self.name())
    }
}

/// An argument of this type, or an error that says what is allowed.
fn extract_argument<'py, T: for<'a> FromPyObject<'a, 'py>>(
    name: &str,
    given: &Bound<'py, PyAny>,
    allowed: &str,
) -> PyResult<T> {
    let refused = |_| {
        let shown = given.repr().map_or_else(|_| "something".to_owned(), |repr| repr.to_string());
        PyValueError::new_err(format!("{name} = {shown} (allowed: {allowed})"))
    };
    given.extract::<T>().map_err(Into::<PyErr>::into).map_err(refused)
}

fn find_example(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?;
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let stem = |known: &PathBuf| known.file_stem().is_some_and(|stem| stem == name);
    Carried.list_examples().into_iter().find(stem)
}

fn find_experiment(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?;
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let named = |known: &PathBuf| known.with_extension("").ends_with(name);
    Carried.find_experiments().into_iter().find(named)
}

fn describe_absence(path: &Path) -> String {
    let examples = Carried.list_examples();
    let names = examples.iter().filter_map(|known| known.file_stem()?.to_str());
    let hint = did_you_mean(path.to_str().unwrap_or_default(), names.clone());
    let names: Vec<&str> = names.collect();
    format!(
        "{}: no file, example or experiment{hint} (allowed: a file; {}; a paper's experiment, such \
         as iyengar-2007/figure-4)",
        path.display(),
        names.join(", ")
    )
}

/// Names of the path schedulers that are part of Polypath.
#[pyfunction]
pub(crate) fn scheduler_names() -> Vec<&'static str> {
    let all = polypath_policies::all().iter();
    all.filter(|entry| entry.kind == PolicyKind::PathScheduler).map(|entry| entry.name).collect()
}
