//! Runs that Ctrl-C ends.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use polypath_sim::{Observer, RunResult, SpecError, World, WorldSpec};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

/// How often the calling thread looks whether somebody pressed Ctrl-C.
const GLANCE: Duration = Duration::from_millis(50);
/// What a worker has to end by itself, before the Python code that it may be in is interrupted.
const PATIENCE: Duration = Duration::from_millis(100);

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
    // The worker's number, once the interpreter knows it.
    let number = AtomicU64::new(0);
    let (worked, interrupted) = std::thread::scope(|scope| {
        let caller = std::thread::current();
        let worker = scope.spawn(|| {
            // However it ends, the caller hears of it at once.
            let _waker = Waker(caller);
            // The interpreter makes a state for each thread that enters it, and forgets it when the
            // thread leaves: this one stays, so that entering for each packet is cheap.
            Python::attach(|py| {
                number.store(thread_number(py).unwrap_or(0), Ordering::Relaxed);
                py.detach(|| work(&stop))
            })
        });
        let mut interrupted = None;
        while !worker.is_finished() && interrupted.is_none() {
            py.detach(|| std::thread::park_timeout(GLANCE));
            interrupted = py.check_signals().and_then(|()| report(py)).err();
        }
        if interrupted.is_some() {
            stop.store(true, Ordering::Relaxed);
            py.detach(|| std::thread::park_timeout(PATIENCE));
            while !worker.is_finished() {
                raise_in_thread(py, number.load(Ordering::Relaxed));
                py.detach(|| std::thread::park_timeout(GLANCE));
            }
        }
        // The worker may wait for the interpreter.
        (py.detach(|| worker.join()), interrupted)
    });
    match (interrupted, worked) {
        (Some(error), _) => Err(error),
        (None, Ok(result)) => Ok(result),
        (None, Err(_)) => Err(PyRuntimeError::new_err("a fault of polypath itself: see above")),
    }
}

/// What Python calls this thread.
fn thread_number(py: Python<'_>) -> PyResult<u64> {
    py.import("threading")?.call_method0("get_ident")?.extract()
}

/// Interrupts the Python code that a thread is in: a scheduler of the user's may never end. Where
/// that cannot be done, the thread is waited for.
fn raise_in_thread(py: Python<'_>, number: u64) {
    let raise = || -> PyResult<()> {
        let ctypes = py.import("ctypes")?;
        let number = ctypes.getattr("c_ulong")?.call1((number,))?;
        let exception = py.get_type::<PyKeyboardInterrupt>();
        let exception = ctypes.getattr("py_object")?.call1((exception,))?;
        let interpreter = ctypes.getattr("pythonapi")?;
        interpreter.call_method1("PyThreadState_SetAsyncExc", (number, exception)).map(drop)
    };
    let _waited_for = raise();
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
        if !world.step() {
            world.run_until(world.end());
            return Ok(Some(world.result()));
        }
    }
    Ok(None)
}
