//! Whether our own SACKs congest the path that they take.
//!
//! SACKs of several fast paths may be too much for the way back of a slow one, even if its delay is the smallest. Heartbeats see it: with
//! SACKs before them they take longer than without. Such a path is spared for a while.

use super::Path;
use crate::time::{Duration, Time};

/// SACKs between two heartbeats that can make a queue.
const MANY: u32 = 16;
/// A round trip that grew by less than this part, and this time, is no queue of SACKs.
const NOTICED: (u32, Duration) = (2, Duration::from_millis(5));
/// How long a path is spared.
const SPARED: Duration = Duration::from_secs(5);

/// What the heartbeats of one path say about the SACKs on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReturnWay {
    /// SACKs since the last answer to a heartbeat.
    sacks: u32,
    /// The latest round trip without many SACKs.
    quiet: Option<Duration>,
    spared_until: Time,
}

impl ReturnWay {
    pub(crate) fn sack_sent(&mut self) {
        self.sacks = self.sacks.saturating_add(1);
    }

    /// A heartbeat took `rtt`.
    pub(crate) fn heartbeat_answered(&mut self, now: Time, rtt: Duration) {
        let many = core::mem::take(&mut self.sacks) >= MANY;
        match self.quiet {
            Some(quiet) if many => {
                if rtt > quiet + quiet / NOTICED.0 + NOTICED.1 {
                    self.spared_until = now + SPARED;
                }
            }
            _ => self.quiet = Some(rtt),
        }
    }
}

impl Path {
    /// Whether SACKs had better take another path.
    pub(crate) fn spares_sacks(&self, now: Time) -> bool {
        now < self.return_way.spared_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_path_is_spared_when_heartbeats_take_longer_behind_many_sacks() {
        let mut way = ReturnWay::default();
        let answer = |way: &mut ReturnWay, sacks: u32, at: u64, rtt: u64| {
            (0..sacks).for_each(|_| way.sack_sent());
            way.heartbeat_answered(Time::from_secs(at), MS(rtt));
            way.spared_until
        };
        assert_eq!(answer(&mut way, 0, 1, 40), Time::ZERO);
        assert_eq!(answer(&mut way, 500, 2, 60), Time::ZERO, "65 ms are the bound");
        assert_eq!(answer(&mut way, 500, 3, 70), Time::from_secs(8));
        // Few SACKs: a longer way, which is the new measure.
        assert_eq!(answer(&mut way, 3, 4, 100), Time::from_secs(8));
        assert_eq!(answer(&mut way, 500, 9, 120), Time::from_secs(8));
    }
}
