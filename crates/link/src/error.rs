//! Settings that no link can have.

/// A setting that no link can have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A probability lies outside 0..=1.
    #[error("{field}: {value} is not a probability (allowed: 0 to 1)")]
    Probability {
        /// The setting's name.
        field: &'static str,
        /// What it was set to.
        value: f64,
    },
    /// A rate of zero, which would never send anything; an outage is
    /// [`Change::Up`](crate::Change::Up)`(false)`.
    #[error("rate: 0 bit/s (allowed: at least 1 bit/s, or none for no limit)")]
    ZeroRate,
    /// RED's thresholds are not in order.
    #[error("red: min {min} and max {max} packets (allowed: 0 <= min < max)")]
    RedThresholds {
        /// Lower threshold in packets.
        min: f64,
        /// Upper threshold in packets.
        max: f64,
    },
}

pub(crate) fn check_probability(field: &'static str, value: f64) -> Result<(), ConfigError> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(ConfigError::Probability { field, value })
    }
}
