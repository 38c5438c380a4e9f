//! Whom a server lets in: a file that may change while it runs.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use polypath_net::{AllowList, Fingerprint, KeyManagement, Protection, Time};
use polypath_proto::protection::Agreed;

use super::error::{KeyError, show};
use super::safe_file::{self, MAX_TEXT};

/// A file of fingerprints, and as what it was read last.
#[derive(Debug)]
pub struct AllowFile {
    path: PathBuf,
    seen: Option<Stamp>,
}

/// What changes with a file: its number, size, and times of change in ns.
type Stamp = (u64, u64, i64, i64);

impl AllowFile {
    /// That at `path`.
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self { path, seen: None }
    }

    /// Whom it names.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or has a line that is no fingerprint.
    pub fn read(&mut self) -> Result<AllowList, KeyError> {
        self.seen = self.stamp();
        let missing = || KeyError::unread(&self.path)(std::io::ErrorKind::NotFound.into());
        let file = safe_file::open(&self.path)?.ok_or_else(missing)?.trusted(&self.path)?;
        let text = file.read(&self.path, MAX_TEXT)?;
        text.parse().map_err(KeyError::line(&self.path))
    }

    /// Whether it can be read and added to, as far as can be told without doing so.
    ///
    /// # Errors
    /// When there is no folder for it, or it has a line that is no fingerprint.
    pub fn check(&self) -> Result<(), KeyError> {
        match safe_file::open(&self.path)? {
            Some(_) => Self::at(self.path.clone()).read().map(drop),
            None => safe_file::check_folder_of(&self.path),
        }
    }

    /// Whom it names, if it has changed since it was read.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_again(&mut self) -> Result<Option<AllowList>, KeyError> {
        if self.stamp() == self.seen {
            return Ok(None);
        }
        self.read().map(Some)
    }

    /// Adds a line, and the file if it is not there.
    ///
    /// # Errors
    /// When it cannot be written, or is not such a file.
    pub fn add(&self, key: Fingerprint, comment: &str) -> Result<(), KeyError> {
        safe_file::edit(&self.path, |text| {
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let text = format!("{text}{end}{key} # {comment}\n");
            text.parse::<AllowList>().map_err(KeyError::line(&self.path))?;
            Ok(text)
        })
    }

    /// Where it is, fit to be shown.
    #[must_use]
    pub fn shown_path(&self) -> String {
        show(&self.path)
    }

    fn stamp(&self) -> Option<Stamp> {
        let facts = fs::metadata(&self.path).ok()?;
        let time =
            |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
        let changed = time(facts.ctime(), facts.ctime_nsec());
        Some((facts.ino(), facts.size(), time(facts.mtime(), facts.mtime_nsec()), changed))
    }
}

/// Key management that is replaced while associations are set up with it. Those that there are stay
/// as they are.
#[derive(Clone)]
pub struct Doorkeeper {
    methods: Vec<u8>,
    current: Arc<Mutex<Arc<dyn KeyManagement>>>,
}

impl Doorkeeper {
    /// Begins with `keys`.
    #[must_use]
    pub fn new(keys: Arc<dyn KeyManagement>) -> Self {
        Self { methods: keys.methods().to_vec(), current: Arc::new(Mutex::new(keys)) }
    }

    /// From now on `keys`, of the same methods.
    pub fn replace(&self, keys: Arc<dyn KeyManagement>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    fn current(&self) -> Arc<dyn KeyManagement> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Doorkeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.current(), f)
    }
}

impl KeyManagement for Doorkeeper {
    fn methods(&self) -> &[u8] {
        &self.methods
    }

    fn protect(&self, now: Time, agreed: &Agreed) -> Box<dyn Protection> {
        self.current().protect(now, agreed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> [Fingerprint; 2] {
        [b"a", b"b"].map(|key| Fingerprint::of(key))
    }

    #[test]
    fn the_file_is_read_again_when_it_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("allowed");
        let mut file = AllowFile::at(path.clone());
        assert!(file.read().unwrap_err().to_string().contains("allowed: cannot be read: "));
        let [a, b] = keys();
        fs::write(&path, format!("{a}")).unwrap();
        assert_eq!(file.read().unwrap().fingerprints(), [a]);
        assert_eq!(file.read_again().unwrap(), None);
        file.add(b, "Bob at 192.0.2.1").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{a}\n{b} # Bob at 192.0.2.1\n"));
        assert_eq!(file.read_again().unwrap().unwrap().fingerprints(), [a, b]);
        assert_eq!(file.read_again().unwrap(), None);
        fs::remove_file(&path).unwrap();
        assert!(file.read_again().is_err());
        assert_eq!(file.read_again().ok().flatten(), None, "told once");
    }

    #[test]
    fn hostile_content_is_one_line_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("allowed");
        let mut file = AllowFile::at(path.clone());
        let [a, _] = keys();
        for bad in ["bob", "pp:", "\u{1b}]0;x\u{7}", &"y".repeat(600)] {
            fs::write(&path, format!("{a}\n{bad}\n")).unwrap();
            for error in [file.read().unwrap_err(), file.add(a, "x").unwrap_err()] {
                let error = error.to_string();
                assert!(error.contains("allowed: line 2: "), "{error}");
                assert!(error.chars().all(|c| !c.is_control()), "{error:?}");
            }
        }
        fs::write(&path, "#".repeat(2 << 20)).unwrap();
        assert!(file.read().unwrap_err().to_string().contains("more than 1048576 bytes"));
        fs::remove_file(&path).unwrap();
        assert!(file.add(a, "two\nlines").unwrap_err().to_string().contains("line 2: "));
        assert!(!path.exists());
    }
}
