//! A path scheduler that Python has compiled: functions that are called by their addresses.

use core::fmt;
use std::sync::Arc;

use polypath_proto::PathId;
use polypath_proto::policy::{
    AckedInfo, LossInfo, PathChange, PathPick, PathScheduler, Policy, Trigger,
};
use polypath_proto::view::{AssocView, ChunkMeta};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::records::{self, ChunkRecord, PathRecord, ViewRecord};
use crate::failure::Failure;

/// Numbers of state, at most.
const MAX_STATE: usize = 1 << 16;
/// What functions return for no path.
const WAIT: i64 = -1;
const SKIP: i64 = -2;
/// What the wrapper of `polypath.compiled` returns where the function raised something.
const RAISED: i64 = -9;

/// Paths, their number, association, chunk, state, and two numbers that say what happened.
type Function = unsafe extern "C" fn(
    *const PathRecord,
    i64,
    *const ViewRecord,
    *const ChunkRecord,
    *mut f64,
    i64,
    i64,
) -> i64;

/// The functions of a compiled scheduler, and the object that keeps their code in memory.
#[derive(Debug)]
pub(crate) struct Functions {
    pick: Function,
    begin: Option<Function>,
    sent: Option<Function>,
    acked: Option<Function>,
    lost: Option<Function>,
    path_changed: Option<Function>,
    state: usize,
    _owner: Py<PyAny>,
}

impl Functions {
    /// What `polypath.compiled` made, if it is that.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Some(marked) = object.getattr_opt("_addresses")? else { return Ok(None) };
        let owner = object.clone().unbind();
        let of = |name: &str| -> PyResult<Option<Function>> {
            let address: usize = marked.get_item(name)?.extract()?;
            Ok((address != 0).then(|| function_at(address)))
        };
        let state: usize = marked.get_item("state")?.extract()?;
        if state > MAX_STATE {
            let text = format!("state = {state} (allowed: up to {MAX_STATE} numbers)");
            return Err(PyTypeError::new_err(text));
        }
        Ok(Some(Self {
            pick: of("pick")?.ok_or_else(|| PyTypeError::new_err("pick is not compiled"))?,
            begin: of("begin")?,
            sent: of("sent")?,
            acked: of("acked")?,
            lost: of("lost")?,
            path_changed: of("path_changed")?,
            state,
            _owner: owner,
        }))
    }
}

/// The function at an address that `polypath.compiled` took from numba.
#[expect(unsafe_code, reason = "only numba can say what it compiled; it did for this signature")]
fn function_at(address: usize) -> Function {
    // SAFETY: `Compiled._addresses` holds addresses of numba's C functions of exactly this
    // signature (python/polypath/compilation.py declares it beside the wrapper), and `Functions`
    // keeps the object that owns their code.
    unsafe { core::mem::transmute::<usize, Function>(address) }
}

/// Calls compiled functions, without the interpreter.
pub(crate) struct CompiledScheduler {
    functions: Arc<Functions>,
    state: Vec<f64>,
    /// Filled anew for each call.
    paths: Vec<PathRecord>,
    failure: Failure,
    failed: Option<String>,
}

impl CompiledScheduler {
    pub(crate) fn new(functions: Arc<Functions>, failure: &Failure) -> Self {
        Self {
            state: vec![0.0; functions.state],
            functions,
            paths: Vec::new(),
            failure: failure.clone(),
            failed: None,
        }
    }

    fn fail(&mut self, error: PyErr) {
        self.failed.get_or_insert_with(|| error.to_string());
        self.failure.note(error);
    }

    #[inline]
    fn call(
        &mut self,
        function: Function,
        view: &AssocView<'_>,
        chunk: &ChunkRecord,
        what: i64,
        more: i64,
    ) -> i64 {
        if self.failed.is_some() {
            return WAIT;
        }
        self.paths.clear();
        self.paths.extend(view.paths.iter().map(PathRecord::new));
        let association = ViewRecord::new(view);
        let returned =
            invoke(function, &self.paths, &association, chunk, &mut self.state, (what, more));
        if returned == RAISED {
            let text = "a compiled function raised an exception; its plain form says which: \
                        polypath.check(scheduler)";
            self.fail(PyRuntimeError::new_err(text));
            return WAIT;
        }
        returned
    }

    fn tell(&mut self, function: Option<Function>, view: &AssocView<'_>, what: i64, more: i64) {
        if let Some(function) = function {
            self.call(function, view, &ChunkRecord::default(), what, more);
        }
    }
}

#[expect(unsafe_code, reason = "calls what numba compiled")]
#[inline]
fn invoke(
    function: Function,
    paths: &[PathRecord],
    view: &ViewRecord,
    chunk: &ChunkRecord,
    state: &mut [f64],
    (what, more): (i64, i64),
) -> i64 {
    // SAFETY: the pointers are to live records of the declared layout, and to as many as the
    // function is told; the state is as long as its wrapper declares. Numba checks the bounds of
    // both arrays, and what it compiles raises no exception through the C function.
    unsafe {
        function(paths.as_ptr(), paths.len() as i64, view, chunk, state.as_mut_ptr(), what, more)
    }
}

impl fmt::Debug for CompiledScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledScheduler").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Policy for CompiledScheduler {
    fn name(&self) -> &'static str {
        "compiled"
    }

    fn failure(&self) -> Option<String> {
        self.failed.clone()
    }
}

impl PathScheduler for CompiledScheduler {
    fn begin_attempt(&mut self, view: &AssocView<'_>, why: Trigger) {
        self.tell(self.functions.begin, view, records::trigger_code(why), 0);
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        match self.call(self.functions.pick, view, &ChunkRecord::new(next), 0, 0) {
            WAIT => PathPick::Wait,
            SKIP => PathPick::Skip,
            number => match u8::try_from(number).ok().map(PathId) {
                Some(path) if view.path(path).is_some() => PathPick::Use(path),
                _ => {
                    let most = view.paths.len().saturating_sub(1);
                    self.fail(PyTypeError::new_err(format!(
                        "pick returned {number} (allowed: a path, 0 to {most}, -1 to wait, -2 to \
                         skip the chunk)"
                    )));
                    PathPick::Wait
                }
            },
        }
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        if let Some(sent) = self.functions.sent {
            let chunk = ChunkRecord::new(chunk);
            self.call(sent, view, &chunk, path.0.into(), new_packet.into());
        }
    }

    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        let bytes = i64::try_from(ev.bytes).unwrap_or(i64::MAX);
        self.tell(self.functions.acked, view, ev.path.0.into(), bytes);
    }

    fn on_lost(&mut self, view: &AssocView<'_>, ev: &LossInfo) {
        self.tell(self.functions.lost, view, ev.path.0.into(), records::loss_code(ev.kind));
    }

    fn on_path_change(&mut self, view: &AssocView<'_>, path: PathId, change: PathChange) {
        let change = records::change_code(change);
        self.tell(self.functions.path_changed, view, path.0.into(), change);
    }
}
