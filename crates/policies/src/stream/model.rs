//! Stream queues for tests: what the engine does around a stream scheduler.

use std::collections::{BTreeMap, VecDeque};

use polypath_proto::StreamNeeds;
use polypath_proto::ids::StreamId;
use polypath_proto::policy::{MessageInfo, StreamQueues, StreamScheduler};
use polypath_proto::time::Time;

/// Payload bytes of a chunk.
pub(super) const CHUNK: u32 = 1000;

pub(super) struct Model {
    queues: BTreeMap<StreamId, VecDeque<MessageInfo>>,
    pushed: u64,
    needs: BTreeMap<u16, StreamNeeds>,
    /// Messages from before there was a scheduler to tell.
    untold: Vec<MessageInfo>,
    /// The message that was begun and, without interleaving, must be finished.
    begun: Option<StreamId>,
}

impl Model {
    /// Queues with `(stream, chunks)` messages.
    pub(super) fn new(messages: &[(u16, u32)]) -> Self {
        Self::with_needs(messages, &[])
    }

    /// The same, and what some streams declared.
    pub(super) fn with_needs(messages: &[(u16, u32)], needs: &[(u16, StreamNeeds)]) -> Self {
        let (queues, needs) = (BTreeMap::new(), needs.iter().copied().collect());
        let mut model = Self { queues, pushed: 0, needs, untold: Vec::new(), begun: None };
        for &(stream, chunks) in messages {
            let message = model.append(stream, chunks);
            model.untold.push(message);
        }
        model
    }

    pub(super) fn push(&mut self, scheduler: &mut dyn StreamScheduler, stream: u16, chunks: u32) {
        self.tell(scheduler);
        let message = self.append(stream, chunks);
        scheduler.on_queued(&StreamQueues::new(&self.heads(), false), &message);
    }

    /// Sends one chunk: the stream it came from.
    pub(super) fn step(
        &mut self,
        scheduler: &mut dyn StreamScheduler,
        interleaved: bool,
    ) -> Option<u16> {
        self.tell(scheduler);
        let heads = self.heads();
        let unit = if interleaved { CHUNK } else { u32::MAX };
        let queues = StreamQueues { heads: &heads, unit };
        let stream = match self.begun.filter(|_| !interleaved) {
            Some(stream) => stream,
            None => scheduler.peek_stream(&queues, &|_| true)?,
        };
        let queue = self.queues.get_mut(&stream).expect("peek names a stream that has messages");
        queue[0].bytes -= CHUNK;
        let done = queue[0].bytes == 0;
        if done {
            queue.pop_front();
        }
        self.begun = (!done).then_some(stream);
        scheduler.on_taken(&StreamQueues { heads: &self.heads(), unit }, stream, CHUNK, done);
        Some(stream.0)
    }

    /// Sends all: the stream of each chunk.
    pub(super) fn drain(
        &mut self,
        scheduler: &mut dyn StreamScheduler,
        interleaved: bool,
    ) -> Vec<u16> {
        core::iter::from_fn(|| self.step(scheduler, interleaved)).collect()
    }

    fn append(&mut self, stream: u16, chunks: u32) -> MessageInfo {
        let needs = self.needs.get(&stream).copied().unwrap_or_default();
        let (stream, bytes) = (StreamId(stream), chunks * CHUNK);
        let message =
            MessageInfo { stream, bytes, order: self.pushed, enqueued: Time::ZERO, needs };
        self.pushed += 1;
        self.queues.entry(stream).or_default().push_back(message);
        message
    }

    fn tell(&mut self, scheduler: &mut dyn StreamScheduler) {
        let heads = self.heads();
        for message in self.untold.drain(..) {
            scheduler.on_queued(&StreamQueues::new(&heads, false), &message);
        }
    }

    fn heads(&self) -> Vec<MessageInfo> {
        self.queues.values().filter_map(|q| q.front().copied()).collect()
    }
}
