//! The smallest round trip of the last 10 to 20 s.

use polypath_proto::time::{Duration, Time};

/// Time that the smallest round trip is remembered for, at least; twice of it at most.
const RTT_MEMORY: Duration = Duration::from_secs(10);

/// The smallest sample of a sliding window, in two halves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMin {
    current: Option<Duration>,
    previous: Option<Duration>,
    /// The smaller one of the two, which every decision asks for.
    smallest: Option<Duration>,
    began: Time,
    latest: Time,
}

impl WindowedMin {
    /// Takes a sample; gives whether the smallest one may be another now.
    pub(crate) fn sample(&mut self, now: Time, value: Duration) -> bool {
        self.latest = now;
        if !within(RTT_MEMORY, self.began, now) {
            self.previous = self.current.take();
            self.began = now;
        } else if self.current.is_some_and(|current| value >= current) {
            return false;
        }
        self.current = Some(value);
        self.smallest = Some(self.previous.map_or(value, |previous| previous.min(value)));
        true
    }

    /// When the latest sample came.
    pub(crate) const fn latest(&self) -> Time {
        self.latest
    }

    /// Forgets all samples for this one.
    pub(crate) fn restart(&mut self, now: Time, value: Duration) {
        let value = Some(value);
        *self = Self { current: value, previous: None, smallest: value, began: now, latest: now };
    }

    #[inline]
    pub(crate) fn recent(&self, now: Time) -> Option<Duration> {
        self.smallest.filter(|_| now.0.saturating_sub(self.latest.0) < nanos(RTT_MEMORY))
    }

    #[inline]
    pub(crate) const fn get(&self) -> Option<Duration> {
        self.smallest
    }
}

/// Whether `now` is no more than `memory` after `then`.
#[inline]
const fn within(memory: Duration, then: Time, now: Time) -> bool {
    now.0.saturating_sub(then.0) <= nanos(memory)
}

/// Round trips in nanoseconds: these are compared with every acknowledgement, and durations of two
/// numbers cost.
#[inline]
pub(crate) const fn nanos(trip: Duration) -> u64 {
    trip.as_nanos() as u64
}
