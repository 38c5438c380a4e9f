//! What associations record of themselves, written to a file of JSON lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use polypath_proto::time::Time;
use polypath_proto::trace::{TraceEvent, TraceRecord};
use polypath_proto::{AssocHandle, Association, PathId};

use crate::trace_queue::{Batch, TraceQueue};

/// Paths of an association whose addresses are remembered; NATs may make new ones for ever.
const PATHS: usize = 256;

/// Lines that may wait to be written; with what they hold, about 64 MiB.
const MOST_WAITING: usize = 1 << 19;

/// How long the end waits for what is not written yet.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Writes all that associations record (windows, round trips, chunks sent and received, ...) to a
/// file, one JSON object a line. Clones write to the same file. A thread of its own writes: a file
/// that is slow, or a pipe that nobody reads, holds up no transfer. An error ends the trace, not
/// the transfer, and so does a file that stays half a million lines behind;
/// [`finish`](Self::finish) reports it.
///
/// Each association is a flow of the file, by number. Times count from when the trace began; a line
/// `clock` of each flow says what time of the day that is.
#[derive(Clone)]
pub struct Trace {
    inner: Arc<Inner>,
    start: Instant,
}

struct Inner {
    queue: Arc<TraceQueue>,
    /// Associations so far.
    flows: AtomicU64,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

impl Trace {
    /// Begins a trace. `host` is this end's name in it, `client` or `server`.
    pub fn new(out: impl Write + Send + 'static, host: &str) -> Self {
        let queue = TraceQueue::begin(out, host.into(), MOST_WAITING);
        let inner = Inner { queue, flows: AtomicU64::new(0) };
        Self { inner: Arc::new(inner), start: Instant::now() }
    }

    /// Ends the trace, and waits up to 5 s until the file has all of it. What an endpoint records
    /// from then on is not in it, so its associations end first.
    ///
    /// # Errors
    /// The first error of the whole trace; [`TimedOut`](io::ErrorKind::TimedOut) if its end is
    /// still not written.
    pub fn finish(&self) -> io::Result<()> {
        self.inner.queue.finish(LAST_WAIT)
    }
}

impl Drop for Inner {
    /// Nobody is left to record anything.
    fn drop(&mut self) {
        self.queue.end();
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

#[derive(Debug)]
struct Flow {
    name: Arc<str>,
    /// Whose addresses were written.
    paths: BTreeSet<(PathId, IpAddr, IpAddr)>,
}

impl Recorder {
    /// Of an endpoint whose clock begins now.
    pub(crate) fn new(trace: Trace) -> Self {
        let offset = u64::try_from(trace.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Self { trace, offset, flows: BTreeMap::new() }
    }

    /// Hands over what an association recorded.
    pub(crate) fn record(
        &mut self,
        h: AssocHandle,
        association: &Association,
        mut records: Vec<TraceRecord>,
    ) {
        for record in &mut records {
            record.at = Time(record.at.0.saturating_add(self.offset));
        }
        let Some(first) = records.first().map(|record| record.at.0) else { return };
        let mut batch = Batch { records, ..Batch::default() };
        let flow = self.flows.entry(h).or_insert_with(|| {
            batch.clock = Some((first, epoch_nanos(self.trace.start, first)));
            let number = self.trace.inner.flows.fetch_add(1, Ordering::Relaxed) + 1;
            Flow { name: number.to_string().into(), paths: BTreeSet::new() }
        });
        let adds_paths = |record: &TraceRecord| {
            matches!(record.event, TraceEvent::Associated { .. } | TraceEvent::PathState { .. })
        };
        if flow.paths.is_empty() || batch.records.iter().any(adds_paths) {
            batch.paths = flow.new_paths(first, association);
        }
        batch.flow = flow.name.clone();
        self.trace.inner.queue.push(batch);
    }

    /// The association is gone, and its handle may be another's.
    pub(crate) fn forget(&mut self, h: AssocHandle) {
        self.flows.remove(&h);
    }
}

impl Flow {
    /// Those that were not written yet.
    fn new_paths(
        &mut self,
        at: u64,
        association: &Association,
    ) -> Vec<(u64, PathId, IpAddr, IpAddr)> {
        let mut new = Vec::new();
        for path in association.stats().paths {
            let (local, remote) = (path.local.ip(), path.remote.ip());
            if self.paths.len() < PATHS && self.paths.insert((path.path, local, remote)) {
                new.push((at, path.path, local, remote));
            }
        }
        new
    }
}

/// The time of the day at `at` ns after `start`, ns since 1970.
fn epoch_nanos(start: Instant, at: u64) -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let begin = since.saturating_sub(start.elapsed());
    u64::try_from(begin.as_nanos()).unwrap_or(u64::MAX).saturating_add(at)
}
