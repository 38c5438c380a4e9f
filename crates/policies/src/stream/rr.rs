//! `rr`: round robin over streams.

use polypath_proto::ids::StreamId;
use polypath_proto::policy::{Policy, StreamQueues, StreamScheduler};

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::stream_scheduler("rr", |_| {
    Ok(Box::new(|_, _| Box::new(StreamRoundRobin::default())))
})
.summary("one message per stream in turn; with interleaving one chunk")
.source("RFC 8260 section 3.2");

/// SS_RR: the streams in turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamRoundRobin {
    last: Option<StreamId>,
}

impl Policy for StreamRoundRobin {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl StreamScheduler for StreamRoundRobin {
    fn peek_stream(
        &mut self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId> {
        queues.after(self.last).map(|m| m.stream).find(|&s| eligible(s))
    }

    fn on_taken(&mut self, _queues: &StreamQueues<'_>, stream: StreamId, _bytes: u32, _done: bool) {
        self.last = Some(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::model::Model;

    /// The queues of RFC 8260, figures 1 and 2: messages of three chunks, three times one, three.
    fn figure() -> Model {
        Model::new(&[(0, 3), (1, 1), (1, 1), (1, 1), (2, 3)])
    }

    #[test]
    fn figure_1_without_interleaving() {
        let order = figure().drain(&mut StreamRoundRobin::default(), false);
        assert_eq!(order, [0, 0, 0, 1, 2, 2, 2, 1, 1]);
    }

    #[test]
    fn figure_2_with_interleaving() {
        let order = figure().drain(&mut StreamRoundRobin::default(), true);
        assert_eq!(order, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    }
}
