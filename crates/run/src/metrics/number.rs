//! Counts and times as numbers.

/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// A count or size.
pub(super) fn whole(number: u64) -> Option<f64> {
    Some(number as f64)
}

/// A time in ns, in seconds.
pub(super) fn to_seconds(ns: u64) -> f64 {
    ns as f64 / NS
}
