//! The way into Python for threads that Python did not start, and its end.

use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;

/// Whether Python may be entered.
static OPEN: RwLock<bool> = RwLock::new(true);

/// Calls with the interpreter attached. `None` once the program is about to end: a thread that asks
/// for an interpreter that goes away never comes back, and with it what it has locked.
pub(crate) fn attach<T>(call: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    // Where it is being closed, nobody waits.
    let open = OPEN.try_read().ok().filter(|open| **open)?;
    let called = Python::attach(call);
    drop(open);
    Some(called)
}

/// From now on nobody enters; returns when the last one is out.
pub(crate) fn close(py: Python<'_>) {
    py.detach(|| *OPEN.write().unwrap_or_else(PoisonError::into_inner) = false);
}
