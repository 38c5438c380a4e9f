//! A future of Rust's that an event loop of Python's drives.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::{Detached, Wakeups};

/// What an operation came to, still to be told in Python's terms.
pub(super) type Answer = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

type Pending = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Something that takes time. It goes on only while it is polled.
#[pyclass(frozen, module = "polypath.net")]
pub(crate) struct Operation(Mutex<Option<Detached<Mutex<Pending>>>>);

impl Operation {
    pub(super) fn new(future: impl Future<Output = Answer> + Send + 'static) -> Self {
        Self(Mutex::new(Some(Detached::new(Mutex::new(Box::pin(future))))))
    }

    fn take(&self) -> Option<Detached<Mutex<Pending>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Operation {
    /// Goes on as far as it goes: a tuple of the result, or `None`, and `number` is among the
    /// `wakeups` once there is more to do.
    fn poll(
        &self,
        py: Python<'_>,
        wakeups: &Bound<'_, Wakeups>,
        number: u64,
    ) -> PyResult<Option<(Py<PyAny>,)>> {
        let over = || PyRuntimeError::new_err("this operation is over, or polled elsewhere");
        let taken = self.take().ok_or_else(over)?;
        let future = taken.at_home()?;
        let waker = wakeups.get().waker(number);
        let polled = py.detach(|| {
            let mut future = future.lock().unwrap_or_else(PoisonError::into_inner);
            future.as_mut().poll(&mut Context::from_waker(&waker))
        });
        match polled {
            Poll::Ready(answer) => answer(py).map(|value| Some((value,))),
            Poll::Pending => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
                Ok(None)
            }
        }
    }

    /// Gives it up, if it is not over.
    fn close(&self) {
        drop(self.take());
    }
}
