//! One side of a [`Pair`](super::Pair).

use bytes::Bytes;
use polypath_proto::config::EndpointConfig;
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::time::Time;
use polypath_proto::{
    AssocHandle, Association, CloseReason, Endpoint, Event, Message, RecvFrom, SendOptions, State,
};

/// One side.
#[derive(Debug)]
pub struct End {
    /// Its endpoint.
    pub endpoint: Endpoint,
    /// All that its application was told.
    pub events: Vec<(AssocHandle, Event)>,
    /// All messages that its application read.
    pub received: Vec<Message>,
    /// The application reads.
    pub reads: bool,
    /// The application fills the send buffer with messages of this size.
    pub saturates: Option<usize>,
}

impl End {
    /// A side with these settings.
    pub fn new(config: EndpointConfig, seed: u64) -> Self {
        let endpoint = Endpoint::new(config, Rng::from_u64(seed));
        let (events, received) = (Vec::new(), Vec::new());
        Self { endpoint, events, received, reads: true, saturates: None }
    }

    /// The only association.
    pub fn handle(&self) -> AssocHandle {
        let mut all = self.endpoint.associations();
        let h = all.next().expect("an association");
        assert!(all.next().is_none(), "one association only");
        h
    }

    /// The only association.
    pub fn association(&self) -> &Association {
        self.endpoint.association(self.handle()).expect("it has one")
    }

    /// The only association.
    pub fn association_mut(&mut self) -> &mut Association {
        let h = self.handle();
        self.endpoint.association_mut(h).expect("it has one")
    }

    /// Number of associations.
    pub fn count(&self) -> usize {
        self.endpoint.associations().count()
    }

    /// The state of the only association.
    pub fn state(&self) -> State {
        self.association().state()
    }

    /// Whether its application was told this.
    pub fn has_seen(&self, wanted: &Event) -> bool {
        self.events.iter().any(|(_, event)| event == wanted)
    }

    /// How often its application was told of an association.
    pub fn established(&self) -> usize {
        let established = |(_, e): &&(AssocHandle, Event)| matches!(e, Event::Established { .. });
        self.events.iter().filter(established).count()
    }

    /// Why the first association that is over ended.
    pub fn closed(&self) -> Option<CloseReason> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::Closed(reason) => Some(reason.clone()),
            _ => None,
        })
    }

    /// Sends a message on stream 0.
    pub fn send(&mut self, now: Time, data: &'static [u8]) {
        let data = Bytes::from_static(data);
        let sent = self.association_mut().send(now, StreamId(0), data, SendOptions::default());
        sent.expect("accepted");
    }

    /// Closes the only association gracefully.
    pub fn shutdown(&mut self, now: Time) {
        self.association_mut().shutdown(now);
    }

    /// The payload of all messages read.
    pub fn texts(&self) -> Vec<&[u8]> {
        self.received.iter().map(|m| m.data.as_ref()).collect()
    }

    pub(super) fn drain_events(&mut self, now: Time) {
        while let Some((h, event)) = self.endpoint.poll_event() {
            if event == Event::Readable && self.reads {
                let assoc = self.endpoint.association_mut(h).expect("association");
                while let Some(message) = assoc.recv(now, RecvFrom::Any) {
                    self.received.push(message);
                }
            }
            if matches!(event, Event::Writable(_)) {
                self.fill_send_buffer(now, h);
            }
            self.events.push((h, event));
        }
    }

    /// Hands in messages until there is no room.
    pub fn fill_send_buffer(&mut self, now: Time, h: AssocHandle) {
        let Some(bytes) = self.saturates else { return };
        let assoc = self.endpoint.association_mut(h).expect("association");
        let message = || Bytes::from(vec![7; bytes]);
        while assoc.send(now, StreamId(0), message(), SendOptions::default()).is_ok() {}
    }
}
