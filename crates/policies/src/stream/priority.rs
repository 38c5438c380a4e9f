//! `priority`: strict priorities.

use std::collections::BTreeMap;

use polypath_proto::ids::StreamId;
use polypath_proto::policy::{Policy, StreamParam, StreamQueues, StreamScheduler};

use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::stream_scheduler("priority", read_options)
    .summary("the stream of the lowest priority value; round robin among equals")
    .source("RFC 8260 section 3.4")
    .options(&[OptionEntry {
        name: "values",
        default: "",
        values: "<stream:priority,stream:priority,...>",
        summary: "priority values, 0 to 65535, lower goes first; streams not listed have 0",
    }]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn StreamScheduler>, PolicyError> {
    let values = options.map("values", 0..=u16::MAX, 0..=u16::MAX)?;
    let values: BTreeMap<_, _> = values.into_iter().map(|(s, v)| (StreamId(s), v)).collect();
    Ok(Box::new(move |_, _| Box::new(Priority::new(values.clone()))))
}

/// SS_PRIO: lowest value first, round robin among equals.
#[derive(Clone, Debug, Default)]
pub struct Priority {
    values: BTreeMap<StreamId, u16>,
    last: Option<StreamId>,
}

impl Priority {
    /// A scheduler with these priority values; streams not listed have 0, the highest priority.
    pub const fn new(values: BTreeMap<StreamId, u16>) -> Self {
        Self { values, last: None }
    }
}

impl Policy for Priority {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl StreamScheduler for Priority {
    fn peek_stream(
        &mut self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId> {
        let streams = queues.after(self.last).map(|m| m.stream).filter(|&s| eligible(s));
        streams.min_by_key(|s| self.values.get(s).copied().unwrap_or_default())
    }

    fn on_taken(&mut self, _queues: &StreamQueues<'_>, stream: StreamId, _bytes: u32, _done: bool) {
        self.last = Some(stream);
    }

    fn set_param(&mut self, stream: StreamId, param: StreamParam) {
        if let StreamParam::Priority(value) = param {
            self.values.insert(stream, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::model::Model;

    fn scheduler() -> Priority {
        Priority::new(BTreeMap::from([(StreamId(0), 2), (StreamId(3), 1)]))
    }

    #[test]
    fn lowest_value_first_and_round_robin_among_equals() {
        let mut model = Model::new(&[(0, 1), (1, 1), (1, 1), (2, 1), (2, 1), (3, 1)]);
        assert_eq!(model.drain(&mut scheduler(), false), [1, 2, 1, 2, 3, 0]);
    }

    #[test]
    fn a_large_message_delays_a_better_one_only_without_interleaving() {
        let order = |interleaved| {
            let mut model = Model::new(&[(0, 4)]);
            let mut scheduler = scheduler();
            let mut order = vec![model.step(&mut scheduler, interleaved)];
            model.push(&mut scheduler, 1, 1);
            order.extend((0..4).map(|_| model.step(&mut scheduler, interleaved)));
            order.into_iter().flatten().collect::<Vec<_>>()
        };
        assert_eq!(order(false), [0, 0, 0, 0, 1]);
        assert_eq!(order(true), [0, 1, 0, 0, 0]);
    }

    #[test]
    fn values_change_at_run_time() {
        let mut scheduler = scheduler();
        scheduler.set_param(StreamId(1), StreamParam::Priority(9));
        scheduler.set_param(StreamId(0), StreamParam::Weight(9));
        let mut model = Model::new(&[(0, 1), (1, 1), (2, 1)]);
        assert_eq!(model.drain(&mut scheduler, false), [2, 0, 1]);
    }
}
