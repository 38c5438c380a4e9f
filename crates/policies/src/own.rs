//! Path schedulers that no list has: made by another language, or from what a user hands in.

use core::fmt;
use std::sync::Arc;

use polypath_proto::config::CcConfig;
use polypath_proto::policy::PathScheduler;
use polypath_proto::rng::Rng;

use crate::entry::Recipe;

/// Finds one by its name: `None` if there is none of that name, an error in words if it cannot be
/// made.
pub(crate) type FindOwn =
    dyn Fn(&str) -> Option<Result<OwnScheduler, String>> + Send + Sync + 'static;

type Make = dyn Fn(&CcConfig, &mut Rng) -> Box<dyn PathScheduler> + Send + Sync + 'static;

/// A path scheduler that [`Registry::with_own_schedulers`](crate::Registry::with_own_schedulers)
/// finds.
#[derive(Clone)]
pub struct OwnScheduler {
    make: Arc<Make>,
    version: Option<String>,
}

impl fmt::Debug for OwnScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnScheduler").field("version", &self.version).finish_non_exhaustive()
    }
}

impl OwnScheduler {
    /// `make` is called once for each association; the generator is the scheduler's own.
    pub fn new(
        make: impl Fn(&CcConfig, &mut Rng) -> Box<dyn PathScheduler> + Send + Sync + 'static,
    ) -> Self {
        Self { make: Arc::new(make), version: None }
    }

    /// The same with a text that changes whenever its decisions may: finished runs are found again
    /// by it. Without one, runs are not kept.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// That text.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    pub(crate) fn into_recipe(self) -> Recipe<dyn PathScheduler> {
        Box::new(move |cc, rng| (self.make)(cc, rng))
    }
}

/// Why there is nothing of this name, where it is clear what was meant.
pub(crate) fn explain_absence(text: &str) -> Option<String> {
    let (file, _) = text.split_once(".py:")?;
    let needs = "a scheduler in Python needs the command of the Python package";
    (!file.is_empty()).then(|| format!("{needs} (pip install polypath)"))
}
