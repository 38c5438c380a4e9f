//! What the user's code raised in the midst of a run.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

/// The exception that ended a run, if one did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    /// Keeps the first one.
    pub(crate) fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// As Python prints it, with its traceback.
pub(crate) fn describe_exception(error: &PyErr) -> String {
    Python::attach(|py| {
        let traceback = error.traceback(py).and_then(|traceback| traceback.format().ok());
        format!("{}{error}", traceback.unwrap_or_default())
    })
}
