//! Both paths' measurements in common intervals of time.

use std::collections::VecDeque;

use polypath_proto::time::{Duration, Time};

use super::moments::Sample;

/// Intervals that wait for the round trips that began in them.
const OPEN: usize = 8;

/// Intervals of two paths, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Bins {
    open: VecDeque<Bin>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
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
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// An interval that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Finished {
    /// Both paths were in use.
    Whole(Sample),
    /// One was not, or was not measured.
    Partial,
}

impl Bins {
    /// `path` had `bytes` in flight at `now`. Intervals are `length` long.
    pub(super) fn flight(&mut self, now: Time, length: Duration, path: usize, bytes: u64) {
        self.reach(now, length);
        if let Some(mean) = self.open.back_mut().and_then(|b| b.flight.get_mut(path)) {
            mean.add(bytes as f64);
        }
    }

    /// A packet that left on `path` at `sent` came back after `rtt`.
    pub(super) fn delay(&mut self, sent: Time, path: usize, rtt: Duration) {
        let bin = self.open.iter_mut().rev().find(|b| b.begin <= sent && sent < b.end);
        if let Some(mean) = bin.and_then(|b| b.delay.get_mut(path)) {
            mean.add(rtt.as_secs_f64());
        }
    }

    fn reach(&mut self, now: Time, length: Duration) {
        match self.open.back() {
            Some(last) if now < last.end => {}
            // The next one begins where the last one ended, unless nothing happened for long.
            Some(last) if now < last.end + length => {
                let begin = last.end;
                self.open.push_back(Bin { begin, end: begin + length, ..Bin::default() });
            }
            _ => self.open.push_back(Bin { begin: now, end: now + length, ..Bin::default() }),
        }
    }

    /// The oldest interval, once packets that left in it had `patience` to return.
    pub(super) fn take(&mut self, now: Time, patience: Duration) -> Option<Finished> {
        let ripe = self.open.front().is_some_and(|b| now > b.end + patience);
        if !ripe && self.open.len() <= OPEN {
            return None;
        }
        let bin = self.open.pop_front()?;
        Some(bin.sample().map_or(Finished::Partial, Finished::Whole))
    }
}

impl Bin {
    fn sample(&self) -> Option<Sample> {
        let both = |[a, b]: [Mean; 2]| Some([a.value()?, b.value()?]);
        Some(Sample { flight: both(self.flight)?, delay: both(self.delay)? })
    }
}
