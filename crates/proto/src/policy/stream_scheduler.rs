//! Which stream's message is next? (RFC 8260 section 3)

use super::common::Policy;
use crate::ids::StreamId;
use crate::needs::StreamNeeds;
use crate::time::Time;

/// Chooses the stream that the next message is taken from.
///
/// Two-phase: [`peek_stream`](Self::peek_stream) proposes, [`on_taken`](Self::on_taken) commits.
/// Without I-DATA the fragments of a message have consecutive TSNs, so the engine asks only at
/// message borders and finishes a message once it has begun. With it, it asks for every chunk, and
/// messages of several streams are under way at once.
pub trait StreamScheduler: Policy {
    /// A message, or a further part of one, entered the queue of its stream; `queues` shows it
    /// already.
    fn on_queued(&mut self, _queues: &StreamQueues<'_>, _message: &MessageInfo) {}

    /// The stream to take from, among the non-empty ones for which `eligible` holds.
    fn peek_stream(
        &mut self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId>;

    /// `bytes` of the head message of `stream` were sent; `done` when that was its last chunk,
    /// which has then left `queues`.
    fn on_taken(
        &mut self,
        _queues: &StreamQueues<'_>,
        _stream: StreamId,
        _bytes: u32,
        _done: bool,
    ) {
    }

    /// A message of `stream` was given up, wholly or in part unsent; `queues` no longer shows it.
    fn on_removed(&mut self, _queues: &StreamQueues<'_>, _stream: StreamId) {}

    /// A new packet begins.
    fn packet_started(&mut self) {}

    /// The user set a parameter of a stream.
    fn set_param(&mut self, _stream: StreamId, _param: StreamParam) {}
}

/// A stream parameter of RFC 8260 section 3 (SCTP_SS_VALUE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamParam {
    /// Priority value: lower goes first.
    Priority(u16),
    /// Weight of weighted fair queueing, at least 1.
    Weight(u16),
}

/// A message in a stream's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageInfo {
    /// Its stream.
    pub stream: StreamId,
    /// Unsent payload bytes.
    pub bytes: u32,
    /// Position in the order in which the application handed in messages, over all streams.
    pub order: u64,
    /// When that was.
    pub enqueued: Time,
    /// What its stream declared.
    pub needs: StreamNeeds,
}

/// The head of every non-empty stream queue, in ascending order of stream ids.
#[derive(Clone, Copy, Debug)]
pub struct StreamQueues<'a> {
    /// One entry per non-empty stream: its head message.
    pub heads: &'a [MessageInfo],
    /// The largest piece of a message that is taken before the next choice, payload bytes:
    /// `u32::MAX` where a message must be finished once begun.
    pub unit: u32,
}

/// About what a chunk carries: a unit of interleaving. The exact size depends on paths.
const CHUNK: u32 = 1400;

impl<'a> StreamQueues<'a> {
    /// Queues with these heads, of which messages are interleaved or not.
    pub const fn new(heads: &'a [MessageInfo], interleaving: bool) -> Self {
        Self { heads, unit: if interleaving { CHUNK } else { u32::MAX } }
    }

    /// The head message of `stream`.
    pub fn head(&self, stream: StreamId) -> Option<&'a MessageInfo> {
        self.heads.binary_search_by_key(&stream, |m| m.stream).ok().and_then(|i| self.heads.get(i))
    }

    /// The heads, beginning with the first stream after `last` and wrapping around: the order of a
    /// round robin.
    pub fn after(&self, last: Option<StreamId>) -> impl Iterator<Item = &'a MessageInfo> + use<'a> {
        let start = last.map_or(0, |last| self.heads.partition_point(|m| m.stream <= last));
        let (before, from) = self.heads.split_at(start.min(self.heads.len()));
        from.iter().chain(before)
    }
}

/// SS_FCFS: the message that was handed in first, over all streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstCome;

impl Policy for FirstCome {
    fn name(&self) -> &'static str {
        "fcfs"
    }
}

impl StreamScheduler for FirstCome {
    fn peek_stream(
        &mut self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId> {
        let heads = queues.heads.iter().filter(|m| eligible(m.stream));
        heads.min_by_key(|m| m.order).map(|m| m.stream)
    }
}
