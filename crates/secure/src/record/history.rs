//! When which number was the highest, so that it can be told which number to expect of a path that
//! delivers later than others.

use std::collections::VecDeque;

use polypath_proto::time::{Duration, Time};

use super::window::MAX_BITS;

/// A sample is taken each time that the highest number has grown by this. So between two samples
/// the number of any time is known to a part of the 32,768 that 16 bits tell apart, however the
/// rate changes; and 256 samples (6 KiB) suffice for all numbers that are still taken.
const STEP: u64 = 4096;

/// From this size of the window on there are samples. Below, all numbers that are taken are told
/// apart by 16 bits.
const NEEDED_FROM: u64 = 1 << 14;

/// The highest number, as it grew.
#[derive(Debug, Default)]
pub(super) struct History {
    samples: VecDeque<(Time, u64)>,
    /// When the highest number grew last, and to what.
    latest: (Time, u64),
}

impl History {
    /// The highest number is `highest` now, with a window of `bits`.
    pub(super) fn note(&mut self, now: Time, highest: u64, bits: u64) {
        let (last, _) = self.latest;
        self.latest = (now.max(last), highest);
        if bits < NEEDED_FROM {
            if !self.samples.is_empty() {
                self.samples = VecDeque::new();
            }
            return;
        }
        if self.samples.back().is_none_or(|(_, number)| highest - number >= STEP) {
            self.samples.push_back(self.latest);
        }
        while self.samples.front().is_some_and(|(_, number)| number + MAX_BITS < highest) {
            self.samples.pop_front();
        }
    }

    /// Whether there are samples.
    pub(super) fn is_kept(&self) -> bool {
        !self.samples.is_empty()
    }

    /// The highest number of so long ago; `None` if there are no samples.
    pub(super) fn at(&self, now: Time, ago: Duration) -> Option<u64> {
        let time = now - ago;
        let (last, highest) = self.latest;
        if time >= last {
            return (!self.samples.is_empty()).then_some(highest);
        }
        let after = self.samples.partition_point(|(at, _)| *at <= time);
        let Some(before) = after.checked_sub(1) else {
            return self.samples.front().map(|(_, number)| *number);
        };
        let (start, low) = *self.samples.get(before)?;
        let (end, high) = self.samples.get(after).copied().unwrap_or(self.latest);
        Some(low + part(high - low, ticks(start, time), ticks(start, end)))
    }

    /// How long ago `number` was the highest; `None` if that is not known.
    pub(super) fn since(&self, now: Time, number: u64) -> Option<Duration> {
        let after = self.samples.partition_point(|(_, highest)| *highest <= number);
        let (start, low) = *self.samples.get(after.checked_sub(1)?)?;
        let (end, high) = self.samples.get(after).copied().unwrap_or(self.latest);
        let time = part(ticks(start, end), number - low, high - low);
        Some(now.since(start + Duration::from_nanos(time << TICK)))
    }
}

/// Two to the power of this many nanoseconds are a tick: a microsecond, so that products of time
/// and numbers have room in 64 bits, whose division is quick.
const TICK: u32 = 10;

const fn ticks(from: Time, to: Time) -> u64 {
    to.as_nanos().saturating_sub(from.as_nanos()) >> TICK
}

/// `whole * some / all`, at most `whole`.
fn part(whole: u64, some: u64, all: u64) -> u64 {
    (whole.saturating_mul(some) / all.max(1)).min(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 numbers each millisecond for 100 ms, then nothing, then 10 each millisecond.
    fn ramp() -> History {
        let mut history = History::default();
        for ms in 0..=100 {
            history.note(Time::from_millis(ms), ms * 1000, NEEDED_FROM);
        }
        for ms in 0..=1000 {
            history.note(Time::from_millis(5000 + ms), 100_000 + ms * 10, NEEDED_FROM);
        }
        history
    }

    #[test]
    fn the_number_of_a_time_is_known_to_a_step() {
        let history = ramp();
        let now = Time::from_secs(6);
        for (ago, number) in [(5950, 50_000), (5900, 100_000), (500, 105_000), (0, 110_000)] {
            let at = history.at(now, Duration::from_millis(ago)).unwrap();
            assert!(at.abs_diff(number) <= STEP, "{ago}: {at}");
        }
    }

    #[test]
    fn the_time_of_a_number_is_known() {
        let history = ramp();
        let now = Time::from_secs(6);
        for (number, ms) in [(50_000, 5950), (20_000, 5980), (109_000, 100), (200_000, 0)] {
            let ago = history.since(now, number).unwrap();
            assert!(
                ago.abs_diff(Duration::from_millis(ms)) < Duration::from_millis(120),
                "{ago:?}"
            );
        }
    }

    #[test]
    fn what_slow_paths_do_not_need_is_given_back() {
        let mut history = ramp();
        assert!(history.samples.capacity() > 0);
        history.note(Time::from_secs(9), 110_001, NEEDED_FROM - 1);
        assert_eq!(history.samples.capacity(), 0);
        assert_eq!(history.at(Time::from_secs(9), Duration::ZERO), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut history = History::default();
        for n in 0..10_000 {
            history.note(Time(n), n * STEP, MAX_BITS);
        }
        assert_eq!(history.samples.len() as u64, MAX_BITS / STEP + 1);
    }
}
