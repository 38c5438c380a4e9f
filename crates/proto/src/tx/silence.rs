//! Silent paths. The SACKs for one path's data tell of all paths' data. So a path is silent when its oldest chunk in flight
//! should have been acknowledged by now, nothing of it was for a while, and a SACK just acknowledged data of another
//! path. No timer is needed for that: the SACKs of the living paths are the clock.

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
        let others = self.scratch.paths.iter().enumerate();
        let told = others.clone().any(|(i, o)| i != p.index() && o.acked);
        if !told || self.scratch.paths.get(p.index()).is_none_or(|o| o.acked) {
            return false;
        }
        let Some((list, view)) = self.paths.get_mut(p.index()).zip(paths.view(p)) else {
            return false;
        };
        let Some(trip) = view.srtt.zip(view.last_rtt).map(|(srtt, last)| srtt.max(last)) else {
            return false;
        };
        let Some((_, sent)) = list.earliest_sent(&self.ring, p) else { return false };
        now >= sent + trip + grace(view, trip) && now >= list.heard + (trip / 4).max(JITTER)
    }
}

/// How much later than its round trip an acknowledgement may come: as the RTO has it (RFC 9260 section 6.3.1), without its
/// lower bound, since a wrong suspicion costs little.
fn grace(view: &PathView, trip: Duration) -> Duration {
    (view.rttvar * 4).max(trip / 4).max(JITTER)
}
