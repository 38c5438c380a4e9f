//! Trace files: one JSON object per line and trace event, for scripts and for people with `jq`.
//!
//! A line holds `flow` (the association's name), `host` (which end saw it), `at` (nanoseconds) and
//! the fields of the event:
//!
//! ```json
//! {"flow":"file","host":"client","at":1500000000,"event":"rtt","path":0,"sample":90000000,"srtt":90000000,"rto":1000000000}
//! ```
//!
//! Before them, a line for each path says which addresses its number stands for:
//!
//! ```json
//! {"flow":"file","host":"client","at":0,"event":"path","path":0,"local":"10.0.1.1","remote":"10.0.1.2"}
//! ```

use std::io::{self, BufRead, Write};
use std::net::IpAddr;

use polypath_proto::PathId;
use polypath_proto::trace::TraceRecord;
use serde::Serialize;

/// Writes trace records, one line each.
///
/// It makes one write per line; give it a [`std::io::BufWriter`] if that is costly. The first
/// failure ends the trace and is reported by [`Self::finish`].
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
    line: Vec<u8>,
    error: Option<io::Error>,
}

/// A line of a trace.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum TraceLine<'a> {
    /// Which addresses the number of a path stands for.
    Path(PathLine<'a>),
    /// What time of the day it is.
    Clock(ClockLine<'a>),
    /// What happened.
    Event(EventLine<'a>),
}

/// A record with its origin.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventLine<'a> {
    /// Name of the association.
    pub flow: &'a str,
    /// The end that saw it.
    pub host: &'a str,
    /// What was seen.
    #[serde(flatten)]
    pub record: &'a TraceRecord,
}

/// A path and its addresses.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathLine<'a> {
    /// Name of the association.
    pub flow: &'a str,
    /// The end that counts its paths so.
    pub host: &'a str,
    /// When the path was known, in nanoseconds; 0 in simulations.
    pub at: u64,
    /// Always `path`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "path")))]
    pub event: &'static str,
    /// The number of the path.
    pub path: PathId,
    /// The address of this end.
    pub local: IpAddr,
    /// The address of the other end.
    pub remote: IpAddr,
}

/// What time of the day it is, in the trace of a real association.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockLine<'a> {
    /// Name of the association.
    pub flow: &'a str,
    /// The end whose clock it is.
    pub host: &'a str,
    /// When, in nanoseconds.
    pub at: u64,
    /// Always `clock`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "clock")))]
    pub event: &'static str,
    /// The same moment in nanoseconds since 1970, as this end's system has it.
    pub unix: u64,
}

impl<W: Write> TraceWriter<W> {
    /// A trace that goes to `out`.
    pub const fn new(out: W) -> Self {
        Self { out, line: Vec::new(), error: None }
    }

    /// Adds what `host` recorded about the association `flow`.
    pub fn record(&mut self, flow: &str, host: &str, record: &TraceRecord) {
        if self.error.is_none() {
            self.error = self.write_line(&TraceLine::Event(EventLine { flow, host, record })).err();
        }
    }

    /// Says between which addresses `path` of the association `flow` runs, as `host` counts paths.
    /// `at`: since when, in nanoseconds.
    pub fn introduce_path(
        &mut self,
        flow: &str,
        host: &str,
        at: u64,
        path: PathId,
        (local, remote): (IpAddr, IpAddr),
    ) {
        let line = PathLine { flow, host, at, event: "path", path, local, remote };
        if self.error.is_none() {
            self.error = self.write_line(&TraceLine::Path(line)).err();
        }
    }

    /// Says what time of the day it is at `at` ns, in nanoseconds since 1970.
    pub fn introduce_clock(&mut self, flow: &str, host: &str, at: u64, unix: u64) {
        let line = ClockLine { flow, host, at, event: "clock", unix };
        if self.error.is_none() {
            self.error = self.write_line(&TraceLine::Clock(line)).err();
        }
    }

    /// Flushes the output and gives it back.
    ///
    /// # Errors
    /// The first failure of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_line(&mut self, line: &TraceLine<'_>) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }
}

/// Reads a trace line by line, as JSON objects.
///
/// # Errors
/// Each item may fail: when the input does, or when a line is not JSON.
pub fn read_lines(input: impl BufRead) -> impl Iterator<Item = io::Result<serde_json::Value>> {
    input.lines().map(|line| Ok(serde_json::from_str(&line?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_proto::time::Time;
    use polypath_proto::trace::TraceEvent;

    fn record() -> TraceRecord {
        record_of(None, None)
    }

    fn record_of(phase: Option<&'static str>, pacing_rate: Option<u64>) -> TraceRecord {
        let (path, cwnd, ssthresh, outstanding) = (PathId(1), 4380, 9, 0);
        let event = TraceEvent::Window { path, cwnd, ssthresh, outstanding, phase, pacing_rate };
        TraceRecord { at: Time::from_millis(1500), event }
    }

    #[test]
    fn a_record_is_a_line_and_is_read_back() {
        let mut writer = TraceWriter::new(Vec::new());
        writer.record("file", "client", &record());
        writer.record("file", "server", &record());
        let file = writer.finish().unwrap();
        let lines: Vec<_> = read_lines(&file[..]).map(Result::unwrap).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(
            lines[1],
            serde_json::json!({
                "flow": "file", "host": "server", "at": 1_500_000_000u64,
                "event": "window", "path": 1, "cwnd": 4380, "ssthresh": 9, "outstanding": 0,
            })
        );
    }

    #[test]
    fn a_control_with_phases_and_a_rate_shows_them() {
        let mut writer = TraceWriter::new(Vec::new());
        writer.record("file", "client", &record_of(Some("ProbeBW_UP"), Some(5_000)));
        let file = writer.finish().unwrap();
        let line = read_lines(&file[..]).next().unwrap().unwrap();
        assert_eq!((&line["phase"], &line["pacing_rate"]), (&"ProbeBW_UP".into(), &5_000.into()));
    }

    #[test]
    fn failures_are_reported() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("disk full"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = TraceWriter::new(Full);
        writer.record("file", "client", &record());
        writer.record("file", "client", &record());
        assert_eq!(writer.finish().err().unwrap().to_string(), "disk full");
        assert!(read_lines(&b"{}\nnot json\n"[..]).nth(1).unwrap().is_err());
    }
}
