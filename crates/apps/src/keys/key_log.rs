//! The file that `SSLKEYLOGFILE` names.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Mutex;

use polypath_net::KeyLog;

use super::error::{KeyError, show};

/// Secrets of key exchanges, a line each, behind what the file has.
pub struct KeyLogFile {
    file: Mutex<File>,
}

impl KeyLogFile {
    /// Opens it; a new one is for its owner alone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(path: &Path) -> Result<Self, KeyError> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let file = file.map_err(KeyError::unwritten(path))?;
        let facts = file.metadata().map_err(KeyError::unwritten(path))?;
        let mode = facts.mode() & 0o7777;
        if facts.is_file() && mode & 0o077 != 0 {
            return Err(KeyError::Told { path: show(path), mode });
        }
        Ok(Self { file: Mutex::new(file) })
    }
}

impl fmt::Debug for KeyLogFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyLogFile(..)")
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, line: &str) {
        let line = zeroize::Zeroizing::new(format!("{line}\n"));
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // What misses there harms nobody but who looks into a capture.
        let _ = file.write_all(line.as_bytes());
    }
}
