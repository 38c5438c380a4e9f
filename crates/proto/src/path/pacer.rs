//! Pacing: packets of a path leave one after the other, at the rate that the congestion control
//! names.

use crate::ids::PathId;
use crate::time::{Duration, Time};

/// Time whose packets may leave together: acknowledgements and timers come in steps, too.
const TOGETHER: Duration = Duration::from_millis(1);
/// Packets that may leave together beside the first, however slow the path, and however fast: a
/// short queue takes few at once.
const PACKETS: u32 = 2;
const MOST_PACKETS: u32 = 8;

/// What a timer that comes late is made up for: hosts keep a millisecond or two, and more under
/// load.
const LATE: Duration = Duration::from_millis(5);

/// A rate that asks for more between two packets is a window too small to pace.
const LONGEST: Duration = Duration::from_secs(1);

/// The departures of every path.
#[derive(Debug, Default)]
pub(crate) struct Pacers {
    paths: Vec<Pacer>,
}

impl Pacers {
    /// The departures of `path`.
    pub(crate) fn of(&mut self, path: PathId) -> Option<&mut Pacer> {
        if self.paths.len() <= path.index() {
            self.paths.resize(path.index() + 1, Pacer::new());
        }
        self.paths.get_mut(path.index())
    }

    /// Whether the time of `path` has not come.
    pub(crate) fn holds(&self, path: PathId, now: Time) -> bool {
        self.next(path) > now
    }

    /// When the next packet may leave on `path`.
    pub(crate) fn next(&self, path: PathId) -> Time {
        self.paths.get(path.index()).map_or(Time::ZERO, |pacer| pacer.next)
    }

    /// When a path that had to wait is to be asked again; `Time::MAX` when none waits.
    pub(crate) fn deadline(&self) -> Time {
        self.paths.iter().map(|p| p.wake).min().unwrap_or(Time::MAX)
    }

    /// Whether a path that had to wait may be asked again.
    pub(crate) fn expired(&mut self, now: Time) -> bool {
        let due = self.deadline() <= now;
        self.paths.iter_mut().filter(|p| p.wake <= now).for_each(|p| p.awake(now));
        due
    }
}

/// The departures of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// When the next packet may leave.
    next: Time,
    /// When the path is to be asked again.
    wake: Time,
    /// How late it was the last time: what could not leave meanwhile leaves together.
    late: Duration,
    /// When that was.
    woken: Time,
}

impl Pacer {
    const fn new() -> Self {
        Self { next: Time::ZERO, wake: Time::MAX, late: Duration::ZERO, woken: Time::ZERO }
    }

    /// The path is asked again, perhaps later than it wanted.
    fn awake(&mut self, now: Time) {
        self.late = now.since(self.wake).min(LATE);
        (self.wake, self.woken) = (Time::MAX, now);
    }

    /// What may be made up for at `now`: a path that had nothing to send when it was asked has lost
    /// nothing, and must not send a burst after a pause.
    fn lateness(&self, now: Time) -> Duration {
        if now.since(self.woken) < TOGETHER { self.late } else { Duration::ZERO }
    }

    /// Whether a packet may leave; if not, the path is asked again as soon as one may.
    pub(crate) fn admits(&mut self, now: Time) -> bool {
        let admits = self.next <= now;
        if !admits {
            self.wake = self.next;
        }
        admits
    }

    /// A packet of `bytes` left on a path of `rate` bytes per second. Time in which nothing was
    /// sent is saved up for a few packets only.
    pub(crate) fn sent(&mut self, now: Time, bytes: usize, rate: u64) {
        let spacing = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64).min(LONGEST);
        let together = TOGETHER.clamp(spacing * PACKETS, spacing * MOST_PACKETS);
        let saved = together.max(self.lateness(now));
        let behind = now.since(self.next);
        let from = if behind > saved { self.next + (behind - saved) } else { self.next };
        self.next = from + spacing;
        if self.next > now {
            self.late = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: usize = 1500;
    /// Bytes per second: one packet in 3 ms.
    const RATE: u64 = 500_000;

    fn at(ms: u64) -> Time {
        Time::from_secs(10) + Duration::from_millis(ms)
    }

    /// Packets that leave at `now` when there is no end of them.
    fn burst(pacer: &mut Pacer, now: Time, rate: u64) -> u32 {
        let mut packets = 0;
        while pacer.admits(now) {
            pacer.sent(now, PACKET, rate);
            packets += 1;
        }
        packets
    }

    #[test]
    fn three_packets_after_a_pause_then_one_at_a_time() {
        let mut pacer = Pacer::new();
        assert_eq!(burst(&mut pacer, at(0), RATE), 3);
        assert_eq!(pacer.wake, at(3));
        assert_eq!(burst(&mut pacer, at(2), RATE), 0);
        assert_eq!(burst(&mut pacer, at(3), RATE), 1);
        assert_eq!(burst(&mut pacer, at(9), RATE), 2, "a late timer makes up for it");
        assert_eq!(burst(&mut pacer, at(1000), RATE), 3, "a long pause does not");
    }

    #[test]
    fn a_millisecond_leaves_together_and_on_fast_paths_some_packets() {
        // 0.2 ms a packet, and 0.1.
        assert_eq!(burst(&mut Pacer::new(), at(0), 7_500_000), 6);
        assert_eq!(burst(&mut Pacer::new(), at(0), 15_000_000), 9);
    }

    #[test]
    fn late_timers_cost_no_rate_and_pauses_save_none() {
        // 0.1 ms a packet; each timer comes when three milliseconds have gone since the last one.
        let mut pacers = Pacers::default();
        let mut sent = 0;
        for step in 0..100 {
            let now = at(3 * step);
            assert_eq!(pacers.expired(now), step > 0);
            sent += burst(pacers.of(PathId(0)).unwrap(), now, 15_000_000);
        }
        assert!((2970..=3000).contains(&sent), "{sent}");
        // There was nothing to send when a late timer came.
        assert!(pacers.expired(at(310)));
        let pacer = pacers.of(PathId(0)).unwrap();
        assert_eq!(burst(pacer, at(600), 15_000_000), 9);
        // Nobody waited for a timer.
        let pacer = pacers.of(PathId(0)).unwrap();
        pacer.wake = Time::MAX;
        assert_eq!(burst(pacer, at(900), 15_000_000), 9);
    }

    #[test]
    fn a_path_holds_until_its_time_has_come() {
        let mut pacers = Pacers::default();
        assert!(!pacers.holds(PathId(0), at(0)), "nothing left there");
        burst(pacers.of(PathId(0)).unwrap(), at(0), RATE);
        assert!(pacers.holds(PathId(0), at(3) - Duration::from_nanos(1)));
        assert!(!pacers.holds(PathId(0), at(3)));
        assert!(!pacers.holds(PathId(1), at(0)), "another one");
    }

    #[test]
    fn over_time_the_rate_holds() {
        let mut pacer = Pacer::new();
        let sent: u32 = (0..3000).map(|ms| burst(&mut pacer, at(ms), RATE)).sum();
        assert!((1000..=1003).contains(&sent), "{sent}");
    }
}
