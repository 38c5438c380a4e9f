//! What one end of an association saw.

use std::collections::BTreeMap;

use crate::line::{Arrived, Event, Fate, Stop};
use crate::tsn::Extender;

/// Records of one end, ascending in time.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// The file it is in.
    pub(crate) file: usize,
    pub(crate) flow: String,
    pub(crate) host: String,
    /// Initial TSNs, its own and the peer's.
    pub(crate) initial: Option<(u32, u32)>,
    /// Addresses of its paths: its own and the peer's.
    pub(crate) addresses: BTreeMap<u8, (String, String)>,
    /// The least round trip of each path, ns.
    pub(crate) round_trips: BTreeMap<u8, u64>,
    /// What it sent.
    pub(crate) sent: Vec<SentChunk>,
    /// What it declared lost: when, path, TSN.
    pub(crate) lost: Vec<(u64, u8, u32)>,
    /// When it ended an attempt to send, and why.
    pub(crate) rounds: Vec<(u64, Stop)>,
    /// What happened to what came.
    pub(crate) received: Vec<(u64, Received)>,
    /// When its last record was written.
    pub(crate) until: u64,
}

/// A transmission of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentChunk {
    pub(crate) at: u64,
    pub(crate) path: u8,
    pub(crate) tsn: u32,
    pub(crate) bytes: u32,
    /// A copy does not tell.
    pub(crate) stream: Option<u16>,
}

/// What happens at a receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Received {
    Arrived(Arrived),
    Deliverable { tsn: u32, first: u32, last: u32 },
    Taken { tsn: u32 },
    Reneged { tsn: u32 },
    Skipped { cumulative: u32 },
}

impl End {
    pub(crate) fn new(file: usize, flow: &str, host: &str) -> Self {
        Self {
            file,
            flow: flow.to_owned(),
            host: host.to_owned(),
            initial: None,
            addresses: BTreeMap::new(),
            round_trips: BTreeMap::new(),
            sent: Vec::new(),
            lost: Vec::new(),
            rounds: Vec::new(),
            received: Vec::new(),
            until: 0,
        }
    }

    /// Adds a record. An application may take its data a moment before the time that was noted
    /// last: no time runs backwards.
    pub(crate) fn note(&mut self, at: u64, event: Event) {
        let at = at.max(self.until);
        self.until = at;
        match event {
            Event::Associated { own, peer } => self.begin(own, peer),
            Event::Path { path, local, remote } => _ = self.addresses.insert(path, (local, remote)),
            Event::Sent { path, tsn, bytes, stream } => {
                self.sent.push(SentChunk { at, path, tsn, bytes, stream });
            }
            Event::Lost { path, tsn } => self.lost.push((at, path, tsn)),
            Event::Round { stop } => self.rounds.push((at, stop)),
            Event::Rtt { path, sample } => {
                let least = self.round_trips.entry(path).or_insert(sample);
                *least = sample.min(*least);
            }
            Event::Arrived(arrived) if arrived.fate == Fate::Refused => {}
            Event::Arrived(arrived) => self.received.push((at, Received::Arrived(arrived))),
            Event::Deliverable { tsn, first, last } => {
                self.received.push((at, Received::Deliverable { tsn, first, last }));
            }
            Event::Taken { tsn } => self.received.push((at, Received::Taken { tsn })),
            Event::Reneged { tsn } => self.received.push((at, Received::Reneged { tsn })),
            Event::Skipped { cumulative } => {
                self.received.push((at, Received::Skipped { cumulative }));
            }
        }
    }

    /// The association is set up. If it was already, it began anew, and its numbers with it: the
    /// latest life is explained.
    fn begin(&mut self, own: u32, peer: u32) {
        if self.initial.replace((own, peer)).is_some_and(|before| before != (own, peer)) {
            self.sent.clear();
            self.lost.clear();
            self.rounds.clear();
            self.received.clear();
        }
    }

    /// What extends the TSNs of what it sends.
    pub(crate) fn extender_of_sent(&self) -> Extender {
        Extender::new(self.initial.map_or(0, |(own, _)| own))
    }

    /// What extends those of what it receives.
    pub(crate) fn extender_of_received(&self) -> Extender {
        Extender::new(self.initial.map_or(0, |(_, peer)| peer))
    }
}
