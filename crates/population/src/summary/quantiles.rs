//! Quantiles of ratios.

use schemars::JsonSchema;
use serde::Serialize;

/// Quantiles of what draws came to; with fewer than a thousand draws the first is the least.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Quantiles {
    /// One draw in a thousand is below it.
    pub p01: f64,
    /// One in a hundred.
    pub p1: f64,
    /// One in twenty.
    pub p5: f64,
    /// Every second.
    pub p50: f64,
}

impl Quantiles {
    /// `None` of no values.
    pub(crate) fn of_values(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            // The smallest value that has so many at or below it.
            let rank = (share * values.len() as f64).ceil() as usize;
            values.get(rank.saturating_sub(1)).copied()
        };
        Some(Self { p01: at(0.001)?, p1: at(0.01)?, p5: at(0.05)?, p50: at(0.5)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_seen() {
        let values = (1..=1000).rev().map(f64::from).collect();
        let found = Quantiles::of_values(values).unwrap();
        assert_eq!((found.p01, found.p1, found.p5, found.p50), (1.0, 10.0, 50.0, 500.0));
        assert_eq!(Quantiles::of_values(vec![3.0]).unwrap().p50, 3.0);
        assert!(Quantiles::of_values(Vec::new()).is_none());
    }
}
