//! What the names of policies in a scenario stand for.

use core::ops::Deref;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use polypath_policies::Registry;

use crate::files::Files;

static BUILTIN: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::builtin()));

/// A shared [`Registry`]; by default that of the policies that are part of Polypath.
#[derive(Clone, Debug)]
pub struct Policies(Arc<Registry>);

impl Policies {
    /// Those of `registry`.
    pub fn new(registry: Registry) -> Self {
        Self(Arc::new(registry))
    }

    /// The same, with files of the scenario's folder; what is not there is asked of the registry.
    pub(crate) fn beside(&self, files: &Arc<dyn Files>, folder: &Path) -> Self {
        let (beside, others) = (Arc::clone(files), self.clone());
        let folder = folder.to_owned();
        let read =
            move |name: &str| beside.text(&folder.join(name)).or_else(|_| others.read_file(name));
        Self::new(Registry::clone(self).with_files(read))
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self(Arc::clone(&BUILTIN))
    }
}

impl Deref for Policies {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        &self.0
    }
}

/// A scenario is its text: where names come from does not tell two apart.
impl PartialEq for Policies {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
