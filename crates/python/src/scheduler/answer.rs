//! What `pick` may answer.

use polypath_proto::PathId;
use polypath_proto::policy::PathPick;
use polypath_proto::time::Time;
use polypath_proto::view::AssocView;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::view::PathView;

const ALLOWED: &str = "a path, its number, None to wait, polypath.SKIP, or polypath.wait_until(t)";

/// The decision that an answer stands for.
///
/// # Errors
/// Anything else, with what is allowed.
pub(super) fn read_pick(answer: &Bound<'_, PyAny>, view: &AssocView<'_>) -> PyResult<PathPick> {
    if answer.is_none() {
        return Ok(PathPick::Wait);
    }
    if let Ok(path) = answer.cast::<PathView>() {
        return Ok(PathPick::Use(path.get().path_id()));
    }
    if let Ok(number) = answer.extract::<usize>() {
        let known = u8::try_from(number).ok().map(PathId).filter(|path| view.path(*path).is_some());
        let count = view.paths.len();
        let refused = || format!("pick returned path {number} (allowed: 0 to {})", count - 1);
        return known.map(PathPick::Use).ok_or_else(|| PyTypeError::new_err(refused()));
    }
    // What polypath.SKIP and polypath.wait_until are.
    if let Ok(word) = answer.getattr("until") {
        let until: Option<f64> = word.extract()?;
        let Some(until) = until else { return Ok(PathPick::Skip) };
        if until.is_finite() {
            return Ok(PathPick::WaitUntil(Time((until.max(0.0) * 1e9) as u64)));
        }
    }
    let shown = answer.repr().map_or_else(|_| "something".to_owned(), |repr| repr.to_string());
    Err(PyTypeError::new_err(format!("pick returned {shown} (allowed: {ALLOWED})")))
}
