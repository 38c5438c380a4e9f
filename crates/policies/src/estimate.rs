//! What a path can carry and how long it holds a byte, from its acknowledgements alone.

use polypath_proto::policy::AckedInfo;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

/// Rounds that the greatest delivery rate is remembered for.
const RATE_ROUNDS: usize = 6;
/// Time that the smallest round trip is remembered for, at least; twice of it at most.
const RTT_MEMORY: Duration = Duration::from_secs(10);
/// A round that had this many times the bytes in flight that the path holds without a queue saw a queue.
const QUEUE: f64 = 1.08;

/// A rate that grows by this without a queue shows that the path is not full yet.
const GROWTH: f64 = 1.15;

/// Delivery rate and smallest round trip of one path.
///
/// A round begins with an acknowledgement and ends with the first one that comes a round trip later; its delivery rate is
/// what was acknowledged meanwhile. The greatest of the last rounds counts, as in BBR (Cardwell et al. 2016): single rounds
/// read too low when acknowledgements bunch. A rate is what the path *can* carry only if more was in flight all the time
/// than the path holds, so that a queue stood; else it is what was asked of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathEstimate {
    round: Option<Round>,
    /// Bytes per second.
    rates: [f64; RATE_ROUNDS],
    next_rate: usize,
    full: bool,
    min_rtt: WindowedMin,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    began: Time,
    /// Bytes acknowledged since.
    delivered: u64,
    /// The least that was outstanding before any of its acknowledgements.
    least_outstanding: u64,
}

impl Round {
    const fn from(began: Time) -> Self {
        Self { began, delivered: 0, least_outstanding: u64::MAX }
    }
}

impl PathEstimate {
    /// A SACK acknowledged data of the path. Gives whether a round ended.
    pub fn acked(&mut self, now: Time, path: &PathView, ev: &AckedInfo) -> bool {
        if let Some(rtt) = ev.rtt {
            self.min_rtt.sample(now, rtt);
        }
        let Some(round) = &mut self.round else {
            self.round = (ev.outstanding > 0).then_some(Round::from(now));
            return false;
        };
        round.delivered += ev.bytes;
        round.least_outstanding = round.least_outstanding.min(ev.outstanding_before);
        let elapsed = now.since(round.began);
        let ended = elapsed >= path.srtt.unwrap_or(path.rto) && elapsed > Duration::ZERO;
        if ended {
            let (delivered, least) = (round.delivered, round.least_outstanding);
            self.round_ended(delivered as f64 / elapsed.as_secs_f64(), least, path);
        }
        if ended || ev.outstanding == 0 {
            // An idle path says nothing: the next round begins with the next acknowledgement.
            self.round = (ev.outstanding > 0).then_some(Round::from(now));
        }
        ended
    }

    fn round_ended(&mut self, rate: f64, least_outstanding: u64, path: &PathView) {
        let held = rate * self.min_rtt(path).unwrap_or_default().as_secs_f64();
        let queue = least_outstanding as f64 > QUEUE * held + 2.0 * f64::from(path.mtu);
        let known = self.rate();
        if queue || rate > known {
            if let Some(slot) = self.rates.get_mut(self.next_rate) {
                *slot = rate;
            }
            self.next_rate = (self.next_rate + 1) % RATE_ROUNDS;
            // A little more than before is noise; much more without a queue means that there is more to have.
            self.full = queue || self.full && rate < GROWTH * known;
        }
    }

    /// The delivery rate, bytes of DATA chunks per second; zero before the first round.
    pub fn rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// Whether [`rate`](Self::rate) is what the path can carry, not only what was asked of it.
    pub const fn is_full(&self) -> bool {
        self.full
    }

    /// The smallest round trip of data in the last 10 to 20 s of use.
    pub fn data_rtt(&self, now: Time) -> Option<Duration> {
        self.min_rtt.recent(now)
    }

    /// The same, or what the path's own record says before the first sample.
    pub fn min_rtt(&self, path: &PathView) -> Option<Duration> {
        self.min_rtt.get().or(path.min_rtt)
    }

    /// Bandwidth-delay product in bytes; zero while the path is not measured.
    pub fn bdp(&self, path: &PathView) -> f64 {
        self.rate() * self.min_rtt(path).unwrap_or_default().as_secs_f64()
    }
}

/// The smallest sample of a sliding window, in two halves.
#[derive(Clone, Copy, Debug, Default)]
struct WindowedMin {
    current: Option<Duration>,
    previous: Option<Duration>,
    began: Time,
    latest: Time,
}

impl WindowedMin {
    fn sample(&mut self, now: Time, value: Duration) {
        self.latest = now;
        if now.since(self.began) > RTT_MEMORY {
            self.previous = self.current.take();
            self.began = now;
        }
        self.current = Some(self.current.map_or(value, |c| c.min(value)));
    }

    fn recent(&self, now: Time) -> Option<Duration> {
        self.get().filter(|_| now.since(self.latest) < RTT_MEMORY)
    }

    fn get(&self) -> Option<Duration> {
        match (self.current, self.previous) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use polypath_proto::PathId;

    /// Feeds a path of `rate` bytes/s and `rtt` with `outstanding` bytes in flight all the time, one SACK a packet, for
    /// `rounds` round trips from `start` on.
    pub(crate) fn feed(
        estimate: &mut PathEstimate,
        start: Time,
        rate: f64,
        rtt: Duration,
        outstanding: u64,
        rounds: u32,
    ) -> Time {
        let mut path = PathView::new(PathId(0), 1500, 1468, Duration::from_secs(1));
        path.srtt = Some(rtt);
        let gap = Duration::from_secs_f64(1468.0 / rate);
        let mut now = start;
        while now < start + rtt * rounds {
            now += gap;
            let ev = AckedInfo {
                path: PathId(0),
                bytes: 1468,
                outstanding_before: outstanding,
                outstanding: outstanding - 1468,
                may_grow: true,
                rtt: Some(rtt),
            };
            estimate.acked(now, &path, &ev);
        }
        now
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 0.08
    }

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn without_a_queue_a_rate_is_what_was_asked() {
        // 1 MB/s for 100 ms: the path holds 100 kB; with as much in flight there is no queue.
        let mut e = PathEstimate::default();
        feed(&mut e, Time::ZERO, 1e6, RTT, 100_000, 3);
        assert!(close(e.rate(), 1e6) && !e.is_full(), "{}", e.rate());
    }

    #[test]
    fn with_a_queue_it_is_what_the_path_carries() {
        let mut e = PathEstimate::default();
        let now = feed(&mut e, Time::ZERO, 1e6, RTT, 130_000, 3);
        assert!(close(e.rate(), 1e6) && e.is_full());
        // A path that became slower: the queue tells, and six rounds later nothing else is remembered.
        let now = feed(&mut e, now, 0.5e6, RTT, 130_000, 8);
        assert!(close(e.rate(), 0.5e6) && e.is_full(), "{}", e.rate());
        // Faster without a queue: not full any more.
        feed(&mut e, now, 2e6, RTT, 200_000, 3);
        assert!(close(e.rate(), 2e6) && !e.is_full(), "{}", e.rate());
    }

    #[test]
    fn round_trips_are_forgotten() {
        let mut e = PathEstimate::default();
        let now = feed(&mut e, Time::ZERO, 1e6, RTT, 130_000, 2);
        let slow = RTT * 2;
        let now = feed(&mut e, now, 1e6, slow, 230_000, 20);
        assert_eq!(e.data_rtt(now), Some(RTT), "4 s later the smaller one still counts");
        let now = feed(&mut e, now, 1e6, slow, 230_000, 100);
        assert_eq!(e.data_rtt(now), Some(slow));
        assert_eq!(e.data_rtt(now + Duration::from_secs(11)), None, "an idle path tells nothing");
    }
}
