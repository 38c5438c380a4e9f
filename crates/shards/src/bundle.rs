//! The files that a plan takes with it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use polypath_scenario::{Files, Policies};

/// Files that remember which of them were read.
#[derive(Debug)]
pub(crate) struct Recorder {
    inner: Arc<dyn Files>,
    /// The scenario's folder, and what has the files of policies that are not there.
    policies: Option<(PathBuf, Policies)>,
    seen: Mutex<BTreeMap<PathBuf, String>>,
}

impl Recorder {
    pub(crate) fn new(inner: Arc<dyn Files>, policies: Option<(PathBuf, Policies)>) -> Arc<Self> {
        Arc::new(Self { inner, policies, seen: Mutex::default() })
    }

    /// What was read so far.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A file of a policy, which is named from the working directory if it is not beside the
    /// scenario.
    fn policy_file(&self, path: &Path, error: io::Error) -> io::Result<String> {
        let Some((folder, policies)) = &self.policies else { return Err(error) };
        let name = path.strip_prefix(folder).ok().and_then(Path::to_str);
        name.and_then(|name| policies.read_file(name).ok()).ok_or(error)
    }
}

impl Files for Recorder {
    fn text(&self, path: &Path) -> io::Result<String> {
        let text = self.inner.text(path).or_else(|error| self.policy_file(path, error))?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(path.to_owned(), text.clone());
        Ok(text)
    }
}
