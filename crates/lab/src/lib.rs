//! Scenarios.

pub mod units;
