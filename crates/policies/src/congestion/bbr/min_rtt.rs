//! The round trip without a queue ("BBR.min_rtt"), and whether it is time to look for it.

use polypath_proto::time::{Duration, Time};

/// BBR.MinRTTFilterLen.
const MIN_RTT_MEMORY: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTInterval.
const INTERVAL: Duration = Duration::from_secs(5);

/// The smallest round trip, and when to look for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// BBR.min_rtt.
    pub(super) least: Option<Duration>,
    /// BBR.min_rtt_stamp.
    pub(super) seen: Time,
    /// BBR.probe_rtt_min_delay: the smallest one since ProbeRTT last had to be scheduled.
    pub(super) probed: Option<Duration>,
    /// BBR.probe_rtt_min_stamp.
    pub(super) probed_at: Time,
    /// BBR.probe_rtt_expired.
    pub(super) is_due: bool,
    /// BBR.probe_rtt_done_stamp, once little enough is in flight.
    pub(super) done: Option<Time>,
    /// BBR.probe_rtt_round_done.
    pub(super) round_done: bool,
}

impl MinRtt {
    pub(super) fn new(now: Time, srtt: Option<Duration>) -> Self {
        Self { least: srtt, seen: now, probed_at: now, ..Self::default() }
    }

    /// `UpdateMinRTT`.
    pub(super) fn update(&mut self, now: Time, rtt: Option<Duration>) {
        self.is_due = now > self.probed_at + INTERVAL;
        let is_wanted = |rtt| self.is_due || self.probed.is_none_or(|probed| rtt < probed);
        if let Some(rtt) = rtt.filter(|&rtt| is_wanted(rtt)) {
            (self.probed, self.probed_at) = (Some(rtt), now);
        }
        let Some(probed) = self.probed else { return };
        let is_old = now > self.seen + MIN_RTT_MEMORY;
        if is_old || self.least.is_none_or(|least| probed < least) {
            (self.least, self.seen) = (Some(probed), self.probed_at);
        }
    }
}
