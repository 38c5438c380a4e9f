//! What goes wrong, as Python's exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    polypath,
    ScenarioError,
    PyValueError,
    "A scenario that is wrong: one line that names file, field, value and what is allowed."
);
create_exception!(
    polypath,
    PolicyError,
    PyRuntimeError,
    "A policy of one's own failed in the midst of a run. Its own exception is the cause."
);

/// The scenario, or a name in it, is wrong.
pub(crate) fn bad_scenario(error: impl ToString) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// A run cannot be made.
pub(crate) fn bad_run(error: impl ToString) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// A scheduler of the user's failed in this run, for this reason.
pub(crate) fn bad_policy(py: Python<'_>, place: &str, cause: PyErr) -> PyErr {
    let error = PolicyError::new_err(format!("{place}: {}", cause.value(py)));
    error.set_cause(py, Some(cause));
    error
}
