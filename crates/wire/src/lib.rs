//! SCTP on the wire: bytes to checked views and back.
//!
//! A received packet is a [`PacketView`]; its [`RawChunk`]s decode into [`Chunk`]s that borrow from
//! the packet and have been checked. Every chunk encodes itself ([`EncodeChunk`]) straight into the
//! packet under construction ([`PacketWriter`]). Values that must outlive their packet own their
//! wire form: [`ChunkBuf`], [`ParamsBuf`], [`CausesBuf`], [`ItemsBuf`].
//!
//! Nothing here panics or allocates on account of what a peer sent; a [`WireError`] says at which
//! byte of the packet decoding failed, and why.
//!
//! ```
//! use polypath_wire::{
//!     ChecksumCheck, ChecksumMode, Chunk, PacketView, PacketWriter, ShutdownChunk, Tsn,
//! };
//!
//! let mut datagram = Vec::new();
//! let mut writer = PacketWriter::new(&mut datagram, 1452, 5001, 9, 0xdead_beef);
//! writer.push(&ShutdownChunk { cumulative_tsn: Tsn(7) })?;
//! writer.finish(ChecksumMode::Crc32c);
//!
//! let packet = PacketView::parse(&datagram, ChecksumCheck::Verify)?;
//! for chunk in packet.chunks() {
//!     assert!(matches!(chunk?.decode()?, Chunk::Shutdown(s) if s.cumulative_tsn == Tsn(7)));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "a test may fail by panicking"
    )
)]

pub mod cause;
pub mod checksum;
pub mod chunk;
mod error;
mod header;
mod items;
mod packet;
pub mod param;
mod reader;
mod serial;
mod tlv;
mod unknown;
mod writer;

pub use cause::{Causes, CausesBuf, ErrorCause, RawCause};
pub use chunk::{
    AbortChunk, AsconfAckChunk, AsconfChunk, AuthChunk, Chunk, ChunkBuf, CookieEchoChunk,
    DATA_HEADER_LEN, DataChunk, DataFlags, DtlsChunk, ErrorChunk, ForwardTsnChunk, ForwardTsnRepr,
    GapBlock, GapBlocks, HeartbeatAckChunk, HeartbeatChunk, HeartbeatRepr, I_DATA_HEADER_LEN,
    IDataChunk, IForwardTsnChunk, IForwardTsnRepr, InitAckChunk, InitAckRepr, InitChunk, InitFixed,
    InitRepr, NrSackChunk, NrSackRepr, PadChunk, PadRepr, RawChunk, ReconfigChunk,
    SACKS_ARE_SPACED, SackChunk, SackRepr, ShutdownChunk, SkippedMessage, SkippedStream,
    TimedHeartbeatAck, Tsns, dac_count, dac_flags,
};
pub use error::{Item, WireError, WireErrorKind};
pub use header::{COMMON_HEADER_LEN, CommonHeader};
pub use items::{Items, ItemsBuf, WireItem};
pub use packet::{ChecksumCheck, ChunkIter, PacketView};
pub use param::{KeyManagementOffer, Parameter, Params, ParamsBuf, RawParam};
pub use serial::{Mid, Ssn, StreamId, Tsn};
pub use unknown::UnknownAction;
pub use writer::{ChecksumMode, EncodeChunk, NoRoom, PacketWriter};
