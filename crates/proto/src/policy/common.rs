//! What all policies have in common.

use core::fmt;

/// What every policy is.
pub trait Policy: Send + fmt::Debug {
    /// Its name, as scenario files and the command line write it.
    fn name(&self) -> &'static str;

    /// Its inner state as named numbers, for traces. Empty where there is none worth showing.
    fn trace_values(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
