//! How fast a path can be at most, told by how long little data took.
//!
//! A path that was never filled shows no delivery rate that would be its own. But so many bytes in
//! flight that took so much longer than an empty packet cannot have gone faster than one by the
//! other: a burst of F bytes waits for itself, and its last packet takes F / r longer (Jacobson
//! 1997, pathchar, with single packets). A path of 100 kbit/s that looks near to heartbeats is
//! known for what it is by the first packet that it carries, and not when a window of them is stuck
//! there. Others' queues and jitter make the bound too low for a while; so the highest of some round
//! trips counts.

use polypath_proto::policy::PaddedTrip;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{PathView, RateSample};

/// Round trips with data that the bound is the highest of.
const ROUNDS: usize = 4;
/// A path of which no data was heard for so long may be another one by now.
const MEMORY: Duration = Duration::from_secs(10);

/// The highest rate that the latest data leaves possible.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateBound {
    /// Bytes per second, by round trip.
    rounds: [f64; ROUNDS],
    latest: usize,
    /// The latest round trip ends.
    ends: Time,
    /// The highest of them; none before the first.
    highest: Option<f64>,
    heard: Time,
    /// The latest round trips of padded heartbeats, and of those without padding before them,
    /// microseconds.
    probes: [Option<[u32; 2]>; ROUNDS],
}

impl RateBound {
    /// A SACK told of data of the path.
    pub(crate) fn on_sample(&mut self, now: Time, path: &PathView, sample: &RateSample) {
        self.heard = now;
        let base = path.min_rtt.unwrap_or(Duration::ZERO);
        let longer = sample.rtt.saturating_sub(base).as_secs_f64();
        let bound = sample.sent_in_flight as f64 / longer.max(1e-9);
        // The SACK of a lone packet may have been delayed: it can tell that the path is faster, not
        // that it is slower.
        let lone = sample.sent_in_flight <= u64::from(path.pmdcs);
        if now >= self.ends && !(lone && self.highest.is_some()) {
            self.ends = now + path.srtt.unwrap_or(path.rto);
            self.latest = (self.latest + 1) % ROUNDS;
            self.set(0.0);
        }
        self.set(bound.max(self.rounds.get(self.latest).copied().unwrap_or_default()));
        self.highest = Some(self.rounds.iter().copied().fold(0.0, f64::max));
    }

    /// A padded heartbeat was answered. Of the latest ones the shortest counts, beside the shortest
    /// one without padding: jitter and other packets only make either longer.
    pub(crate) fn on_probe(&mut self, now: Time, trip: &PaddedTrip) {
        if self.get(now).is_none() {
            *self = Self { probes: self.probes, ..Self::default() };
        }
        self.heard = now;
        self.probes.rotate_right(1);
        self.probes[0] = Some([trip.padded, trip.unpadded].map(micros));
        let shortest =
            self.probes.iter().flatten().copied().reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1])]);
        let [padded, unpadded] = shortest.unwrap_or_default();
        let longer = f64::from(padded.saturating_sub(unpadded)) * 1e-6;
        self.rounds = [trip.bytes as f64 / longer.max(1e-9); ROUNDS];
        self.highest = self.rounds.first().copied();
    }

    /// The path was suspected, and its data goes out on another one: nobody will tell how long it
    /// took, but that it took so long already.
    pub(crate) fn on_silence(&mut self, now: Time, path: &PathView) {
        if path.outstanding == 0 {
            return;
        }
        let base = path.min_rtt.unwrap_or(Duration::ZERO);
        let longer = now.since(path.last_data).saturating_sub(base).as_secs_f64();
        let bound = path.outstanding as f64 / longer.max(1e-9);
        if let Some(highest) = self.highest.filter(|&highest| bound < highest) {
            self.rounds.iter_mut().for_each(|round| *round = round.min(bound));
            self.highest = Some(highest.min(bound));
        }
    }

    fn set(&mut self, bound: f64) {
        if let Some(slot) = self.rounds.get_mut(self.latest) {
            *slot = bound;
        }
    }

    /// Bytes per second; none before the path carried data, and none that is old.
    #[inline]
    pub(crate) fn get(&self, now: Time) -> Option<f64> {
        self.highest.filter(|_| now.since(self.heard) < MEMORY)
    }
}

fn micros(trip: Duration) -> u32 {
    u32::try_from(trip.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::paths;

    /// A path whose heartbeats take 10 ms.
    fn path() -> PathView {
        let mut path = paths(1).remove(0);
        path.min_rtt = Some(Duration::from_millis(10));
        path.srtt = path.min_rtt;
        path
    }

    fn sample(bytes: u64, ms: u64) -> RateSample {
        RateSample::of_trip(bytes, Duration::from_millis(ms))
    }

    #[test]
    fn one_packet_tells_how_slow_a_near_path_is() {
        let mut bound = RateBound::default();
        assert_eq!(bound.get(Time::from_secs(1)), None);
        // 1,250 bytes in 100 ms are 100 kbit/s.
        bound.on_sample(Time::from_secs(1), &path(), &sample(1_250, 110));
        assert_eq!(bound.get(Time::from_secs(1)), Some(12_500.0));
    }

    #[test]
    fn a_lone_packet_whose_sack_was_late_takes_nothing_back() {
        let mut bound = RateBound::default();
        bound.on_sample(Time::from_secs(1), &path(), &sample(6_000, 16));
        bound.on_sample(Time::from_secs(2), &path(), &sample(1_250, 210));
        assert_eq!(bound.get(Time::from_secs(2)), Some(1e6));
    }

    #[test]
    fn data_that_is_missing_tells_how_slow_the_path_is_already() {
        let (mut bound, mut path) = (RateBound::default(), path());
        bound.on_sample(Time::from_secs(1), &path, &sample(6_000, 16));
        (path.outstanding, path.last_data) = (6_000, Time::from_secs(1));
        bound.on_silence(Time::from_millis(1_070), &path);
        assert_eq!(bound.get(Time::from_millis(1_070)), Some(1e5));
        bound.on_sample(Time::from_secs(2), &path, &sample(6_000, 16));
        assert_eq!(bound.get(Time::from_secs(2)), Some(1e6), "it is back");
    }

    #[test]
    fn silence_tells_nothing_where_no_data_is_missing() {
        let (mut bound, mut path) = (RateBound::default(), path());
        bound.on_sample(Time::from_secs(1), &path, &sample(6_000, 16));
        (path.outstanding, path.last_data) = (0, Time::from_secs(1));
        bound.on_silence(Time::from_secs(2), &path);
        assert_eq!(bound.get(Time::from_secs(2)), Some(1e6));
    }

    #[test]
    fn the_highest_of_four_round_trips_counts_and_none_that_is_old() {
        let mut bound = RateBound::default();
        bound.on_sample(Time::from_secs(1), &path(), &sample(6_000, 16));
        for n in 0..3 {
            bound.on_sample(Time::from_millis(1_100 + 100 * n), &path(), &sample(6_000, 70));
        }
        assert_eq!(bound.get(Time::from_secs(2)), Some(1e6));
        bound.on_sample(Time::from_secs(2), &path(), &sample(6_000, 70));
        assert_eq!(bound.get(Time::from_secs(2)), Some(1e5));
        assert_eq!(bound.get(Time::from_secs(12)), None);
    }

    #[test]
    fn padded_heartbeats_tell_how_thin_a_path_is() {
        let mut bound = RateBound::default();
        let probe = |bound: &mut RateBound, s, padded, unpadded| {
            let ms = Duration::from_millis;
            let trip = PaddedTrip { bytes: 1_400, padded: ms(padded), unpadded: ms(unpadded) };
            bound.on_probe(Time::from_secs(s), &trip);
            bound.get(Time::from_secs(s)).map(f64::round)
        };
        assert_eq!(probe(&mut bound, 1, 200, 60), Some(10_000.0));
        // The first heartbeat had waited behind other packets.
        assert_eq!(probe(&mut bound, 2, 150, 10), Some(10_000.0));
        // Jitter only makes either longer.
        assert_eq!(probe(&mut bound, 3, 290, 30), Some(10_000.0));
        assert_eq!(probe(&mut bound, 4, 110, 15), Some(14_000.0));
        assert_eq!(bound.get(Time::from_secs(20)), None, "what is old is forgotten");
        // The way became longer, and the last of the old ones is gone.
        let longer = [0, 8, 16, 24].map(|s| probe(&mut bound, 30 + s, 500, 360));
        assert_eq!(longer[3], Some(10_000.0));
    }
}
