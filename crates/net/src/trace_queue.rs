//! A trace on its way to its file: who records hands over and never waits for the file, which may
//! be a pipe that nobody reads.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use polypath_capture::trace::TraceWriter;
use polypath_proto::PathId;
use polypath_proto::trace::TraceRecord;

/// Batches that wait to be written, and the thread that writes them.
#[derive(Debug)]
pub(crate) struct TraceQueue {
    inner: Mutex<Inner>,
    changed: Condvar,
    /// So many lines may wait.
    most: usize,
}

#[derive(Debug, Default)]
struct Inner {
    batches: VecDeque<Batch>,
    /// Lines in them.
    waiting: usize,
    /// Nothing more is taken.
    ended: bool,
    /// More came than may wait: that ended it.
    overflowed: bool,
    /// Its end was told.
    told: bool,
    /// What became of the file, once all is written.
    outcome: Option<io::Result<()>>,
}

/// What one association recorded, in the order of its lines.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The association's name.
    pub(crate) flow: Arc<str>,
    /// A time of the trace, and the same moment since 1970, ns.
    pub(crate) clock: Option<(u64, u64)>,
    /// Since when (ns) paths run between which addresses.
    pub(crate) paths: Vec<(u64, PathId, IpAddr, IpAddr)>,
    pub(crate) records: Vec<TraceRecord>,
}

impl Batch {
    fn lines(&self) -> usize {
        usize::from(self.clock.is_some()) + self.paths.len() + self.records.len()
    }

    fn write(&self, host: &str, writer: &mut TraceWriter<impl Write>) {
        let flow = &*self.flow;
        if let Some((at, unix)) = self.clock {
            writer.introduce_clock(flow, host, at, unix);
        }
        for &(at, path, local, remote) in &self.paths {
            writer.introduce_path(flow, host, at, path, (local, remote));
        }
        for record in &self.records {
            writer.record(flow, host, record);
        }
    }
}

impl TraceQueue {
    /// Begins to write what will be handed over to `out`; `most` lines of it may wait.
    pub(crate) fn begin(
        out: impl Write + Send + 'static,
        host: Arc<str>,
        most: usize,
    ) -> Arc<Self> {
        let (inner, changed) = (Mutex::default(), Condvar::new());
        let queue = Arc::new(Self { inner, changed, most });
        let own = queue.clone();
        let write = move || own.write_all(TraceWriter::new(out), &host);
        let thread = thread::Builder::new().name("polypath trace".to_owned()).spawn(write);
        if let Err(error) = thread {
            let mut inner = queue.lock();
            (inner.ended, inner.outcome) = (true, Some(Err(error)));
        }
        queue
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over what is to be written next.
    pub(crate) fn push(&self, batch: Batch) {
        let mut inner = self.lock();
        if inner.ended {
            return;
        }
        inner.waiting += batch.lines();
        if inner.waiting > self.most {
            (inner.ended, inner.overflowed) = (true, true);
            inner.batches = VecDeque::new();
        } else {
            inner.batches.push_back(batch);
        }
        self.changed.notify_all();
    }

    /// Nothing more will come.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// Ends it, and waits as long as `within` until all is written. The first call tells what
    /// became of it.
    pub(crate) fn finish(&self, within: Duration) -> io::Result<()> {
        self.end();
        let mut inner = self.lock();
        if std::mem::replace(&mut inner.told, true) {
            return Ok(());
        }
        let writes = |inner: &mut Inner| inner.outcome.is_none();
        let waited = self.changed.wait_timeout_while(inner, within, writes);
        let (mut inner, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match inner.outcome.take() {
            Some(Err(error)) => Err(error),
            _ if inner.overflowed => {
                let text =
                    format!("written too slowly: {} lines waited, and it ends there", self.most);
                Err(io::Error::other(text))
            }
            Some(Ok(())) => Ok(()),
            None => {
                inner.batches = VecDeque::new();
                let text = format!("not written within {within:?}: its end is missing");
                Err(io::Error::new(io::ErrorKind::TimedOut, text))
            }
        }
    }

    fn write_all(&self, mut writer: TraceWriter<impl Write>, host: &str) {
        while let Some(batch) = self.next() {
            batch.write(host, &mut writer);
        }
        let outcome = writer.finish().map(drop);
        self.lock().outcome = Some(outcome);
        self.changed.notify_all();
    }

    /// Waits for the next batch; `None`: it was the last.
    fn next(&self) -> Option<Batch> {
        let none = |inner: &mut Inner| inner.batches.is_empty() && !inner.ended;
        let waited = self.changed.wait_while(self.lock(), none);
        let mut inner = waited.unwrap_or_else(PoisonError::into_inner);
        let batch = inner.batches.pop_front()?;
        inner.waiting = inner.waiting.saturating_sub(batch.lines());
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A pipe whose reader takes one line for each word it is given, and the lines it took.
    struct Pipe {
        may: Receiver<()>,
        took: Sender<Vec<u8>>,
    }

    impl Write for Pipe {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.may.recv().map_err(io::Error::other)?;
            self.took.send(line.to_vec()).map_err(io::Error::other)?;
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn pipe() -> (Sender<()>, Receiver<Vec<u8>>, Pipe) {
        let ((go, may), (took, lines)) = (channel(), channel());
        (go, lines, Pipe { may, took })
    }

    fn batch(at: u64) -> Batch {
        Batch { flow: "1".into(), clock: Some((at, at)), ..Batch::default() }
    }

    #[test]
    fn lines_are_written_in_order_and_the_end_waits_for_them() {
        let (go, lines, pipe) = pipe();
        let queue = TraceQueue::begin(pipe, "client".into(), 100);
        (0..9).for_each(|at| queue.push(batch(at)));
        (0..9).for_each(|_| go.send(()).unwrap());
        queue.finish(Duration::from_secs(60)).unwrap();
        queue.push(batch(9));
        for at in 0..9 {
            let line = String::from_utf8(lines.try_recv().unwrap()).unwrap();
            assert!(line.contains(&format!("\"at\":{at},")), "{line}");
        }
        assert!(lines.try_recv().is_err(), "nothing is written after the end");
    }

    #[test]
    fn more_than_may_wait_ends_it_with_an_error() {
        let (go, lines, pipe) = pipe();
        let queue = TraceQueue::begin(pipe, "client".into(), 4);
        // One may be under way.
        (0..6).for_each(|at| queue.push(batch(at)));
        assert!(queue.lock().batches.is_empty());
        go.send(()).unwrap();
        let error = queue.finish(Duration::from_secs(60)).unwrap_err();
        assert_eq!(error.to_string(), "written too slowly: 4 lines waited, and it ends there");
        assert!(lines.try_iter().count() <= 1);
        assert!(queue.finish(Duration::from_secs(60)).is_ok(), "it is told once");
    }

    #[test]
    fn the_end_does_not_wait_for_ever() {
        let (_go, _lines, pipe) = pipe();
        let queue = TraceQueue::begin(pipe, "client".into(), 4);
        queue.push(batch(0));
        let error = queue.finish(Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.to_string(), "not written within 1ms: its end is missing");
    }
}
