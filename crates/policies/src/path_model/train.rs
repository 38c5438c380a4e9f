//! What a link carries, told by packets that queue behind each other.
//!
//! While packets of a train take longer and longer they wait for each other: the link was busy with
//! them, and its rate is what was acknowledged over the time between their acknowledgements. That
//! takes a dozen packets, where a round takes a round trip, and depends neither on how much is in
//! flight nor on how long the way is. (Self-induced congestion, as in pathload, Jain and Dovrolis
//! 2002; the spacing of acknowledgements itself is that of packet trains, Keshav 1991.)
//!
//! A way that became longer makes round trips grow, too, but all at once: the greatest step of a
//! train is left out, with its time and its bytes.

use polypath_proto::time::{Duration, Time};

/// Packets of a train, at least.
const PACKETS: u64 = 12;
/// How long one lasts, at least: hosts hand packets over in batches, and processes wait for their
/// turn.
const LASTS: Duration = Duration::from_millis(4);
/// Round trips grow by this part of the train's time, at least.
const SLOPE: f64 = 0.2;

/// A link that was busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Busy {
    /// Bytes per second that it carried.
    pub(crate) rate: f64,
    /// It was so all the time: no round trip was much shorter than the one before, as after a
    /// pause. Else it may carry more.
    pub(crate) throughout: bool,
}

/// Acknowledgements of packets that follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Train {
    first: Option<Trip>,
    last: Option<Trip>,
    /// Bytes acknowledged after the first.
    bytes: u64,
    /// Bytes since the last one that told a round trip.
    since: u64,
    /// The sum of all steps by which round trips became shorter, ns.
    falls: u64,
    /// The greatest one by which they became longer.
    step: Step,
}

/// When an acknowledgement came, and the round trip that it told, ns.
#[derive(Clone, Copy, Debug)]
struct Trip {
    at: u64,
    rtt: u64,
}

/// From one acknowledgement to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// By how much the round trip grew, and how long it took, ns.
    growth: u64,
    time: u64,
    bytes: u64,
}

impl Train {
    /// So many bytes were acknowledged. At the end of a train that shows it, what the link carries.
    #[inline]
    pub(crate) fn on_acked(
        &mut self,
        now: Time,
        rtt: Option<Duration>,
        bytes: u64,
        mtu: u32,
    ) -> Option<Busy> {
        self.bytes += bytes;
        self.since += bytes;
        let trip = Trip { at: now.0, rtt: rtt?.as_nanos() as u64 };
        let (Some(first), Some(last)) = (self.first, self.last.replace(trip)) else {
            self.begin(trip);
            return None;
        };
        self.falls += last.rtt.saturating_sub(trip.rtt);
        let growth = trip.rtt.saturating_sub(last.rtt);
        if growth > self.step.growth {
            let time = trip.at.saturating_sub(last.at);
            self.step = Step { growth, time, bytes: self.since };
        }
        self.since = 0;
        let lasted = trip.at.saturating_sub(first.at);
        if self.bytes < PACKETS * u64::from(mtu) || lasted < LASTS.as_nanos() as u64 {
            return None;
        }
        let busy = self.busy(first, trip);
        self.begin(trip);
        busy
    }

    fn begin(&mut self, trip: Trip) {
        *self = Self { first: Some(trip), last: Some(trip), ..Self::default() };
    }

    fn busy(&self, first: Trip, last: Trip) -> Option<Busy> {
        let growth = last.rtt.saturating_sub(first.rtt + self.step.growth);
        let time = last.at.saturating_sub(first.at + self.step.time);
        let bytes = self.bytes.saturating_sub(self.step.bytes);
        let shown = time > 0 && growth as f64 > SLOPE * time as f64;
        shown.then(|| Busy {
            rate: bytes as f64 * 1e9 / time as f64,
            throughout: 4 * self.falls <= growth,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u32 = 1500;
    /// 1 MB/s: one packet every 1.5 ms.
    const PACKET: u64 = 1_500_000;

    /// What acknowledgements tell that come so many nanoseconds after each other, each with a round
    /// trip longer by so many than the one before.
    fn told(steps: impl IntoIterator<Item = (u64, i64)>) -> Vec<Busy> {
        let (mut train, mut now, mut rtt) = (Train::default(), Time::from_secs(1), 50_000_000_i64);
        let mut note = |(gap, growth): (u64, i64)| {
            now = Time(now.0 + gap);
            rtt += growth;
            train.on_acked(now, Some(Duration::from_nanos(rtt as u64)), 1500, MTU)
        };
        steps.into_iter().filter_map(&mut note).collect()
    }

    fn close(busy: &[Busy], rate: f64) -> bool {
        matches!(busy, [one] if (one.rate / rate - 1.0).abs() < 0.01 && one.throughout)
    }

    #[test]
    fn a_queue_that_grows_tells_the_rate() {
        // Sent every 1 ms, acknowledged every 1.5 ms.
        let busy = told([(PACKET, 500_000); 13]);
        assert!(close(&busy, 1e6), "{busy:?}");
        // Sent at once.
        assert!(close(&told([(PACKET, PACKET as i64); 13]), 1e6));
    }

    #[test]
    fn without_a_queue_that_grows_nothing_is_told() {
        assert_eq!(told([(PACKET, 0); 100]), []);
        // One that drains.
        assert_eq!(told([(PACKET, -400_000); 50]), []);
    }

    #[test]
    fn a_way_that_became_longer_is_no_queue() {
        let steps = |longer: i64| {
            (0..13)
                .map(move |n| if n == 6 { (PACKET + longer as u64, longer) } else { (PACKET, 0) })
        };
        assert_eq!(told(steps(40_000_000)), []);
        // Longer and slower: the rate is known even so.
        let both = steps(40_000_000).map(|(gap, growth)| (gap + PACKET, growth + PACKET as i64));
        let busy = told(both);
        assert!(close(&busy, 0.5e6), "{busy:?}");
    }

    #[test]
    fn a_pause_within_a_train_makes_it_a_lower_bound() {
        // A burst of 8, silence, another burst.
        let steps = (0..13).map(|n| {
            if n == 5 { (8 * PACKET, -3 * PACKET as i64) } else { (PACKET, PACKET as i64) }
        });
        let busy = told(steps);
        assert!(matches!(busy[..], [one] if one.rate < 0.7e6 && !one.throughout), "{busy:?}");
    }

    #[test]
    fn a_train_lasts_longer_than_a_host_takes() {
        // 15 Mbit/ms: 12 packets are over in 0.1 ms.
        assert_eq!(told([(10_000, 10_000); 100]), []);
        assert!(!told([(10_000, 10_000); 500]).is_empty());
    }
}
