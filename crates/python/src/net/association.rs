//! An association, as Python holds it.

use std::sync::Arc;
use std::time::Duration;

use polypath_apps::keys::peer_fingerprint;
use polypath_net::{Bytes, Closed, PathAdmin, PathId, Reliability, SendOptions};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::events::Events;
use super::held::Held;
use super::operation::Answer;
use super::{Detached, Operation, errors, figures};
use crate::failure::Failure;

/// One association.
#[pyclass(frozen, module = "polypath.net")]
#[derive(Debug)]
pub(crate) struct Association(Detached<Arc<Held>>);

impl Association {
    pub(super) fn new(association: polypath_net::Association, failure: Failure) -> Self {
        Self(Detached::new(Arc::new(Held::new(association, failure))))
    }

    pub(super) fn held(&self) -> PyResult<&Arc<Held>> {
        self.0.at_home()
    }

    /// Asks the core with the interpreter released: its lock may be held by who waits for that.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&polypath_net::Association) -> T + Send,
    ) -> PyResult<T> {
        let held = self.held()?;
        Ok(py.detach(|| ask(&held.association)))
    }
}

#[pymethods]
impl Association {
    /// Sends a message once there is room; times are in seconds.
    #[pyo3(signature = (data, stream, unordered, ppid, lifetime, retransmissions))]
    fn send(
        &self,
        data: &[u8],
        stream: u16,
        unordered: bool,
        ppid: u32,
        lifetime: Option<f64>,
        retransmissions: Option<u32>,
    ) -> PyResult<Operation> {
        let held = Arc::clone(self.held()?);
        let data = Bytes::copy_from_slice(data);
        let reliability = reliability(lifetime, retransmissions)?;
        let options = SendOptions { unordered, ppid, reliability, ..SendOptions::default() };
        Ok(Operation::new(async move {
            let sent = held.association.send_with(stream, data, options).await;
            let held = Detached::new(held);
            Box::new(move |py: Python<'_>| match (sent, held.get()) {
                (Err(error), Some(held)) => Err(held.send_error(py, &error)),
                _ => Ok(py.None()),
            }) as Answer
        }))
    }

    /// The next message, of any stream or of one: data, stream, whether it was ordered, payload
    /// protocol identifier. `None` after a graceful end.
    #[pyo3(signature = (stream))]
    fn receive(&self, stream: Option<u16>) -> PyResult<Operation> {
        let held = Arc::clone(self.held()?);
        Ok(Operation::new(async move {
            let received = match stream {
                Some(stream) => held.association.recv_stream(stream).await,
                None => held.association.recv().await,
            };
            let held = Detached::new(held);
            Box::new(move |py: Python<'_>| match (received, held.get()) {
                (Ok(Some(message)), _) => {
                    let data = PyBytes::new(py, &message.data);
                    (data, message.stream.0, !message.unordered, message.ppid).into_py_any(py)
                }
                (Err(reason), Some(held)) => Err(held.closed(py, &reason)),
                _ => Ok(py.None()),
            }) as Answer
        }))
    }

    /// Sends what waits, says goodbye, and waits for the end.
    fn shutdown(&self) -> PyResult<Operation> {
        let held = Arc::clone(self.held()?);
        Ok(Operation::new(async move {
            let ended = held.association.shutdown().await;
            let held = Detached::new(held);
            Box::new(move |py: Python<'_>| match (ended, held.get()) {
                (Err(reason), Some(held)) => Err(held.closed(py, &reason)),
                _ => Ok(py.None()),
            }) as Answer
        }))
    }

    /// Waits for the end, and tells why as an exception that is not raised.
    fn wait_closed(&self) -> PyResult<Operation> {
        let held = Arc::clone(self.held()?);
        Ok(Operation::new(async move {
            held.association.closed().await;
            // It has the words of the peer, too.
            let why = held.association.recv_many(&mut Vec::new(), 0).await;
            let held = Detached::new(held);
            Box::new(move |py: Python<'_>| match (why, held.get()) {
                (Err(reason), Some(held)) => held.closed(py, &reason).into_py_any(py),
                _ => errors::closed(py, &Closed::Shutdown).into_py_any(py),
            }) as Answer
        }))
    }

    /// What happens from now on.
    fn events(&self, py: Python<'_>) -> PyResult<Events> {
        self.ask(py, polypath_net::Association::events).map(Events::new)
    }

    /// Says what a path may be used for.
    fn set_use(&self, py: Python<'_>, path: u8, used: &str) -> PyResult<()> {
        let used = match used {
            "active" => PathAdmin::Active,
            "backup" => PathAdmin::Backup,
            "disabled" => PathAdmin::Disabled,
            other => {
                let text = format!("use = {other:?} (allowed: active, backup, disabled)");
                return Err(PyValueError::new_err(text));
            }
        };
        self.ask(py, |association| association.set_path_admin(PathId(path), used))
    }

    /// Ends it at once.
    fn abort(&self, py: Python<'_>, reason: &[u8]) -> PyResult<()> {
        let reason = Bytes::copy_from_slice(reason);
        self.ask(py, |association| association.abort(reason))
    }

    /// Whether it is over.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, polypath_net::Association::is_closed)
    }

    /// What the peer is known by, if it has proved that.
    #[getter]
    fn peer(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let key = self.ask(py, peer_fingerprint)?;
        Ok(key.map(|key| key.to_string()))
    }

    /// Whether packets are encrypted.
    #[getter]
    fn protected(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, polypath_net::Association::is_protected)
    }

    /// Outbound and inbound streams.
    #[getter]
    fn streams(&self, py: Python<'_>) -> PyResult<(u16, u16)> {
        self.ask(py, polypath_net::Association::streams)
    }

    /// Free bytes of the send buffer.
    #[getter]
    fn room(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, polypath_net::Association::writable)
    }

    /// What is known of each path.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let paths = self.ask(py, polypath_net::Association::paths)?;
        paths.iter().map(|path| figures::path(py, path)).collect()
    }

    /// Counters, as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        figures::json(&self.ask(py, polypath_net::Association::stats)?)
    }

    /// Seconds that each limit has held, the longest first.
    fn limits(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        let ranking = self.ask(py, |association| association.limits().ranking())?;
        Ok(ranking
            .into_iter()
            .map(|(limit, time)| (limit.to_string(), time.as_secs_f64()))
            .collect())
    }
}

fn reliability(lifetime: Option<f64>, retransmissions: Option<u32>) -> PyResult<Reliability> {
    match (lifetime, retransmissions) {
        (None, None) => Ok(Reliability::Full),
        (None, Some(most)) => Ok(Reliability::Limited(most)),
        (Some(seconds), None) => {
            let wrong = |_| {
                let text = format!("lifetime = {seconds} (allowed: seconds, from 0)");
                PyValueError::new_err(text)
            };
            Duration::try_from_secs_f64(seconds).map(Reliability::Timed).map_err(wrong)
        }
        (Some(_), Some(_)) => {
            let text = "lifetime and retransmissions: only one of them is allowed";
            Err(PyValueError::new_err(text))
        }
    }
}
