//! Shares of draws with their intervals.

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{Beta, ContinuousCDF as _};

/// Probability beyond each end of a 95 % interval.
const BEYOND: f64 = 0.025;

/// A share of draws and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Portion {
    /// Draws that are counted.
    pub count: usize,
    /// All draws.
    pub of: usize,
    /// Lower end of the interval, from 0 to 1.
    pub low: f64,
    /// Upper end of the interval, from 0 to 1.
    pub high: f64,
}

impl Portion {
    /// The share itself, from 0 to 1; none of none is 0.
    pub fn share(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }
}

/// The share of `count` in `of` with its exact interval (Clopper and Pearson 1934), which holds for
/// rare cases, too.
pub fn portion_of(count: usize, of: usize) -> Portion {
    let (hits, misses) = (count as f64, of.saturating_sub(count) as f64);
    let quantile = |a: f64, b: f64, at: f64| Beta::new(a, b).map(|beta| beta.inverse_cdf(at)).ok();
    // Beta(0, b) and Beta(a, 0) do not exist: the interval then reaches the end.
    Portion {
        count,
        of,
        low: quantile(hits, misses + 1.0, BEYOND).unwrap_or(0.0),
        high: quantile(hits + 1.0, misses, 1.0 - BEYOND).unwrap_or(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As R's binom.test prints them.
    #[test]
    fn intervals_are_those_of_textbooks() {
        for (count, of, low, high) in [
            (0, 10, 0.0, 0.3085),
            (1, 20, 0.001265, 0.248733),
            (682, 925, 0.707664, 0.765407),
            (10, 10, 0.6915, 1.0),
        ] {
            let found = portion_of(count, of);
            assert!((found.low - low).abs() < 1e-4, "{found:?}");
            assert!((found.high - high).abs() < 1e-4, "{found:?}");
        }
        assert_eq!((portion_of(0, 0).low, portion_of(0, 0).high), (0.0, 1.0));
    }
}
