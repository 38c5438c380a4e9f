//! Random networks.
use pyo3::prelude::*;

/// Runs draws of the population.
#[pyfunction]
pub(crate) fn run_population(_seed: u64) -> PyResult<()> {
    Ok(())
}
