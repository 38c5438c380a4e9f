//! Heartbeats as large as data, on paths that carry none: how thin such a path is.
//!
//! A small heartbeat tells how far a path is. One that is padded to a whole packet (RFC 4820) takes
//! longer by the time that the path needs for the padding (Jacobson 1997, pathchar). So a path of
//! 100 kbit/s that looks near is known for what it is before data waits for it. Jitter may make a
//! path look thinner than it is, so several are sent; what they tell is old after some seconds.

use crate::policy::PaddedTrip;
use crate::time::{Duration, Time};

/// A path without data for so long gets probes, or for so long beside others that carried some
/// meanwhile.
const IDLE: Duration = Duration::from_secs(8);
const IDLE_BESIDE_OTHERS: Duration = Duration::from_millis(500);
/// So many follow the first heartbeats; after that they keep their distance.
const AT_FIRST: u8 = 3;
const DISTANCE: Duration = Duration::from_secs(8);
/// After so many packets of data for each path the distance is shorter: a path that was left when
/// it was slow may be fast again, and probes of all paths are one in a hundred packets.
const BUSY_PACKETS: u32 = 100;
const BUSY_DISTANCE: Duration = Duration::from_secs(1);

/// The probes of one path.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateProbes {
    in_flight: Option<Box<RateProbe>>,
    sent: u8,
    /// Packets of data for each path, on average, by the latest one, modulo 2^32.
    packets: u32,
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
    /// Whether one is due on a path whose data was last sent at `last_data`, while that of some
    /// path was at `latest_data`, after so many packets of data for each path, on average.
    pub(crate) fn is_due(
        &self,
        now: Time,
        last_data: Time,
        latest_data: Time,
        packets: u64,
    ) -> bool {
        let is_left = latest_data.since(last_data) > IDLE_BESIDE_OTHERS;
        if last_data != Time::ZERO && !is_left && now.since(last_data) <= IDLE {
            return false;
        }
        let busy = (packets as u32).wrapping_sub(self.packets) >= BUSY_PACKETS;
        let distance = if busy { BUSY_DISTANCE } else { DISTANCE };
        self.sent < AT_FIRST || now.since(self.latest) > distance
    }

    /// One goes out.
    pub(crate) fn sent(&mut self, probe: RateProbe, packets: u64) {
        self.sent = self.sent.saturating_add(1);
        self.packets = packets as u32;
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
        probes.sent(probe(7, Time::from_secs(1)), 0);
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
            assert!(probes.is_due(Time::from_secs(1), Time::ZERO, Time::ZERO, 0));
            probes.sent(probe(nonce, Time::from_secs(1)), 0);
        }
        let due = |ms, last, latest| {
            let [now, last, latest] = [ms, last, latest].map(Time::from_millis);
            probes.is_due(now, last, latest, 99)
        };
        assert!(!due(9_000, 0, 8_000) && due(10_000, 0, 8_000));
        assert!(!due(10_000, 3_000, 3_500), "nothing was sent elsewhere, either");
        assert!(due(10_000, 3_000, 3_501) && due(11_001, 3_000, 3_000));
    }

    #[test]
    fn one_in_a_second_and_in_a_hundred_packets_while_other_paths_are_busy() {
        let mut probes = RateProbes::default();
        let mut last = u64::from(u32::MAX) - 3;
        (0..3).for_each(|nonce| probes.sent(probe(nonce, Time::from_secs(1)), last));
        let due =
            |ms, packets| probes.is_due(Time::from_millis(ms), Time::ZERO, Time::ZERO, packets);
        assert!(!due(1_900, last + 1_000) && !due(2_100, last + 99));
        assert!(due(2_100, last + 100), "the count may wrap");
        last += 100;
        probes.sent(probe(3, Time::from_millis(2_100)), last);
        assert!(!probes.is_due(Time::from_millis(4_000), Time::ZERO, Time::ZERO, last + 99));
    }
}
