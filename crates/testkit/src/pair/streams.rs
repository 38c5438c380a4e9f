//! A stream scheduler that takes turns.

use polypath_proto::config::CcConfig;
use polypath_proto::ids::StreamId;
use polypath_proto::policy::{Policy, PolicyFactory, PolicySet, StreamQueues, StreamScheduler};
use polypath_proto::rng::Rng;

/// RFC 9260's policies, but streams take turns.
#[derive(Debug)]
pub struct RoundRobinStreams;

impl PolicyFactory for RoundRobinStreams {
    fn build(&self, cc: &CcConfig, _rng: &mut Rng) -> PolicySet {
        PolicySet { stream_scheduler: Box::new(InTurn(None)), ..PolicySet::rfc9260(cc) }
    }
}

#[derive(Debug)]
struct InTurn(Option<StreamId>);

impl Policy for InTurn {
    fn name(&self) -> &'static str {
        "in turn"
    }
}

impl StreamScheduler for InTurn {
    fn peek_stream(
        &mut self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId> {
        queues.after(self.0).map(|m| m.stream).find(|s| eligible(*s))
    }

    fn on_taken(&mut self, _queues: &StreamQueues<'_>, stream: StreamId, _bytes: u32, _done: bool) {
        self.0 = Some(stream);
    }
}
