//! Types that several files of the sending half share.

use bytes::Bytes;
use polypath_wire::{DATA_HEADER_LEN, DataFlags, I_DATA_HEADER_LEN, Mid};

use super::send_options::SendOptions;
use crate::ids::{MessageId, PathId, Ssn, StreamId, Tsn};
use crate::time::Time;

/// Where the next new chunk comes from and goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewChunk {
    pub(crate) path: PathId,
    pub(crate) stream: StreamId,
    /// Payload bytes of the chunk, as [`peek`](super::Sender::peek) said.
    pub(crate) bytes: u32,
    /// Set the I bit: a SACK is wanted at once (RFC 7053).
    pub(crate) immediate: bool,
}

/// A fragment taken from the send queue, or a whole message that fits one chunk.
#[derive(Debug)]
pub(crate) struct DequeuedFragment {
    pub(crate) message: MessageId,
    pub(crate) payload: Bytes,
    pub(crate) number: Number,
    pub(crate) ppid: u32,
    pub(crate) flags: DataFlags,
    /// The message may be abandoned (RFC 3758).
    pub(crate) may_be_abandoned: bool,
}

/// Which message of its stream a chunk belongs to, by the kind of chunk that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// DATA: the message's number; 0 if it is unordered.
    Ssn(Ssn),
    /// I-DATA: the message's number in its class, ordered or unordered, and the fragment's in the
    /// message.
    Mid {
        /// Message identifier.
        mid: Mid,
        /// Fragment sequence number.
        fsn: u32,
    },
}

impl Number {
    /// Bytes of the chunk header that carries the number.
    #[inline]
    pub(super) const fn header_len(self) -> usize {
        match self {
            Self::Ssn(_) => DATA_HEADER_LEN,
            Self::Mid { .. } => I_DATA_HEADER_LEN,
        }
    }
}

/// How often a chunk was transmitted: the two classes of CUC version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Once.
    NeverRetransmitted,
    /// More than once.
    Retransmitted,
}

/// A chunk in flight that is to be transmitted once more: as a copy on another path, or as a
/// tail-loss probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkInFlight {
    /// Extended TSN.
    pub(crate) tsn: u64,
    /// DATA chunk bytes, header and padding included.
    pub(crate) bytes: u32,
}

/// The transmission that an acknowledgement is taken to answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) path: PathId,
    pub(crate) sent: Time,
    /// No other transmission can have been answered.
    pub(crate) certain: bool,
}

/// Chunks of one path that were declared lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// How many.
    pub(crate) lost: u32,
    /// Congestion control must react: recovery begins, or a retransmission was lost.
    pub(crate) react: bool,
}

/// A message that was abandoned (RFC 3758 section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AbandonedMessage {
    pub(crate) message: MessageId,
    pub(crate) stream: StreamId,
    /// Something of it had been sent.
    pub(crate) sent: bool,
}

/// Where TSNs jumped because they were reset (RFC 6525 section 5.2.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct TsnJump {
    /// The TSN that would have been the next.
    pub(super) from: Tsn,
    /// The first one after the jump.
    pub(super) to: u64,
}

/// A message of which more is to come from the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenMessage {
    pub(super) id: MessageId,
    /// Those of its first part hold for all.
    pub(super) options: SendOptions,
    /// Payload bytes handed in.
    pub(super) bytes: u64,
}

/// The lower of two TSNs, either of which may be missing.
#[inline]
pub(super) fn lower(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
