//! Why a network could not be built.

use std::io;

use crate::spec::SpecError;

/// Why a network could not be built, or no longer runs.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process may not make network namespaces.
    #[error(
        "network namespaces and packet sockets need root (or CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW)"
    )]
    NotRoot,
    /// A command that is needed is not installed.
    #[error("{command} is not installed (Debian, Ubuntu: apt-get install {package})")]
    Missing {
        /// The command.
        command: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// The specification is impossible.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The kernel or a command said no.
    #[error("{what}: {cause}")]
    System {
        /// What was tried.
        what: String,
        /// What came of it.
        cause: String,
    },
    /// There is no path, link or interface of that name.
    #[error("{kind} {name:?} does not exist (there are: {known})")]
    Unknown {
        /// What was asked for.
        kind: &'static str,
        /// By which name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The thread that carries packets has ended.
    #[error("the emulated network has stopped")]
    Stopped,
}

impl Error {
    /// For `map_err`: names what was tried.
    pub(crate) fn system_error<E: ToString>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |cause| Self::System { what, cause: cause.to_string() }
    }

    /// Whether the process lacks a right or a program, rather than something having gone wrong.
    #[must_use]
    pub fn is_missing_requirement(&self) -> bool {
        matches!(self, Self::NotRoot | Self::Missing { .. })
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::other(error)
    }
}
