//! How the matrix is run.

use std::path::PathBuf;

/// How to run the matrix.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program `polypath-interop`.
    pub own: PathBuf,
    /// Only cases whose name contains this.
    pub only: String,
    /// Where captures and results stay; `None`: nowhere.
    pub keep: Option<PathBuf>,
    /// Conversations at the same time.
    pub jobs: usize,
}
