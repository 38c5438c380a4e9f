//! The command line of the wheel.

use std::ffi::OsString;

use polypath_policies::{OwnScheduler, Registry};
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::own::Own;

/// Runs `polypath` with these arguments, the program's name first, and returns its exit code.
/// `find` is asked for path schedulers that are not part of Polypath, by name: it returns a class,
/// or `None`; what it raises is told the user.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>, find: Py<PyAny>) -> u8 {
    let find = move |name: &str| Python::attach(|py| find_scheduler(find.bind(py), name));
    let registry = Registry::builtin().with_own_schedulers(find);
    py.detach(|| polypath_cli::run_command(arguments, registry))
}

fn find_scheduler(find: &Bound<'_, PyAny>, name: &str) -> Option<Result<OwnScheduler, String>> {
    match find.call1((name,)).and_then(|found| Own::new(&found).map(|own| (found, own))) {
        Ok((found, _)) if found.is_none() => None,
        Ok((_, own)) => Some(Ok(own.scheduler(&Failure::default()))),
        Err(error) => Some(Err(error.to_string())),
    }
}
