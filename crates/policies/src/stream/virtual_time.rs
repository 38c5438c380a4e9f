//! Fair queueing by virtual finish times: what the fair schedulers have in common.

use std::collections::BTreeMap;

use polypath_proto::ids::StreamId;
use polypath_proto::policy::{MessageInfo, StreamQueues};

/// Virtual time per byte at weight 1: divisions by a weight leave an error below 2^-16 bytes.
const SCALE: u64 = 1 << 16;

/// Self-clocked fair queueing. A stream's next unit finishes at F = max(V, F of its last unit) +
/// length / weight; the smallest F goes first, and V becomes that F.
///
/// At equal weights this is the fair bandwidth scheduler's credit (F - V), without subtracting from
/// all streams. A unit is a message, and where messages are interleaved a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct VirtualTime {
    now: u64,
    /// When the next unit of each non-empty stream begins.
    starts: BTreeMap<StreamId, u64>,
}

impl VirtualTime {
    /// `stream` has something to send, and may have had nothing before.
    pub(super) fn on_queued(&mut self, stream: StreamId) {
        let start = self.now;
        self.starts.entry(stream).or_insert(start);
    }

    /// The stream whose next unit finishes first.
    pub(super) fn first_to_finish(
        &self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
        weight: impl Fn(StreamId) -> u16,
    ) -> Option<StreamId> {
        let heads = queues.heads.iter().filter(|m| eligible(m.stream));
        let finish = |m: &MessageInfo| {
            let start = self.starts.get(&m.stream).map_or(self.now, |start| *start);
            start.saturating_add(virtual_length(m.bytes.min(queues.unit), weight(m.stream)))
        };
        heads.min_by_key(|m| finish(m)).map(|m| m.stream)
    }

    /// `bytes` of `stream` were sent.
    pub(super) fn on_taken(
        &mut self,
        queues: &StreamQueues<'_>,
        stream: StreamId,
        bytes: u32,
        weight: u16,
    ) {
        let start = self.starts.get(&stream).map_or(self.now, |start| *start);
        let start = start.saturating_add(virtual_length(bytes, weight));
        self.now = self.now.max(start);
        if queues.head(stream).is_some() {
            self.starts.insert(stream, start);
        } else {
            self.starts.remove(&stream);
        }
    }

    /// A message of `stream` left the queue without having been sent.
    pub(super) fn on_removed(&mut self, queues: &StreamQueues<'_>, stream: StreamId) {
        if queues.head(stream).is_none() {
            self.starts.remove(&stream);
        }
    }
}

fn virtual_length(bytes: u32, weight: u16) -> u64 {
    u64::from(bytes) * SCALE / u64::from(weight.max(1))
}
