//! Paths that nobody named: packets of the peer came from there.

use super::PathSet;
use crate::ids::PathId;
use crate::time::Time;

/// How a path came about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Learned {
    /// When the first packet came from there.
    pub(crate) since: Time,
    /// Nothing but the tag says that it is the peer: only heartbeats count from there, until one
    /// has proven it.
    pub(crate) tentative: bool,
}

impl PathSet {
    /// Whether `p` is such a path, and only its tag speaks for it.
    #[inline]
    pub(crate) fn is_tentative(&self, p: PathId) -> bool {
        self.get(p)
            .is_some_and(|path| path.learned.as_ref().is_some_and(|learned| learned.tentative))
    }
}
