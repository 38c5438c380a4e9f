//! What has to be in flight beyond the bandwidth-delay product, found by trying.
//!
//! Rate times smallest round trip keeps a path busy if acknowledgements come back evenly and as soon
//! as the soonest did. They bunch, wait for each other, or take a longer way; then a sender that
//! keeps to that product leaves the path idle now and then, measures the lower rate that follows, and
//! has reason to keep to it. What tells is the queue: rounds without one, although all was in flight
//! that may be, ask for more, and a queue for less (Brakmo and Peterson 1995, Vegas). The smallest
//! round trip of a round is taken for it, which neither jitter nor bunches lengthen.

use polypath_proto::policy::AckedInfo;
use polypath_proto::time::Time;
use polypath_proto::view::PathView;

use crate::path_model::competitor::Known;
use crate::path_model::rounds::Rounds;

/// A queue of less than this part of the slack is none.
const NONE: f64 = 0.5;
/// One that is longer than the slack by so many packets, and this part of the smallest round trip,
/// is ours.
const LONGER: (f64, f64) = (0.5, 0.02);
/// A round without a queue asks for this part of the bandwidth-delay product, and two packets at
/// least.
const STEP: f64 = 1.0 / 16.0;

/// Of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Headroom {
    rounds: Rounds,
    /// All was in flight that might be, in this round.
    limited: bool,
    bytes: f64,
}

impl Headroom {
    /// Bytes beyond the bandwidth-delay product and the slack.
    #[inline]
    pub(crate) const fn bytes(&self) -> f64 {
        self.bytes
    }

    /// A SACK acknowledged data of the path, of which so much is known, while `cap` bytes might be in
    /// flight.
    pub(crate) fn on_acked(
        &mut self,
        now: Time,
        path: &PathView,
        ev: &AckedInfo,
        known: &Known,
        cap: u64,
    ) {
        self.limited |= ev.outstanding_before + u64::from(path.mtu) > cap;
        let Some(trip) = self.rounds.on_acked(now, path, ev) else { return };
        let limited = std::mem::take(&mut self.limited);
        let base = known.base.as_secs_f64();
        let queue = (trip.as_secs_f64() - base).max(0.0);
        let slack = known.packets(path, known.slack);
        if queue <= NONE * slack {
            if limited {
                let held = known.rate * base;
                let step = (STEP * held).max(2.0 * f64::from(path.mtu));
                self.bytes = (self.bytes + step).min(held);
            }
        } else if queue > slack + LONGER.0 * known.packets(path, 1) + LONGER.1 * base {
            self.bytes = (self.bytes - (queue - slack) * known.rate).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{acked, measured};
    use polypath_proto::PathId;
    use polypath_proto::time::Duration;

    /// 1 MB/s and 50 ms hold 50 kB; a packet takes 1.5 ms.
    const KNOWN: Known = Known { base: Duration::from_millis(50), rate: 1e6, slack: 2 };
    const CAP: u64 = 53_000;

    /// Bytes beyond after rounds of these round trips (tenths of ms) with so much in flight.
    fn after(trips: &[u64], flight: u64) -> f64 {
        let (mut headroom, mut now) = (Headroom::default(), Time::from_secs(1));
        for tenths in trips {
            let trip = Duration::from_micros(100 * tenths);
            let path = measured(&[(1 << 20, tenths / 10)]).remove(0);
            now += trip;
            let ev = AckedInfo { rtt: Some(trip), ..acked(PathId(0), 3_000, flight) };
            headroom.on_acked(now, &path, &ev, &KNOWN, CAP);
        }
        headroom.bytes()
    }

    #[test]
    fn rounds_without_a_queue_ask_for_more() {
        assert_eq!(after(&[500, 510, 500], CAP), 3.0 * 50_000.0 / 16.0);
        assert_eq!(after(&[500; 40], CAP), 50_000.0, "as much again at most");
        assert_eq!(after(&[500, 500, 500], CAP - 1_500), 0.0, "there was room");
    }

    #[test]
    fn a_queue_takes_it_back_and_the_slack_is_none() {
        // 3 ms are two packets.
        assert_eq!(after(&[500, 500, 530, 540], CAP), 6_250.0);
        assert_eq!(after(&[500, 500, 580], CAP), 6_250.0 - 5_000.0);
        assert_eq!(after(&[500, 700], CAP), 0.0);
    }
}
