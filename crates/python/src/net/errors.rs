//! What goes wrong with associations, as Python's exceptions.

use std::io;

use polypath_apps::keys::{Fingerprint, KeyError};
use polypath_net::{BindError, Closed as Reason};
use pyo3::create_exception;
use pyo3::exceptions::{PyConnectionError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

create_exception!(
    polypath.net,
    ConnectError,
    PyConnectionError,
    "No association was set up: one line that says why."
);
create_exception!(
    polypath.net,
    UntrustedPeer,
    ConnectError,
    "The peer is not known, not who it should be, does not encrypt, or does not let this host in.\n\n\
     `fingerprint` is that of the key that it came with; `None` if it showed none."
);
create_exception!(
    polypath.net,
    Closed,
    PyConnectionError,
    "The association is over.\n\n\
     `reason` is a word: \"shutdown\" after a graceful end, \"local-abort\", \"peer-abort\",\n\
     \"unreachable\" and others; `said` is what the peer said when it aborted, bytes."
);

/// Why something could not be opened.
#[derive(Debug)]
pub(super) enum Trouble {
    /// An argument is wrong.
    Argument(String),
    /// A file or an address of this host.
    Local(String),
    /// The peer's key, or ours.
    Untrusted { text: String, key: Option<Fingerprint> },
    /// The peer was not reached, or does not want to.
    Connect(String),
}

impl From<KeyError> for Trouble {
    fn from(error: KeyError) -> Self {
        Self::Local(error.to_string())
    }
}

impl From<BindError> for Trouble {
    fn from(error: BindError) -> Self {
        let text = error.to_string();
        match error {
            BindError::NoAddress | BindError::Twice(_) | BindError::NotUnicast(_) => {
                Self::Argument(text)
            }
            _ => Self::Local(text),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Local(error.to_string())
    }
}

impl Trouble {
    /// As Python's exception.
    pub(super) fn into_error(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Argument(text) => PyValueError::new_err(text),
            Self::Local(text) => PyOSError::new_err(text),
            Self::Connect(text) => ConnectError::new_err(text),
            Self::Untrusted { text, key } => {
                let key = key.map(|key| key.to_string());
                with_attribute(py, UntrustedPeer::new_err(text), "fingerprint", key)
            }
        }
    }
}

/// The end of an association.
pub(super) fn closed(py: Python<'_>, reason: &Reason) -> PyErr {
    let said = match reason {
        Reason::PeerAbort { reason, .. } => &reason[..],
        _ => &[],
    };
    let error = Closed::new_err(reason.to_string());
    let error = with_attribute(py, error, "reason", name(reason));
    with_attribute(py, error, "said", PyBytes::new(py, said))
}

fn with_attribute<'py>(
    py: Python<'py>,
    error: PyErr,
    name: &str,
    value: impl IntoPyObject<'py>,
) -> PyErr {
    match error.value(py).setattr(name, value) {
        Ok(()) => error,
        Err(other) => other,
    }
}

const fn name(reason: &Reason) -> &'static str {
    match reason {
        Reason::Shutdown => "shutdown",
        Reason::LocalAbort => "local-abort",
        Reason::PeerAbort { .. } => "peer-abort",
        Reason::Unreachable => "unreachable",
        Reason::NothingAcknowledged => "nothing-acknowledged",
        Reason::ShutdownTimeout => "shutdown-timeout",
        Reason::HandshakeTimeout => "handshake-timeout",
        Reason::StaleCookie => "stale-cookie",
        Reason::AlreadyConnected => "already-connected",
        Reason::NoAuthentication => "no-authentication",
        Reason::NoProtection => "no-protection",
        Reason::Unprotected(_) => "unprotected",
        Reason::PeerGone => "peer-gone",
        Reason::PolicyFailed(_) => "policy-failed",
        Reason::ProtocolViolation { .. } => "protocol-violation",
        _ => "other",
    }
}
