//! Runs that Ctrl-C ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use polypath_sim::{Observer, RunResult, SpecError, World, WorldSpec};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often the calling thread looks whether somebody pressed Ctrl-C.
const GLANCE: Duration = Duration::from_millis(50);
/// Events between two looks whether the run shall go on: some milliseconds, 30 with a scheduler in
/// Python.
const STRIDE: u32 = 5_000;

/// Does `work` on another thread, with the interpreter released, while this one listens for Ctrl-C.
/// `work` is handed a flag that says that it shall end, and its result is lost then.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    interruptible_with(py, &|_| Ok(()), work)
}

/// The same; now and then `report` is called on this thread. What it raises ends the work, too.
pub(crate) fn interruptible_with<'py, T: Send>(
    py: Python<'py>,
    report: &dyn Fn(Python<'py>) -> PyResult<()>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (worked, interrupted) = std::thread::scope(|scope| {
        let caller = std::thread::current();
        let worker = scope.spawn(|| {
            // However it ends, the caller hears of it at once.
            let _waker = Waker(caller);
            // The interpreter makes a state for each thread that enters it, and forgets it when the
            // thread leaves: this one stays, so that entering for each packet is cheap.
            Python::attach(|py| py.detach(|| work(&stop)))
        });
        let mut interrupted = None;
        while !worker.is_finished() && interrupted.is_none() {
            py.detach(|| std::thread::park_timeout(GLANCE));
            interrupted = py.check_signals().and_then(|()| report(py)).err();
        }
        stop.store(interrupted.is_some(), Ordering::Relaxed);
        // The worker may wait for the interpreter.
        (py.detach(|| worker.join()), interrupted)
    });
    match (interrupted, worked) {
        (Some(error), _) => Err(error),
        (None, Ok(result)) => Ok(result),
        (None, Err(_)) => Err(PyRuntimeError::new_err("a fault of polypath itself: see above")),
    }
}

struct Waker(std::thread::Thread);

impl Drop for Waker {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

/// Runs a world to its end, as `polypath_sim::run` does; `None` when it was stopped before.
pub(crate) fn run_world(
    spec: &WorldSpec,
    seed: u64,
    observer: Option<&mut dyn Observer>,
    stop: &AtomicBool,
) -> Result<Option<RunResult>, SpecError> {
    let mut world = World::new(spec, seed, observer)?;
    while !stop.load(Ordering::Relaxed) {
        if !(0..STRIDE).all(|_| world.step()) {
            world.run_until(world.end());
            return Ok(Some(world.result()));
        }
    }
    Ok(None)
}
