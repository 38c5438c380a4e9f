//! Whom to let in.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::enrolment::Enrolment;
use super::fingerprint::Fingerprint;
use super::key::{IdentityError, PublicKey};

/// Whom an end lets in. Clones share the one-time codes that are left.
#[derive(Clone, Debug)]
pub struct Trust {
    /// `None`: anyone.
    pinned: Option<Arc<BTreeSet<Fingerprint>>>,
    codes: Arc<Mutex<BTreeSet<Fingerprint>>>,
}

impl Trust {
    /// Whoever proves to have any key. Who it was is known afterwards.
    #[must_use]
    pub fn anyone() -> Self {
        Self::new(None)
    }

    /// Those who have the key of one of these fingerprints. Without any: nobody.
    #[must_use]
    pub fn pinned(fingerprints: impl IntoIterator<Item = Fingerprint>) -> Self {
        Self::new(Some(fingerprints.into_iter().collect()))
    }

    /// The first who has this code, too.
    ///
    /// # Errors
    /// If no key comes of the code: never with the libraries that are used.
    pub fn or_first_with(self, code: &Enrolment) -> Result<Self, IdentityError> {
        let fingerprint = code.identity()?.public().fingerprint();
        self.codes.lock().unwrap_or_else(PoisonError::into_inner).insert(fingerprint);
        Ok(self)
    }

    fn new(pinned: Option<BTreeSet<Fingerprint>>) -> Self {
        Self { pinned: pinned.map(Arc::new), codes: Arc::default() }
    }

    /// Whether the owner of `key` is let in, who has proved to be that. A code is used up by it:
    /// looking for it and taking it are one step, so of two that come at once one is let in.
    pub(crate) fn admits(&self, key: &PublicKey) -> bool {
        let Some(pinned) = &self.pinned else {
            return true;
        };
        let fingerprint = key.fingerprint();
        pinned.contains(&fingerprint)
            || self.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(&fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    #[test]
    fn pins_let_in_whom_they_name() {
        let [a, b] = [1, 2].map(|seed| Identity::from_seed(&[seed; 32]).unwrap());
        assert!(Trust::anyone().admits(a.public()));
        let trust = Trust::pinned([a.public().fingerprint()]);
        assert!(trust.admits(a.public()) && trust.admits(a.public()));
        assert!(!trust.admits(b.public()));
        assert!(!Trust::pinned([]).admits(a.public()));
    }

    #[test]
    fn a_code_is_used_once_also_by_clones() {
        let code = Enrolment::generate().unwrap();
        let key = code.identity().unwrap();
        let trust = Trust::pinned([]).or_first_with(&code).unwrap();
        let clone = trust.clone();
        assert!(clone.admits(key.public()));
        assert!(!trust.admits(key.public()));
        assert!(!clone.admits(key.public()));
    }
}
