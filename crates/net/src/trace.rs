//! What associations record of themselves, written to a file of JSON lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use polypath_capture::trace::TraceWriter;
use polypath_proto::time::Time;
use polypath_proto::trace::{TraceEvent, TraceRecord};
use polypath_proto::{AssocHandle, Association, PathId};

/// Paths of an association whose addresses are remembered; NATs may make new ones for ever.
const PATHS: usize = 256;

/// Writes all that associations record (windows, round trips, chunks sent and received, ...) to a
/// file, one JSON object a line. Clones write to the same file. An error stops the trace, not the
/// transfer; [`finish`](Self::finish) reports it.
///
/// Each association is a flow of the file, by number. Times count from when the trace began; a line
/// `clock` of each flow says what time of the day that is.
#[derive(Clone)]
pub struct Trace {
    inner: Arc<Mutex<Inner>>,
    host: Arc<str>,
    start: Instant,
}

struct Inner {
    writer: Option<TraceWriter<Box<dyn Write + Send>>>,
    /// Associations so far.
    flows: u64,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

impl Trace {
    /// Begins a trace. `host` is this end's name in it, `client` or `server`.
    pub fn new(out: impl Write + Send + 'static, host: &str) -> Self {
        let out: Box<dyn Write + Send> = Box::new(out);
        let inner = Inner { writer: Some(TraceWriter::new(out)), flows: 0 };
        Self { inner: Arc::new(Mutex::new(inner)), host: host.into(), start: Instant::now() }
    }

    /// Flushes the file and ends the trace.
    ///
    /// # Errors
    /// The first error of the whole trace.
    pub fn finish(&self) -> io::Result<()> {
        let writer = self.lock().writer.take();
        writer.map_or(Ok(()), |writer| writer.finish().map(drop))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What writes the associations of one endpoint to a trace.
#[derive(Debug)]
pub(crate) struct Recorder {
    trace: Trace,
    /// When the endpoint's clock began, by that of the trace, ns.
    offset: u64,
    flows: BTreeMap<AssocHandle, Flow>,
}

#[derive(Debug, Default)]
struct Flow {
    name: String,
    /// Whose addresses were written.
    paths: BTreeSet<(PathId, IpAddr, IpAddr)>,
}

impl Recorder {
    /// Of an endpoint whose clock begins now.
    pub(crate) fn new(trace: Trace) -> Self {
        let offset = u64::try_from(trace.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Self { trace, offset, flows: BTreeMap::new() }
    }

    /// Writes what an association recorded.
    pub(crate) fn record(
        &mut self,
        h: AssocHandle,
        association: &Association,
        records: Vec<TraceRecord>,
    ) {
        let Some(first) = records.first() else { return };
        let first = first.at.0.saturating_add(self.offset);
        let mut inner = self.trace.lock();
        let Inner { writer, flows } = &mut *inner;
        let Some(writer) = writer else { return };
        let host = &*self.trace.host;
        let flow = self.flows.entry(h).or_insert_with(|| {
            *flows += 1;
            let name = flows.to_string();
            writer.introduce_clock(&name, host, first, epoch_nanos(self.trace.start, first));
            Flow { name, ..Flow::default() }
        });
        let adds_paths = |record: &TraceRecord| {
            matches!(record.event, TraceEvent::Associated { .. } | TraceEvent::PathState { .. })
        };
        if flow.paths.is_empty() || records.iter().any(adds_paths) {
            flow.introduce_paths(writer, host, first, association);
        }
        for mut record in records {
            record.at = Time(record.at.0.saturating_add(self.offset));
            writer.record(&flow.name, host, &record);
        }
    }

    /// The association is gone, and its handle may be another's.
    pub(crate) fn forget(&mut self, h: AssocHandle) {
        self.flows.remove(&h);
    }
}

impl Flow {
    fn introduce_paths(
        &mut self,
        writer: &mut TraceWriter<Box<dyn Write + Send>>,
        host: &str,
        at: u64,
        association: &Association,
    ) {
        for path in association.stats().paths {
            let (local, remote) = (path.local.ip(), path.remote.ip());
            if self.paths.len() < PATHS && self.paths.insert((path.path, local, remote)) {
                writer.introduce_path(&self.name, host, at, path.path, (local, remote));
            }
        }
    }
}

/// The time of the day at `at` ns after `start`, ns since 1970.
fn epoch_nanos(start: Instant, at: u64) -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let begin = since.saturating_sub(start.elapsed());
    u64::try_from(begin.as_nanos()).unwrap_or(u64::MAX).saturating_add(at)
}
