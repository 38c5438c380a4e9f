//! Paths that nobody named: packets of the peer came from there.

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
