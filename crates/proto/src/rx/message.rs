//! Messages on their way from chunks to the application.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use polypath_wire::DataChunk;

use super::buffer::Charge;
use crate::event::Message;
use crate::ids::{Ssn, StreamId};
use crate::time::Time;
use crate::tsn_map::wire;

/// Which message a chunk belongs to, and what the application learns of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) stream: StreamId,
    pub(super) ssn: Ssn,
    pub(super) unordered: bool,
    pub(super) ppid: u32,
}

impl Label {
    #[inline]
    pub(super) const fn of(chunk: &DataChunk<'_>) -> Self {
        Self {
            stream: chunk.stream,
            ssn: chunk.ssn,
            unordered: chunk.flags.unordered,
            ppid: chunk.ppid,
        }
    }

    /// Whether fragments with these labels can be of one message. Unordered ones carry no
    /// meaningful SSN (RFC 9260 section 6.6).
    pub(super) fn same_message(&self, other: &Self) -> bool {
        self.stream == other.stream
            && self.unordered == other.unordered
            && (self.unordered || self.ssn == other.ssn)
    }
}

/// The payload of a message, as it came.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    /// In one chunk.
    Whole(Bytes),
    /// In several.
    Pieces(VecDeque<Bytes>),
}

impl Payload {
    /// All of it in one piece.
    fn join(self, len: u64) -> Bytes {
        match self {
            Self::Whole(data) => data,
            Self::Pieces(pieces) => {
                let mut data = BytesMut::with_capacity(usize::try_from(len).unwrap_or(0));
                pieces.iter().for_each(|piece| data.extend_from_slice(piece));
                data.freeze()
            }
        }
    }
}

/// A complete message.
#[derive(Clone, Debug)]
pub(super) struct Assembled {
    pub(super) label: Label,
    /// Extended TSN of its first chunk.
    pub(super) first: u64,
    pub(super) payload: Payload,
    pub(super) charge: Charge,
}

impl Assembled {
    /// Extended TSN of its last chunk.
    #[inline]
    pub(super) const fn last(&self) -> u64 {
        self.first + self.charge.chunks - 1
    }

    /// What the application gets; the fragments are joined only here, so that what waits is not
    /// held twice.
    pub(super) fn into_message(self, delivered: Time) -> Message {
        Message {
            stream: self.label.stream,
            ppid: self.label.ppid,
            unordered: self.label.unordered,
            tsn: wire(self.first),
            delivered,
            data: self.payload.join(self.charge.payload),
        }
    }
}
