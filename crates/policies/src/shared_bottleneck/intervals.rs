//! Both paths' measurements in common intervals of time.

use std::collections::VecDeque;

use polypath_proto::time::{Duration, Time};

use super::regression::Sample;

/// An interval is a round trip, but not shorter than this.
pub(super) const SHORTEST: Duration = Duration::from_millis(10);
/// Intervals that wait for the round trips that began in them.
const OPEN: usize = 8;

/// Intervals of two paths, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals {
    open: VecDeque<Interval>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    begin: Time,
    end: Time,
    flight: [Mean; 2],
    delay: [Mean; 2],
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    pub(super) fn add_value(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn mean_value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// An interval that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum IntervalOutcome {
    /// Both paths were in use.
    Complete(Sample),
    /// One was not, or was not measured.
    Incomplete,
}

impl Intervals {
    /// `path` had `bytes` in flight at `now`. Intervals are `length` long.
    pub(super) fn add_flight(&mut self, now: Time, length: Duration, path: usize, bytes: u64) {
        self.open_interval_at(now, length);
        if let Some(mean) = self.open.back_mut().and_then(|b| b.flight.get_mut(path)) {
            mean.add_value(bytes as f64);
        }
    }

    /// A packet that left on `path` at `sent` came back after `rtt`.
    pub(super) fn add_delay(&mut self, sent: Time, path: usize, rtt: Duration) {
        let bin = self.open.iter_mut().rev().find(|b| b.begin <= sent && sent < b.end);
        if let Some(mean) = bin.and_then(|b| b.delay.get_mut(path)) {
            mean.add_value(rtt.as_secs_f64());
        }
    }

    fn open_interval_at(&mut self, now: Time, length: Duration) {
        match self.open.back() {
            Some(last) if now < last.end => {}
            // The next one begins where the last one ended, unless nothing happened for long.
            Some(last) if now < last.end + length => {
                let begin = last.end;
                self.open.push_back(Interval { begin, end: begin + length, ..Interval::default() });
            }
            _ => self.open.push_back(Interval {
                begin: now,
                end: now + length,
                ..Interval::default()
            }),
        }
    }

    /// The oldest interval, once packets that left in it had `patience` to return.
    pub(super) fn take_finished(
        &mut self,
        now: Time,
        patience: Duration,
    ) -> Option<IntervalOutcome> {
        let ripe = self.open.front().is_some_and(|b| now > b.end + patience);
        if !ripe && self.open.len() <= OPEN {
            return None;
        }
        let bin = self.open.pop_front()?;
        Some(bin.sample().map_or(IntervalOutcome::Incomplete, IntervalOutcome::Complete))
    }
}

impl Interval {
    fn sample(&self) -> Option<Sample> {
        let both = |[a, b]: [Mean; 2]| Some([a.mean_value()?, b.mean_value()?]);
        Some(Sample { flight: both(self.flight)?, delay: both(self.delay)? })
    }
}
