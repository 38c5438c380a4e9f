//! Losses that are not congestion: `residual=on`. Not in the draft.
//!
//! Radio loses packets however slowly one sends. The draft lets 2 % of a round trip's data be lost
//! while it accelerates, and takes any loss for a sign to slow down while it does not. Both are
//! compared here with what is lost *anyway*: the losses of rounds in which nothing queued up and
//! the path was not asked for more than it carries (DOWN and CRUISE; the round's smallest round
//! trip is that of an empty path). A queue that overflows makes losses beyond that, and these count
//! in full; so does everything in rounds that saw a queue.
//!
//! Losses come in bursts, so their number in a round scatters by more than a Poisson variable's.
//! The scatter that was seen widens the interval (quasi-Poisson: variance φ times the mean).

use polypath_proto::time::{Duration, Time};

/// What was seen counts half after so long.
const HALF_LIFE: Duration = Duration::from_secs(10);
/// Losses, in packets, before anything is believed of them.
const LEAST_LOST: f64 = 3.0;
/// The greatest part that is taken for the path's own.
const MOST: f64 = 0.1;
/// Standard deviations that the losses of a round may be above the mean.
const DEVIATIONS: f64 = 2.0;

/// The part of the data that is lost without congestion, and how much that scatters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResidualLoss {
    /// Packets sent and lost in the rounds that count; older ones count less.
    sent: f64,
    lost: f64,
    /// Squares of what rounds had above or below the mean, over the mean; and how many rounds.
    scatter: f64,
    rounds: f64,
    /// When that was brought up to date.
    updated: Time,
}

impl ResidualLoss {
    /// The part that is lost, 0 to 1.
    pub(super) fn rate(&self) -> f64 {
        if self.lost < LEAST_LOST { 0.0 } else { (self.lost / self.sent.max(1.0)).min(MOST) }
    }

    /// φ: variance over mean, at least that of independent losses.
    fn dispersion(&self) -> f64 {
        if self.rounds < 2.0 { 1.0 } else { (self.scatter / self.rounds).max(1.0) }
    }

    /// Packets of `sent` that may get lost without congestion: the upper end of the interval.
    pub(super) fn expected(&self, sent: f64) -> f64 {
        let mean = self.rate() * sent;
        if mean == 0.0 { 0.0 } else { mean + DEVIATIONS * (self.dispersion() * mean).sqrt() }
    }

    /// A round without a queue ended.
    pub(super) fn round_ended(&mut self, now: Time, sent: f64, lost: f64) {
        let age = now.since(self.updated).as_secs_f64() / HALF_LIFE.as_secs_f64();
        let keep = 0.5_f64.powf(age);
        self.updated = now;
        for sum in [&mut self.sent, &mut self.lost, &mut self.scatter, &mut self.rounds] {
            *sum *= keep;
        }
        let mean = self.rate() * sent;
        if mean > 0.0 {
            self.scatter += (lost - mean).powi(2) / mean;
            self.rounds += 1.0;
        }
        self.sent += sent;
        self.lost += lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many rounds of 100 packets, 100 ms each, of which every `every`th loses `lost`.
    fn seen(rounds: u64, every: u64, lost: f64) -> ResidualLoss {
        let mut residual = ResidualLoss::default();
        for n in 1..=rounds {
            let lost = if n % every == 0 { lost } else { 0.0 };
            residual.round_ended(Time::from_millis(1000 + 100 * n), 100.0, lost);
        }
        residual
    }

    /// Rounds in one instant: packets sent, and lost.
    fn at_once(rounds: &[[f64; 2]]) -> ResidualLoss {
        let mut residual = ResidualLoss::default();
        for &[sent, lost] in rounds {
            residual.round_ended(Time::from_secs(1), sent, lost);
        }
        residual
    }

    fn is_near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn three_losses_are_believed_and_a_tenth_at_most() {
        assert_eq!(at_once(&[[100.0, 2.99]]).rate(), 0.0);
        assert_eq!(at_once(&[[100.0, 3.0]]).rate(), 0.03);
        assert_eq!(at_once(&[[100.0, 11.0]]).rate(), 0.1);
    }

    #[test]
    fn two_deviations_above_the_mean_are_expected() {
        // Poisson's variance is the mean; more regular losses count as such.
        assert!(is_near(at_once(&[[100.0, 4.0]]).expected(100.0), 4.0 + 2.0 * 2.0));
        assert!(is_near(at_once(&[[100.0, 4.0]; 4]).expected(100.0), 4.0 + 2.0 * 2.0));
        // Of 4 expected there were 12: that alone does not count yet.
        let bursty = at_once(&[[100.0, 4.0], [100.0, 12.0]]);
        assert!(is_near(bursty.expected(100.0), 8.0 + 2.0 * 8.0_f64.sqrt()));
        // 64 / 4, and 0, in two rounds: eight times Poisson's variance.
        let bursty = at_once(&[[100.0, 4.0], [100.0, 12.0], [100.0, 8.0]]);
        assert!(is_near(bursty.expected(100.0), 8.0 + 2.0 * 8.0));
        // Rounds of few packets count like others: (2 - 0.4)² / 0.4.
        let few = at_once(&[[100.0, 4.0], [10.0, 2.0], [10.0, 6.0 / 11.0]]);
        assert!(is_near(few.dispersion(), 3.2), "{}", few.dispersion());
    }

    #[test]
    fn what_was_seen_counts_half_after_ten_seconds() {
        let mut residual = at_once(&[[100.0, 10.0]]);
        residual.round_ended(Time::from_secs(11), 50.0, 0.0);
        assert!(is_near(residual.rate(), 0.05), "{}", residual.rate());
    }

    #[test]
    fn steady_losses_are_expected_and_twice_of_them_not() {
        let residual = seen(100, 1, 2.0);
        assert!((residual.rate() - 0.02).abs() < 1e-9);
        let expected = residual.expected(1000.0);
        assert!((20.0..40.0).contains(&expected), "{expected}");
    }

    #[test]
    fn bursts_widen_the_interval() {
        let (steady, bursty) = (seen(200, 1, 2.0), seen(200, 10, 20.0));
        assert!((steady.rate() - bursty.rate()).abs() < 0.003, "{}", bursty.rate());
        assert!(bursty.expected(100.0) > 3.0 * steady.expected(100.0));
    }

    #[test]
    fn two_losses_say_nothing_and_old_ones_are_forgotten() {
        assert_eq!(seen(10, 5, 1.0).expected(100.0), 0.0);
        let mut residual = seen(100, 1, 2.0);
        for n in 0..600 {
            residual.round_ended(Time::from_secs(20) + Duration::from_millis(100 * n), 100.0, 0.0);
        }
        assert!(residual.rate() < 0.001, "{}", residual.rate());
    }
}
