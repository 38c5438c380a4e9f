//! How restless a path is: what it needs in flight beyond its bandwidth-delay product, because its
//! acknowledgements do not come as evenly as its packets were sent.
//!
//! Two things are measured, neither of which a queue of our own changes: one delays
//! acknowledgements, but as long as what is in flight explains, and they come at the path's rate.
//! (RTTVAR grows with it, and a reserve by RTTVAR would feed itself.)
//!
//! * *Bunches*: where SACKs wait for their turn, on a radio link or behind others, the path runs
//!   dry while they wait. What a bunch acknowledges beyond rate times time since they were late
//!   last is what it needs; BBR (Cardwell et al., `extra_acked`) keeps as much. A single one is no
//!   reason, say when SACKs change to a faster way: what each of the last rounds showed counts.
//! * *Round trips that vary* beyond what is in flight explains, as the rate of a radio link does:
//!   without a queue the path misses its good moments.

use polypath_proto::time::Time;

/// Rounds that must have seen a bunch.
const ROUNDS: usize = 4;
/// Mean deviations of a round trip that are kept, beyond half of the smallest one.
const DEVIATIONS: f64 = 4.0;

/// What is known of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Restless {
    /// Since when acknowledgements have been ahead of the rate, and their bytes.
    began: Time,
    acked: u64,
    /// The most that they were ahead in this round, and in the latest ones, bytes.
    most: f64,
    rounds: [f64; ROUNDS],
    next: usize,
    /// The least of these.
    bunch: f64,
    /// Seconds of a round trip that what was in flight does not explain, on average, and how far
    /// they deviate from that.
    unexplained: f64,
    deviation: f64,
}

impl Restless {
    /// So many bytes were acknowledged on a path of `rate` bytes per second.
    #[inline]
    pub(crate) fn on_acked(&mut self, now: Time, bytes: u64, rate: f64) {
        let expected = rate * 1e-9 * now.0.saturating_sub(self.began.0) as f64;
        if self.acked as f64 <= expected {
            (self.began, self.acked) = (now, bytes);
            self.most = self.most.max(bytes as f64);
        } else {
            self.acked += bytes;
            self.most = self.most.max(self.acked as f64 - expected);
        }
    }

    /// A round trip is over, and so many seconds of it are unexplained; the averages are those of
    /// SRTT and RTTVAR (RFC 9260 section 6.3.1).
    pub(crate) fn round_ended(&mut self, unexplained: Option<f64>) {
        if let Some(slot) = self.rounds.get_mut(self.next) {
            *slot = std::mem::take(&mut self.most);
        }
        // Whoever is ahead by a bunch and goes on at the rate stays ahead: in each round anew.
        self.acked = 0;
        self.next = (self.next + 1) % ROUNDS;
        self.bunch = self.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        if let Some(sample) = unexplained {
            self.deviation += ((sample - self.unexplained).abs() - self.deviation) / 4.0;
            self.unexplained += (sample - self.unexplained) / 8.0;
        }
    }

    /// Bytes beyond the bandwidth-delay product and `slack` that keep the path busy, at `rate`
    /// bytes per second and with a smallest round trip of `base` seconds.
    pub(crate) fn reserve(&self, rate: f64, base: f64, slack: f64) -> f64 {
        let varies = rate * (DEVIATIONS * self.deviation - base / 2.0);
        varies.max(self.bunch - slack).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes per second, seconds.
    const RATE: f64 = 1e6;
    const BASE: f64 = 0.02;

    /// A round of 20 ms in which 1,000 bytes come every millisecond, but `late` milliseconds' with
    /// those of the one after.
    fn round(path: &mut Restless, start: u64, late: u64) {
        let mut held = 0;
        for ms in 0..20 {
            held += 1_000;
            if ms % (late + 1) == late {
                path.on_acked(Time::from_millis(start + ms), held, RATE);
                held = 0;
            }
        }
        path.round_ended(Some(0.0));
    }

    fn reserve(path: &Restless) -> f64 {
        path.reserve(RATE, BASE, 2_000.0)
    }

    #[test]
    fn an_even_path_needs_nothing() {
        let mut path = Restless::default();
        (0..6).for_each(|n| round(&mut path, 20 * n, 0));
        assert!(reserve(&path) < 1.0, "{}", reserve(&path));
    }

    #[test]
    fn what_every_round_holds_back_is_kept_in_flight() {
        let mut path = Restless::default();
        (0..6).for_each(|n| round(&mut path, 20 * n, 4));
        // Five packets at a time, two of which are slack.
        assert!((2_990.0..3_010.0).contains(&reserve(&path)), "{}", reserve(&path));
        round(&mut path, 120, 0);
        assert!(reserve(&path) < 1.0, "one round without, and it is not every round");
    }

    #[test]
    fn round_trips_that_vary_are_bridged_and_constant_ones_are_not() {
        let (mut varies, mut constant) = (Restless::default(), Restless::default());
        for n in 0..40 {
            varies.round_ended(Some(if n % 2 == 0 { 0.0 } else { 0.04 }));
            constant.round_ended(Some(0.04));
        }
        // They deviate by about 20 ms: 80 ms less half of the round trip.
        assert!((60e3..80e3).contains(&reserve(&varies)), "{}", reserve(&varies));
        assert!(reserve(&constant) < 1.0, "{}", reserve(&constant));
    }
}
