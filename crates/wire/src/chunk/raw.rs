//! Chunks of any type: header checked, value not yet.

use crate::reader::Reader;
use crate::tlv::saturating_length;
use crate::{EncodeChunk, Item, UnknownAction, WireError, WireErrorKind};

/// Length of a chunk's type, flags and length fields.
pub(crate) const CHUNK_HEADER_LEN: usize = 4;

/// A chunk with checked length and unchecked value.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------+---------------+-------------------------------+
/// |     type      |     flags     |  length (4 + that of value)   |
/// +---------------+---------------+-------------------------------+
/// |                 value, then 0 to 3 bytes of padding           |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// Its type, see [`chunk::kind`](crate::chunk::kind).
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its value, without padding.
    pub value: &'a [u8],
    /// Bytes from the start of the packet to its type field.
    pub offset: usize,
    bytes: &'a [u8],
}

impl<'a> RawChunk<'a> {
    /// The chunk in front of `bytes`, which start at `offset` in the packet.
    #[inline]
    pub(crate) fn split_first(bytes: &'a [u8], offset: usize) -> Result<Self, WireError> {
        let Some(([kind, flags, l0, l1], _)) = bytes.split_first_chunk::<CHUNK_HEADER_LEN>() else {
            let (needed, left) = (CHUNK_HEADER_LEN, bytes.len());
            let kind = WireErrorKind::Truncated { item: Item::ChunkHeader, needed, left };
            return Err(WireError { offset, kind });
        };
        let length = u16::from_be_bytes([*l0, *l1]);
        let Some((chunk, value)) = bytes
            .get(..usize::from(length))
            .and_then(|chunk| chunk.get(CHUNK_HEADER_LEN..).map(|value| (chunk, value)))
        else {
            let kind =
                WireErrorKind::Length { item: Item::Chunk(*kind), length, left: bytes.len() };
            return Err(WireError { offset: offset + 2, kind });
        };
        Ok(Self { kind: *kind, flags: *flags, value, offset, bytes: chunk })
    }

    /// The whole chunk with its header, without padding.
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What a receiver that does not know `kind` has to do.
    #[must_use]
    pub const fn unknown_action(kind: u8) -> UnknownAction {
        UnknownAction::from_top_bits(kind)
    }

    /// A copy that outlives the packet.
    #[must_use]
    pub fn to_buf(&self) -> ChunkBuf {
        ChunkBuf(self.bytes.to_vec())
    }

    #[inline]
    pub(crate) fn value_reader(&self) -> Reader<'a> {
        Reader::new(self.value, self.offset + CHUNK_HEADER_LEN, Item::Chunk(self.kind))
    }

    /// Where the value starts in the packet.
    #[inline]
    pub(crate) const fn value_offset(&self) -> usize {
        self.offset + CHUNK_HEADER_LEN
    }
}

impl EncodeChunk for RawChunk<'_> {
    fn encoded_len(&self) -> usize {
        self.bytes.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }
}

/// An owned chunk of any type in its wire form: for what may have to be sent again unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkBuf(Vec<u8>);

impl ChunkBuf {
    /// The wire form of `chunk`.
    #[must_use]
    pub fn new(chunk: &impl EncodeChunk) -> Self {
        let mut bytes = Vec::with_capacity(chunk.encoded_len());
        chunk.encode(&mut bytes);
        Self(bytes)
    }

    /// The chunk as it is borrowed from a packet; offsets in errors count from its start.
    ///
    /// # Errors
    /// When the chunk was longer than a chunk can be.
    pub fn as_raw(&self) -> Result<RawChunk<'_>, WireError> {
        RawChunk::split_first(&self.0, 0)
    }
}

impl EncodeChunk for ChunkBuf {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

/// Appends a chunk's header; `len` is that of the whole chunk.
#[inline]
pub(crate) fn put_chunk_header(out: &mut Vec<u8>, kind: u8, flags: u8, len: usize) {
    let [l0, l1] = saturating_length(len).to_be_bytes();
    out.extend_from_slice(&[kind, flags, l0, l1]);
}
