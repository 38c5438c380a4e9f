//! What an association in Python and its operations share.

use std::sync::{Mutex, PoisonError};

use polypath_net::{Closed, SendError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::errors;
use crate::errors::PolicyError;
use crate::failure::Failure;

/// An association, and why its path scheduler failed.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) association: polypath_net::Association,
    /// Where its path scheduler, if it is the user's own, notes what it raises.
    failure: Failure,
    /// What it has raised.
    cause: Mutex<Option<PyErr>>,
}

impl Held {
    pub(super) fn new(association: polypath_net::Association, failure: Failure) -> Self {
        Self { association, failure, cause: Mutex::default() }
    }

    /// Why the association is over.
    pub(super) fn closed(&self, py: Python<'_>, reason: &Closed) -> PyErr {
        match reason {
            Closed::PolicyFailed(why) => {
                let mut cause = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
                if cause.is_none() {
                    *cause = self.failure.take_described(why);
                }
                policy_error(py, why, cause.as_ref().map(|cause| cause.clone_ref(py)))
            }
            other => errors::closed(py, other),
        }
    }

    pub(super) fn send_error(&self, py: Python<'_>, error: &SendError) -> PyErr {
        match error {
            SendError::Closed(reason) => self.closed(py, reason),
            _ => PyValueError::new_err(error.to_string()),
        }
    }
}

/// A path scheduler ended the association; `why` is what it raised, in words.
pub(super) fn policy_error(py: Python<'_>, why: &str, cause: Option<PyErr>) -> PyErr {
    let last = why.trim_end().lines().next_back().unwrap_or("it raised an exception");
    let error = PolicyError::new_err(format!("the path scheduler ended the association: {last}"));
    error.set_cause(py, cause);
    error
}
