//! The end of the program.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pyo3::prelude::*;

use super::held::Held;
use super::{Association, Endpoint};
use crate::gate;

/// How long packets may take that tell peers of the end: they only have to leave.
const PATIENCE: u32 = 100;
const GLANCE: Duration = Duration::from_millis(2);

/// Ends what there still is, and lets no thread of an endpoint into the interpreter any more.
#[pyfunction]
pub(crate) fn leave(
    py: Python<'_>,
    associations: Vec<Bound<'_, Association>>,
    endpoints: Vec<Bound<'_, Endpoint>>,
) -> PyResult<()> {
    let held = associations.iter().map(|association| association.get().held().cloned());
    let held = held.collect::<PyResult<Vec<Arc<Held>>>>()?;
    // Those that are closed have nobody left.
    let endpoints: Vec<_> = endpoints.iter().filter_map(|e| e.get().handle().ok()).collect();
    py.detach(move || {
        let waiting = endpoints.iter().flat_map(waiting);
        let mut all: Vec<_> = held.iter().map(|held| &held.association).collect();
        let waiting: Vec<_> = waiting.collect();
        all.extend(&waiting);
        abort(&all);
    });
    gate::close(py);
    Ok(())
}

/// Those whom nobody has accepted.
fn waiting(endpoint: &polypath_net::Endpoint) -> impl Iterator<Item = polypath_net::Association> {
    endpoint.set_accept(false);
    core::iter::from_fn(|| {
        match pin!(endpoint.accept()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(accepted) => accepted,
            Poll::Pending => None,
        }
    })
}

fn abort(all: &[&polypath_net::Association]) {
    for association in all {
        association.abort("the program has ended");
    }
    for _ in 0..PATIENCE {
        if all.iter().all(|association| association.is_closed()) {
            return;
        }
        std::thread::park_timeout(GLANCE);
    }
}
