//! Typed trace events: one stream that feeds files, plots and assertions alike.

use serde::Serialize;

use crate::ids::{PathId, StreamId};
use crate::policy::Trigger;
use crate::time::Time;
use crate::view::{LossKind, PathState};

/// A trace event with its time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceRecord {
    /// When, in nanoseconds since the start of the run.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub at: Time,
    /// What.
    #[serde(flatten)]
    pub event: TraceEvent,
}

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(self.as_nanos())
    }
}

/// What happened inside an association. Sizes in bytes, times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TraceEvent {
    /// A path's congestion state after its windows or its phase changed.
    Window {
        /// Which path.
        path: PathId,
        /// Congestion window.
        cwnd: u64,
        /// Slow start threshold.
        ssthresh: u64,
        /// DATA chunk bytes in flight.
        outstanding: u64,
        /// The state of the congestion control on this path, where it has states that have names.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'static str>,
        /// The rate at which a rate-based control sends, DATA chunk bytes per second.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_rate: Option<u64>,
    },
    /// The congestion control put a path into another group of those that share a bottleneck.
    Group {
        /// Which path.
        path: PathId,
        /// The lowest path of its group now; itself when it is alone.
        group: PathId,
    },
    /// An RTT sample.
    Rtt {
        /// Which path.
        path: PathId,
        /// The sample.
        sample: u64,
        /// Smoothed.
        srtt: u64,
        /// Retransmission timeout after it.
        rto: u64,
    },
    /// A DATA chunk was sent.
    Sent {
        /// Which path.
        path: PathId,
        /// TSN on the wire.
        tsn: u32,
        /// Stream.
        #[cfg_attr(feature = "schema", schemars(with = "u16"))]
        stream: StreamIdField,
        /// Payload bytes.
        bytes: u32,
        /// Why, when it is a retransmission.
        retransmission: Option<LossKind>,
    },
    /// A chunk in flight on another path was sent on this one as well.
    Copied {
        /// Which path.
        path: PathId,
        /// The path of its original.
        from: PathId,
        /// TSN on the wire.
        tsn: u32,
        /// Payload bytes.
        bytes: u32,
    },
    /// The peer's SHUTDOWN acknowledged what was never sent, when all that was sent had been
    /// acknowledged.
    BadShutdown {
        /// Which path.
        path: PathId,
        /// Its cumulative TSN.
        cumulative_tsn: u32,
    },
    /// The association is set up. Both ends know these two numbers.
    Associated {
        /// Our initial TSN.
        initial_tsn: u32,
        /// The peer's.
        peer_initial_tsn: u32,
    },
    /// A chunk was declared lost on its path: it waits to be sent again.
    ChunkLost {
        /// Which path.
        path: PathId,
        /// TSN on the wire.
        tsn: u32,
    },
    /// A DATA or I-DATA chunk arrived.
    Arrived {
        /// Which path.
        path: PathId,
        /// TSN on the wire.
        tsn: u32,
        /// Stream.
        #[cfg_attr(feature = "schema", schemars(with = "u16"))]
        stream: StreamIdField,
        /// Number of its message: SSN or MID. Of unordered DATA it means nothing.
        message: u32,
        /// Number of the fragment (FSN); of I-DATA alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        fragment: Option<u32>,
        /// Whether its message is unordered.
        unordered: bool,
        /// Whether it is the first of its message.
        begins: bool,
        /// Whether it is the last.
        ends: bool,
        /// Payload bytes.
        bytes: u32,
        /// What became of it.
        fate: Fate,
    },
    /// A message, or a part of one, can be received by the application from now on: what came in
    /// these TSNs of it.
    Deliverable {
        /// Stream.
        #[cfg_attr(feature = "schema", schemars(with = "u16"))]
        stream: StreamIdField,
        /// TSN of the first chunk of the message, or of the part.
        tsn: u32,
        /// The first of the TSNs.
        first: u32,
        /// The last.
        last: u32,
    },
    /// The application took a message, or a part of one.
    Taken {
        /// Stream.
        #[cfg_attr(feature = "schema", schemars(with = "u16"))]
        stream: StreamIdField,
        /// TSN of its first chunk.
        tsn: u32,
        /// Payload bytes.
        bytes: u32,
    },
    /// A chunk that had arrived was dropped again, to make room.
    Reneged {
        /// TSN on the wire.
        tsn: u32,
    },
    /// The peer gave up what is missing up to here.
    Skipped {
        /// Its cumulative TSN.
        cumulative_tsn: u32,
    },
    /// A path went silent, or was heard of again.
    Suspect {
        /// Which path.
        path: PathId,
        /// Whether it is silent.
        silent: bool,
    },
    /// A SACK or NR-SACK was processed.
    Sack {
        /// The path on which it arrived.
        path: PathId,
        /// Cumulative TSN ack.
        cumulative_tsn: u32,
        /// Number of gap ack blocks, both kinds.
        gap_blocks: u32,
        /// The peer's rwnd after it, less what is in flight.
        peer_rwnd: u64,
        /// Bytes of the send buffer in use.
        send_buffer: u64,
    },
    /// A SACK or NR-SACK had gap ack blocks that end before they begin, or leave no gap above the
    /// cumulative TSN: they were passed over.
    ImpossibleBlocks {
        /// The path on which it arrived.
        path: PathId,
        /// How many.
        blocks: u32,
    },
    /// Chunks of a path were declared lost.
    Lost {
        /// Which path.
        path: PathId,
        /// How it was noticed.
        kind: LossKind,
        /// How many chunks.
        chunks: u32,
        /// The RTO that had expired, for timeouts.
        rto: u64,
    },
    /// A send attempt ended.
    Round {
        /// What began it.
        trigger: Trigger,
        /// Packets of new data.
        packets: u32,
        /// What ended it.
        stop: Stop,
    },
    /// A path's state changed.
    PathState {
        /// Which path.
        path: PathId,
        /// The new state.
        state: PathState,
    },
    /// State of the receive buffer after it changed.
    ReceiveBuffer {
        /// Payload bytes held.
        held: u32,
        /// Of these, bytes above the cum-ack.
        out_of_order: u32,
        /// a_rwnd announced.
        a_rwnd: u32,
    },
    /// A policy decision with the policy's inner numbers.
    Decision {
        /// The path chosen; none when the policy waits.
        path: Option<PathId>,
        /// The paths that could have taken it: bit p for path p.
        sendable: u16,
        /// Named numbers of the policy; JSON has null for those that are infinite.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<(&'static str, Option<f64>)>"))]
        state: Vec<(&'static str, f64)>,
    },
}

/// A stream id that serialises as a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamIdField(pub StreamId);

impl Serialize for StreamIdField {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u16(self.0.0)
    }
}

/// What became of a chunk that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was taken.
    New,
    /// It was here already.
    Duplicate,
    /// Dropped: the window is closed.
    NoRoom,
    /// Dropped: no correct peer that keeps to the window sends it.
    Refused,
}

/// What limits an association at the end of a send attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The application has nothing to send.
    NoData,
    /// The peer's window is closed.
    PeerWindow,
    /// No path may send: congestion windows, Max.Burst or the buffer policy.
    Paths,
    /// The path scheduler waits although a path is open.
    Scheduler,
    /// The next packet of the chosen path waits for its time.
    Pacing,
    /// What is queued does not fill a packet, and waits for more while data is in flight (Nagle's
    /// rule).
    Company,
    /// The state of the association forbids new data.
    State,
}

/// Where trace events go while tracing is on.
#[derive(Debug, Default)]
pub(crate) struct Tracer {
    log: Option<Box<Log>>,
}

/// What is kept only while tracing is on.
#[derive(Debug, Default)]
struct Log {
    records: Vec<TraceRecord>,
    /// The phase of each path that was noted last.
    phases: Vec<Option<&'static str>>,
}

impl Tracer {
    pub(crate) fn new(on: bool) -> Self {
        Self { log: on.then(Box::default) }
    }

    /// Records what `event` makes; costs one branch while tracing is off.
    #[inline]
    pub(crate) fn emit(&mut self, at: Time, event: impl FnOnce() -> TraceEvent) {
        if let Some(log) = &mut self.log {
            log.records.push(TraceRecord { at, event: event() });
        }
    }

    /// Notes the phase of `path`; gives whether it is another one than before.
    pub(crate) fn note_phase(&mut self, path: PathId, phase: Option<&'static str>) -> bool {
        let Some(log) = &mut self.log else { return false };
        if log.phases.len() <= path.index() {
            log.phases.resize(path.index() + 1, None);
        }
        let last = log.phases.get_mut(path.index());
        last.is_some_and(|last| core::mem::replace(last, phase) != phase)
    }

    /// Records events that were kept elsewhere.
    pub(crate) fn extend(&mut self, at: Time, events: impl Iterator<Item = TraceEvent>) {
        if let Some(log) = &mut self.log {
            log.records.extend(events.map(|event| TraceRecord { at, event }));
        }
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.log.is_some()
    }

    pub(crate) fn take(&mut self) -> Vec<TraceRecord> {
        self.log.as_mut().map(|log| core::mem::take(&mut log.records)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_news_once_on_each_path_and_nothing_is_kept_while_tracing_is_off() {
        let (a, b) = (PathId(0), PathId(2));
        let mut tracer = Tracer::new(true);
        assert!(!tracer.note_phase(a, None), "a control without phases");
        for path in [b, a] {
            assert!(tracer.note_phase(path, Some("Startup")));
            assert!(!tracer.note_phase(path, Some("Startup")));
        }
        assert!(tracer.note_phase(b, Some("Drain")));
        assert!(!tracer.note_phase(a, Some("Startup")));
        assert!(!Tracer::new(false).note_phase(a, Some("Startup")));
        assert!(size_of::<Tracer>() <= size_of::<usize>());
    }
}
