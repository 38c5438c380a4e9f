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

    /// Why it cannot decide any more, if code that it runs for somebody has failed: several lines,
    /// perhaps. Of a path scheduler the association asks whenever nothing more leaves; it then
    /// [ends](crate::CloseReason::PolicyFailed).
    fn failure(&self) -> Option<String> {
        None
    }
}
