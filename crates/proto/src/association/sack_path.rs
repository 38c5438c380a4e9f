//! The path that a SACK takes (RFC 9260 section 6.4, and what CMT makes of it).

use crate::config::SackPath;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::receiver::Receiver;
use crate::time::{Duration, Time};
use crate::view::{PathState, PathView};

/// A path without DATA for so long, or for a round trip, may be dead.
const LIVING: Duration = Duration::from_millis(50);

/// A path is in doubt when no DATA came along it for so long, or for an eighth of its round trip.
const DOUBT: Duration = Duration::from_millis(10);

/// Copies of SACKs in a round trip of the path that the SACKs take.
const COPIES_PER_TRIP: u32 = 8;

/// All SACKs go to a path that brought this part of the latest DATA at least: a SACK for every
/// second packet takes a fiftieth of what the packets took, and more with gap ack blocks. One that
/// is nearer but carries less may choke on them; it gets copies.
const SACK_SHARE: u16 = 32;

/// The round trip of a path that is still nearly as fast.
fn nearly_as_fast(srtt: Duration) -> Duration {
    srtt * 5 / 4
}

/// What the choice of a SACK's path looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct SackPathChoice<'a> {
    pub(super) rule: SackPath,
    pub(super) paths: &'a PathSet,
    pub(super) rx: &'a Receiver,
}

impl SackPathChoice<'_> {
    /// The path by the configured rule, confirmed paths only.
    pub(super) fn choose(self, now: Time) -> PathId {
        let confirmed = |p: PathId| self.paths.is_confirmed(p);
        let last = self.rx.last_data_path();
        let choice = match self.rule {
            SackPath::LastData => Some(last),
            SackPath::FirstData => Some(self.rx.first_data_path()),
            // Duplicates say that SACKs do not arrive there; an end that only receives may never
            // hear of it otherwise.
            SackPath::Primary if self.rx.misses_sacks() => Some(last),
            // Nor may one where nothing is answered (RFC 9260 section 8.2).
            SackPath::Primary => Some(self.paths.primary).filter(|p| !self.is_inactive(*p)),
            SackPath::RoundRobin => Some(self.rx.round_robin_path()),
            SackPath::SmallestSrtt => self.fastest_living_path(now),
        };
        choice
            .filter(|p| confirmed(*p))
            .or_else(|| Some(last).filter(|p| confirmed(*p)))
            .unwrap_or_else(|| self.paths.preferred())
    }

    fn is_inactive(self, p: PathId) -> bool {
        self.paths.view(p).is_some_and(|view| view.state == PathState::Inactive)
    }

    /// The path for a second copy of a SACK that goes out on `path`: a faster one, left aside
    /// because no DATA comes on it. It may be dead, or the sender may only have nothing for it;
    /// heartbeats will tell. Until then neither is waited for.
    /// Where SACKs queue on it, copies keep an eighth of the round trip of `path` apart: that is soon
    /// enough, and a path that chokes on them tells nothing.
    pub(super) fn choose_for_copy(self, now: Time, path: PathId) -> Option<PathId> {
        if self.rule != SackPath::SmallestSrtt {
            return None;
        }
        let measured = |v: &&PathView| v.usable && v.srtt.is_some();
        let fastest = self.paths.views.iter().filter(measured).min_by_key(|v| v.srtt)?;
        // A gain of less than a quarter of the round trip does not justify a second packet.
        let sooner = |srtt| fastest.srtt.is_some_and(|fastest| fastest + fastest / 4 < srtt);
        let slower = self.paths.view(path)?.srtt.is_none_or(sooner);
        let distance = latest_trip(self.paths.view(path)?).unwrap_or_default() / COPIES_PER_TRIP;
        let due = self.rx.copy_is_due(fastest.id, now, distance);
        (fastest.id != path && slower && due).then_some(fastest.id)
    }

    /// The smallest and the greatest of the latest round trips of the paths that DATA keeps coming
    /// on; `None` while none was measured.
    pub(super) fn latest_trips(self, now: Time) -> Option<(Duration, Duration)> {
        let measured = self.paths.views.iter().filter(|v| v.usable && v.srtt.is_some());
        let living = measured
            .filter(|v| self.rx.heard_within(v.id, now, v.srtt.unwrap_or_default().max(LIVING)));
        let trips = living.filter_map(latest_trip);
        trips.fold(None, |range, trip| {
            let (least, most) = range.unwrap_or((trip, trip));
            Some((least.min(trip), most.max(trip)))
        })
    }

    /// The path of the smallest SRTT among those that DATA keeps coming on: an end that only
    /// receives has no other way to notice that a path died; while it is in doubt, another one that
    /// is nearly as fast. Duplicates say that SACKs do not arrive: then none (RFC 9260 section
    /// 6.4).
    fn fastest_living_path(self, now: Time) -> Option<PathId> {
        if self.rx.misses_sacks() {
            return None;
        }
        let heard = |v: &PathView, age: fn(Duration) -> Duration| {
            v.srtt.is_some_and(|srtt| self.rx.heard_within(v.id, now, age(srtt)))
        };
        let usable = self.paths.views.iter().filter(|v| v.usable);
        let carries = |v: &&PathView| self.rx.brought(v.id, SACK_SHARE);
        let living = usable.filter(|v| heard(v, |srtt| srtt.max(LIVING))).filter(carries);
        let fastest = living.clone().min_by_key(|v| latest_trip(v))?;
        let sure = living.filter(|v| heard(v, |srtt| (srtt / 8).max(DOUBT)));
        let stand_in = sure
            .min_by_key(|v| latest_trip(v))
            .filter(|v| latest_trip(v) <= latest_trip(fastest).map(nearly_as_fast));
        Some(stand_in.unwrap_or(fastest).id)
    }
}

/// An end that only receives measures by heartbeats alone: too few samples for an average to
/// follow.
fn latest_trip(v: &PathView) -> Option<Duration> {
    v.last_rtt.or(v.srtt)
}
