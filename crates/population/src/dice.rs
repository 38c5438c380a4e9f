//! Where the numbers of a draw come from.

use polypath_proto::rng::Rng;
use polypath_sim::named_rng;

use crate::quantity::{Quantity, round_to_three_digits};

/// The random streams of one draw. Each subject has its own, so that what is drawn for one does not
/// move when another draws more than before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cup {
    pub(crate) seed: u64,
    pub(crate) number: u64,
    /// How often the draw was impossible before.
    pub(crate) attempt: u32,
}

impl Cup {
    /// The random stream of a subject.
    pub(crate) fn dice_for(self, subject: &str) -> Dice {
        let Self { seed, number, attempt } = self;
        Dice(named_rng(seed, &format!("population.{number}.{attempt}.{subject}")))
    }
}

/// The random stream of one subject.
#[derive(Debug)]
pub(crate) struct Dice(Rng);

impl Dice {
    /// A value of the quantity, in base units.
    pub(crate) fn draw_value(&mut self, quantity: &Quantity) -> f64 {
        quantity.value_at(self.0.unit())
    }

    /// A value of the quantity in whole base units, with three digits, and at least one.
    pub(crate) fn draw_whole(&mut self, quantity: &Quantity) -> u64 {
        round_to_three_digits(self.draw_value(quantity)).max(1)
    }

    /// A whole number from the lower to the upper end, both included, each as likely.
    pub(crate) fn draw_count(&mut self, quantity: &Quantity) -> usize {
        let (low, high) = (quantity.low as usize, quantity.high as usize);
        low + self.0.below(high - low + 1)
    }

    /// Uniform in [0, 1).
    pub(crate) fn draw_share(&mut self) -> f64 {
        self.0.unit()
    }

    /// True with this probability.
    pub(crate) fn decide_with(&mut self, probability: f64) -> bool {
        self.0.unit() < probability
    }

    /// A uniform number below `n`.
    pub(crate) fn pick_below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }

    /// A place in `weights`, with that weight.
    pub(crate) fn pick_weighted(&mut self, weights: &[u32]) -> usize {
        let sum: u32 = weights.iter().sum();
        let mut left = self.0.below(sum as usize) as u32;
        for (place, weight) in weights.iter().enumerate() {
            if left < *weight {
                return place;
            }
            left -= weight;
        }
        0
    }

    /// Some of `candidates`: one, and each other with probability one half. In their order.
    pub(crate) fn pick_some(&mut self, candidates: &[usize]) -> Vec<usize> {
        let first = self.pick_below(candidates.len());
        let mut picked = Vec::new();
        for (n, candidate) in candidates.iter().enumerate() {
            // Decided for each, so that one candidate more does not move the others.
            let decided = self.decide_with(0.5);
            if n == first || decided {
                picked.push(*candidate);
            }
        }
        picked
    }
}
