//! Fair queueing by virtual finish times: what the fair schedulers have in common.

use std::collections::BTreeMap;

use polypath_proto::ids::StreamId;
use polypath_proto::policy::{MessageInfo, StreamQueues};

/// Virtual time per byte at weight 1: divisions by a weight leave an error below 2^-16 bytes.
const SCALE: u64 = 1 << 16;

/// Self-clocked fair queueing. A stream's next unit finishes at F = max(V, F of its last unit) + length / weight;
/// the smallest F goes first, and V becomes that F.
///
/// At equal weights this is the fair bandwidth scheduler's credit (F - V), without subtracting from all streams.
/// A unit is a message. The engine asks in the middle of one only when it interleaves: then a unit is a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct VirtualTime {
    now: u64,
    /// Length of the latest chunk that did not finish its message.
    chunk: u32,
    /// The non-empty streams.
    streams: BTreeMap<StreamId, Backlog>,
}

#[derive(Clone, Copy, Debug)]
struct Backlog {
    /// When the next unit begins.
    start: u64,
    /// Its head message was begun.
    begun: bool,
}

impl VirtualTime {
    /// `stream` has something to send, and may have had nothing before.
    pub(super) fn queued(&mut self, stream: StreamId) {
        let start = self.now;
        self.streams.entry(stream).or_insert(Backlog { start, begun: false });
    }

    /// The stream whose next unit finishes first.
    pub(super) fn first(
        &self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
        weight: impl Fn(StreamId) -> u16,
    ) -> Option<StreamId> {
        let heads = queues.heads.iter().filter(|m| eligible(m.stream));
        let interleaves = self.streams.values().any(|b| b.begun);
        let unit = |m: &MessageInfo| if interleaves { m.bytes.min(self.chunk) } else { m.bytes };
        heads.min_by_key(|m| self.finish(m.stream, unit(m), weight(m.stream))).map(|m| m.stream)
    }

    /// `bytes` of `stream` were sent; its message is `done`.
    pub(super) fn took(
        &mut self,
        queues: &StreamQueues<'_>,
        stream: StreamId,
        bytes: u32,
        done: bool,
        weight: u16,
    ) {
        let start = self.streams.get(&stream).map_or(self.now, |b| b.start);
        let start = start.saturating_add(length(bytes, weight));
        self.now = self.now.max(start);
        if !done {
            self.chunk = bytes;
        }
        if queues.head(stream).is_some() {
            self.streams.insert(stream, Backlog { start, begun: !done });
        } else {
            self.streams.remove(&stream);
        }
    }

    fn finish(&self, stream: StreamId, unit: u32, weight: u16) -> u64 {
        let start = self.streams.get(&stream).map_or(self.now, |b| b.start);
        start.saturating_add(length(unit, weight))
    }
}

fn length(bytes: u32, weight: u16) -> u64 {
    u64::from(bytes) * SCALE / u64::from(weight.max(1))
}
