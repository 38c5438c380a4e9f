//! The one clock of an endpoint.

use std::time::Instant;

use polypath_proto::time::Time;

/// Turns the system's monotonic clock into the core's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }

    /// Now, in nanoseconds since the endpoint was made.
    pub(crate) fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// When `time` is on the system's clock; a day ahead where it is out of reach.
    pub(crate) fn to_instant(self, time: Time) -> Instant {
        let wait = time
            .since(Time::ZERO)
            .min(self.start.elapsed() + std::time::Duration::from_secs(86_400));
        self.start + wait
    }
}
