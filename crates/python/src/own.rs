//! Path schedulers of the user's: classes and functions that scenarios name.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use polypath_experiments::disk::read_policy_file;
use polypath_policies::{OwnScheduler, Registry};
use polypath_scenario::Policies;
use pyo3::prelude::*;

use crate::scheduler::{
    CompiledScheduler, Functions, IntervalScheduler, PlainScheduler, describe_exception,
};

/// The exceptions that ended associations, the first one first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure(Arc<Mutex<VecDeque<PyErr>>>);

/// Exceptions that are kept until somebody asks.
const KEPT: usize = 16;

impl Failure {
    /// Keeps it; of many the first one and the latest.
    pub(crate) fn note(&self, error: PyErr) {
        let mut kept = self.lock();
        if kept.len() == KEPT {
            kept.remove(1);
        }
        kept.push_back(error);
    }

    /// The first one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.lock().pop_front()
    }

    /// The one of which the core knows this description.
    pub(crate) fn take_described(&self, description: &str) -> Option<PyErr> {
        // Whoever notes one must not wait for the interpreter, which describes them.
        let mut all = core::mem::take(&mut *self.lock());
        let found = all.iter().position(|error| describe_exception(error) == description);
        let found = found.and_then(|at| all.remove(at));
        all.into_iter().for_each(|error| self.note(error));
        found
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a scheduler is made, and by what its runs are known.
#[derive(Debug)]
pub(crate) struct Own {
    object: Py<PyAny>,
    make: Make,
    version: Option<String>,
}

#[derive(Debug)]
enum Make {
    /// Calls the object, and then methods of what that returns.
    Plain(Arc<Py<PyAny>>),
    /// The same with what follows decisions of each interval.
    Interval(Arc<Py<PyAny>>),
    Compiled(Arc<Functions>),
}

impl Own {
    /// `object` is a class, a function that makes a scheduler, or what `polypath.compiled` made.
    /// Its `version`, if it has one, stands for its decisions.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let version = match object.getattr_opt("version")? {
            Some(version) if !version.is_none() => Some(version.str()?.to_string()),
            _ => None,
        };
        let make = match Functions::of(object)? {
            Some(functions) => Make::Compiled(Arc::new(functions)),
            None if object.hasattr("decide")? => Make::Interval(Arc::new(object.clone().unbind())),
            None => Make::Plain(Arc::new(object.clone().unbind())),
        };
        Ok(Self { object: object.clone().unbind(), make, version })
    }

    /// What the core makes schedulers with; the first exception goes to `failure`.
    pub(crate) fn scheduler(&self, failure: &Failure) -> OwnScheduler {
        let failure = failure.clone();
        let own = match &self.make {
            Make::Plain(factory) => {
                let factory = Arc::clone(factory);
                OwnScheduler::new(move |_, _| PlainScheduler::boxed(&factory, &failure))
            }
            Make::Interval(factory) => {
                let factory = Arc::clone(factory);
                OwnScheduler::new(move |_, _| IntervalScheduler::boxed(&factory, &failure))
            }
            Make::Compiled(functions) => {
                let functions = Arc::clone(functions);
                OwnScheduler::new(move |_, _| {
                    Box::new(CompiledScheduler::new(Arc::clone(&functions), &failure))
                })
            }
        };
        match &self.version {
            Some(version) => own.with_version(version),
            None => own,
        }
    }
}

/// All that a scenario may name beside the policies of Polypath.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnSchedulers(BTreeMap<String, Arc<Own>>);

impl OwnSchedulers {
    /// The name by which a scenario can call `factory`: a class, or a function that makes a
    /// scheduler. Two of one name are numbered.
    pub(crate) fn insert(&mut self, factory: &Bound<'_, PyAny>) -> PyResult<String> {
        let plain: String = match factory.getattr("__name__") {
            Ok(name) => name.extract()?,
            Err(_) => factory.get_type().name()?.to_string(),
        };
        let mut number = 1;
        loop {
            let name = if number == 1 { plain.clone() } else { format!("{plain}-{number}") };
            match self.0.get(&name) {
                Some(known) if known.object.is(factory) => return Ok(name),
                Some(_) => number += 1,
                None => {
                    self.0.insert(name.clone(), Arc::new(Own::new(factory)?));
                    return Ok(name);
                }
            }
        }
    }

    /// The name of a scheduler, which may be a name already.
    pub(crate) fn name_of(&mut self, scheduler: &Bound<'_, PyAny>) -> PyResult<String> {
        match scheduler.extract::<String>() {
            Ok(name) => Ok(name),
            Err(_) => self.insert(scheduler),
        }
    }

    /// What names stand for in one run, whose failure goes there.
    pub(crate) fn policies(&self, failure: &Failure) -> Policies {
        let (own, failure) = (self.0.clone(), failure.clone());
        let find = move |name: &str| own.get(name).map(|own| Ok(own.scheduler(&failure)));
        let registry = Registry::builtin().with_files(read_policy_file);
        Policies::new(registry.with_own_schedulers(find))
    }

    /// Whether some are called through the interpreter.
    pub(crate) fn has_plain(&self) -> bool {
        self.0.values().any(|own| !matches!(own.make, Make::Compiled(_)))
    }
}
