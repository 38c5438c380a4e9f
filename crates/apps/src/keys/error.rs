//! What can be wrong with the files, in one line each.

use std::io;
use std::path::Path;

use polypath_net::{IdentityError, TextError};

use crate::shown;

/// Why a file of keys could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// No variable says where files of keys are.
    #[error(
        "no folder for keys: POLYPATH_HOME, or an absolute XDG_CONFIG_HOME or HOME, has to name one"
    )]
    NoHome,
    /// The system does not want to.
    #[error("{path}: cannot be {what}: {source}")]
    System {
        /// The file, fit to be shown.
        path: String,
        /// "read" or "written".
        what: &'static str,
        /// The system's word.
        source: io::Error,
    },
    /// A private key that is no secret.
    #[error(
        "{path}: others may read this private key (mode {mode:04o}): `chmod 600 {path}`; if somebody did, remove it, and tell your peers the next one"
    )]
    Readable {
        /// The file, fit to be shown.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// Others may read secrets that are written there.
    #[error("{path}: others may read what is written there (mode {mode:04o}): `chmod 600 {path}`")]
    Told {
        /// The file, fit to be shown.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// Others may change or replace what says whom to trust.
    #[error(
        "{path}: others may write this, and so say whom this host trusts (mode {mode:04o}): `chmod go-w {path}`"
    )]
    Writable {
        /// The file or folder, fit to be shown.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// A device, a folder or the like.
    #[error("{path}: not a file")]
    NotAFile {
        /// It, fit to be shown.
        path: String,
    },
    /// More than is read.
    #[error("{path}: more than {limit} bytes")]
    TooLong {
        /// The file, fit to be shown.
        path: String,
        /// So many are allowed.
        limit: u64,
    },
    /// Not a key.
    #[error("{path}: {source}")]
    NoKey {
        /// The file, fit to be shown.
        path: String,
        /// What is wrong with it.
        source: IdentityError,
    },
    /// Not a secret that both ends share.
    #[error("{path}: {why} (allowed: 32 bytes as 64 digits of hex, or as base32)")]
    NoSecret {
        /// The file, fit to be shown.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A line that cannot be.
    #[error("{path}: {source}")]
    Line {
        /// The file, fit to be shown.
        path: String,
        /// Which line, and why.
        source: TextError,
    },
}

impl KeyError {
    pub(super) fn unread(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::system(path, "read")
    }

    pub(super) fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::system(path, "written")
    }

    fn system(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = show(path);
        move |source| Self::System { path, what, source }
    }

    pub(super) fn line(path: &Path) -> impl FnOnce(TextError) -> Self {
        let path = show(path);
        move |source| Self::Line { path, source }
    }
}

/// A path, fit to be shown.
pub(super) fn show(path: &Path) -> String {
    shown::escape_text(&path.to_string_lossy())
}
