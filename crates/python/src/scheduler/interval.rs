//! A policy in Python that decides once per interval: an object with `decide`.

use core::fmt;

use numpy::{PyArray1, PyArray2, PyArrayMethods as _};
use polypath_policies::scheduler::interval::{
    ASSOC_FIGURES, Action, Interval, IntervalPolicy, Observation, PATH_FIGURES,
};
use polypath_proto::PathId;
use polypath_proto::policy::{PathChange, PathPick, PathScheduler, Policy, Trigger};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, ChunkMeta};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::failure::{Failure, describe_exception};
use crate::gate;

/// What `decide` may return.
const ALLOWED: &str = "a weight for each path, or a tuple of weights and factors of windows";

/// Follows what a Python object decides.
#[derive(Debug)]
pub(crate) struct IntervalScheduler(Interval<Decides>);

impl IntervalScheduler {
    /// What `factory` makes, called without arguments; its attribute `every` is in seconds.
    pub(crate) fn boxed(factory: &Py<PyAny>, failure: &Failure) -> Box<dyn PathScheduler> {
        let mut decides = Decides { object: None, failure: failure.clone(), failed: None };
        let made = gate::attach(|py| {
            let object = factory.bind(py).call0()?;
            let every: f64 = object.getattr(intern!(py, "every"))?.extract()?;
            if !(1e-3..=10.0).contains(&every) {
                let text = format!("every = {every} (allowed: 0.001 to 10 s)");
                return Err(PyValueError::new_err(text));
            }
            Ok((object.unbind(), Duration::from_secs_f64(every)))
        });
        let every = match made {
            Some(Ok((object, every))) => {
                decides.object = Some(object);
                every
            }
            Some(Err(error)) => {
                decides.fail(error);
                Interval::<Decides>::EVERY
            }
            None => Interval::<Decides>::EVERY,
        };
        Box::new(Self(Interval::new(decides, every)))
    }
}

/// Calls `decide`. The first exception ends the association.
struct Decides {
    object: Option<Py<PyAny>>,
    failure: Failure,
    failed: Option<String>,
}

impl Decides {
    fn fail(&mut self, error: PyErr) {
        self.failed.get_or_insert_with(|| describe_exception(&error));
        self.failure.note(error);
    }
}

impl fmt::Debug for Decides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decides").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl IntervalPolicy for Decides {
    fn decide(&mut self, _now: Time, observation: &Observation) -> Action {
        let Some(object) = self.object.as_ref().filter(|_| self.failed.is_none()) else {
            return Action::default();
        };
        let decided = gate::attach(|py| {
            let count = observation.paths().len();
            let paths = PyArray1::from_slice(py, observation.paths().as_flattened());
            let paths: Bound<'_, PyArray2<f32>> = paths.reshape([count, PATH_FIGURES.len()])?;
            let assoc: &[f32; ASSOC_FIGURES.len()] = observation.assoc();
            let arguments = (paths, PyArray1::from_slice(py, assoc));
            let answer = object.bind(py).call_method1(intern!(py, "decide"), arguments)?;
            read_action(&answer, count)
        });
        match decided {
            Some(Ok(action)) => action,
            Some(Err(error)) => {
                self.fail(error);
                Action::default()
            }
            None => Action::default(),
        }
    }

    fn name(&self) -> &'static str {
        "python"
    }
}

fn read_action(answer: &Bound<'_, PyAny>, count: usize) -> PyResult<Action> {
    let refused = || {
        let shown = answer.repr().map_or_else(|_| "something".to_owned(), |repr| repr.to_string());
        PyTypeError::new_err(format!("decide returned {shown} (allowed: {ALLOWED})"))
    };
    let numbers = |list: &Bound<'_, PyAny>| -> PyResult<Vec<f32>> {
        let numbers: Vec<f32> = list.extract().map_err(|_| refused())?;
        if numbers.len() == count { Ok(numbers) } else { Err(refused()) }
    };
    // A tuple of plain numbers is a list of weights.
    let pair = answer
        .cast::<PyTuple>()
        .ok()
        .filter(|pair| pair.len() == 2 && pair.iter().all(|item| item.extract::<f32>().is_err()));
    let action = match pair {
        Some(pair) => Action::new(&numbers(&pair.get_item(0)?)?, &numbers(&pair.get_item(1)?)?),
        None => Action::of_weights(&numbers(answer)?),
    };
    action.map_err(|error| PyValueError::new_err(format!("decide returned {error}")))
}

impl Policy for IntervalScheduler {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn failure(&self) -> Option<String> {
        self.0.policy().failed.clone()
    }
}

impl PathScheduler for IntervalScheduler {
    fn begin_attempt(&mut self, view: &AssocView<'_>, why: Trigger) {
        self.0.begin_attempt(view, why);
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        self.0.pick_path(view, next)
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        self.0.on_sent(view, path, chunk, new_packet);
    }

    fn on_path_change(&mut self, view: &AssocView<'_>, path: PathId, change: PathChange) {
        self.0.on_path_change(view, path, change);
    }
}
