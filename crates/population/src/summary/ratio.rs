//! Ratios of what runs came to.

use crate::record::Record;

/// Ratios beyond it, either way, count as it: nothing at all is no number of times less.
const MOST: f64 = 1_000.0;
/// Below the best path by more than this is worse.
pub(crate) const TOLERANCE: f64 = 0.01;
/// Lateness may be so many times the best path's.
pub(crate) const LATENESS: f64 = 1.1;

/// One over another; of nothing and nothing, 1.
pub(crate) fn ratio_of(one: f64, other: f64) -> f64 {
    if one <= 0.0 && other <= 0.0 {
        return 1.0;
    }
    (one / other.max(f64::MIN_POSITIVE)).clamp(1.0 / MOST, MOST)
}

/// Ours over the best path alone.
pub(crate) fn to_best_path(record: &Record) -> f64 {
    ratio_of(record.ours.performance, record.alone.outcome.performance)
}

/// Ours over the limit, where there is one.
pub(crate) fn to_limit(record: &Record) -> Option<f64> {
    record.limit.map(|limit| ratio_of(record.ours.performance, limit))
}

/// Our p99 over that of the best path alone, where lateness counts and both delivered anything.
pub(crate) fn to_p99(record: &Record) -> Option<f64> {
    Some(ratio_of(record.ours.p99?, record.alone.outcome.p99?))
}

/// Whether ours is below the best path alone.
pub(crate) fn is_below(record: &Record) -> bool {
    to_best_path(record) < 1.0 - TOLERANCE
}

/// The geometric mean; 1 of nothing.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 1.0;
    }
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_nothing_are_bounded() {
        assert_eq!(ratio_of(0.0, 0.0), 1.0);
        assert_eq!(ratio_of(5.0, 0.0), MOST);
        assert_eq!(ratio_of(0.0, 5.0), 1.0 / MOST);
        assert!((geometric_mean(&[0.5, 2.0]) - 1.0).abs() < 1e-12);
    }
}
