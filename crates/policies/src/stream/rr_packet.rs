//! `rr-packet`: round robin over streams, one stream per packet.

use polypath_proto::ids::StreamId;
use polypath_proto::policy::{Policy, StreamQueues, StreamScheduler};

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::stream_scheduler("rr-packet", |_| {
    Ok(Box::new(|_, _| Box::new(RoundRobinPacket::default())))
})
.summary("the streams in turn; a packet carries chunks of one stream")
.source("RFC 8260 section 3.3");

/// SS_RR_PKT: as round robin, but the stream changes only where a packet begins.
///
/// While a packet is open, [`peek_stream`](StreamScheduler::peek_stream) offers its stream or none;
/// none closes the packet. An engine must announce a packet before it asks for its first chunk.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobinPacket {
    last: Option<StreamId>,
    /// The open packet has a chunk of `last`.
    locked: bool,
}

impl Policy for RoundRobinPacket {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl StreamScheduler for RoundRobinPacket {
    fn peek_stream(
        &mut self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId> {
        let mut streams = queues.after(self.last).map(|m| m.stream);
        let allowed = |s: StreamId| !self.locked || Some(s) == self.last;
        let offer = streams.find(|&s| allowed(s) && eligible(s));
        self.locked &= offer.is_some();
        offer
    }

    fn on_taken(&mut self, _queues: &StreamQueues<'_>, stream: StreamId, _bytes: u32, _done: bool) {
        self.last = Some(stream);
        self.locked = true;
    }

    fn packet_started(&mut self) {
        self.locked = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::model::Model;

    #[test]
    fn the_stream_changes_with_the_packet() {
        let mut rr = RoundRobinPacket::default();
        let mut model = Model::new(&[(0, 1), (0, 1), (0, 1), (1, 1), (2, 1), (2, 1)]);
        let mut packet = |chunks| {
            rr.packet_started();
            (0..chunks).map_while(|_| model.step(&mut rr, true)).collect::<Vec<_>>()
        };
        assert_eq!(packet(2), [0, 0]);
        assert_eq!(packet(2), [1], "stream 1 has no more, and the packet is its own");
        assert_eq!(packet(2), [2, 2]);
        assert_eq!(packet(2), [0]);
        assert_eq!(packet(2), [0u16; 0]);
    }

    #[test]
    fn without_interleaving_a_message_goes_on_in_the_next_packet() {
        let packets = |interleaved| {
            let mut rr = RoundRobinPacket::default();
            let mut model = Model::new(&[(0, 3), (1, 1), (0, 1)]);
            let mut packet = || {
                rr.packet_started();
                (0..2).map_while(|_| model.step(&mut rr, interleaved)).collect::<Vec<_>>()
            };
            [packet(), packet(), packet()]
        };
        assert_eq!(packets(true), [vec![0, 0], vec![1], vec![0, 0]]);
        assert_eq!(packets(false), [vec![0, 0], vec![0, 0], vec![1]]);
    }
}
