//! Measuring: delays, occupancies, and how long something lasted.

use hdrhistogram::Histogram;
use polypath_link::Nanos;

use crate::results::{DelaySummary, Delivered, Occupancy};

/// Significant digits of recorded delays: percentiles are exact to 1 %.
const DIGITS: u8 = 2;

/// Counts delivered messages.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryMeter {
    messages: u64,
    bytes: u64,
    delay_sum: u128,
    delay_max: Nanos,
    delays: Histogram<u64>,
}

impl DeliveryMeter {
    pub(crate) fn new() -> Self {
        // Invariant: 1 to 5 digits are valid.
        let delays = Histogram::new(DIGITS).expect("two digits are within the histogram's range");
        Self { messages: 0, bytes: 0, delay_sum: 0, delay_max: 0, delays }
    }

    pub(crate) fn record_message(&mut self, bytes: usize, delay: Nanos) {
        self.messages += 1;
        self.bytes += bytes as u64;
        self.delay_sum += u128::from(delay);
        self.delay_max = self.delay_max.max(delay);
        // Fails only for values beyond a histogram that does not grow; this one does.
        let _ = self.delays.record(delay);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.delay_sum += other.delay_sum;
        self.delay_max = self.delay_max.max(other.delay_max);
        // As above.
        let _ = self.delays.add(&other.delays);
    }

    pub(crate) fn summarize(&self, measured: Nanos) -> Delivered {
        let (messages, bytes) = (self.messages, self.bytes);
        Delivered { messages, bytes, goodput: rate(bytes, measured), delay: self.delays() }
    }

    fn delays(&self) -> Option<DelaySummary> {
        let quantile = |q| self.delays.value_at_quantile(q).min(self.delay_max);
        (self.messages > 0).then(|| DelaySummary {
            mean: self.delay_sum as f64 / self.messages as f64,
            p50: quantile(0.50),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: self.delay_max,
        })
    }
}

/// `bytes` in `time` as bit/s; 0 when no time passed.
pub(crate) fn rate(bytes: u64, time: Nanos) -> f64 {
    if time == 0 { 0.0 } else { bytes as f64 * 8e9 / time as f64 }
}

/// A quantity weighted by the time for which it had its value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OccupancyMeter {
    since: Nanos,
    last: Nanos,
    value: u64,
    integral: u128,
    max: u64,
}

impl OccupancyMeter {
    #[inline]
    pub(crate) fn set(&mut self, now: Nanos, value: u64) {
        self.integral += u128::from(self.value) * u128::from(now - self.last);
        self.last = now;
        self.value = value;
        self.max = self.max.max(value);
    }

    pub(crate) fn value(&self) -> u64 {
        self.value
    }

    /// Forgets all but the present value.
    pub(crate) fn restart(&mut self, now: Nanos) {
        *self = Self { since: now, last: now, value: self.value, integral: 0, max: self.value };
    }

    pub(crate) fn summarize(mut self, now: Nanos) -> Occupancy {
        self.set(now, self.value);
        let time = (now - self.since).max(1);
        Occupancy { mean: self.integral as f64 / time as f64, max: self.max }
    }
}

/// How often and how long something was the case.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpellMeter {
    since: Option<Nanos>,
    pub(crate) total: Nanos,
    pub(crate) count: u64,
    pub(crate) longest: Nanos,
}

impl SpellMeter {
    #[inline]
    pub(crate) fn set(&mut self, now: Nanos, holds: bool) {
        match (self.since, holds) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.since = None;
                self.end_spell(now - since);
            }
            _ => {}
        }
    }

    /// Forgets the past; a spell that lasts begins anew.
    pub(crate) fn restart(&mut self, now: Nanos) {
        *self = Self { since: self.since.map(|_| now), ..Self::default() };
    }

    /// The meter as if a spell that lasts ended now.
    pub(crate) fn until(mut self, now: Nanos) -> Self {
        self.set(now, false);
        self
    }

    fn end_spell(&mut self, time: Nanos) {
        // Blocked and open again in the same instant is not blocked.
        if time > 0 {
            self.total += time;
            self.count += 1;
            self.longest = self.longest.max(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_summed_up() {
        let mut meter = DeliveryMeter::new();
        (1..=1000).for_each(|ms| meter.record_message(100, ms * 1_000_000));
        let delivered = meter.summarize(2_000_000_000);
        assert_eq!((delivered.messages, delivered.bytes), (1000, 100_000));
        assert_eq!(delivered.goodput, 400_000.0);
        let delay = delivered.delay.unwrap();
        assert_eq!((delay.mean, delay.max), (500_500_000.0, 1_000_000_000));
        for (found, exact) in [(delay.p50, 5e8), (delay.p95, 9.5e8), (delay.p99, 9.9e8)] {
            assert!((found as f64 / exact - 1.0).abs() < 0.01, "{found} for {exact}");
        }
        assert_eq!(DeliveryMeter::new().summarize(1).delay, None);
    }

    #[test]
    fn occupancy_is_weighted_by_time_and_restarts() {
        let mut meter = OccupancyMeter::default();
        meter.set(0, 100);
        meter.set(10, 20);
        assert_eq!(meter.summarize(20), Occupancy { mean: 60.0, max: 100 });
        meter.restart(20);
        assert_eq!(meter.summarize(30), Occupancy { mean: 20.0, max: 20 });
    }

    #[test]
    fn spells_are_counted_and_cut_at_a_restart() {
        let mut meter = SpellMeter::default();
        meter.set(5, true);
        meter.set(7, true);
        meter.set(9, false);
        meter.set(20, true);
        meter.set(20, false);
        meter.set(30, true);
        let seen = meter.until(33);
        assert_eq!((seen.total, seen.count, seen.longest), (7, 2, 4));
        meter.restart(40);
        assert_eq!(meter.until(41).total, 1);
    }
}
