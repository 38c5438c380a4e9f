//! Error counters and what follows from them (RFC 9260 sections 8.1 and 8.2, RFC 7829).

use super::rto::back_off;
use super::{Path, PathSet};
use crate::config::AssocConfig;
use crate::ids::PathId;
use crate::time::Time;
use crate::view::{PathState, PathView};

impl PathSet {
    /// Counts a timeout on `p` (T3-rtx, T1, T2 or an unanswered heartbeat) and backs its RTO off.
    /// `count` is false while a zero window is probed and SACKs come back: no error then (RFC 9260
    /// section 6.1 A). Gives the new state of the path, if that changed.
    pub(crate) fn timeout(
        &mut self,
        now: Time,
        p: PathId,
        count: bool,
        config: &AssocConfig,
    ) -> Option<PathState> {
        let (view, path) = self.both_mut(p)?;
        back_off(view, &config.rto);
        path.timeouts_in_a_row += 1;
        if !count {
            return None;
        }
        view.errors = view.errors.saturating_add(1);
        let next = if view.errors > path.settings.max_retrans {
            PathState::Inactive
        } else if config.potentially_failed.is_some_and(|pf| view.errors > pf.max_retrans) {
            PathState::PotentiallyFailed
        } else {
            view.state
        };
        // An unconfirmed path stays unconfirmed however often it fails.
        if !view.state.is_confirmed() || next == view.state {
            return None;
        }
        if view.state == PathState::Active {
            path.failed_since = now;
        }
        self.set_state(p, next);
        Some(next)
    }

    /// `p` fell silent, while others did not.
    pub(crate) fn suspect(&mut self, now: Time, p: PathId) {
        let Some((view, path)) = self.both_mut(p) else { return };
        view.silent = true;
        if view.state == PathState::Active {
            path.failed_since = now;
        }
        path.stats.path_silences += 1;
        self.refresh_usable();
    }

    /// A SACK was processed.
    pub(crate) const fn sack_heard(&mut self, now: Time) {
        self.latest_sack = now;
    }

    /// Whether what the SACK at hand tells of data on `p` may be old: the path failed or fell
    /// silent, and no other SACK came since. Data that arrived before an outage is acknowledged
    /// after it, where the outage took the SACKs, too, or where one was delayed: that neither shows
    /// that the path works nor that its timeout was spurious.
    pub(crate) fn tells_of_the_past(&self, p: PathId) -> bool {
        let failed = |view: &PathView| {
            view.silent || matches!(view.state, PathState::PotentiallyFailed | PathState::Inactive)
        };
        let first = |path: &Path| self.latest_sack < path.failed_since;
        self.view(p).is_some_and(failed) && self.get(p).is_some_and(first)
    }

    /// Data sent on `p`, or a heartbeat, was acknowledged. Gives the new state if it changed.
    pub(crate) fn alive(&mut self, p: PathId) -> Option<PathState> {
        let (view, path) = self.both_mut(p)?;
        view.errors = 0;
        path.timeouts_in_a_row = 0;
        path.refused = Time::MAX;
        if core::mem::take(&mut view.silent) {
            self.refresh_usable();
        }
        match self.view(p)?.state {
            PathState::PotentiallyFailed | PathState::Inactive => {
                self.set_state(p, PathState::Active);
                Some(PathState::Active)
            }
            PathState::Active | PathState::Unconfirmed | PathState::Removed => None,
        }
    }

    /// The peer proved that it is at the other end of `p` (RFC 9260 section 5.4).
    pub(crate) fn confirm(&mut self, now: Time, p: PathId) -> bool {
        let unconfirmed = self.view(p).is_some_and(|v| v.state == PathState::Unconfirmed);
        if unconfirmed {
            self.set_state(p, PathState::Active);
            if let Some(view) = self.view_mut(p) {
                view.errors = 0;
            }
            self.resume_probing(now, p);
        }
        unconfirmed
    }

    fn set_state(&mut self, p: PathId, state: PathState) {
        if let Some(view) = self.view_mut(p) {
            view.state = state;
        }
        self.refresh_usable();
    }
}
