//! Paths that go, and paths that may not speak yet.
//!
//! A removed path keeps its number and its counters, so that policies, events and statistics go on
//! meaning the same path. Only when all numbers are taken, the one that has been free for longest
//! is used again.

use super::PathSet;
use crate::ids::PathId;
use crate::time::Time;
use crate::view::PathState;

impl PathSet {
    /// The paths that are there: not removed.
    pub(crate) fn live(&self) -> impl Iterator<Item = PathId> {
        self.views.iter().filter(|v| v.state != PathState::Removed).map(|v| v.id)
    }

    /// Whether `p` is there and its address proven.
    pub(crate) fn is_confirmed(&self, p: PathId) -> bool {
        self.view(p).is_some_and(|v| v.state.is_confirmed())
    }

    /// Whether `p` was learned from a packet, and only the verification tag of that speaks for it.
    #[inline]
    pub(crate) fn is_tentative(&self, p: PathId) -> bool {
        self.get(p)
            .is_some_and(|path| path.learned.as_ref().is_some_and(|learned| learned.tentative))
    }

    /// Whether `p` starts at an address of ours that the peer has not accepted yet.
    pub(crate) fn is_dormant(&self, p: PathId) -> bool {
        self.get(p).is_some_and(|path| path.dormant)
    }

    /// `p` is new, and the peer does not know its local address yet.
    pub(crate) fn make_dormant(&mut self, p: PathId) {
        if let Some(path) = self.get_mut(p) {
            (path.dormant, path.heartbeat_at) = (true, Time::MAX);
        }
    }

    /// The path that takes over from `p`: the best of the others.
    pub(crate) fn heir(&self, p: PathId) -> Option<PathId> {
        let others = || self.views.iter().filter(|v| v.id != p && v.state != PathState::Removed);
        let best = |wanted: fn(&&crate::view::PathView) -> bool| others().find(wanted);
        let found = best(|v| v.usable)
            .or_else(|| best(|v| v.state.is_confirmed()))
            .or_else(|| others().find(|v| !self.is_dormant(v.id)))
            .or_else(|| best(|_| true));
        found.map(|v| v.id)
    }

    /// `p` is gone; nothing is in flight on it any more.
    pub(crate) fn remove(&mut self, now: Time, p: PathId) {
        let Some((view, path)) = self.both_mut(p) else { return };
        view.state = PathState::Removed;
        (view.sendable, view.silent, view.in_recovery) = (false, false, false);
        (path.t3, path.heartbeat_at, path.heartbeat) = (Time::MAX, Time::MAX, None);
        (path.rtt_probe, path.dormant, path.burst_left) = (None, false, 0);
        (path.overdue, path.way_back) = (None, None);
        path.mtu = None;
        // When it went: the number that has been free for longest is the first to be used again.
        path.failed_since = now;
        self.refresh_usable();
    }

    /// The number to use again, now that there is no other.
    pub(super) fn recyclable(&self) -> Option<PathId> {
        let removed = self.iter().filter(|(v, _)| v.state == PathState::Removed);
        removed.min_by_key(|(v, path)| (path.failed_since, v.id)).map(|(v, _)| v.id)
    }
}
