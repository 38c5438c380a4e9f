//! What takes an endpoint's lock when it goes.

use std::sync::OnceLock;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Drops `T` with the interpreter released: the reactor may hold the lock that this takes, and wait
/// for the interpreter.
#[derive(Debug)]
pub(super) struct Detached<T: Send>(Option<T>);

/// The process that has the reactors. In one that was forked from it there are none, and nobody
/// would ever release the locks that they held.
static HOME: OnceLock<u32> = OnceLock::new();

/// Whether this process was forked from the one that has the reactors.
fn is_forked() -> bool {
    HOME.get().is_some_and(|home| *home != std::process::id())
}

impl<T: Send> Detached<T> {
    pub(super) fn new(value: T) -> Self {
        HOME.get_or_init(std::process::id);
        Self(Some(value))
    }

    pub(super) const fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// For whoever takes its locks.
    pub(super) fn at_home(&self) -> PyResult<&T> {
        let text =
            "an association or endpoint cannot be used in a process that was forked from its own";
        let nobody = || PyRuntimeError::new_err(text);
        if is_forked() { Err(nobody()) } else { self.get().ok_or_else(nobody) }
    }

    /// Takes it out: it is dropped as others are, then.
    pub(super) const fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        if is_forked() {
            core::mem::forget(value);
            return;
        }
        // Without an interpreter nobody can wait for it.
        let _none = Python::try_attach(|py| py.detach(|| drop(value)));
    }
}
