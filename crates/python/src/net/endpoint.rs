//! Where associations are accepted.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use polypath_net::{Config, Encapsulation};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::errors::Trouble;
use super::keys::KeyOptions;
use super::operation::Answer;
use super::{Association, Detached, Operation, Stack, blocking};
use crate::failure::Failure;

/// One SCTP port.
#[pyclass(frozen, module = "polypath.net")]
#[derive(Debug)]
pub(crate) struct Endpoint {
    endpoint: Mutex<Option<Detached<polypath_net::Endpoint>>>,
    /// Where own path schedulers of its associations note what they raise.
    failure: Failure,
}

/// Where to listen.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Place {
    addresses: Vec<String>,
    /// Of SCTP.
    port: u16,
    /// `None`: directly over IP.
    udp: Option<u16>,
    most: usize,
}

/// Opens an endpoint.
#[pyfunction]
pub(crate) fn listen(
    place: Place,
    stack: &Bound<'_, Stack>,
    keys: KeyOptions,
) -> PyResult<Operation> {
    let failure = Failure::default();
    let assoc = stack.get().make(&failure)?;
    Ok(Operation::new(async move {
        let bound = blocking::run(move || {
            let config = place.config(keys)?.assoc(assoc);
            polypath_net::Endpoint::bind(config).map_err(Trouble::from)
        });
        let bound = bound.await.map_err(Trouble::from).and_then(|bound| bound);
        let bound = bound.map(Detached::new);
        Box::new(move |py: Python<'_>| match bound {
            Ok(bound) => Endpoint { endpoint: Mutex::new(Some(bound)), failure }.into_py_any(py),
            Err(trouble) => Err(trouble.into_error(py)),
        }) as Answer
    }))
}

impl Place {
    fn config(self, keys: KeyOptions) -> Result<Config, Trouble> {
        let mut addresses: Vec<IpAddr> = Vec::new();
        for text in &self.addresses {
            let wrong = |_| {
                let text = format!("addresses = {text:?} (allowed: addresses of this host)");
                Trouble::Argument(text)
            };
            addresses.push(text.parse().map_err(wrong)?);
        }
        let config = match keys.for_server()? {
            Some(keys) => Config::server(addresses, self.port, keys),
            None => Config::insecure_server(addresses, self.port),
        };
        let encapsulation = self.udp.map_or(Encapsulation::Raw, Encapsulation::Udp);
        Ok(config.encapsulation(encapsulation).max_associations(self.most))
    }
}

impl Endpoint {
    pub(super) fn handle(&self) -> PyResult<polypath_net::Endpoint> {
        let kept = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || PyValueError::new_err("this endpoint is closed");
        kept.as_ref().ok_or_else(closed)?.at_home().cloned()
    }

    /// Asks the core with the interpreter released: its lock may be held by who waits for that.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&polypath_net::Endpoint) -> T + Send,
    ) -> PyResult<T> {
        let endpoint = Detached::new(self.handle()?);
        let asked = py.detach(|| endpoint.get().map(ask));
        asked.ok_or_else(|| PyValueError::new_err("this endpoint is closed"))
    }
}

#[pymethods]
impl Endpoint {
    /// The next association that a peer opened; `None` once the endpoint is closed.
    fn accept(&self) -> PyResult<Operation> {
        let endpoint = self.handle()?;
        let failure = self.failure.clone();
        Ok(Operation::new(async move {
            let accepted = Detached::new(endpoint.accept().await);
            Box::new(move |py: Python<'_>| {
                let mut accepted = accepted;
                match accepted.take().flatten() {
                    Some(association) => Association::new(association, failure).into_py_any(py),
                    None => Ok(py.None()),
                }
            }) as Answer
        }))
    }

    /// The next peer that was not let in, where it was and why; `None` once the endpoint is closed.
    fn refused(&self) -> PyResult<Operation> {
        let endpoint = self.handle()?;
        Ok(Operation::new(async move {
            let refused = endpoint.refused().await;
            Box::new(move |py: Python<'_>| {
                let told = refused.map(|peer| (peer.remote.to_string(), peer.reason.to_string()));
                told.into_py_any(py)
            }) as Answer
        }))
    }

    /// Shuts all associations down and waits until they are over.
    fn close(&self) -> PyResult<Operation> {
        let endpoint = self.handle()?;
        Ok(Operation::new(async move {
            endpoint.close().await;
            Box::new(move |py: Python<'_>| Ok(py.None())) as Answer
        }))
    }

    /// Accepts nobody any more. Associations that there are go on.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |endpoint| endpoint.set_accept(false))?;
        let kept = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(kept);
        Ok(())
    }

    /// Its addresses, with UDP ports.
    #[getter]
    fn addresses(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let local = self.ask(py, polypath_net::Endpoint::local_addresses)?;
        Ok(local.iter().map(ToString::to_string).collect())
    }

    /// The SCTP port.
    #[getter]
    fn port(&self, py: Python<'_>) -> PyResult<u16> {
        self.ask(py, polypath_net::Endpoint::port)
    }

    /// Associations that are not over, accepted or not.
    #[getter]
    fn associations(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, polypath_net::Endpoint::associations)
    }

    /// What works less well than it could.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.ask(py, |endpoint| endpoint.warnings().iter().map(ToString::to_string).collect())
    }
}
