//! What can be wrong with received bytes.

use std::fmt;

/// Received bytes that are not SCTP: where, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {kind}")]
pub struct WireError {
    /// Bytes from the start of the packet to what is wrong; at most the packet's length.
    pub offset: usize,
    /// What is wrong there.
    pub kind: WireErrorKind,
}

/// What is wrong at the offset of a [`WireError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireErrorKind {
    /// The checksum is not that of the packet: discard silently (RFC 9260 section 6.8).
    #[error("checksum {found:#010x}, must be {expected:#010x}")]
    Checksum {
        /// The checksum in the packet.
        found: u32,
        /// The CRC32c of the packet.
        expected: u32,
    },
    /// Less is left than the next field needs.
    #[error("{item} ends early: {left} bytes left, {needed} needed")]
    Truncated {
        /// What ends early.
        item: Item,
        /// Bytes the next field takes.
        needed: usize,
        /// Bytes left in the item.
        left: usize,
    },
    /// A length field is shorter than its own header or runs past what holds it.
    #[error("{item} length {length}, must be 4 to {left}")]
    Length {
        /// What the length is of.
        item: Item,
        /// The length as sent.
        length: u16,
        /// Bytes that what holds the item has left, the item's header included.
        left: usize,
    },
    /// An item of fixed length is longer than that.
    #[error("{item} has {extra} bytes too many")]
    Trailing {
        /// What is too long.
        item: Item,
        /// Bytes too many.
        extra: usize,
    },
    /// A count field, or a list without one, disagrees with the length of what holds it.
    #[error("{field} take {needed} bytes, but {left} are there")]
    Count {
        /// What is counted.
        field: &'static str,
        /// Bytes that the counts ask for.
        needed: usize,
        /// Bytes there.
        left: usize,
    },
    /// A field holds a value that is not allowed there.
    #[error("{field} is {value}, must be {allowed}")]
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
        /// What it may be.
        allowed: &'static str,
    },
}

/// What a [`WireError`] was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// The common header.
    CommonHeader,
    /// A chunk of this type.
    Chunk(u8),
    /// The header of a chunk.
    ChunkHeader,
    /// A parameter of this type.
    Parameter(u16),
    /// The header of a parameter.
    ParameterHeader,
    /// An error cause with this code.
    Cause(u16),
    /// The header of an error cause.
    CauseHeader,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommonHeader => f.write_str("common header"),
            Self::Chunk(kind) => write!(f, "chunk of type {kind}"),
            Self::ChunkHeader => f.write_str("chunk header"),
            Self::Parameter(kind) => write!(f, "parameter of type {kind:#06x}"),
            Self::ParameterHeader => f.write_str("parameter header"),
            Self::Cause(code) => write!(f, "error cause {code:#06x}"),
            Self::CauseHeader => f.write_str("error cause header"),
        }
    }
}
