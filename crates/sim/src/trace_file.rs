//! Trace files of runs.

use std::io::Write;

use polypath_capture::trace::TraceWriter;
use polypath_proto::trace::TraceRecord;

use crate::observer::{Observer, TraceSource};

impl<W: Write> Observer for TraceWriter<W> {
    fn trace(&mut self, source: TraceSource<'_>, record: &TraceRecord) {
        self.record(source.flow, source.host, record);
    }
}
