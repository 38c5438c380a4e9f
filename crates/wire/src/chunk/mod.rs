//! Chunks: what a packet is made of.

mod abort;
mod asconf;
mod auth;
mod cookie;
mod data;
mod dtls;
mod forward_tsn;
mod heartbeat;
mod init;
pub mod kind;
mod nr_sack;
mod pad;
mod raw;
mod reconfig;
mod sack;
mod shutdown;

use crate::{EncodeChunk, WireError};

pub use abort::{AbortChunk, ErrorChunk};
pub use asconf::{AsconfAckChunk, AsconfChunk};
pub use auth::AuthChunk;
pub use cookie::CookieEchoChunk;
pub use data::{DATA_HEADER_LEN, DataChunk, DataFlags, I_DATA_HEADER_LEN, IDataChunk};
pub use dtls::DtlsChunk;
pub use forward_tsn::{
    ForwardTsnChunk, ForwardTsnRepr, IForwardTsnChunk, IForwardTsnRepr, SkippedMessage,
    SkippedStream,
};
pub use heartbeat::{HeartbeatAckChunk, HeartbeatChunk, HeartbeatRepr, TimedHeartbeatAck};
pub use init::{InitAckChunk, InitAckRepr, InitChunk, InitFixed, InitRepr};
pub use nr_sack::{NrSackChunk, NrSackRepr};
pub use pad::{PadChunk, PadRepr};
pub use raw::{ChunkBuf, RawChunk};
pub use reconfig::ReconfigChunk;
pub use sack::{
    GapBlock, GapBlocks, SACKS_ARE_SPACED, SackChunk, SackRepr, Tsns, dac_count, dac_flags,
};
pub use shutdown::ShutdownChunk;

/// A checked chunk.
///
/// ECNE (12) and CWR (13) are reserved numbers without a meaning today, so they are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// DATA.
    Data(DataChunk<'a>),
    /// I-DATA.
    IData(IDataChunk<'a>),
    /// INIT.
    Init(InitChunk<'a>),
    /// INIT ACK.
    InitAck(InitAckChunk<'a>),
    /// SACK.
    Sack(SackChunk<'a>),
    /// NR-SACK.
    NrSack(NrSackChunk<'a>),
    /// HEARTBEAT.
    Heartbeat(HeartbeatChunk<'a>),
    /// HEARTBEAT ACK.
    HeartbeatAck(HeartbeatAckChunk<'a>),
    /// ABORT.
    Abort(AbortChunk<'a>),
    /// SHUTDOWN.
    Shutdown(ShutdownChunk),
    /// SHUTDOWN ACK.
    ShutdownAck,
    /// SHUTDOWN COMPLETE.
    ShutdownComplete {
        /// T: the packet's verification tag is the one its receiver expects in packets *it* sends.
        reflected: bool,
    },
    /// ERROR.
    Error(ErrorChunk<'a>),
    /// COOKIE ECHO.
    CookieEcho(CookieEchoChunk<'a>),
    /// COOKIE ACK.
    CookieAck,
    /// AUTH.
    Auth(AuthChunk<'a>),
    /// DTLS.
    Dtls(DtlsChunk<'a>),
    /// ASCONF.
    Asconf(AsconfChunk<'a>),
    /// ASCONF-ACK.
    AsconfAck(AsconfAckChunk<'a>),
    /// RE-CONFIG.
    Reconfig(ReconfigChunk<'a>),
    /// PAD.
    Pad(PadChunk<'a>),
    /// FORWARD-TSN.
    ForwardTsn(ForwardTsnChunk<'a>),
    /// I-FORWARD-TSN.
    IForwardTsn(IForwardTsnChunk<'a>),
    /// Some other type.
    Unknown(RawChunk<'a>),
}

impl<'a> RawChunk<'a> {
    /// Checks the value.
    ///
    /// # Errors
    /// When the value is not one of its type; a type that this crate does not know is no error.
    #[inline]
    pub fn decode(&self) -> Result<Chunk<'a>, WireError> {
        Chunk::from_raw(*self)
    }

    /// [`decode`](Self::decode) for the most frequent type: `None` if it is not DATA.
    #[inline]
    #[must_use]
    pub fn as_data(&self) -> Option<Result<DataChunk<'a>, WireError>> {
        (self.kind == kind::DATA).then(|| DataChunk::from_raw(*self))
    }
}

impl<'a> Chunk<'a> {
    #[inline]
    fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        match raw.kind {
            kind::DATA => DataChunk::from_raw(raw).map(Self::Data),
            kind::SACK => SackChunk::from_raw(raw).map(Self::Sack),
            kind::NR_SACK => NrSackChunk::from_raw(raw).map(Self::NrSack),
            kind::I_DATA => IDataChunk::from_raw(raw).map(Self::IData),
            _ => Self::decode_control(raw),
        }
    }

    fn decode_control(raw: RawChunk<'a>) -> Result<Self, WireError> {
        match raw.kind {
            kind::INIT => InitChunk::from_raw(raw).map(Self::Init),
            kind::INIT_ACK => InitAckChunk::from_raw(raw).map(Self::InitAck),
            kind::HEARTBEAT => HeartbeatChunk::from_raw(raw).map(Self::Heartbeat),
            kind::HEARTBEAT_ACK => HeartbeatAckChunk::from_raw(raw).map(Self::HeartbeatAck),
            kind::ABORT => Ok(Self::Abort(AbortChunk::from_raw(raw))),
            kind::SHUTDOWN => ShutdownChunk::from_raw(raw).map(Self::Shutdown),
            kind::SHUTDOWN_ACK => raw.value_reader().expect_end().map(|()| Self::ShutdownAck),
            kind::SHUTDOWN_COMPLETE => {
                let reflected = raw.flags & abort::REFLECTED != 0;
                raw.value_reader().expect_end().map(|()| Self::ShutdownComplete { reflected })
            }
            kind::ERROR => Ok(Self::Error(ErrorChunk::from_raw(raw))),
            kind::COOKIE_ECHO => Ok(Self::CookieEcho(CookieEchoChunk { cookie: raw.value })),
            kind::COOKIE_ACK => raw.value_reader().expect_end().map(|()| Self::CookieAck),
            kind::AUTH => AuthChunk::from_raw(raw).map(Self::Auth),
            kind::DTLS => DtlsChunk::from_raw(raw).map(Self::Dtls),
            kind::ASCONF => AsconfChunk::from_raw(raw).map(Self::Asconf),
            kind::ASCONF_ACK => AsconfAckChunk::from_raw(raw).map(Self::AsconfAck),
            kind::RECONFIG => ReconfigChunk::from_raw(raw).map(Self::Reconfig),
            kind::PAD => Ok(Self::Pad(PadChunk { padding: raw.value })),
            kind::FORWARD_TSN => ForwardTsnChunk::from_raw(raw).map(Self::ForwardTsn),
            kind::I_FORWARD_TSN => IForwardTsnChunk::from_raw(raw).map(Self::IForwardTsn),
            _ => Ok(Self::Unknown(raw)),
        }
    }
}

impl EncodeChunk for Chunk<'_> {
    fn encoded_len(&self) -> usize {
        match self {
            Self::Data(chunk) => chunk.encoded_len(),
            Self::IData(chunk) => chunk.encoded_len(),
            Self::Init(chunk) => chunk.encoded_len(),
            Self::InitAck(chunk) => chunk.encoded_len(),
            Self::Sack(chunk) => chunk.encoded_len(),
            Self::NrSack(chunk) => chunk.encoded_len(),
            Self::Heartbeat(chunk) => chunk.encoded_len(),
            Self::HeartbeatAck(chunk) => chunk.encoded_len(),
            Self::Abort(chunk) => chunk.encoded_len(),
            Self::Shutdown(chunk) => chunk.encoded_len(),
            Self::ShutdownAck | Self::ShutdownComplete { .. } | Self::CookieAck => {
                raw::CHUNK_HEADER_LEN
            }
            Self::Error(chunk) => chunk.encoded_len(),
            Self::CookieEcho(chunk) => chunk.encoded_len(),
            Self::Auth(chunk) => chunk.encoded_len(),
            Self::Dtls(chunk) => chunk.encoded_len(),
            Self::Asconf(chunk) => chunk.encoded_len(),
            Self::AsconfAck(chunk) => chunk.encoded_len(),
            Self::Reconfig(chunk) => chunk.encoded_len(),
            Self::Pad(chunk) => chunk.encoded_len(),
            Self::ForwardTsn(chunk) => chunk.encoded_len(),
            Self::IForwardTsn(chunk) => chunk.encoded_len(),
            Self::Unknown(chunk) => chunk.encoded_len(),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let empty = |out: &mut Vec<u8>, kind, flags| {
            raw::put_chunk_header(out, kind, flags, raw::CHUNK_HEADER_LEN);
        };
        match self {
            Self::Data(chunk) => chunk.encode(out),
            Self::IData(chunk) => chunk.encode(out),
            Self::Init(chunk) => chunk.encode(out),
            Self::InitAck(chunk) => chunk.encode(out),
            Self::Sack(chunk) => chunk.encode(out),
            Self::NrSack(chunk) => chunk.encode(out),
            Self::Heartbeat(chunk) => chunk.encode(out),
            Self::HeartbeatAck(chunk) => chunk.encode(out),
            Self::Abort(chunk) => chunk.encode(out),
            Self::Shutdown(chunk) => chunk.encode(out),
            Self::ShutdownAck => empty(out, kind::SHUTDOWN_ACK, 0),
            Self::ShutdownComplete { reflected } => {
                let flags = if *reflected { abort::REFLECTED } else { 0 };
                empty(out, kind::SHUTDOWN_COMPLETE, flags);
            }
            Self::Error(chunk) => chunk.encode(out),
            Self::CookieEcho(chunk) => chunk.encode(out),
            Self::CookieAck => empty(out, kind::COOKIE_ACK, 0),
            Self::Auth(chunk) => chunk.encode(out),
            Self::Dtls(chunk) => chunk.encode(out),
            Self::Asconf(chunk) => chunk.encode(out),
            Self::AsconfAck(chunk) => chunk.encode(out),
            Self::Reconfig(chunk) => chunk.encode(out),
            Self::Pad(chunk) => chunk.encode(out),
            Self::ForwardTsn(chunk) => chunk.encode(out),
            Self::IForwardTsn(chunk) => chunk.encode(out),
            Self::Unknown(chunk) => chunk.encode(out),
        }
    }
}
