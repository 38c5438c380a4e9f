//! A record's number has 48 bits, of which 16 are on the wire. The usual way to find the others is
//! to take the number nearest to the highest that came (RFC 9147 section 4.2.2). With one row of
//! numbers over paths of unlike delay that is wrong as soon as rate times difference of delays
//! exceeds 32,768 packets: 37 ms at 10 Gbit/s. So there are several guesses, and the tag says which
//! is right.
//!
//! Nothing here moves before it has.

use polypath_proto::time::{Duration, Time};

use super::history::History;
use super::window::Window;

/// Numbers with the same bits on the wire are this far apart.
const WRAP: i64 = 1 << 16;

/// Where else a number may be, in units of [`WRAP`] from the one nearest to the highest, the
/// nearest first: back as far as any window reaches, and ahead by as much as may be lost in a row.
const ELSEWHERE: [i64; 18] =
    [-1, 1, -2, 2, -3, 3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15];

/// Guesses, each once.
pub(super) type Likely = [Option<u64>; 3];

/// The numbers of one epoch that came.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    window: Window,
    history: History,
}

impl Numbers {
    /// The first of what [`likely`](Self::likely) gives: nearly always it is right.
    #[inline]
    pub(super) fn likeliest(
        &self,
        now: Time,
        lag: Option<Duration>,
        last: Option<u64>,
        low: u16,
    ) -> u64 {
        let by_lag = lag.and_then(|lag| self.history.at(now, lag));
        nearest(by_lag.or(last).unwrap_or_else(|| self.window.next()), low)
    }

    /// The likely numbers of a record that ends with `low` and came now on a path that is known to
    /// be so late, and delivered the number `last` before; the likeliest first.
    ///
    /// On a sparse path its own last number says nothing: at 10 Gbit/s 890,000 numbers pass between
    /// heartbeats of a second. But what other paths deliver at this moment was sent when this
    /// record was, less the lag. On a dense path the lag may jump, as its queue does, and its own
    /// last number stays near.
    pub(super) fn likely(
        &self,
        now: Time,
        lag: Option<Duration>,
        last: Option<u64>,
        low: u16,
    ) -> Likely {
        let by_lag = lag.and_then(|lag| self.history.at(now, lag));
        let expected = [by_lag, last, Some(self.window.next())];
        let mut likely = [None; 3];
        for (n, expected) in expected.into_iter().enumerate() {
            let number = expected.map(|expected| nearest(expected, low));
            if !likely.contains(&number)
                && let Some(to) = likely.get_mut(n)
            {
                *to = number;
            }
        }
        likely
    }

    /// All others that could be, the nearest to the highest first: for paths whose lag is not known
    /// or has changed, and after the loss of tens of thousands of packets in a row.
    pub(super) fn others(&self, low: u16) -> impl Iterator<Item = u64> + use<> {
        let usual = nearest(self.window.next(), low);
        ELSEWHERE.iter().filter_map(move |steps| usual.checked_add_signed(steps * WRAP))
    }

    /// Whether no record of this number was taken yet.
    pub(super) fn is_fresh(&self, number: u64) -> bool {
        self.window.is_fresh(number)
    }

    /// Whether so many numbers are told apart that those of 16 bits may have several meanings, and
    /// it is worth while to remember what paths do.
    pub(super) fn need_paths(&self) -> bool {
        self.history.is_kept()
    }

    /// How late a record is that comes now: how long ago its number was the highest. `None` if that
    /// is not known. `expected`: its number was guessed at once.
    pub(super) fn lag(&self, now: Time, number: u64, expected: bool) -> Option<Duration> {
        match (number >= self.window.next(), expected) {
            (false, _) => self.history.since(now, number),
            // Other paths carry nothing: that says nothing about how much later this one is.
            (true, true) => None,
            (true, false) => Some(Duration::ZERO),
        }
    }

    /// A record of this number was authentic.
    pub(super) fn take(&mut self, now: Time, number: u64) {
        let newest = number >= self.window.next();
        self.window.take(now, number);
        if newest {
            self.history.note(now, number, self.window.bits());
        }
    }
}

/// The number nearest to `expected` that ends with `low`.
const fn nearest(expected: u64, low: u16) -> u64 {
    let delta = low.wrapping_sub(expected as u16).cast_signed() as i64;
    match expected.checked_add_signed(delta) {
        Some(number) => number,
        // There are none below zero.
        None => low as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_number_is_found() {
        for (expected, low, number) in [
            (0, 0, 0),
            (0, 65_535, 65_535),
            (0, 40_000, 40_000),
            (70_000, 65_000, 65_000),
            (70_000, 4464, 70_000),
            (65_536, 65_535, 65_535),
            (65_535, 0, 65_536),
            (1 << 40, 1, (1 << 40) + 1),
            ((1 << 40) + 1, 65_535, (1 << 40) - 1),
        ] {
            assert_eq!(nearest(expected, low), number, "{expected} {low}");
        }
    }

    #[test]
    fn every_number_of_the_window_is_among_the_guesses() {
        let mut numbers = Numbers::default();
        numbers.take(Time::ZERO, 2_000_000);
        for number in [1_000_000, 1_500_000, 1_999_999, 2_000_001, 2_060_000, 2_190_000] {
            let likely = numbers.likely(Time::ZERO, None, Some(70_000), number as u16);
            let mut all: Vec<_> = likely.into_iter().flatten().collect();
            all.extend(numbers.others(number as u16));
            assert!(all.contains(&number), "{number}");
            assert!(all.len() <= 21);
        }
    }
}
