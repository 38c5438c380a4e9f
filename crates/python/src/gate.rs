//! The way into Python for threads that Python did not start, and its end.

use std::cell::{OnceCell, RefCell};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Whether Python may be entered.
static OPEN: RwLock<bool> = RwLock::new(true);

/// Read while Python makes or frees what it knows of a thread, written while the process forks:
/// CPython before 3.12 takes the lock of that in the forked process before it frees it there, and
/// never gets on if another thread had it.
static FORK: RwLock<()> = RwLock::new(());

thread_local! {
    static KEPT: OnceCell<ThreadState> = const { OnceCell::new() };
    static FORKING: RefCell<Option<RwLockWriteGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// What Python knows of a thread that it did not start, kept until that thread ends: else each call
/// would make one and free it.
struct ThreadState(ffi::PyGILState_STATE);

impl ThreadState {
    /// Whether Python knows nothing of this thread.
    #[expect(unsafe_code, reason = "it may be asked at any time")]
    fn is_none() -> bool {
        unsafe { ffi::PyGILState_GetThisThreadState() }.is_null()
    }

    /// Keeps the one that this thread has by being attached.
    #[expect(unsafe_code, reason = "it is attached; the other half is in Drop")]
    fn keep(_: Python<'_>) -> Self {
        Self(unsafe { ffi::PyGILState_Ensure() })
    }
}

impl Drop for ThreadState {
    #[expect(unsafe_code, reason = "it is attached; the other half is in keep")]
    fn drop(&mut self) {
        let _no_fork = FORK.read();
        // After the end nobody enters, and nothing is left to free.
        enter(|_| unsafe { ffi::PyGILState_Release(self.0) });
    }
}

/// Calls with the interpreter attached. `None` once the program is about to end: a thread that asks
/// for an interpreter that goes away never comes back, and with it what it has locked.
pub(crate) fn attach<T>(call: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    if ThreadState::is_none() {
        let _no_fork = FORK.read();
        enter(|py| {
            KEPT.with(|kept| {
                let _kept = kept.get_or_init(|| ThreadState::keep(py));
            });
        });
    }
    enter(call)
}

fn enter<T>(call: impl FnOnce(Python<'_>) -> T) -> Option<T> {
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

/// Has Python tell when it forks.
pub(crate) fn watch_forks(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let hooks = PyDict::new(module.py());
    let ends = wrap_pyfunction!(fork_ends, module)?;
    hooks.set_item("before", wrap_pyfunction!(fork_begins, module)?)?;
    hooks.set_item("after_in_parent", &ends)?;
    hooks.set_item("after_in_child", ends)?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&hooks)).map(drop)
}

#[pyfunction]
fn fork_begins(py: Python<'_>) {
    // Who has it may wait for the interpreter.
    py.detach(|| {
        let alone = FORK.write().unwrap_or_else(PoisonError::into_inner);
        FORKING.with_borrow_mut(|forking| *forking = Some(alone));
    });
}

#[pyfunction]
fn fork_ends() {
    FORKING.with_borrow_mut(|forking| drop(forking.take()));
}
