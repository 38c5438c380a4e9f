//! Silent paths. The SACKs for one path's data tell of all paths' data. So a path is silent when a
//! SACK acknowledges data of another path that was due after this path's oldest chunk in flight,
//! and nothing of this path was acknowledged for a while. No timer is needed for that: the SACKs of
//! the living paths are the clock. Nor does it matter which way they come back, or how late: due
//! times are compared with due times.

use super::sack_outcome::SackOutcome;
use super::sending_half::Sender;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::{Duration, Time};
use crate::view::PathView;

/// Jitter that no path is blamed for.
const JITTER: Duration = Duration::from_millis(10);

impl Sender {
    /// Whether `p` is silent, after a SACK that acknowledged something.
    pub(crate) fn is_silent(
        &mut self,
        now: Time,
        p: PathId,
        outcome: &SackOutcome,
        paths: &PathSet,
    ) -> bool {
        if outcome.path(p).is_none_or(|o| o.acked) {
            return false;
        }
        let Some(due_elsewhere) = self.latest_due_elsewhere(p, outcome, paths) else {
            return false;
        };
        let Some((view, last_acked)) = paths.view(p).zip(self.recovery.last_acked(p)) else {
            return false;
        };
        let Some(trip) = view.srtt else { return false };
        let Some((tsn, sent)) = self.outstanding.earliest_sent(p) else { return false };
        // A peer with few gap ack blocks (Linux: 16) says nothing of what lies beyond the last one.
        self.recovery.could_report(tsn)
            && sent + trip + grace(view, trip) <= due_elsewhere
            && now >= last_acked + (trip / 4).max(JITTER)
    }

    /// When the latest data of other paths that this SACK acknowledged was due.
    fn latest_due_elsewhere(
        &self,
        p: PathId,
        outcome: &SackOutcome,
        paths: &PathSet,
    ) -> Option<Time> {
        let others = paths.ids().filter(|&q| q != p);
        let due = |q: PathId| {
            let (sent, _) = outcome.path(q)?.newest_delivered?;
            Some(sent + self.shortest_trip(q, paths))
        };
        others.filter_map(due).max()
    }

    /// Whether the oldest chunk in flight on `p` was sent two round trips of the slowest path ago:
    /// whichever path its SACK takes, it is overdue. But not where data of all paths is.
    pub(crate) fn is_overdue(&mut self, now: Time, p: PathId, paths: &PathSet) -> bool {
        if !self.another_is_sound(p, paths) {
            return false;
        }
        let usable = paths.views.iter().filter(|v| v.usable);
        let slowest = usable.filter_map(|v| v.srtt).max().unwrap_or_default();
        let earliest = self.outstanding.earliest_sent(p);
        earliest.is_some_and(|(_, sent)| now >= sent + (2 * slowest).max(JITTER))
    }

    /// Whether data that was sent on `p` is neither acknowledged nor sent again elsewhere.
    pub(crate) fn misses_data_of(&self, p: PathId, paths: &PathSet) -> bool {
        let in_flight = paths.view(p).is_some_and(|view| view.outstanding > 0);
        in_flight || self.outstanding.has_marked_on(p)
    }

    /// Whether data of some other path is not overdue. Where data of all paths is, it is SACKs that
    /// are missing.
    pub(crate) fn another_is_sound(&self, p: PathId, paths: &PathSet) -> bool {
        let last_acked = |q: PathId| self.recovery.last_acked(q);
        let mut others = paths.views.iter().filter(|v| v.usable && v.id != p);
        others.any(|v| v.outstanding == 0 || last_acked(v.id) > last_acked(p))
    }
}

/// How much later than due a path's data may be: as the RTO has it (RFC 9260 section 6.3.1),
/// without its lower bound, since a wrong suspicion costs little. After a jump the variation
/// overstates what is to come.
fn grace(view: &PathView, trip: Duration) -> Duration {
    let longest = view.last_rtt.unwrap_or(trip).max(trip);
    (view.rttvar * 4).min(longest).max(trip / 4).max(JITTER)
}
