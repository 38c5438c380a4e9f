//! DATA chunks between their first transmission and their cumulative acknowledgement.
//!
//! Their states are read everywhere in the sending half, and changed by the parent module alone.

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_wire::{DataChunk, DataFlags, EncodeChunk, IDataChunk};

use crate::ids::{MessageId, PathId, StreamId};
use crate::sender::lists::{append, trim};
use crate::sender::types::{Class, DequeuedFragment, Number};
use crate::time::Time;
use crate::tsn_map::wire;
use crate::view::LossKind;

/// A chunk that has a TSN.
#[derive(Debug)]
pub(crate) struct TxChunk {
    pub(crate) message: MessageId,
    /// Empty once it was NR-acked: the buffer space is free then.
    pub(crate) payload: Bytes,
    pub(crate) stream: StreamId,
    pub(crate) number: Number,
    pub(crate) ppid: u32,
    pub(crate) flags: DataFlags,
    /// The path of the latest transmission.
    pub(crate) path: PathId,
    /// Changed by [`OutstandingQueue`](super::OutstandingQueue) alone.
    pub(super) state: ChunkState,
    pub(crate) sent: Time,
    /// Payload bytes, also when `payload` is gone.
    pub(crate) bytes: u32,
    /// Transmissions so far.
    pub(crate) transmissions: u16,
    /// Miss indications since the latest transmission (RFC 9260 section 7.2.4).
    pub(crate) miss_indications: u8,
    /// A TSN is fast-retransmitted once (RFC 9260 section 7.2.4, rule 5).
    pub(crate) fast_retransmitted: bool,
    /// A retransmission went to another path: its acknowledgement is ambiguous for SFR and for
    /// RTTs.
    pub(crate) moved: bool,
    /// A copy on another path was given up, and may have arrived: who delivered the chunk is not
    /// known.
    pub(crate) copy_given_up: bool,
    /// The peer withdrew a gap ack of it: no RTT sample.
    pub(crate) reneged: bool,
    /// It was moved because it blocked a buffer: once is enough.
    pub(crate) rescheduled: bool,
    /// Its message may be abandoned (`sender::partial_reliability` knows when).
    pub(crate) may_be_abandoned: bool,
    /// Other transmissions in flight, on other paths; only while it is in flight on `path`, too.
    pub(crate) copies: Vec<Copied>,
}

/// A transmission of a chunk on another path than its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) path: PathId,
    pub(crate) sent: Time,
}

/// Where a chunk stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkState {
    /// Sent and not acknowledged.
    InFlight,
    /// Declared lost, waits to be sent again; not counted as outstanding.
    Marked(LossKind),
    /// Gap-acked: out of cwnd, still in the send buffer.
    GapAcked,
    /// NR-acked: out of both.
    NrAcked,
    /// Its message was abandoned while it was in flight: out of both and never sent again, but
    /// should it turn out to be lost, that is a loss (RFC 3758 section 3.5, F5).
    AbandonedInFlight,
    /// Its message was abandoned, and nothing more will be heard of it.
    Abandoned,
}

impl ChunkState {
    /// On its way, as far as is known; whether it counts as outstanding or not.
    #[inline]
    pub(crate) const fn is_under_way(self) -> bool {
        matches!(self, Self::InFlight | Self::AbandonedInFlight)
    }

    /// Its message was abandoned.
    #[inline]
    pub(crate) const fn is_abandoned(self) -> bool {
        matches!(self, Self::AbandonedInFlight | Self::Abandoned)
    }
}

impl TxChunk {
    pub(crate) fn new(
        fragment: DequeuedFragment,
        stream: StreamId,
        path: PathId,
        now: Time,
    ) -> Self {
        Self {
            message: fragment.message,
            bytes: fragment.payload.len() as u32,
            payload: fragment.payload,
            stream,
            number: fragment.number,
            ppid: fragment.ppid,
            flags: fragment.flags,
            path,
            state: ChunkState::InFlight,
            sent: now,
            transmissions: 1,
            miss_indications: 0,
            fast_retransmitted: false,
            moved: false,
            copy_given_up: false,
            reneged: false,
            rescheduled: false,
            may_be_abandoned: fragment.may_be_abandoned,
            copies: Vec::new(),
        }
    }

    /// DATA chunk bytes, header and padding included: what counts against cwnd (RFC 9260 section
    /// 7.2).
    #[inline]
    pub(crate) const fn size(&self) -> u64 {
        chunk_size(self.bytes, self.number.header_len())
    }

    /// Where it stands.
    #[inline]
    pub(crate) const fn state(&self) -> ChunkState {
        self.state
    }

    /// Sent, not acknowledged, not declared lost, and its message not abandoned.
    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.state == ChunkState::InFlight
    }

    /// Declared lost, and to be sent again.
    pub(crate) const fn is_marked(&self) -> bool {
        matches!(self.state, ChunkState::Marked(_))
    }

    /// Its payload is still in the send buffer.
    #[inline]
    pub(crate) fn holds_buffer(&self) -> bool {
        !self.state.is_abandoned() && self.state != ChunkState::NrAcked
    }

    #[inline]
    pub(crate) const fn class(&self) -> Class {
        if self.transmissions == 1 { Class::NeverRetransmitted } else { Class::Retransmitted }
    }

    /// When it was sent on `p`, if that transmission is in flight.
    #[inline]
    pub(crate) fn in_flight_on(&self, p: PathId) -> Option<Time> {
        if self.path == p {
            return self.state.is_under_way().then_some(self.sent);
        }
        self.copies.iter().find(|c| c.path == p).map(|c| c.sent)
    }

    /// The chunk as it goes on the wire: the same at every transmission.
    #[inline]
    pub(crate) fn encode(&self, tsn: u64) -> Framed<'_> {
        let (tsn, stream, flags) = (wire(tsn), self.stream, self.flags);
        let payload = &*self.payload;
        match self.number {
            Number::Ssn(ssn) => {
                Framed::Data(DataChunk { tsn, stream, ssn, ppid: self.ppid, flags, payload })
            }
            Number::Mid { mid, fsn } => {
                let ppid_or_fsn = if flags.beginning { self.ppid } else { fsn };
                Framed::IData(IDataChunk { tsn, stream, mid, ppid_or_fsn, flags, payload })
            }
        }
    }
}

/// A chunk with its header.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framed<'a> {
    /// DATA.
    Data(DataChunk<'a>),
    /// I-DATA.
    IData(IDataChunk<'a>),
}

impl EncodeChunk for Framed<'_> {
    #[inline]
    fn encoded_len(&self) -> usize {
        match self {
            Self::Data(chunk) => chunk.encoded_len(),
            Self::IData(chunk) => chunk.encoded_len(),
        }
    }

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Data(chunk) => chunk.encode(out),
            Self::IData(chunk) => chunk.encode(out),
        }
    }
}

/// Bytes of a chunk with `payload` bytes behind `header` bytes, padding included.
#[inline]
pub(crate) const fn chunk_size(payload: u32, header: usize) -> u64 {
    (payload as u64 + header as u64 + 3) & !3
}

/// All chunks above the cum-ack, by extended TSN.
#[derive(Debug)]
pub(crate) struct ChunkRing {
    base: u64,
    chunks: VecDeque<TxChunk>,
}

impl ChunkRing {
    pub(crate) const fn new(base: u64) -> Self {
        Self { base, chunks: VecDeque::new() }
    }

    /// The lowest TSN that is not cum-acked.
    #[inline]
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    /// The TSN that the next new chunk gets.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.base + self.chunks.len() as u64
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Gives the memory back that no chunk needs.
    pub(crate) fn shrink(&mut self) {
        self.chunks.shrink_to_fit();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    #[inline]
    pub(crate) fn get(&self, tsn: u64) -> Option<&TxChunk> {
        self.chunks.get(usize::try_from(tsn.checked_sub(self.base)?).ok()?)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, tsn: u64) -> Option<&mut TxChunk> {
        self.chunks.get_mut(usize::try_from(tsn.checked_sub(self.base)?).ok()?)
    }

    pub(crate) fn push(&mut self, chunk: TxChunk) -> u64 {
        append(&mut self.chunks, chunk);
        self.next() - 1
    }

    pub(crate) fn pop_front(&mut self) -> Option<TxChunk> {
        let chunk = self.chunks.pop_front()?;
        self.base += 1;
        Some(chunk)
    }

    /// Gives back what it does not need any more.
    #[inline]
    pub(crate) fn trim(&mut self) {
        trim(&mut self.chunks);
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &TxChunk)> {
        self.chunks.iter().enumerate().map(|(i, chunk)| (self.base + i as u64, chunk))
    }
}
