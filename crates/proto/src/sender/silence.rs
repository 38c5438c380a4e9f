//! Silent paths. The SACKs for one path's data tell of all paths' data. So a path is silent when a SACK acknowledges data of
//! another path that was due after this path's oldest chunk in flight, and nothing of this path was acknowledged for a while.
//! No timer is needed for that: the SACKs of the living paths are the clock. Nor does it matter which way they come
//! back, or how late: due times are compared with due times.

use super::Sender;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::{Duration, Time};
use crate::view::PathView;

/// Jitter that no path is blamed for.
const JITTER: Duration = Duration::from_millis(10);

impl Sender {
    /// Whether `p` is silent, after a SACK that acknowledged something.
    pub(crate) fn is_silent(&mut self, now: Time, p: PathId, paths: &PathSet) -> bool {
        if self.scratch.paths.get(p.index()).is_none_or(|o| o.acked) {
            return false;
        }
        let Some(told) = self.told_of(p, paths) else { return false };
        let Some((list, view)) = self.paths.get_mut(p.index()).zip(paths.view(p)) else {
            return false;
        };
        let Some(trip) = view.srtt else { return false };
        let Some((_, sent)) = list.earliest_sent(&self.ring, p) else { return false };
        sent + trip + grace(view, trip) <= told && now >= list.heard + (trip / 4).max(JITTER)
    }

    /// When the latest data of other paths that this SACK acknowledged was due.
    fn told_of(&self, p: PathId, paths: &PathSet) -> Option<Time> {
        let others = paths.ids().filter(|&q| q != p);
        let due = |q: PathId| {
            let (sent, _) = self.scratch.paths.get(q.index())?.newest_delivered?;
            Some(sent + self.shortest_trip(q, paths))
        };
        others.filter_map(due).max()
    }

    /// Whether the oldest chunk in flight on `p` was sent two round trips of the slowest path ago: whichever path
    /// its SACK takes, it is overdue. But not where data of all paths is: then it is SACKs that are missing.
    pub(crate) fn is_overdue(&mut self, now: Time, p: PathId, paths: &PathSet) -> bool {
        let heard = |q: PathId| self.paths.get(q.index()).map(|l| l.heard);
        let others = paths.views.iter().filter(|v| v.usable && v.id != p);
        let mut sound = others.filter(|v| v.outstanding == 0 || heard(v.id) > heard(p));
        if sound.next().is_none() {
            return false;
        }
        let usable = paths.views.iter().filter(|v| v.usable);
        let slowest = usable.filter_map(|v| v.srtt).max().unwrap_or_default();
        let list = self.paths.get_mut(p.index());
        let earliest = list.and_then(|l| l.earliest_sent(&self.ring, p));
        earliest.is_some_and(|(_, sent)| now >= sent + (2 * slowest).max(JITTER))
    }
}

/// How much later than due a path's data may be: as the RTO has it (RFC 9260 section 6.3.1), without its lower bound, since a
/// wrong suspicion costs little. After a jump the variation overstates what is to come.
fn grace(view: &PathView, trip: Duration) -> Duration {
    let longest = view.last_rtt.unwrap_or(trip).max(trip);
    (view.rttvar * 4).min(longest).max(trip / 4).max(JITTER)
}
