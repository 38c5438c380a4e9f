//! Acknowledgements that come in bunches ("BBR.extra_acked" of the draft): links that hand on
//! several packets at once, hosts that do, and receivers that answer many packets by one SACK.

use polypath_proto::time::Time;

use super::windowed_max::WindowedMax;

/// ExtraAckedFilterLen, rounds; in Startup one is remembered.
const ROUNDS: u64 = 10;

/// How much more is acknowledged at times than the rate explains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// BBR.extra_acked_interval_start.
    began: Time,
    /// BBR.extra_acked_delivered, bytes.
    acked: f64,
    most: WindowedMax,
}

impl Aggregation {
    pub(super) fn new(now: Time) -> Self {
        Self { began: now, ..Self::default() }
    }

    /// BBR.extra_acked: bytes that are in flight beside what the path holds.
    pub(super) const fn extra(&self) -> f64 {
        self.most.get()
    }

    /// The path rests: the time until it is used again explains nothing.
    pub(super) const fn restart(&mut self, now: Time) {
        self.began = now;
    }

    /// `UpdateACKAggregation`: `acked` bytes on a path of `rate` bytes per second.
    pub(super) fn update(&mut self, now: Time, acked: u64, rate: f64, cwnd: u64, when: Round) {
        let mut expected = rate * now.since(self.began).as_secs_f64();
        if self.acked <= expected {
            (self.acked, self.began, expected) = (0.0, now, 0.0);
        }
        self.acked += acked as f64;
        let extra = (self.acked - expected).min(cwnd as f64);
        let window = if when.was_full { ROUNDS } else { 1 };
        self.most.update(when.count, extra, window);
    }
}

/// In which round an acknowledgement comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) count: u64,
    /// The pipe was full once: Startup is over.
    pub(super) was_full: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER_STARTUP: Round = Round { count: 1, was_full: true };

    fn at(ms: u64) -> Time {
        Time::from_millis(1000 + ms)
    }

    #[test]
    fn bunches_are_what_the_rate_does_not_explain() {
        // 1000 bytes a millisecond, handed on ten milliseconds at a time.
        let mut aggregation = Aggregation::new(at(0));
        for n in 1..20 {
            for _ in 0..10 {
                aggregation.update(at(10 * n), 1000, 1e6, 1 << 20, AFTER_STARTUP);
            }
        }
        assert!((9000.0..=10_000.0).contains(&aggregation.extra()), "{}", aggregation.extra());
    }

    #[test]
    fn what_the_rate_explains_is_no_part_of_a_bunch() {
        let mut aggregation = Aggregation::new(at(0));
        aggregation.update(at(10), 30_000, 1e6, 1 << 20, AFTER_STARTUP);
        assert_eq!(aggregation.extra(), 30_000.0);
        aggregation.update(at(20), 15_000, 1e6, 1 << 20, AFTER_STARTUP);
        assert_eq!(aggregation.extra(), 35_000.0);
        // 55 000 bytes of 60 000 that the rate explains: the bunch is over.
        aggregation.update(at(70), 10_000, 1e6, 1 << 20, AFTER_STARTUP);
        aggregation.update(at(70), 26_000, 1e6, 1 << 20, AFTER_STARTUP);
        assert_eq!(aggregation.extra(), 36_000.0);
    }

    #[test]
    fn steady_acknowledgements_are_none() {
        let mut aggregation = Aggregation::new(at(0));
        for n in 1..200 {
            aggregation.update(at(n), 1000, 1e6, 1 << 20, AFTER_STARTUP);
        }
        assert!(aggregation.extra() <= 1000.0, "{}", aggregation.extra());
    }

    #[test]
    fn it_is_forgotten_after_ten_rounds_and_never_above_the_window() {
        let mut aggregation = Aggregation::new(at(0));
        let round = |count| Round { count, was_full: true };
        aggregation.update(at(1), 50_000, 1e6, 20_000, round(1));
        assert_eq!(aggregation.extra(), 20_000.0);
        for n in 2..14 {
            aggregation.update(at(100 * n), 1000, 1e6, 20_000, round(n));
        }
        assert_eq!(aggregation.extra(), 1000.0);
    }
}
