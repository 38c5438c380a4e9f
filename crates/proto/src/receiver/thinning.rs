//! SACKs that are fewer and shorter than RFC 9260 has them, for a peer that said that they will do.
//!
//! Some eight per round trip of the nearest path (TACK, Li et al., SIGCOMM 2020, has four to
//! eight), half as many while they cost more than a hundredth of the data, and one if that goes on;
//! each with the gap ack blocks that changed, now and then one with all. A heartbeat that waits
//! behind SACKs on a thin way back makes that round trip longer, and SACKs fewer.

use crate::ids::PathId;
use crate::time::{Duration, Time};

/// SACKs per round trip, about.
const PER_TRIP: u32 = 8;
/// Where the buffer is the limit, what waits for a SACK takes room from what could be sent.
const PER_TRIP_IF_SCARCE: u32 = 64;
/// Where the way back has no queue, so that they cost no more than they must.
const PER_TRIP_IF_UNQUEUED: u32 = 128;
/// It may be if one round trip brings more than its share of so many.
const SCARCE: f64 = 4.0;
/// Bytes of data that pay for a byte of a SACK.
const PRICE: i64 = 100;
/// Bytes of SACKs that may be paid in advance, or be owed.
const MOST_CREDIT: i64 = 6_000;
/// With as much owed, one SACK a round trip. Where the nearest path is very near, eight are more
/// than its way back carries, and a short queue there does not make the round trip longer.
const DEEP_DEBT: i64 = MOST_CREDIT / 2;
/// Headers of a packet with a SACK alone: of IPv4, UDP and SCTP.
const HEADERS: usize = 40;
/// SACKs that tell the same news: two in a row may get lost, and nothing seems missing.
const TOLD: usize = 3;
/// SACKs from one that tells all to the next, at least.
const PARTIAL: u32 = 8;
/// Payload bytes that must have come since then for each gap ack block: its four bytes are one per
/// cent of them.
const BYTES_PER_BLOCK: u64 = 400;
/// TSNs that are remembered as news of one SACK. Where more came, the next one tells all.
const REMEMBERED: usize = 4096;

/// When the latest SACK went out, what was paid for the next, and what is news.
#[derive(Clone, Debug)]
pub(super) struct Thinning {
    spacing: Duration,
    latest: Time,
    /// Bytes of data beyond those that paid for the SACKs so far.
    credit: i64,
    /// TSNs that came above the cumulative one: told by no SACK yet, by the latest one, by that and
    /// the one before.
    news: [Vec<u64>; TOLD],
    /// What the next SACK tells of them.
    listed: Vec<u64>,
    /// There is more news than is remembered.
    overflowed: bool,
    /// Payload bytes and SACKs since all blocks were told.
    bytes: u64,
    sacks: u32,
    /// Payload bytes since the latest SACK.
    recent: u64,
    /// The path that it took.
    path: PathId,
}

impl Thinning {
    /// Before the first SACK.
    pub(super) const fn new() -> Self {
        Self {
            spacing: Duration::ZERO,
            latest: Time::ZERO,
            credit: 0,
            news: [const { Vec::new() }; TOLD],
            listed: Vec::new(),
            overflowed: false,
            bytes: 0,
            sacks: 0,
            recent: 0,
            path: PathId(0),
        }
    }

    /// Before this time no SACK goes out for the number of packets alone.
    #[inline]
    pub(super) fn next_sack(&self) -> Time {
        let factor = match self.credit {
            0.. => 1,
            debt if debt > -PRICE * DEEP_DEBT => 2,
            _ => PER_TRIP,
        };
        self.latest + factor * self.spacing
    }

    /// A chunk came; `above`: beyond the cumulative TSN.
    #[inline]
    pub(super) fn note_arrival(&mut self, tsn: u64, payload: usize, above: bool) {
        self.bytes += payload as u64;
        self.recent += payload as u64;
        self.credit = (self.credit + payload as i64).min(PRICE * MOST_CREDIT);
        let Some(news) = self.news.first_mut().filter(|_| above) else { return };
        if news.len() < REMEMBERED {
            news.push(tsn);
        } else {
            self.overflowed = true;
        }
    }

    /// Whether the latest SACK took another path than this: the ones before may have been lost there,
    /// if it was cut, so the first on another tells all.
    pub(super) fn has_moved(&self, path: PathId) -> bool {
        self.path != path
    }

    /// Whether it may be time for a SACK that tells all; what that costs is not known yet.
    pub(super) const fn may_tell_all(&self) -> bool {
        self.overflowed || self.sacks >= PARTIAL
    }

    /// Whether the next SACK tells all, which is so many blocks.
    pub(super) const fn tells_all(&self, blocks: usize) -> bool {
        let is_paid = self.bytes >= BYTES_PER_BLOCK * blocks as u64;
        self.overflowed || self.sacks >= PARTIAL && is_paid
    }

    /// The TSNs that the next SACK must tell of, `most` at most, in order: those that came since the
    /// latest SACK go first.
    pub(super) fn list_news(&mut self, most: usize) -> &[u64] {
        self.listed.clear();
        self.listed.extend(self.news.iter().flatten().take(most));
        self.listed.sort_unstable();
        &self.listed
    }

    /// A SACK was written for `path`; `all`: with all blocks.
    pub(super) fn note_written(&mut self, path: PathId, all: bool) {
        self.path = path;
        self.news.rotate_right(1);
        if let Some(news) = self.news.first_mut() {
            news.clear();
        }
        self.sacks = self.sacks.saturating_add(1);
        if all {
            (self.bytes, self.sacks, self.overflowed) = (0, 0, false);
        }
    }

    /// It went out at `now`, and nothing queues where it goes; `trip` is the round trip of the
    /// nearest path.
    pub(super) fn note_sent(&mut self, now: Time, trip: Duration) {
        (self.latest, self.spacing) = (now, trip / PER_TRIP_IF_UNQUEUED);
        (self.recent, self.credit) = (0, 0);
    }

    /// It went out at `now` and has so many bytes, and there is a queue; `trips` are the round trips
    /// of the nearest and of the farthest path, `buffer` the bytes that the receive buffer holds.
    pub(super) fn note_spaced(
        &mut self,
        now: Time,
        bytes: usize,
        trips: (Duration, Duration),
        buffer: u64,
    ) {
        let (nearest, farthest) = trips;
        // Two SACKs may follow each other at once.
        let least = (nearest / PER_TRIP_IF_SCARCE).max(Duration::from_nanos(1));
        let elapsed = now.since(self.latest).max(least);
        let came = core::mem::take(&mut self.recent) as f64;
        let in_flight = came * farthest.as_secs_f64() / elapsed.as_secs_f64();
        let is_scarce = in_flight > buffer as f64 / SCARCE;
        self.latest = now;
        self.spacing = nearest / if is_scarce { PER_TRIP_IF_SCARCE } else { PER_TRIP };
        let price = PRICE * (bytes + HEADERS) as i64;
        self.credit = (self.credit - price).max(-PRICE * MOST_CREDIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: usize = 1452;
    const TRIPS: (Duration, Duration) = (Duration::from_millis(80), Duration::from_millis(200));

    fn tell(thinning: &mut Thinning, all: bool) -> Vec<u64> {
        let news = thinning.list_news(usize::MAX).to_vec();
        thinning.note_written(PathId(0), all);
        news
    }

    #[test]
    fn news_is_told_three_times() {
        let mut thinning = Thinning::new();
        thinning.note_arrival(7, PACKET, true);
        thinning.note_arrival(2, PACKET, false);
        assert_eq!(tell(&mut thinning, false), [7]);
        thinning.note_arrival(9, PACKET, true);
        assert_eq!(tell(&mut thinning, false), [7, 9]);
        assert_eq!(tell(&mut thinning, false), [7, 9]);
        assert_eq!(tell(&mut thinning, false), [9]);
        assert!(tell(&mut thinning, false).is_empty());
    }

    #[test]
    fn the_ninth_sack_tells_all_unless_that_costs_too_much() {
        let mut thinning = Thinning::new();
        for sack in 0..8 {
            assert!(!thinning.may_tell_all(), "{sack}");
            thinning.note_arrival(sack, PACKET, false);
            tell(&mut thinning, false);
        }
        assert!(thinning.tells_all(8 * PACKET / 400) && !thinning.tells_all(8 * PACKET / 400 + 1));
        tell(&mut thinning, true);
        assert!(!thinning.may_tell_all());
    }

    #[test]
    fn more_news_than_is_remembered_has_all_told() {
        let mut thinning = Thinning::new();
        (0..=REMEMBERED as u64).for_each(|tsn| thinning.note_arrival(tsn, 1, true));
        assert!(thinning.tells_all(1_000_000));
        tell(&mut thinning, true);
        assert!(!thinning.may_tell_all());
    }

    #[test]
    fn eight_sacks_per_round_trip_four_while_they_are_owed_and_then_one() {
        let mut thinning = Thinning::new();
        let at = Time::from_millis;
        assert_eq!(thinning.next_sack(), Time::ZERO);
        thinning.note_arrival(1, 100 * PACKET, false);
        thinning.note_spaced(at(100), 60, TRIPS, u64::MAX);
        assert_eq!(thinning.next_sack(), at(110));
        thinning.note_spaced(at(110), PACKET, TRIPS, u64::MAX);
        assert_eq!(thinning.next_sack(), at(130));
        thinning.note_spaced(at(130), 2 * PACKET, TRIPS, u64::MAX);
        assert_eq!(thinning.next_sack(), at(210), "one a round trip");
    }
}
