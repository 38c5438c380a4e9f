//! The rules that every path scheduler has to keep, for those in Python.

use polypath_policies::PolicyKind;
use polypath_proto::config::CcConfig;
use polypath_proto::policy::PathScheduler;
use polypath_proto::rng::Rng;
use polypath_testkit::conformance::examine_path_scheduler;
use pyo3::prelude::*;

use crate::errors::{bad_policy, bad_scenario};
use crate::execute;
use crate::failure::Failure;
use crate::own::OwnSchedulers;

/// The first rule that a path scheduler breaks in random rounds of decisions, in a line; `None`: it
/// keeps them all.
#[pyfunction]
pub(crate) fn broken_rule(
    py: Python<'_>,
    scheduler: &Bound<'_, PyAny>,
    seed: u64,
) -> PyResult<Option<String>> {
    let mut own = OwnSchedulers::default();
    let name = own.name_of(scheduler)?;
    let failure = Failure::default();
    let policies = own.policies(&failure);
    let recipe = policies.path_scheduler(&name).map_err(bad_scenario)?;
    let make =
        |seed| -> Box<dyn PathScheduler> { recipe(&CcConfig::default(), &mut Rng::from_u64(seed)) };
    let examined = execute::interruptible(py, |_| examine_path_scheduler(make, seed))?;
    if let Some(error) = failure.take() {
        let place = format!("{} {name}, seed {seed}", PolicyKind::PathScheduler);
        return Err(bad_policy(py, &place, error));
    }
    Ok(examined.err())
}
