//! Stream schedulers.

use std::collections::{BTreeMap, VecDeque};

use polypath_proto::ids::StreamId;
use polypath_proto::policy::{MessageInfo, StreamParam, StreamQueues, StreamScheduler};
use polypath_proto::rng::Rng;
use polypath_proto::time::Time;

use super::{check_name, same_twice};

const STEPS: usize = 1000;
const STREAMS: usize = 8;
const CHUNK: u32 = 1000;

/// Checks a stream scheduler, with chunks of messages interleaved and not.
///
/// Where a packet begins it must offer a stream if there is an eligible one that is not empty;
/// asking must not change the offer. Offering nothing within a packet closes it.
///
/// # Panics
/// When the scheduler breaks a rule.
pub fn check_stream_scheduler(make: impl Fn(u64) -> Box<dyn StreamScheduler>, seed: u64) {
    check_name(&*make(seed));
    let what = make(seed).name();
    for interleaved in [false, true] {
        same_twice(what, seed, || Drive::new(make(seed), seed, interleaved).run_steps());
    }
}

struct Drive {
    scheduler: Box<dyn StreamScheduler>,
    rng: Rng,
    seed: u64,
    interleaved: bool,
    queues: BTreeMap<StreamId, VecDeque<MessageInfo>>,
    order: u64,
    /// Without interleaving: the message that must be finished.
    begun: Option<StreamId>,
}

impl Drive {
    fn new(scheduler: Box<dyn StreamScheduler>, seed: u64, interleaved: bool) -> Self {
        let (queues, rng) = (BTreeMap::new(), Rng::from_u64(seed));
        Self { scheduler, rng, seed, interleaved, queues, order: 0, begun: None }
    }

    fn run_steps(mut self) -> Vec<Option<StreamId>> {
        (0..STEPS).map(|_| self.take_step()).collect()
    }

    fn take_step(&mut self) -> Option<StreamId> {
        for _ in 0..self.rng.below(3) {
            self.enqueue_message();
        }
        if self.rng.below(50) == 0 {
            self.set_param();
        }
        let new_packet = self.rng.below(2) == 0;
        if new_packet {
            self.scheduler.packet_started();
        }
        let stream = match self.begun {
            Some(stream) => stream,
            None => self.ask_scheduler(new_packet)?,
        };
        self.take_chunk(stream);
        Some(stream)
    }

    fn ask_scheduler(&mut self, new_packet: bool) -> Option<StreamId> {
        let closed = self.rng.next_u32() & self.rng.next_u32();
        let eligible = |s: StreamId| closed >> (s.0 % 32) & 1 == 0;
        let heads = self.head_messages();
        let queues = StreamQueues::new(&heads, self.interleaved);
        let pick = self.scheduler.peek_stream(&queues, &eligible);
        let again = self.scheduler.peek_stream(&queues, &eligible);
        let (name, seed) = (self.scheduler.name(), self.seed);
        assert!(pick.is_none() || pick == again, "{name}, seed {seed}: asking changes the answer");
        let mut open = heads.iter().filter(|m| eligible(m.stream));
        match pick {
            Some(s) => assert!(
                open.any(|m| m.stream == s),
                "{name}, seed {seed}: stream {s} is empty or not eligible"
            ),
            None => assert!(
                !new_packet || open.next().is_none(),
                "{name}, seed {seed}: nothing for a new packet, although a stream is eligible"
            ),
        }
        pick
    }

    fn take_chunk(&mut self, stream: StreamId) {
        let Some(queue) = self.queues.get_mut(&stream) else { return };
        let Some(head) = queue.front_mut() else { return };
        let bytes = head.bytes.min(CHUNK);
        head.bytes -= bytes;
        let done = head.bytes == 0;
        if done {
            queue.pop_front();
        }
        self.begun = (!done && !self.interleaved).then_some(stream);
        self.scheduler.on_taken(
            &StreamQueues::new(&self.head_messages(), self.interleaved),
            stream,
            bytes,
            done,
        );
    }

    fn enqueue_message(&mut self) {
        let stream = StreamId(self.rng.below(STREAMS) as u16);
        let bytes = 1 + self.rng.below(3 * CHUNK as usize) as u32;
        let message = MessageInfo {
            stream,
            bytes,
            order: self.order,
            enqueued: Time(self.order),
            needs: polypath_proto::StreamNeeds::default(),
        };
        self.order += 1;
        self.queues.entry(stream).or_default().push_back(message);
        self.scheduler
            .on_queued(&StreamQueues::new(&self.head_messages(), self.interleaved), &message);
    }

    fn set_param(&mut self) {
        let stream = StreamId(self.rng.below(STREAMS) as u16);
        let value = self.rng.next_u32() as u16;
        self.scheduler.set_param(stream, StreamParam::Priority(value));
        self.scheduler.set_param(stream, StreamParam::Weight(value));
    }

    fn head_messages(&self) -> Vec<MessageInfo> {
        self.queues.values().filter_map(|q| q.front().copied()).collect()
    }
}
