//! What takes an endpoint's lock when it goes.

use pyo3::prelude::*;

/// Drops `T` with the interpreter released: the reactor may hold the lock that this takes, and wait
/// for the interpreter.
#[derive(Debug)]
pub(super) struct Detached<T: Send>(Option<T>);

impl<T: Send> Detached<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(Some(value))
    }

    pub(super) const fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// Takes it out: it is dropped as others are, then.
    pub(super) const fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        // Without an interpreter nobody can wait for it.
        let _none = Python::try_attach(|py| py.detach(|| drop(value)));
    }
}
