//! The end of the program.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;

use super::Association;
use super::association::Held;
use crate::gate;

/// How long packets may take that tell peers of the end: they only have to leave.
const PATIENCE: u32 = 100;
const GLANCE: Duration = Duration::from_millis(2);

/// Ends what there still is, and lets no thread of an endpoint into the interpreter any more.
#[pyfunction]
pub(crate) fn leave(py: Python<'_>, associations: Vec<Bound<'_, Association>>) -> PyResult<()> {
    let held = associations.iter().map(|association| association.get().held().cloned());
    let held = held.collect::<PyResult<Vec<Arc<Held>>>>()?;
    py.detach(|| abort_all(&held));
    gate::close(py);
    Ok(())
}

fn abort_all(held: &[Arc<Held>]) {
    for held in held {
        held.association.abort("the program has ended");
    }
    for _ in 0..PATIENCE {
        if held.iter().all(|held| held.association.is_closed()) {
            return;
        }
        std::thread::park_timeout(GLANCE);
    }
}
