//! HEARTBEAT and HEARTBEAT ACK (RFC 9260 sections 3.3.5 and 3.3.6).

use super::kind;
use super::raw::{CHUNK_HEADER_LEN, put_chunk_header};
use crate::param;
use crate::tlv::{TLV_HEADER_LEN, write_tlv};
use crate::{EncodeChunk, Params, RawChunk, WireError, WireErrorKind};

/// HEARTBEAT (4): is this path alive?
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// | type = 4 or 5 |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |       Heartbeat Info parameter (opaque to the receiver)       |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatChunk<'a> {
    /// The parameters, Heartbeat Info first; all of them are to be echoed.
    pub params: Params<'a>,
}

impl<'a> HeartbeatChunk<'a> {
    /// The value of the Heartbeat Info parameter.
    #[must_use]
    pub fn info(&self) -> &'a [u8] {
        find_info(self.params)
    }

    /// The answer: the same parameters.
    #[must_use]
    pub const fn to_ack(&self) -> HeartbeatAckChunk<'a> {
        HeartbeatAckChunk { params: self.params }
    }

    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        checked_params(raw).map(|params| Self { params })
    }
}

impl EncodeChunk for HeartbeatChunk<'_> {
    fn encoded_len(&self) -> usize {
        CHUNK_HEADER_LEN + self.params.as_bytes().len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::HEARTBEAT, 0, self.encoded_len());
        out.extend_from_slice(self.params.as_bytes());
    }
}

/// HEARTBEAT ACK (5): the echo of a HEARTBEAT's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatAckChunk<'a> {
    /// The parameters of the HEARTBEAT, unchanged.
    pub params: Params<'a>,
}

impl<'a> HeartbeatAckChunk<'a> {
    /// The value of the Heartbeat Info parameter.
    #[must_use]
    pub fn info(&self) -> &'a [u8] {
        find_info(self.params)
    }

    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        checked_params(raw).map(|params| Self { params })
    }
}

impl EncodeChunk for HeartbeatAckChunk<'_> {
    fn encoded_len(&self) -> usize {
        CHUNK_HEADER_LEN + self.params.as_bytes().len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::HEARTBEAT_ACK, 0, self.encoded_len());
        out.extend_from_slice(self.params.as_bytes());
    }
}

/// A HEARTBEAT to be sent: nothing but the Heartbeat Info.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatRepr<'a> {
    /// What the peer is to echo.
    pub info: &'a [u8],
}

impl EncodeChunk for HeartbeatRepr<'_> {
    fn encoded_len(&self) -> usize {
        CHUNK_HEADER_LEN + TLV_HEADER_LEN + self.info.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::HEARTBEAT, 0, self.encoded_len());
        write_tlv(out, param::kind::HEARTBEAT_INFO, |out| out.extend_from_slice(self.info));
    }
}

/// The parameters of a chunk whose first is a Heartbeat Info.
fn checked_params(raw: RawChunk<'_>) -> Result<Params<'_>, WireError> {
    let params = Params::new(raw.value, raw.value_offset());
    let first = params.iter().next().transpose()?;
    let value = first.map_or(0, |first| u32::from(first.kind));
    if value == u32::from(param::kind::HEARTBEAT_INFO) {
        return Ok(params);
    }
    let (field, allowed) = ("first parameter's type", "1 (Heartbeat Info)");
    let kind = WireErrorKind::Value { field, value, allowed };
    Err(WireError { offset: raw.value_offset(), kind })
}

fn find_info(params: Params<'_>) -> &[u8] {
    params.iter().next().and_then(Result::ok).map_or(&[], |first| first.value)
}
