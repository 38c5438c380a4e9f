//! What tests say of two paths: one queue or two.

use super::active_test::Effect;

// The constants below were chosen with `cargo run --release -p polypath-sim --example sharing`
// (docs/explanation/shared-bottlenecks.md has its rows).

/// Weight of a test, as a part of that of the next one.
const TEST_FADE: f64 = 0.95;
/// What is known of the noise beforehand: a variance of this part of the squared effect.
const PRIOR_NOISE: f64 = 0.05;
/// A test in which the other path's own flight changed by more than this part of the dip tells
/// nothing.
const MOST_OTHER_CHANGE: f64 = 0.33;
/// Effects beyond these parts of the expected one count as much: a loss of somebody else is one
/// event.
const EFFECT_BOUNDS: (f64, f64) = (-1.0, 2.0);
/// Logarithms of the likelihood ratio that decide, and that either direction has to give to a
/// verdict of one queue.
const DECIDING_LOG_RATIO: f64 = 7.0;
const CONFIRMING_LOG_RATIO: f64 = 1.0;
/// The logarithm that decides where only one direction can be tried.
const ONE_SIDED_LOG_RATIO: f64 = 10.0;

/// ActiveTests of both directions: the lower path yields, and the higher one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Likelihood {
    directions: [Direction; 2],
}

/// In one queue the other path's round trip changes as much as that of the path that yields, in two
/// it does not change.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// The sum of the weights of tests.
    tests: f64,
    /// Weighted sums of squares, as parts of the effect on the path that yields: what is
    /// unexplained with two queues, and with one.
    apart: f64,
    one: f64,
    /// The mean square of these effects, and of how many.
    square: f64,
    seen: f64,
}

impl Direction {
    fn add_effects(&mut self, own: f64, other: f64) {
        let part = (other / own).clamp(EFFECT_BOUNDS.0, EFFECT_BOUNDS.1);
        self.seen = TEST_FADE * self.seen + 1.0;
        self.square += (own * own - self.square) / self.seen;
        // Small effects drown in noise. Great ones do not outweigh all others: they are one test
        // each.
        let weight = (own * own / self.square).min(1.0);
        let fade = |sum: &mut f64, value: f64| *sum = TEST_FADE * *sum + weight * value;
        fade(&mut self.tests, 1.0);
        fade(&mut self.apart, part * part);
        fade(&mut self.one, (1.0 - part) * (1.0 - part));
    }

    /// Logarithm of the likelihood ratio of one queue to two, the noise being the same and unknown.
    fn log_ratio(&self) -> f64 {
        self.tests / 2.0 * ((self.apart + PRIOR_NOISE) / (self.one + PRIOR_NOISE)).ln()
    }
}

impl Likelihood {
    /// The lower path yielded (`by` 0) or the higher one (1), with this effect on itself and on the
    /// other. Gives whether that tells anything.
    pub(super) fn add_effects(&mut self, by: usize, own: &Effect, other: &Effect) -> bool {
        let clear = other.flight.abs() <= MOST_OTHER_CHANGE * own.flight.abs() && own.delay < 0.0;
        if let Some(direction) = self.directions.get_mut(by).filter(|_| clear) {
            direction.add_effects(own.delay, other.delay);
        }
        clear
    }

    /// One queue, or two, if that is certain.
    pub(super) fn shared_verdict(&self) -> Option<bool> {
        let ratios = self.directions.map(|d| d.log_ratio());
        let total: f64 = ratios.iter().sum();
        let supported = ratios.iter().all(|r| *r > CONFIRMING_LOG_RATIO);
        let alone = self.directions.iter().any(|d| d.tests == 0.0);
        match total {
            t if t > DECIDING_LOG_RATIO && supported || t > ONE_SIDED_LOG_RATIO && alone => {
                Some(true)
            }
            t if t < -DECIDING_LOG_RATIO => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn effect(delay: f64, flight: f64) -> Effect {
        Effect { delay, flight, rate: 1e6 }
    }

    #[test]
    fn a_direction_by_hand() {
        let mut d = Direction::default();
        d.add_effects(-0.2, -0.2);
        // 1 is unexplained with two queues, 0 with one, and 0.05 is noise that is known beforehand:
        // ln(1.05 / 0.05) / 2.
        assert!((d.log_ratio() - 21.0f64.ln() / 2.0).abs() < 1e-9);
        d.add_effects(-0.2, -0.2);
        assert!((d.log_ratio() - 1.95 / 2.0 * 40.0f64.ln()).abs() < 1e-9);
        let mut apart = Direction::default();
        apart.add_effects(-0.2, 0.0);
        assert!((apart.log_ratio() + 21.0f64.ln() / 2.0).abs() < 1e-9);
    }

    #[test]
    fn two_trials_of_each_direction_that_agree_decide() {
        for (other, shared) in [(-0.2, true), (0.0, false)] {
            let mut e = Likelihood::default();
            for i in 0..4 {
                assert_eq!(e.shared_verdict(), None, "{i} tests");
                e.add_effects(i % 2, &effect(-0.2, -3e4), &effect(other, 0.0));
            }
            assert_eq!(e.shared_verdict(), Some(shared));
        }
    }

    #[test]
    fn directions_that_contradict_each_other_are_no_verdict() {
        let mut e = Likelihood::default();
        for _ in 0..20 {
            e.add_effects(0, &effect(-0.2, -3e4), &effect(-0.2, 0.0));
            e.add_effects(1, &effect(-0.2, -3e4), &effect(0.0, 0.0));
        }
        assert_eq!(e.shared_verdict(), None);
    }

    #[test]
    fn one_direction_alone_has_to_be_surer() {
        let mut e = Likelihood::default();
        let needed = (1..20).find(|_| {
            e.add_effects(0, &effect(-0.2, -3e4), &effect(-0.2, 0.0));
            e.shared_verdict() == Some(true)
        });
        // 3.71 ln(75.2) / 2 = 8.0 with four, 4.52 ln(91.5) / 2 = 10.2 with five tests, the older
        // ones being worth less.
        assert_eq!(needed, Some(5));
    }

    #[test]
    fn a_trial_in_which_the_other_path_changed_by_itself_does_not_count() {
        let mut e = Likelihood::default();
        assert!((0..20).all(|i| !e.add_effects(i % 2, &effect(-0.2, -3e4), &effect(-0.2, -1.1e4))));
        assert_eq!(e.shared_verdict(), None);
    }

    #[test]
    fn a_trial_of_great_effect_is_one_trial() {
        let mut e = Likelihood::default();
        (0..20).for_each(|_| assert!(e.add_effects(0, &effect(-0.01, -3e4), &effect(-0.01, 0.0))));
        (0..20).for_each(|_| assert!(e.add_effects(1, &effect(-0.001, -3e3), &effect(0.0, 0.0))));
        let before = e.directions[1].log_ratio();
        assert!(e.add_effects(1, &effect(-0.1, -3e5), &effect(-0.1, 0.0)));
        let after = e.directions[1].log_ratio();
        assert!(before < -30.0 && after < -10.0, "{before} to {after}");
        assert_eq!(e.shared_verdict(), None);
    }

    #[test]
    fn a_single_event_is_one_event() {
        let mut e = Likelihood::default();
        assert!((0..6).all(|i| e.add_effects(i % 2, &effect(-0.01, -3e4), &effect(0.0, 0.0))));
        assert_eq!(e.shared_verdict(), Some(false));
        e.add_effects(0, &effect(-0.01, -3e4), &effect(-1.0, 0.0));
        assert_ne!(e.shared_verdict(), Some(true));
    }
}
