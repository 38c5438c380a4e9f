//! Associations that are opened here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use polypath_apps::place::{Ends, PlaceError, resolve_ends};
use polypath_net::{AssocConfig, Closed, ConnectError, Encapsulation, Endpoint, Pairing};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;

use super::errors::Trouble;
use super::held::policy_error;
use super::keys::{ClientKeys, KeyOptions};
use super::operation::Answer;
use super::{Association, Detached, Operation, Stack, blocking};
use crate::failure::Failure;

/// Where to, and from where.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Route {
    /// Hosts as the command takes them, with ports, separated by commas.
    to: String,
    /// Addresses of this host, names of its network devices, or `auto`.
    paths: Vec<String>,
    /// Of SCTP.
    port: u16,
    /// Every address here with every address there.
    mesh: bool,
    /// Without UDP.
    raw: bool,
}

/// An endpoint that is about to connect.
struct Ready {
    keys: ClientKeys,
    endpoint: Endpoint,
    remote: Vec<SocketAddr>,
    port: u16,
    pairing: Pairing,
    assoc: Arc<AssocConfig>,
}

/// Opens an association.
#[pyfunction]
pub(crate) fn connect(
    route: Route,
    stack: &Bound<'_, Stack>,
    keys: KeyOptions,
) -> PyResult<Operation> {
    let failure = Failure::default();
    let assoc = stack.get().make(&failure)?;
    Ok(Operation::new(async move {
        let ready = blocking::run(move || route.prepare(&keys, assoc)).await;
        let opened = match ready.map_err(Trouble::from).and_then(|ready| ready) {
            Ok(ready) => open(ready).await,
            Err(trouble) => Err(Refusal::Trouble(trouble)),
        };
        let opened = opened.map(Detached::new);
        Box::new(move |py: Python<'_>| match opened {
            Ok(mut opened) => match opened.take() {
                Some(association) => Association::new(association, failure).into_py_any(py),
                None => Ok(py.None()),
            },
            Err(Refusal::Trouble(trouble)) => Err(trouble.into_error(py)),
            Err(Refusal::Policy(why)) => Err(policy_error(py, &why, failure.take())),
        }) as Answer
    }))
}

/// Why there is no association.
enum Refusal {
    Trouble(Trouble),
    /// The user's own path scheduler failed.
    Policy(Box<str>),
}

async fn open(ready: Ready) -> Result<polypath_net::Association, Refusal> {
    let Ready { keys, endpoint, remote, port, pairing, assoc } = ready;
    let opened = endpoint.connect_with(&remote, port, pairing, assoc).await;
    opened.map_err(|error| match error {
        ConnectError::Closed(Closed::PolicyFailed(why)) => Refusal::Policy(why),
        other => Refusal::Trouble(keys.explain(&other)),
    })
}

impl Route {
    /// Looks up names, reads keys and opens sockets.
    fn prepare(self, keys: &KeyOptions, assoc: Arc<AssocConfig>) -> Result<Ready, Trouble> {
        let keys = ClientKeys::new(keys, &self.to)?;
        let Ends { local, remote, follow } = self.ends()?;
        let config = keys.config()?.local(local).assoc(assoc.clone()).follow(follow);
        let config = match self.raw {
            true => config.encapsulation(Encapsulation::Raw),
            false => config,
        };
        let endpoint = Endpoint::bind(config)?;
        let pairing = if self.mesh { Pairing::Mesh } else { Pairing::Auto };
        Ok(Ready { keys, endpoint, remote, port: self.port, pairing, assoc })
    }

    fn ends(&self) -> Result<Ends, Trouble> {
        let local: Vec<IpAddr> = self.paths.iter().filter_map(|path| path.parse().ok()).collect();
        let devices = if local.is_empty() { &self.paths[..] } else { &[] };
        if !local.is_empty() && local.len() < self.paths.len() {
            let text =
                "paths = addresses and network devices (allowed: either the ones or the others)";
            return Err(Trouble::Argument(text.to_owned()));
        }
        resolve_ends(&local, devices, &self.to).map_err(|error| match error {
            PlaceError::NoRoute { .. } | PlaceError::Unknown { .. } => {
                Trouble::Connect(error.to_string())
            }
            other => Trouble::Argument(other.to_string()),
        })
    }
}
