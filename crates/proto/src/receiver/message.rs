//! Messages on their way from chunks to the application.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use polypath_wire::{Chunk, DataChunk, DataFlags, IDataChunk, RawChunk};

use super::buffer::Charge;
use crate::event::{Message, Part};
use crate::ids::{PathId, StreamId, Tsn};
use crate::time::Time;
use crate::trace::{Fate, StreamIdField, TraceEvent};
use crate::tsn_map::wire;

/// A chunk with user data, DATA or I-DATA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    pub(super) tsn: Tsn,
    pub(super) label: Label,
    /// Fragment sequence number; only I-DATA has it.
    pub(super) fsn: u32,
    pub(super) flags: DataFlags,
    pub(super) payload: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// The user data in DATA or I-DATA that came on `path`; `None` if it is neither, or cut off.
    #[inline]
    pub(crate) fn of(raw: &RawChunk<'a>, path: PathId) -> Option<Self> {
        if let Some(data) = raw.as_data() {
            return data.ok().map(|data| Self::from(&data).on(path));
        }
        match raw.decode() {
            Ok(Chunk::IData(data)) => Some(Self::from(&data).on(path)),
            _ => None,
        }
    }

    #[inline]
    pub(super) const fn on(mut self, path: PathId) -> Self {
        self.label.path = path;
        self
    }

    /// Its transmission sequence number.
    pub(crate) const fn tsn(&self) -> Tsn {
        self.tsn
    }

    /// Whether it is of the ordered messages of `stream` that have this payload protocol
    /// identifier. Of I-DATA only the first fragment tells.
    pub(crate) const fn is_ordered_on(&self, stream: u16, ppid: u32) -> bool {
        let told = self.label.ppid == ppid || !self.flags.beginning;
        self.label.stream.0 == stream && !self.flags.unordered && told
    }

    /// Whether it names this payload protocol identifier on `stream`.
    #[inline]
    pub(crate) const fn is_of(&self, stream: u16, ppid: u32) -> bool {
        self.label.stream.0 == stream && self.label.ppid == ppid && !self.flags.unordered
    }

    /// Whether it begins one of these messages.
    #[inline]
    pub(crate) const fn begins_on(&self, stream: u16, ppid: u32) -> bool {
        self.label.ppid == ppid && self.flags.beginning && self.is_ordered_on(stream, ppid)
    }

    /// What the trace says of it; `interleaved`: it is I-DATA.
    pub(crate) fn traced(&self, path: PathId, interleaved: bool, fate: Fate) -> TraceEvent {
        TraceEvent::Arrived {
            path,
            tsn: self.tsn.0,
            stream: StreamIdField(self.label.stream),
            message: self.label.number,
            fragment: interleaved.then_some(self.fsn),
            unordered: self.flags.unordered,
            begins: self.flags.beginning,
            ends: self.flags.ending,
            bytes: u32::try_from(self.payload.len()).unwrap_or(u32::MAX),
            fate,
        }
    }

    /// User data.
    pub(crate) const fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

impl<'a> From<&DataChunk<'a>> for Incoming<'a> {
    #[inline]
    fn from(chunk: &DataChunk<'a>) -> Self {
        let DataChunk { tsn, stream, ssn, ppid, flags, payload } = *chunk;
        let (number, path) = (ssn.0.into(), PathId(0));
        let label = Label { stream, number, unordered: flags.unordered, path, ppid };
        Self { tsn, label, fsn: 0, flags, payload }
    }
}

impl<'a> From<&IDataChunk<'a>> for Incoming<'a> {
    #[inline]
    fn from(chunk: &IDataChunk<'a>) -> Self {
        let IDataChunk { tsn, stream, mid, flags, payload, .. } = *chunk;
        let ppid = chunk.ppid().unwrap_or(0);
        let (number, path) = (mid.0, PathId(0));
        let label = Label { stream, number, unordered: flags.unordered, path, ppid };
        Self { tsn, label, fsn: chunk.fsn(), flags, payload }
    }
}

/// Which message a chunk belongs to, and what the application learns of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) stream: StreamId,
    /// SSN or MID.
    pub(super) number: u32,
    pub(super) unordered: bool,
    /// On which the chunk came.
    pub(super) path: PathId,
    /// Of I-DATA only the first fragment carries it.
    pub(super) ppid: u32,
}

impl Label {
    /// Whether DATA fragments with these labels can be of one message. Unordered ones carry no
    /// meaningful SSN (RFC 9260 section 6.6).
    pub(super) fn same_message(&self, other: &Self) -> bool {
        self.stream == other.stream
            && self.unordered == other.unordered
            && (self.unordered || self.number == other.number)
    }
}

/// A fragment of an interleaved message: its TSN tells nothing of its place.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Extended TSN.
    pub(super) tsn: u64,
    pub(super) data: Bytes,
}

/// The payload of a message, as it came.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    /// In one chunk.
    Whole(Bytes),
    /// In several. Apart, so that small messages, of which thousands may wait, take one cache line
    /// each.
    Split(Box<Split>),
}

/// A payload in several chunks, and what it occupies.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub(super) pieces: Pieces,
    pub(super) charge: Charge,
}

/// The chunks of a payload.
#[derive(Clone, Debug)]
pub(super) enum Pieces {
    /// Of consecutive TSNs.
    Consecutive(VecDeque<Bytes>),
    /// Of any TSNs.
    Scattered(VecDeque<Piece>),
}

impl Payload {
    /// Chunks that occupy `charge`.
    pub(super) fn split(pieces: Pieces, charge: Charge) -> Self {
        Self::Split(Split { pieces, charge }.into())
    }

    /// All of it in one piece.
    #[inline]
    fn join(self) -> Bytes {
        match self {
            Self::Whole(data) => data,
            Self::Split(split) => split.join(),
        }
    }
}

impl Split {
    #[inline(never)]
    fn join(&self) -> Bytes {
        let len = self.charge.payload;
        match &self.pieces {
            Pieces::Consecutive(pieces) => concat(len, pieces.iter()),
            Pieces::Scattered(pieces) => concat(len, pieces.iter().map(|piece| &piece.data)),
        }
    }
}

fn concat<'a>(len: u64, pieces: impl Iterator<Item = &'a Bytes>) -> Bytes {
    let mut data = BytesMut::with_capacity(usize::try_from(len).unwrap_or(0));
    pieces.for_each(|piece| data.extend_from_slice(piece));
    data.freeze()
}

/// A message that is complete, or a part of one that is delivered before the rest.
#[derive(Clone, Debug)]
pub(super) struct Assembled {
    pub(super) label: Label,
    /// Extended TSN of its first chunk.
    pub(super) first: u64,
    pub(super) payload: Payload,
    pub(super) part: Part,
}

impl Assembled {
    /// What it occupies.
    #[inline]
    pub(super) const fn charge(&self) -> Charge {
        match &self.payload {
            Payload::Whole(data) => Charge::of(data.len()),
            Payload::Split(split) => split.charge,
        }
    }

    /// Extended TSN of its last chunk, where they are consecutive.
    #[inline]
    pub(super) const fn last(&self) -> u64 {
        self.first + self.charge().chunks - 1
    }

    /// Calls `each` with the extended TSNs that it came in, as ranges from first to last.
    #[inline]
    pub(super) fn for_each_range(&self, mut each: impl FnMut(u64, u64)) {
        if let Payload::Split(split) = &self.payload
            && let Pieces::Scattered(pieces) = &split.pieces
        {
            return pieces.iter().for_each(|p| each(p.tsn, p.tsn));
        }
        each(self.first, self.last());
    }

    /// What the application gets; the fragments are joined only here, so that what waits is not
    /// held twice.
    #[inline]
    pub(super) fn into_message(self, delivered: Time) -> Message {
        Message {
            stream: self.label.stream,
            ppid: self.label.ppid,
            unordered: self.label.unordered,
            path: self.label.path,
            tsn: wire(self.first),
            delivered,
            part: self.part,
            data: self.payload.join(),
        }
    }
}
