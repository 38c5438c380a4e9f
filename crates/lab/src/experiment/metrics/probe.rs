//! Figures that need the trace events of a run.

use polypath_sim::{Observer, RunResult};

use super::Figures;
use crate::scenario::Scenario;

/// Watches a run.
#[derive(Debug)]
pub struct Probe {}

impl Probe {
    /// A probe for runs of this scenario.
    pub fn new(_: &Scenario) -> Self {
        Self {}
    }

    /// Adds what it saw.
    pub fn figures(&self, _: &mut Figures, _: &RunResult) {}
}

impl Observer for Probe {}

/// Whether a metric needs traces.
pub fn is_traced(_: &str) -> bool {
    false
}
