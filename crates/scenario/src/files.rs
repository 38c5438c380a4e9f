//! Where the texts of files come from that scenarios name.

use core::fmt::Debug;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Gives the texts of files that a scenario names, such as delivery traces.
///
/// This crate opens no file by itself, so that it works where there are none: who reads scenarios
/// from a disk hands in a reader of that disk, a page in a browser a map of texts.
pub trait Files: Debug + Send + Sync {
    /// The text of the file at `path`: the folder of the scenario file, and the name in it.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be read.
    fn text(&self, path: &Path) -> io::Result<String>;
}

/// Texts by path, without any disk. An empty map is a world without files.
impl Files for BTreeMap<PathBuf, String> {
    fn text(&self, path: &Path) -> io::Result<String> {
        self.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
