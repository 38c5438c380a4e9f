//! How a thread that is not Python's wakes an event loop, without the interpreter.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use pyo3::prelude::*;

/// Numbers of operations that can go on, and a socket that becomes readable when there are any: the
/// event loop watches it.
#[pyclass(frozen, module = "polypath.net")]
#[derive(Debug)]
pub(crate) struct Wakeups(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    woken: Mutex<Vec<u64>>,
    watched: UnixStream,
    bell: UnixStream,
}

/// Wakes one operation, once.
struct Bell {
    shared: Arc<Shared>,
    number: u64,
    rung: AtomicBool,
}

#[pymethods]
impl Wakeups {
    #[new]
    fn new() -> io::Result<Self> {
        let (watched, bell) = UnixStream::pair()?;
        watched.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        Ok(Self(Arc::new(Shared { woken: Mutex::default(), watched, bell })))
    }

    /// What the event loop shall watch.
    fn fileno(&self) -> i32 {
        self.0.watched.as_raw_fd()
    }

    /// The numbers of those that can go on.
    fn take(&self) -> Vec<u64> {
        // First the socket, then the numbers: what comes between shows in the socket again.
        let _woken_anyway = (&self.0.watched).read(&mut [0; 64]);
        core::mem::take(&mut *self.0.woken.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Wakeups {
    /// Wakes the operation of this number.
    pub(super) fn waker(&self, number: u64) -> Waker {
        let shared = Arc::clone(&self.0);
        Arc::new(Bell { shared, number, rung: AtomicBool::new(false) }).into()
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        if self.rung.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut woken = self.shared.woken.lock().unwrap_or_else(PoisonError::into_inner);
        woken.push(self.number);
        if woken.len() == 1 {
            // A socket that takes nothing more is readable already.
            let _readable = (&self.shared.bell).write(&[0]);
        }
    }
}
