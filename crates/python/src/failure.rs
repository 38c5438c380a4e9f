//! What the user's code raised in the midst of a run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::gate;

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

/// As Python prints it, with its traceback.
pub(crate) fn describe_exception(error: &PyErr) -> String {
    let described = gate::attach(|py| {
        let traceback = error.traceback(py).and_then(|traceback| traceback.format().ok());
        format!("{}{error}", traceback.unwrap_or_default())
    });
    described.unwrap_or_default()
}
