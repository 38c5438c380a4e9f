//! Heartbeats as large as data, on paths that carry none: how thin such a path is.
//!
//! A small heartbeat tells how far a path is. One that is padded to a whole packet (RFC 4820) takes
//! longer by the time that the path needs for the padding (Jacobson 1997, pathchar). So a path of
//! 100 kbit/s that looks near is known for what it is before data waits for it. Jitter may make a
//! path look thinner than it is, so several are sent; what they tell is old after some seconds.

use crate::policy::PaddedTrip;
use crate::time::{Duration, Time};

/// A path without data for so long gets probes.
const IDLE: Duration = Duration::from_secs(8);
/// So many follow the first heartbeats; after that they keep their distance.
const AT_FIRST: u8 = 3;
const DISTANCE: Duration = Duration::from_secs(8);

/// The probes of one path.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateProbes {
    in_flight: Option<Box<RateProbe>>,
    sent: u8,
    latest: Time,
}

/// A probe in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateProbe {
    pub(crate) nonce: u64,
    pub(crate) sent: Time,
    /// Bytes of padding.
    pub(crate) bytes: u64,
    /// How long the heartbeat before took, which had none.
    pub(crate) unpadded: Duration,
}

impl RateProbes {
    /// Whether one is due on a path whose data was last sent at `last_data`.
    pub(crate) fn is_due(&self, now: Time, last_data: Time) -> bool {
        let idle = last_data == Time::ZERO || now.since(last_data) > IDLE;
        idle && (self.sent < AT_FIRST || now.since(self.latest) > DISTANCE)
    }

    /// One goes out.
    pub(crate) fn sent(&mut self, probe: RateProbe) {
        self.sent = self.sent.saturating_add(1);
        self.latest = probe.sent;
        self.in_flight = Some(Box::new(probe));
    }

    /// A HEARTBEAT ACK came at `now`. If it answers the probe in flight, gives what it tells.
    pub(crate) fn answered(&mut self, now: Time, nonce: u64) -> Option<PaddedTrip> {
        let probe = self.in_flight.take_if(|probe| probe.nonce == nonce)?;
        let RateProbe { bytes, unpadded, sent, .. } = *probe;
        Some(PaddedTrip { bytes, padded: now.since(sent), unpadded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn probe(nonce: u64, sent: Time) -> RateProbe {
        RateProbe { nonce, sent, bytes: 1_400, unpadded: Duration::from_millis(10) }
    }

    #[test]
    fn an_answer_tells_the_round_trip_once() {
        let mut probes = RateProbes::default();
        probes.sent(probe(7, Time::from_secs(1)));
        assert_eq!(probes.answered(Time::from_millis(1_110), 8), None);
        let (padded, unpadded) = (Duration::from_millis(110), Duration::from_millis(10));
        let told = PaddedTrip { bytes: 1_400, padded, unpadded };
        assert_eq!(probes.answered(Time::from_millis(1_110), 7), Some(told));
        assert_eq!(probes.answered(Time::from_millis(1_120), 7), None, "once");
    }

    #[test]
    fn three_at_first_and_then_one_in_eight_seconds_without_data() {
        let mut probes = RateProbes::default();
        for nonce in 0..3 {
            assert!(probes.is_due(Time::from_secs(1), Time::ZERO));
            probes.sent(probe(nonce, Time::from_secs(1)));
        }
        assert!(!probes.is_due(Time::from_secs(9), Time::ZERO));
        assert!(probes.is_due(Time::from_secs(10), Time::ZERO));
        assert!(!probes.is_due(Time::from_secs(10), Time::from_secs(3)), "data tells enough");
    }
}
