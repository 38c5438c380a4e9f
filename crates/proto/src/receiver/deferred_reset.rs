//! What a reset that waits keeps aside.

use std::collections::BTreeMap;

use bytes::Bytes;
use polypath_wire::DataFlags;

use super::buffer::Charge;
use super::message::{Incoming, Label};
use crate::ids::{StreamId, Tsn};

/// A reset that waits for TSNs.
#[derive(Clone, Debug)]
pub(super) struct Deferred {
    /// Sequence number of the request.
    pub(super) request: u32,
    /// The last TSN before the reset.
    pub(super) last: u64,
    /// None: all.
    pub(super) streams: Vec<StreamId>,
    /// It was performed; what is held is being taken in.
    pub(super) done: bool,
    /// What belongs to the time after it. Charged to the buffer like everything else, hence bounded like it.
    pub(super) held: BTreeMap<u64, Held>,
}

/// A chunk of the time after a reset.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) tsn: Tsn,
    pub(super) label: Label,
    pub(super) fsn: u32,
    pub(super) flags: DataFlags,
    pub(super) data: Bytes,
}

/// TSNs that were reset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    /// The cumulative TSN before.
    pub(super) from: Tsn,
    /// The one after.
    pub(super) to: u64,
}

impl Deferred {
    /// Whether a chunk must wait.
    pub(super) fn holds(&self, tsn: u64, stream: StreamId) -> bool {
        let concerned = self.streams.is_empty() || self.streams.contains(&stream);
        !self.done && tsn > self.last && concerned
    }

    pub(super) fn hold(&mut self, tsn: u64, chunk: &Incoming<'_>) {
        let Incoming { tsn: short, label, fsn, flags, payload } = *chunk;
        let data = Bytes::copy_from_slice(payload);
        self.held.insert(tsn, Held { tsn: short, label, fsn, flags, data });
    }

    pub(super) fn is_held(&self, tsn: u64) -> bool {
        self.held.contains_key(&tsn)
    }

    /// The highest TSN that is held.
    pub(super) fn highest(&self) -> Option<u64> {
        self.held.last_key_value().map(|(tsn, _)| *tsn)
    }

    /// Drops the chunk of the highest TSN; gives what it occupied.
    pub(super) fn drop_highest(&mut self) -> Option<Charge> {
        self.held.pop_last().map(|(_, held)| Charge::of(held.data.len()))
    }
}
