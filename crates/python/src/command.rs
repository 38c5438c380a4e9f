//! The command line of the wheel.

use std::ffi::OsString;

use polypath_policies::{OwnScheduler, Registry};
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::own::Own;

/// Runs `polypath` with these arguments, the program's name first, and returns its exit code.
/// `find` is asked for path schedulers that are not part of Polypath, by name: it returns a class,
/// `None`, or words that say why it cannot; what it raises is told the user, too.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>, find: Py<PyAny>) -> u8 {
    let find = move |name: &str| Python::attach(|py| find_scheduler(find.bind(py), name));
    let registry = Registry::builtin().with_own_schedulers(find);
    py.detach(|| polypath_cli::run_command(arguments, registry))
}

fn find_scheduler(find: &Bound<'_, PyAny>, name: &str) -> Option<Result<OwnScheduler, String>> {
    let found = match find.call1((name,)) {
        Ok(found) if found.is_none() => return None,
        Ok(found) => found,
        Err(error) => return Some(Err(error.to_string())),
    };
    // Words: why there is none.
    if let Ok(why) = found.extract() {
        return Some(Err(why));
    }
    let own = Own::new(&found).map(|own| own.scheduler(&Failure::default()));
    Some(own.map_err(|error| error.to_string()))
}
