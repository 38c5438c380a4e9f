//! Round trips of one path, round by round.

use polypath_proto::policy::AckedInfo;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

/// A round ends with the first acknowledgement that comes a smoothed round trip after its
/// beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    began: Time,
    smallest: Option<Duration>,
}

impl Rounds {
    /// A SACK acknowledged data of the path. Gives the smallest round trip of the round that it
    /// ends, if one was measured.
    pub(crate) fn on_acked(
        &mut self,
        now: Time,
        path: &PathView,
        ev: &AckedInfo,
    ) -> Option<Duration> {
        self.smallest = match (self.smallest, ev.rtt) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if now.since(self.began) < path.srtt.unwrap_or(path.rto) {
            return None;
        }
        let smallest = self.smallest.take()?;
        self.began = now;
        Some(smallest)
    }
}
