//! The round trip that the path's volume is computed with: `trip=mean`. Not in the draft.
//!
//! Where round trips scatter, as on radio, a path holds its rate times the *mean* round trip of an
//! empty path. The draft takes the smallest one, and twice of that may be a small part of what it
//! takes to keep the path busy. The mean of a round has the scatter in it, and a queue where there
//! is one; the smallest mean of some seconds has seen the path without a queue, in ProbeRTT at the
//! latest. Where round trips do not scatter it is the smallest one.

use polypath_proto::time::{Duration, Time};

/// Rounds of the last so many seconds are remembered, and of as many before; as
/// BBR.MinRTTFilterLen.
const MEMORY: Duration = Duration::from_secs(10);
/// Round trips that a round needs to have a mean.
const LEAST_SAMPLES: u32 = 4;

/// The smallest mean round trip of the rounds of some seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MeanTrip {
    /// The sum of the round under way, and how many.
    sum: Duration,
    samples: u32,
    /// The smallest mean since `began`, and of the time before.
    current: Option<Duration>,
    before: Option<Duration>,
    began: Time,
}

impl MeanTrip {
    /// A round trip; `round_started`: it is the first of another round.
    pub(super) fn update(&mut self, now: Time, rtt: Duration, round_started: bool) {
        if round_started && self.samples >= LEAST_SAMPLES {
            let mean = self.sum / self.samples;
            if now > self.began + MEMORY {
                (self.before, self.current, self.began) = (self.current, None, now);
            }
            self.current = Some(self.current.map_or(mean, |least| least.min(mean)));
            (self.sum, self.samples) = (Duration::ZERO, 0);
        }
        self.sum += rtt;
        self.samples += 1;
    }

    /// The smallest mean; `None` before a round had enough round trips.
    pub(super) fn least(&self) -> Option<Duration> {
        self.current.into_iter().chain(self.before).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of ten round trips of these, in turn, one round in 100 ms.
    fn rounds(trip: &mut MeanTrip, from: u64, n: u64, ms: [u64; 2]) {
        for i in 0..10 * n {
            let rtt = Duration::from_millis(if i % 2 == 0 { ms[0] } else { ms[1] });
            trip.update(Time::from_millis(from + 10 * i), rtt, i % 10 == 0);
        }
    }

    #[test]
    fn it_has_the_scatter_in_it_and_no_queue() {
        let mut trip = MeanTrip::default();
        rounds(&mut trip, 1000, 5, [30, 70]);
        rounds(&mut trip, 1500, 2, [10, 50]);
        rounds(&mut trip, 1700, 20, [60, 100]);
        assert_eq!(trip.least(), Some(Duration::from_millis(30)));
    }

    #[test]
    fn a_longer_way_is_believed_after_some_seconds() {
        let mut trip = MeanTrip::default();
        rounds(&mut trip, 1000, 5, [20, 20]);
        rounds(&mut trip, 1500, 250, [50, 50]);
        assert_eq!(trip.least(), Some(Duration::from_millis(50)));
    }

    /// A round ends: three round trips beside its first one, and the first of the next.
    fn round(trip: &mut MeanTrip, end: u64, ms: u64) {
        let rtt = Duration::from_millis(ms);
        (0..3).for_each(|_| trip.update(Time::from_millis(end), rtt, false));
        trip.update(Time::from_millis(end), rtt, true);
    }

    #[test]
    fn a_round_has_a_mean_with_four_round_trips() {
        let mut trip = MeanTrip::default();
        let rtt = Duration::from_millis(20);
        (0..3).for_each(|_| trip.update(Time::from_millis(1000), rtt, false));
        trip.update(Time::from_millis(1000), rtt, true);
        assert_eq!(trip.least(), None, "three, and the first of the next round");
        trip.update(Time::from_millis(1000), rtt, true);
        assert_eq!(trip.least(), Some(rtt), "the few were counted on");
    }

    #[test]
    fn the_smallest_mean_of_two_times_ten_seconds_counts() {
        let mut trip = MeanTrip::default();
        let least = |trip: &MeanTrip| trip.least().map(|rtt| rtt.as_millis());
        trip.update(Time::from_millis(20_000), Duration::from_millis(20), false);
        round(&mut trip, 20_000, 20);
        round(&mut trip, 30_000, 10);
        // That was the last moment of the first ten seconds.
        round(&mut trip, 30_001, 40);
        assert_eq!(least(&trip), Some(12));
        round(&mut trip, 40_001, 40);
        assert_eq!(least(&trip), Some(12));
        round(&mut trip, 40_002, 40);
        assert_eq!(least(&trip), Some(32));
    }
}
