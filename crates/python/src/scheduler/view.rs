//! What schedulers in Python see: copies of the core's views, which nobody can change.

use polypath_proto::PathId;
use polypath_proto::policy::{PathChange, Trigger};
use polypath_proto::time::Duration;
use polypath_proto::view::{AssocView, ChunkMeta, LossKind, PathAdmin, PathState, SendBufferView};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::records::{ChunkRecord, PathRecord, ViewRecord};

/// An association at one instant. Sizes in bytes, times in seconds.
#[pyclass(frozen, module = "polypath")]
#[derive(Debug)]
pub(crate) struct View {
    /// All paths, by number.
    #[pyo3(get)]
    paths: Py<PyTuple>,
    /// The present.
    #[pyo3(get)]
    now: f64,
    /// Number of the primary path.
    #[pyo3(get)]
    primary: u8,
    /// The peer's window less what is in flight.
    #[pyo3(get)]
    peer_rwnd: u64,
    /// Bytes in flight on all paths.
    #[pyo3(get)]
    outstanding: u64,
    /// The receive buffer that the peer announced at set-up.
    #[pyo3(get)]
    peer_rwnd_max: u64,
    /// RTO.Initial, the stand-in for an RTT that was not measured yet.
    #[pyo3(get)]
    rto_initial: f64,
    /// The peer reports by NR-SACKs.
    #[pyo3(get)]
    nr_sacks: bool,
    /// The most gap ack blocks that a SACK of the peer had so far.
    #[pyo3(get)]
    most_gap_blocks: u16,
    send_buffer: SendBufferView,
    record: ViewRecord,
}

impl View {
    pub(super) fn new(py: Python<'_>, view: &AssocView<'_>) -> PyResult<Self> {
        let paths = view.paths.iter().map(|path| PathView(*path));
        Ok(Self {
            paths: PyTuple::new(py, paths.collect::<Vec<_>>())?.unbind(),
            now: view.now.as_secs_f64(),
            primary: view.primary.0,
            peer_rwnd: view.peer_rwnd,
            outstanding: view.outstanding,
            peer_rwnd_max: view.peer_rwnd_max,
            rto_initial: view.rto_initial.as_secs_f64(),
            nr_sacks: view.nr_sacks,
            most_gap_blocks: view.most_gap_blocks,
            send_buffer: view.send_buffer,
            record: ViewRecord::new(view),
        })
    }
}

#[pymethods]
impl View {
    /// The paths that may take new data now, by number.
    #[getter]
    fn sendable<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let paths = self.paths.bind(py).iter();
        let open = |path: &Bound<'py, PyAny>| {
            path.cast::<PathView>().is_ok_and(|path| path.get().0.sendable)
        };
        Ok(paths.filter(open).collect())
    }

    /// Size of the send buffer; `None` when unlimited.
    #[getter]
    fn send_buffer(&self) -> Option<u64> {
        Some(self.send_buffer.limit).filter(|limit| *limit < u64::MAX)
    }

    /// Bytes that the send buffer holds.
    #[getter]
    fn send_buffer_used(&self) -> u64 {
        self.send_buffer.used
    }

    /// The unsent bytes among them.
    #[getter]
    fn unsent(&self) -> u64 {
        self.send_buffer.unsent
    }

    /// Messages with unsent bytes.
    #[getter]
    fn unsent_messages(&self) -> u64 {
        self.send_buffer.unsent_messages
    }

    /// The association and its paths as records of `polypath.compiled`.
    fn _records<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
        let (mut association, mut paths) = (Vec::new(), Vec::new());
        self.record.append_to(&mut association);
        for path in self.paths.bind(py).iter() {
            if let Ok(path) = path.cast::<PathView>() {
                PathRecord::new(&path.get().0).append_to(&mut paths);
            }
        }
        (PyBytes::new(py, &association), PyBytes::new(py, &paths))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<View at {:.6} s, {} paths>", self.now, self.paths.bind(py).len())
    }
}

/// One path. Sizes in bytes, times in seconds.
#[pyclass(frozen, module = "polypath")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathView(polypath_proto::view::PathView);

impl PathView {
    pub(super) fn path_id(&self) -> PathId {
        self.0.id
    }
}

fn seconds(duration: Option<Duration>) -> Option<f64> {
    duration.map(|duration| duration.as_secs_f64())
}

#[pymethods]
impl PathView {
    /// Its number: its position in `View.paths`.
    #[getter]
    fn id(&self) -> u8 {
        self.0.id.0
    }

    /// The user's wish: `"active"`, `"backup"` or `"disabled"`.
    #[getter]
    fn admin(&self) -> &'static str {
        match self.0.admin {
            PathAdmin::Active => "active",
            PathAdmin::Backup => "backup",
            PathAdmin::Disabled => "disabled",
        }
    }

    /// Reachability: `"unconfirmed"`, `"active"`, `"potentially failed"`, `"inactive"` or
    /// `"removed"`.
    #[getter]
    fn state(&self) -> &'static str {
        match self.0.state {
            PathState::Unconfirmed => "unconfirmed",
            PathState::Active => "active",
            PathState::PotentiallyFailed => "potentially failed",
            PathState::Inactive => "inactive",
            PathState::Removed => "removed",
        }
    }

    /// Confirmed, reachable and not disabled.
    #[getter]
    fn usable(&self) -> bool {
        self.0.usable
    }

    /// Silent although other paths' SACKs should have told of its data.
    #[getter]
    fn silent(&self) -> bool {
        self.0.silent
    }

    /// May take new data now.
    #[getter]
    fn sendable(&self) -> bool {
        self.0.sendable
    }

    /// Its addresses are IPv6.
    #[getter]
    fn ipv6(&self) -> bool {
        self.0.ipv6
    }

    /// Its congestion control is rate-based, such as BBR.
    #[getter]
    fn rate_based(&self) -> bool {
        self.0.rate_based
    }

    /// Path MTU, IP header included.
    #[getter]
    fn mtu(&self) -> u32 {
        self.0.mtu
    }

    /// The largest DATA chunk, header included, that fits the path MTU.
    #[getter]
    fn pmdcs(&self) -> u32 {
        self.0.pmdcs
    }

    /// Congestion window.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }

    /// Slow start threshold.
    #[getter]
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh
    }

    /// Bytes in flight.
    #[getter]
    fn outstanding(&self) -> u64 {
        self.0.outstanding
    }

    /// The payload bytes among them, copies left out.
    #[getter]
    fn outstanding_payload(&self) -> u64 {
        self.0.outstanding_payload
    }

    /// The bytes in flight that are copies of chunks in flight on another path.
    #[getter]
    fn duplicate_bytes_in_flight(&self) -> u64 {
        self.0.duplicate_bytes_in_flight
    }

    /// Payload bytes sent on this path and still in the send buffer.
    #[getter]
    fn queued(&self) -> u64 {
        self.0.queued
    }

    /// Bytes that the congestion window still admits.
    #[getter]
    fn room(&self) -> u64 {
        self.0.room()
    }

    /// Smoothed round-trip time; `None` before it was measured.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        seconds(self.0.srtt)
    }

    /// Round-trip time variation.
    #[getter]
    fn rttvar(&self) -> f64 {
        self.0.rttvar.as_secs_f64()
    }

    /// Smallest round-trip time ever measured.
    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        seconds(self.0.min_rtt)
    }

    /// Latest round-trip time.
    #[getter]
    fn last_rtt(&self) -> Option<f64> {
        seconds(self.0.last_rtt)
    }

    /// Retransmission timeout.
    #[getter]
    fn rto(&self) -> f64 {
        self.0.rto.as_secs_f64()
    }

    /// Error counter.
    #[getter]
    fn errors(&self) -> u32 {
        self.0.errors
    }

    /// In fast recovery.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.0.in_recovery
    }

    /// Packets with DATA sent so far.
    #[getter]
    fn data_packets(&self) -> u64 {
        self.0.data_packets
    }

    /// DATA chunks sent so far.
    #[getter]
    fn data_chunks(&self) -> u64 {
        self.0.data_chunks
    }

    /// DATA chunks that were declared lost so far.
    #[getter]
    fn lost_chunks(&self) -> u64 {
        self.0.lost_chunks
    }

    /// DATA chunk bytes known to have been delivered so far.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    /// DATA chunk bytes that were declared lost so far.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }

    /// When DATA was last sent.
    #[getter]
    fn last_data(&self) -> f64 {
        self.0.last_data.as_secs_f64()
    }

    /// What a rate-based congestion control takes the path to carry, bytes per second.
    #[getter]
    fn bandwidth(&self) -> Option<u64> {
        self.0.bandwidth.map(core::num::NonZeroU64::get)
    }

    /// The lowest path among those that share one bottleneck with this one.
    #[getter]
    fn group(&self) -> u8 {
        self.0.group.0
    }

    fn __repr__(&self) -> String {
        let path = &self.0;
        format!("<path {}: {} of {} bytes in flight>", path.id.0, path.outstanding, path.cwnd)
    }
}

/// The piece of new data that is next to go.
#[pyclass(frozen, module = "polypath")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk(ChunkMeta);

impl From<&ChunkMeta> for Chunk {
    fn from(chunk: &ChunkMeta) -> Self {
        Self(*chunk)
    }
}

#[pymethods]
impl Chunk {
    /// Its stream.
    #[getter]
    fn stream(&self) -> u16 {
        self.0.stream.0
    }

    /// Payload bytes.
    #[getter]
    fn bytes(&self) -> u32 {
        self.0.bytes
    }

    /// Payload bytes of its message that are unsent, this chunk included.
    #[getter]
    fn message_remaining(&self) -> u64 {
        self.0.message_remaining
    }

    /// First chunk of its message.
    #[getter]
    fn first(&self) -> bool {
        self.0.first
    }

    /// Last chunk of its message.
    #[getter]
    fn last(&self) -> bool {
        self.0.last
    }

    /// To be delivered in order.
    #[getter]
    fn ordered(&self) -> bool {
        self.0.ordered
    }

    /// When the application handed in the message, in seconds.
    #[getter]
    fn enqueued(&self) -> f64 {
        self.0.enqueued.as_secs_f64()
    }

    /// What its stream declared: priority, 0 is highest.
    #[getter]
    fn priority(&self) -> u16 {
        self.0.needs.priority
    }

    /// What its stream declared: seconds from being handed in to being delivered.
    #[getter]
    fn deadline(&self) -> Option<f64> {
        seconds(self.0.needs.deadline)
    }

    /// The record of `polypath.compiled`.
    fn _record<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut record = Vec::new();
        ChunkRecord::new(&self.0).append_to(&mut record);
        PyBytes::new(py, &record)
    }

    fn __repr__(&self) -> String {
        format!("<chunk of {} bytes on stream {}>", self.0.bytes, self.0.stream.0)
    }
}

pub(super) const fn trigger_name(why: Trigger) -> &'static str {
    match why {
        Trigger::Sack => "sack",
        Trigger::Write => "write",
        Trigger::Timer => "timer",
        Trigger::Path => "path",
    }
}

pub(super) const fn loss_name(kind: LossKind) -> &'static str {
    match kind {
        LossKind::FastRetransmit => "fast-retransmit",
        LossKind::Timeout => "timeout",
    }
}

pub(super) fn change_name(change: PathChange) -> String {
    match change {
        PathChange::Added => "added".to_owned(),
        PathChange::State(state) => state.to_string(),
        PathChange::Removed => "removed".to_owned(),
    }
}

type Fields = Vec<(&'static str, &'static str)>;

/// Fields of the records of paths, associations and chunks: name, and numpy's code of the type.
#[pyfunction]
pub(crate) fn record_fields() -> [Fields; 3] {
    [PathRecord::FIELDS, ViewRecord::FIELDS, ChunkRecord::FIELDS].map(<[_]>::to_vec)
}
