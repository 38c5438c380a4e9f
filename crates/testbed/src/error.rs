//! Why two worlds could not be compared.

use polypath_net::{BindError, Closed, ConnectError, SendError};
use polypath_policies::PolicyError;
use polypath_run::RunError;

/// Why two worlds could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The simulator refuses the scenario, or fails.
    #[error(transparent)]
    Simulation(#[from] RunError),
    /// The network cannot be built, or stopped.
    #[error(transparent)]
    Emulation(#[from] polypath_emu::Error),
    /// The emulated network is not what the scenario says.
    #[error("this machine does not keep up: {0}")]
    Untrue(String),
    /// Something in the scenario that only the simulator can do.
    #[error("flow {flow}: {what} (only the simulator does that)")]
    Unsupported {
        /// The flow's name.
        flow: String,
        /// What it is.
        what: &'static str,
    },
    /// An endpoint could not open its sockets.
    #[error("flow {flow}: {error}")]
    Bind {
        /// The flow's name.
        flow: String,
        /// Why.
        error: BindError,
    },
    /// The association was not set up.
    #[error("flow {flow}: {error}")]
    Connect {
        /// The flow's name.
        flow: String,
        /// Why.
        error: ConnectError,
    },
    /// The association ended before its time.
    #[error("flow {flow}: {error}")]
    Ended {
        /// The flow's name.
        flow: String,
        /// Why.
        error: String,
    },
    /// The runtime of the emulated applications.
    #[error("applications: {0}")]
    Runtime(#[from] std::io::Error),
}

impl TestbedError {
    pub(crate) fn association_ended(flow: &str) -> impl FnOnce(Closed) -> Self + '_ {
        |error| Self::Ended { flow: flow.to_owned(), error: error.to_string() }
    }

    pub(crate) fn sending_failed(flow: &str) -> impl FnOnce(SendError) -> Self + '_ {
        |error| Self::Ended { flow: flow.to_owned(), error: error.to_string() }
    }

    /// Whether the scenario is at fault.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Simulation(error) => error.is_bad_input(),
            Self::Emulation(polypath_emu::Error::Spec(_)) | Self::Unsupported { .. } => true,
            _ => false,
        }
    }

    /// Whether the machine or the user's rights lack something.
    #[must_use]
    pub fn is_missing_requirement(&self) -> bool {
        matches!(self, Self::Emulation(error) if error.is_missing_requirement())
    }
}

impl From<PolicyError> for TestbedError {
    fn from(error: PolicyError) -> Self {
        RunError::from(error).into()
    }
}
