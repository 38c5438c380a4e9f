//! A path scheduler in Python: an object with `pick`, called for each chunk.

mod answer;
mod compiled;
mod interval;
mod records;
mod view;

use core::fmt;

use polypath_proto::PathId;
use polypath_proto::policy::{
    AckedInfo, LossInfo, PathChange, PathPick, PathScheduler, Policy, Trigger,
};
use polypath_proto::view::{AssocView, ChunkMeta};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

pub(crate) use self::compiled::{CompiledScheduler, Functions};
pub(crate) use self::interval::IntervalScheduler;
pub(crate) use self::view::{Chunk, PathView, View, record_fields};
use crate::failure::{Failure, describe_exception};
use crate::gate;

/// Calls the methods of a Python object. The first exception ends the association.
pub(crate) struct PlainScheduler {
    object: Option<Py<PyAny>>,
    /// Its method `pick`, which is called for each chunk.
    pick: Option<Py<PyAny>>,
    has: Methods,
    failure: Failure,
    failed: Option<String>,
}

/// Which of the optional methods there are.
#[derive(Clone, Copy, Debug, Default)]
struct Methods {
    begin: bool,
    end: bool,
    sent: bool,
    acked: bool,
    lost: bool,
    path_changed: bool,
}

impl PlainScheduler {
    /// What `factory` makes, called without arguments.
    pub(crate) fn boxed(factory: &Py<PyAny>, failure: &Failure) -> Box<dyn PathScheduler> {
        let (has, failure) = (Methods::default(), failure.clone());
        let mut scheduler = Self { object: None, pick: None, has, failure, failed: None };
        let made = gate::attach(|py| {
            let object = factory.bind(py).call0()?;
            let has = |name: &Bound<'_, PyString>| object.hasattr(name);
            scheduler.pick = Some(object.getattr(intern!(py, "pick"))?.unbind());
            scheduler.has = Methods {
                begin: has(intern!(py, "begin"))?,
                end: has(intern!(py, "end"))?,
                sent: has(intern!(py, "sent"))?,
                acked: has(intern!(py, "acked"))?,
                lost: has(intern!(py, "lost"))?,
                path_changed: has(intern!(py, "path_changed"))?,
            };
            Ok(object.unbind())
        });
        match made {
            Some(Ok(object)) => scheduler.object = Some(object),
            Some(Err(error)) => scheduler.fail(error),
            None => {}
        }
        Box::new(scheduler)
    }

    fn fail(&mut self, error: PyErr) {
        self.failed.get_or_insert_with(|| describe_exception(&error));
        self.failure.note(error);
    }

    /// Calls the object with the interpreter attached; nothing once it has failed.
    fn call<T>(&mut self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        let object = self.object.as_ref().filter(|_| self.failed.is_none())?;
        let called = gate::attach(|py| call(object.bind(py)))?;
        called.map_err(|error| self.fail(error)).ok()
    }
}

impl fmt::Debug for PlainScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainScheduler").field("has", &self.has).finish_non_exhaustive()
    }
}

impl Policy for PlainScheduler {
    fn name(&self) -> &'static str {
        "python"
    }

    fn failure(&self) -> Option<String> {
        self.failed.clone()
    }
}

impl PathScheduler for PlainScheduler {
    fn begin_attempt(&mut self, view: &AssocView<'_>, why: Trigger) {
        if self.has.begin {
            self.call(|object| {
                let py = object.py();
                let why = view::trigger_name(why);
                object.call_method1(intern!(py, "begin"), (View::new(py, view)?, why)).map(drop)
            });
        }
    }

    fn end_attempt(&mut self, view: &AssocView<'_>) {
        if self.has.end {
            self.call(|object| {
                let py = object.py();
                object.call_method1(intern!(py, "end"), (View::new(py, view)?,)).map(drop)
            });
        }
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let Some(pick) = self.pick.as_ref().filter(|_| self.failed.is_none()) else {
            return PathPick::Wait;
        };
        let picked = gate::attach(|py| {
            let answer = pick.bind(py).call1((View::new(py, view)?, Chunk::from(next)))?;
            answer::read_pick(&answer, view)
        });
        match picked {
            Some(Ok(pick)) => return pick,
            Some(Err(error)) => self.fail(error),
            None => {}
        }
        PathPick::Wait
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        if self.has.sent {
            self.call(|object| {
                let py = object.py();
                let arguments = (View::new(py, view)?, path.0, Chunk::from(chunk), new_packet);
                object.call_method1(intern!(py, "sent"), arguments).map(drop)
            });
        }
    }

    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        if self.has.acked {
            self.call(|object| {
                let py = object.py();
                let rtt = ev.rtt.map(|rtt| rtt.as_secs_f64());
                let arguments = (View::new(py, view)?, ev.path.0, ev.bytes, rtt);
                object.call_method1(intern!(py, "acked"), arguments).map(drop)
            });
        }
    }

    fn on_lost(&mut self, view: &AssocView<'_>, ev: &LossInfo) {
        if self.has.lost {
            self.call(|object| {
                let py = object.py();
                let arguments = (View::new(py, view)?, ev.path.0, view::loss_name(ev.kind));
                object.call_method1(intern!(py, "lost"), arguments).map(drop)
            });
        }
    }

    fn on_path_change(&mut self, view: &AssocView<'_>, path: PathId, change: PathChange) {
        if self.has.path_changed {
            self.call(|object| {
                let py = object.py();
                let arguments = (View::new(py, view)?, path.0, view::change_name(change));
                object.call_method1(intern!(py, "path_changed"), arguments).map(drop)
            });
        }
    }
}
