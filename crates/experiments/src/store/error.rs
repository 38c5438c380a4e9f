//! What goes wrong with stored runs.

use std::io;
use std::path::{Path, PathBuf};

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct StoreError {
    /// Which file or folder.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl StoreError {
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self { path, error }
    }
}
