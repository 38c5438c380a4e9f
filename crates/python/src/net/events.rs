//! What happens to an association beside its messages.

use std::sync::Arc;

use polypath_net::{Event, PathId};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use tokio::sync::Mutex;

use super::operation::Answer;
use super::{Operation, figures};

/// The events of an association from a certain time on.
#[pyclass(frozen, module = "polypath.net")]
#[derive(Debug)]
pub(crate) struct Events(Arc<Mutex<polypath_net::Events>>);

impl Events {
    pub(super) fn new(events: polypath_net::Events) -> Self {
        Self(Arc::new(Mutex::new(events)))
    }
}

#[pymethods]
impl Events {
    /// The next one: its kind, the number of its path, and more in words. `None` after the end.
    fn next(&self) -> Operation {
        let events = Arc::clone(&self.0);
        Operation::new(async move {
            let told = loop {
                match events.lock().await.next().await.map(|event| describe(&event)) {
                    Some(Some(told)) => break Some(told),
                    // One that Python's users are told otherwise.
                    Some(None) => {}
                    None => break None,
                }
            };
            Box::new(move |py: Python<'_>| told.into_py_any(py)) as Answer
        })
    }
}

type Told = (&'static str, Option<u8>, String);

fn describe(event: &Event) -> Option<Told> {
    let of_path = |kind, path: &PathId, text: String| Some((kind, Some(path.0), text));
    let plain = |kind, text: &str| Some((kind, None, text.to_owned()));
    match event {
        Event::PathAdded(path) => of_path("path-added", path, String::new()),
        Event::PathRemoved(path) => of_path("path-removed", path, String::new()),
        Event::PathState { path, state } => {
            of_path("path-state", path, figures::state(*state).to_owned())
        }
        Event::PathSilent { path, silent } => {
            of_path("path-silent", path, if *silent { "silent" } else { "heard" }.to_owned())
        }
        Event::PrimaryChanged(path) => of_path("primary-changed", path, String::new()),
        Event::PacketsTooBig { path, mtu } => of_path("packets-too-big", path, mtu.to_string()),
        Event::PathMtu { path, mtu } => of_path("path-mtu", path, mtu.to_string()),
        Event::Limited(limit) => plain("limited", &limit.to_string()),
        Event::Stalled { cause, .. } => plain("stalled", &cause.to_string()),
        Event::Restarted => plain("restarted", "the peer has lost its state"),
        Event::SenderDry => plain("sender-dry", ""),
        Event::PeerShutdown => plain("peer-shutdown", ""),
        Event::Abandoned { stream, .. } => plain("abandoned", &format!("stream {}", stream.0)),
        Event::SendFailed { stream, .. } => plain("send-failed", &format!("stream {}", stream.0)),
        _ => None,
    }
}
