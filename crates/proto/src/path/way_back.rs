//! The queue of the way back, and whether it is too long for a SACK for every second packet.
//!
//! Whoever receives data cannot see its SACKs arrive, and a round trip has the queue of the data in
//! it, too. So a peer that agreed to it tells in its HEARTBEAT ACK when the HEARTBEAT came, by its
//! own clock. Nobody knows how the two clocks differ; but by how much the latest delays are longer
//! than the shortest is what a HEARTBEAT waited (base delay and current delay of LEDBAT, RFC 6817
//! section 3.4.2). It may have waited behind SACKs, or behind somebody else's packets, or the delay
//! varies by itself. So SACKs are spaced on trial: only if that shortens the queue they were it.

use crate::time::{Duration, Time};

/// By how much two clocks may drift apart: 200 microseconds a second. The base delay is forgotten
/// at this pace.
const DRIFT: u32 = 5000;
/// A queue of so much, or of this part of the round trip, is too long. A sender that waits for SACKs
/// sends less: where they fill a way back all the time, its queue may be one SACK long.
const SHORTEST: Duration = Duration::from_micros(500);
const PART: u32 = 32;
/// So many delays tell of a queue, and whether it became shorter: their median, for a single late
/// packet is no queue.
const DETECTED_BY: usize = 3;
const JUDGED_BY: usize = 5;
/// A queue that is longer than this part of what it was has not become shorter.
const SHORTER: u32 = 2;
/// How long SACKs are spaced where that helps, and how long they are not where it does not. Twice as
/// long the next time, if that is soon: nothing has changed meanwhile.
const FIRST_HOLD: Duration = Duration::from_secs(30);
const LONGEST_HOLD: Duration = Duration::from_secs(320);

/// What is known of the way back of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WayBack {
    /// The first difference of the clocks, microseconds; all others are counted from it.
    origin: u32,
    /// The shortest delay, microseconds, and when it was measured or aged.
    base: i64,
    base_at: Time,
    /// The latest delays, newest first, and how many belong to the present stage.
    latest: [i64; JUDGED_BY],
    count: usize,
    stage: Stage,
    helps: Hold,
    does_not_help: Hold,
}

/// Whether SACKs are spaced, and why.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// They are not, unless there is a queue.
    Watched,
    /// They are, to see what becomes of a queue of so much.
    Tried(Duration),
    /// They are, for that helps, until then.
    Spaced(Time),
    /// They are not, for that does not help, until then.
    Left(Time),
}

/// For how long what was found holds.
#[derive(Clone, Copy, Debug)]
struct Hold {
    length: Duration,
    until: Time,
}

impl Hold {
    const NONE: Self = Self { length: Duration::ZERO, until: Time::ZERO };

    /// It was found at `now`: gives until when it holds.
    fn renew(&mut self, now: Time) -> Time {
        let soon = now.since(self.until) < self.length;
        self.length = if soon { (self.length * 2).min(LONGEST_HOLD) } else { FIRST_HOLD };
        self.until = now + self.length;
        self.until
    }
}

impl WayBack {
    /// The first HEARTBEAT: sent at `sent` by our clock, received at `received` microseconds by the
    /// peer's.
    pub(crate) fn new(now: Time, sent: Time, received: u32) -> Self {
        Self {
            origin: difference(sent, received),
            base: 0,
            base_at: now,
            latest: [0; JUDGED_BY],
            count: 1,
            stage: Stage::Watched,
            helps: Hold::NONE,
            does_not_help: Hold::NONE,
        }
    }

    /// Another one was answered at `now`; `trip`: the path's smoothed round trip.
    pub(crate) fn note(&mut self, now: Time, sent: Time, received: u32, trip: Duration) {
        let delay = difference(sent, received).wrapping_sub(self.origin).cast_signed();
        let delay = i64::from(delay);
        let aged = micros(now.since(self.base_at) / DRIFT);
        self.base = delay.min(self.base.saturating_add(aged));
        self.base_at = now;
        self.latest.rotate_right(1);
        if let Some(latest) = self.latest.first_mut() {
            *latest = delay;
        }
        self.count = self.count.saturating_add(1);
        if let Some(stage) = self.next_stage(now, trip) {
            (self.stage, self.count) = (stage, 0);
        }
    }

    fn next_stage(&mut self, now: Time, trip: Duration) -> Option<Stage> {
        match self.stage {
            Stage::Watched if self.count >= DETECTED_BY => {
                let queue = self.queue(DETECTED_BY);
                (queue > SHORTEST.max(trip / PART)).then_some(Stage::Tried(queue))
            }
            // The first was sent before, or waited behind what had been sent before.
            Stage::Tried(before) if self.count > JUDGED_BY => {
                Some(if self.queue(JUDGED_BY) <= before / SHORTER {
                    Stage::Spaced(self.helps.renew(now))
                } else {
                    Stage::Left(self.does_not_help.renew(now))
                })
            }
            Stage::Spaced(until) | Stage::Left(until) if now >= until => Some(Stage::Watched),
            _ => None,
        }
    }

    /// By how much so many of the latest delays are longer than the shortest: their median.
    fn queue(&self, of: usize) -> Duration {
        let mut latest = self.latest;
        let latest = &mut latest[..of.min(JUDGED_BY)];
        latest.sort_unstable();
        let median = latest.get(of / 2).map_or(0, |median| median.saturating_sub(self.base));
        Duration::from_micros(u64::try_from(median).unwrap_or(0))
    }

    /// Whether SACKs on it are to be fewer than one for every second packet. What no HEARTBEAT
    /// confirmed for long is not known any more: a path that carries our own data has none.
    pub(crate) fn is_spaced(&self, now: Time) -> bool {
        let is_known = now.since(self.base_at) < FIRST_HOLD;
        is_known && matches!(self.stage, Stage::Tried(_) | Stage::Spaced(_))
    }
}

/// Delay plus the difference of the clocks, which wrap after 71 minutes.
fn difference(sent: Time, received: u32) -> u32 {
    received.wrapping_sub(clock_of(sent))
}

/// Microseconds of our own clock, as they stand in a HEARTBEAT ACK.
pub(crate) fn clock_of(now: Time) -> u32 {
    // Truncation is meant: what counts are differences.
    (now.as_nanos() / 1000) as u32
}

/// A time span as the differences of clocks are.
fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Duration = Duration::from_millis(40);

    /// Clocks that differ, the peer's near its wrap.
    fn received(sent: Time, delay: Duration) -> u32 {
        clock_of(sent + delay).wrapping_sub(20_000_000)
    }

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// HEARTBEATs from `began` on, one in half a second, that take so many milliseconds; gives when
    /// SACKs were spaced.
    fn feed(way: &mut WayBack, began: u64, delays: &[u64]) -> Vec<bool> {
        let fed = delays.iter().zip(0..).map(|(delay, n)| {
            let sent = at(began + 500 * n);
            way.note(sent + TRIP, sent, received(sent, Duration::from_millis(*delay)), TRIP);
            way.is_spaced(sent + TRIP)
        });
        fed.collect()
    }

    fn began(delay: u64) -> WayBack {
        WayBack::new(at(40), at(0), received(at(0), Duration::from_millis(delay)))
    }

    #[test]
    fn two_late_heartbeats_of_three_are_a_queue_and_one_is_not() {
        let mut way = began(20);
        let spaced = feed(&mut way, 500, &[20, 60, 20, 20, 60, 20, 26, 26]);
        assert_eq!(spaced, [false, false, false, false, false, false, true, true]);
    }

    #[test]
    fn a_millisecond_of_forty_is_no_queue() {
        assert_eq!(feed(&mut began(20), 500, &[21; 6]), [false; 6]);
    }

    #[test]
    fn the_first_may_have_been_the_late_one() {
        let mut way = began(300);
        assert_eq!(feed(&mut way, 500, &[20, 20, 20, 20]), [false; 4]);
        assert_eq!(feed(&mut way, 2500, &[40, 40, 40]), [false, true, true]);
    }

    #[test]
    fn clocks_that_drift_apart_are_no_queue() {
        let mut way = began(20);
        // 100 microseconds a second, for ten minutes: 60 ms.
        for second in 1..600 {
            let sent = at(1000 * second);
            let delay = Duration::from_millis(20) + Duration::from_micros(100 * second);
            way.note(sent + TRIP, sent, received(sent, delay), TRIP);
            assert!(!way.is_spaced(sent + TRIP), "{second}");
        }
    }

    #[test]
    fn a_queue_that_stays_as_it_is_was_not_of_sacks() {
        let mut way = began(20);
        assert_eq!(feed(&mut way, 500, &[50, 50, 50]), [false, true, true]);
        let spaced = feed(&mut way, 2000, &[50; 60]);
        assert_eq!(spaced[..5], [true, true, true, true, false]);
        assert!(!spaced.contains(&true) || spaced[5..58].iter().all(|is| !is), "left for 30 s");
        // Tried again, and left for twice as long.
        feed(&mut way, 33_000, &[50; 60]);
        assert_eq!(way.does_not_help.length, FIRST_HOLD * 2);
    }

    #[test]
    fn a_queue_of_sacks_that_is_found_again_has_them_spaced_for_longer() {
        let mut way = began(20);
        feed(&mut way, 500, &[80, 80, 80]);
        assert!(feed(&mut way, 2000, &[21; 60]).iter().all(|is| *is), "it helps");
        assert_eq!(way.helps.length, FIRST_HOLD);
        assert_eq!(feed(&mut way, 35_000, &[21; 3]).last(), Some(&false));
        feed(&mut way, 37_000, &[80, 80, 80]);
        feed(&mut way, 40_000, &[21; 6]);
        assert_eq!(way.helps.length, FIRST_HOLD * 2);
        feed(&mut way, 50_000, &[21; 300]);
        feed(&mut way, 200_000, &[80, 80, 80]);
        feed(&mut way, 210_000, &[21; 6]);
        assert_eq!(way.helps.length, FIRST_HOLD, "long ago");
    }

    #[test]
    fn without_heartbeats_nothing_is_spaced_for_ever() {
        let mut way = began(20);
        assert_eq!(feed(&mut way, 500, &[80, 80, 80]), [false, true, true]);
        assert!(way.is_spaced(at(30_000)) && !way.is_spaced(at(40_000)));
    }

    #[test]
    fn times_of_a_liar_are_only_numbers() {
        let mut way = began(20);
        let told = [0, u32::MAX, 0x8000_0000, 7, u32::MAX / 2];
        for (n, received) in told.into_iter().cycle().take(1000).zip(0..) {
            way.note(at(500 * received + 40), at(500 * received), n, TRIP);
        }
        assert!(way.helps.length <= LONGEST_HOLD && way.does_not_help.length <= LONGEST_HOLD);
    }
}
