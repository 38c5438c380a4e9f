//! `wfq`: bandwidth by weights.

use std::collections::BTreeMap;

use polypath_proto::ids::StreamId;
use polypath_proto::policy::{MessageInfo, Policy, StreamParam, StreamQueues, StreamScheduler};

use super::virtual_time::VirtualTime;
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::stream_scheduler("wfq", read_options)
    .summary("weighted fair queueing: bytes in proportion to the streams' weights")
    .source("RFC 8260 section 3.6")
    .options(&[OptionEntry {
        name: "weights",
        default: "",
        values: "<stream:weight,stream:weight,...>",
        summary: "weights, 1 to 65535; streams not listed have 1",
    }]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn StreamScheduler>, PolicyError> {
    let weights = options.map("weights", 0..=u16::MAX, 1..=u16::MAX)?;
    let weights: BTreeMap<_, _> = weights.into_iter().map(|(s, w)| (StreamId(s), w)).collect();
    Ok(Box::new(move |_, _| Box::new(WeightedFair::new(weights.clone()))))
}

/// SS_WFQ: bytes in proportion to weights. Without weights it is SS_FC (fair capacity): the same
/// number of bytes for every stream, whatever the sizes of its messages.
#[derive(Clone, Debug)]
pub struct WeightedFair {
    name: &'static str,
    /// None: all streams weigh the same, and the user cannot change that.
    weights: Option<BTreeMap<StreamId, u16>>,
    time: VirtualTime,
}

impl WeightedFair {
    /// A scheduler with these weights; streams not listed have 1, and 0 counts as 1.
    pub fn new(weights: BTreeMap<StreamId, u16>) -> Self {
        Self { name: ENTRY.name, weights: Some(weights), time: VirtualTime::default() }
    }

    /// A scheduler of this name for which all streams weigh the same.
    pub(super) fn equal_weights(name: &'static str) -> Self {
        Self { name, weights: None, time: VirtualTime::default() }
    }

    fn weight_of(&self, stream: StreamId) -> u16 {
        self.weights.as_ref().and_then(|weights| weights.get(&stream)).copied().unwrap_or(1)
    }
}

impl Policy for WeightedFair {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl StreamScheduler for WeightedFair {
    fn on_queued(&mut self, _queues: &StreamQueues<'_>, message: &MessageInfo) {
        self.time.on_queued(message.stream);
    }

    fn peek_stream(
        &mut self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId> {
        self.time.first_to_finish(queues, eligible, |s| self.weight_of(s))
    }

    fn on_taken(&mut self, queues: &StreamQueues<'_>, stream: StreamId, bytes: u32, _done: bool) {
        let weight = self.weight_of(stream);
        self.time.on_taken(queues, stream, bytes, weight);
    }

    fn on_removed(&mut self, queues: &StreamQueues<'_>, stream: StreamId) {
        self.time.on_removed(queues, stream);
    }

    fn set_param(&mut self, stream: StreamId, param: StreamParam) {
        if let (StreamParam::Weight(weight), Some(weights)) = (param, &mut self.weights) {
            weights.insert(stream, weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::model::Model;

    fn scheduler() -> WeightedFair {
        WeightedFair::new(BTreeMap::from([(StreamId(1), 3)]))
    }

    fn saturated(scheduler: &mut WeightedFair, interleaved: bool, chunks: [u32; 2]) -> Vec<u16> {
        let mut model = Model::new(&[]);
        for _ in 0..1000 {
            model.push(scheduler, 0, chunks[0]);
            model.push(scheduler, 1, chunks[1]);
        }
        (0..800).map_while(|_| model.step(scheduler, interleaved)).collect()
    }

    fn share(order: &[u16], stream: u16) -> usize {
        order.iter().filter(|s| **s == stream).count()
    }

    #[test]
    fn finish_times_by_hand() {
        // F of stream 0: 1, 2, ...; of stream 1: 1/3, 2/3, 1, ...; at equal F the lower stream.
        // (The third part is rounded down, which puts stream 1's third message just before stream
        // 0's first.)
        let order = saturated(&mut scheduler(), false, [1, 1]);
        assert_eq!(order[..8], [1, 1, 1, 0, 1, 1, 1, 0]);
    }

    #[test]
    fn interleaving_gives_the_shares_within_messages() {
        let order = Model::new(&[(0, 3), (1, 6)]).drain(&mut scheduler(), true);
        // By chunks F of stream 1 is 1/3, 2/3, 1 (rounded down), ..., 2; of stream 0 1, 2, 3.
        assert_eq!(order, [1, 1, 1, 0, 1, 1, 1, 0, 0]);
        let order = Model::new(&[(0, 3), (1, 6)]).drain(&mut scheduler(), false);
        // By messages 6/3 before 3.
        assert_eq!(order, [1, 1, 1, 1, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn shares_follow_the_weights_whatever_the_message_sizes() {
        for interleaved in [false, true] {
            for chunks in [[1, 1], [7, 1], [1, 7]] {
                let order = saturated(&mut scheduler(), interleaved, chunks);
                let chunks_of_1 = share(&order, 1);
                assert!(chunks_of_1.abs_diff(600) <= 21, "{chunks:?}: {chunks_of_1} of 800");
            }
        }
    }

    #[test]
    fn weights_change_at_run_time() {
        let mut scheduler = scheduler();
        scheduler.set_param(StreamId(1), StreamParam::Weight(1));
        scheduler.set_param(StreamId(0), StreamParam::Priority(7));
        let order = saturated(&mut scheduler, false, [1, 1]);
        assert!(share(&order, 1).abs_diff(400) <= 2);
        scheduler.set_param(StreamId(1), StreamParam::Weight(0));
        assert_eq!(scheduler.weight_of(StreamId(1)), 0, "counts as 1 where it divides");
        assert!(!saturated(&mut scheduler, false, [1, 1]).is_empty());
    }
}
