//! `requirements`: what the streams declared.

use polypath_proto::ids::StreamId;
use polypath_proto::policy::{MessageInfo, Policy, StreamQueues, StreamScheduler};
use polypath_proto::time::Time;

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::stream_scheduler("requirements", |_| {
    Ok(Box::new(|_, _| Box::new(ByRequirements::default())))
})
.summary("by declared priority, then low delay, then deadline; round robin among the rest")
.source("this project; docs/explanation/knapsack.md");

/// Lowest priority value first; within it streams of low delay, then those with a deadline, either
/// by what is due first, then the others in turn. Where nothing is declared it is a round robin.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByRequirements {
    last: Option<StreamId>,
}

/// What goes first: priority, whether it is urgent, when it is due.
fn order_of(message: &MessageInfo) -> (u16, bool, Time) {
    let needs = message.needs;
    (needs.priority, !needs.is_urgent(), needs.due(message.enqueued).unwrap_or(Time::MAX))
}

impl Policy for ByRequirements {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl StreamScheduler for ByRequirements {
    fn peek_stream(
        &mut self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId> {
        // The first of equal ones: the next in turn.
        let heads = queues.after(self.last).filter(|m| eligible(m.stream));
        heads.min_by_key(|m| order_of(m)).map(|m| m.stream)
    }

    fn on_taken(&mut self, _queues: &StreamQueues<'_>, stream: StreamId, _bytes: u32, _done: bool) {
        self.last = Some(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::model::Model;
    use polypath_proto::time::Duration;
    use polypath_proto::{Service, StreamNeeds};

    fn needs(priority: u16, service: Service, deadline: Option<u64>) -> StreamNeeds {
        StreamNeeds { service, priority, deadline: deadline.map(Duration::from_millis) }
    }

    #[test]
    fn without_declarations_it_is_a_round_robin() {
        let mut model = Model::new(&[(0, 3), (1, 1), (1, 1), (1, 1), (2, 3)]);
        let order = model.drain(&mut ByRequirements::default(), false);
        assert_eq!(order, [0, 0, 0, 1, 2, 2, 2, 1, 1]);
    }

    #[test]
    fn priority_then_low_delay_then_deadlines_then_turns() {
        let declared = [
            (1, needs(0, Service::LowDelay, None)),
            (2, needs(0, Service::Throughput, Some(50))),
            (3, needs(0, Service::Throughput, Some(20))),
            (5, needs(1, Service::LowDelay, None)),
        ];
        let messages = [(0, 1), (0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (4, 1), (5, 1)];
        let order =
            Model::with_needs(&messages, &declared).drain(&mut ByRequirements::default(), false);
        assert_eq!(order, [1, 3, 2, 4, 0, 4, 0, 5]);
    }
}
