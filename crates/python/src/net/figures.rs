//! What is measured, for Python.

use polypath_net::{PathAdmin, PathInfo, PathState};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::to_string;

/// One path; times are in seconds.
pub(super) fn path<'py>(py: Python<'py>, path: &PathInfo) -> PyResult<Bound<'py, PyDict>> {
    let stats = &path.stats;
    let figures = PyDict::new(py);
    figures.set_item("number", stats.path.0)?;
    figures.set_item("local", stats.local.to_string())?;
    figures.set_item("remote", stats.remote.to_string())?;
    figures.set_item("device", path.device.as_deref())?;
    figures.set_item("state", state(stats.state))?;
    figures.set_item("use", admin(path.admin))?;
    figures.set_item("primary", path.primary)?;
    figures.set_item("srtt", stats.srtt.map(|srtt| srtt.as_secs_f64()))?;
    figures.set_item("rto", stats.rto.as_secs_f64())?;
    figures.set_item("cwnd", stats.cwnd)?;
    figures.set_item("ssthresh", stats.ssthresh)?;
    figures.set_item("outstanding", stats.outstanding)?;
    figures.set_item("mtu", path.mtu.mtu)?;
    figures.set_item("bytes_sent", stats.payload_bytes)?;
    figures.set_item("bytes_received", stats.payload_received)?;
    figures.set_item("packets_sent", stats.packets_sent)?;
    figures.set_item("packets_received", stats.packets_received)?;
    let again = stats.retransmissions_fast + stats.retransmissions_timeout;
    figures.set_item("retransmissions", again)?;
    figures.set_item("timeouts", stats.timeouts)?;
    let silent_for = path.contact.silent_for.map(|time| time.as_secs_f64());
    figures.set_item("silent_for", silent_for)?;
    figures.set_item("refusal", path.contact.refusal.as_deref())?;
    Ok(figures)
}

pub(super) const fn state(state: PathState) -> &'static str {
    match state {
        PathState::Unconfirmed => "unconfirmed",
        PathState::Active => "active",
        PathState::PotentiallyFailed => "potentially-failed",
        PathState::Inactive => "inactive",
        PathState::Removed => "removed",
    }
}

const fn admin(admin: PathAdmin) -> &'static str {
    match admin {
        PathAdmin::Active => "active",
        PathAdmin::Backup => "backup",
        PathAdmin::Disabled => "disabled",
    }
}

/// Counters as JSON, which Python reads.
pub(super) fn json(counters: &impl serde::Serialize) -> PyResult<String> {
    to_string(counters).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
