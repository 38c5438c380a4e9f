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

    /// The answer that also tells when the HEARTBEAT came, in microseconds of any clock.
    #[must_use]
    pub const fn to_timed_ack(&self, received: u32) -> TimedHeartbeatAck<'a> {
        TimedHeartbeatAck { params: self.params, received }
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

    /// When the HEARTBEAT came, in microseconds of the peer's clock, if it tells.
    #[must_use]
    pub fn received(&self) -> Option<u32> {
        let mut known = self.params.iter().skip(1).map_while(Result::ok);
        let found = known.find(|param| param.kind == param::kind::HEARTBEAT_RECEIVED)?;
        found.value.try_into().ok().map(u32::from_be_bytes)
    }

    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        checked_params(raw).map(|params| Self { params })
    }
}

/// A HEARTBEAT ACK to be sent that tells when the HEARTBEAT came, as its last parameter: for peers
/// that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedHeartbeatAck<'a> {
    /// The parameters of the HEARTBEAT, unchanged.
    pub params: Params<'a>,
    /// Microseconds of the sender's clock.
    pub received: u32,
}

impl EncodeChunk for TimedHeartbeatAck<'_> {
    fn encoded_len(&self) -> usize {
        let params = self.params.as_bytes().len().next_multiple_of(4);
        CHUNK_HEADER_LEN + params + TLV_HEADER_LEN + size_of::<u32>()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::HEARTBEAT_ACK, 0, self.encoded_len());
        let params = self.params.as_bytes();
        out.extend_from_slice(params);
        // The padding of a chunk's last parameter is not part of the chunk.
        out.resize(out.len() + params.len().next_multiple_of(4) - params.len(), 0);
        let received = self.received.to_be_bytes();
        write_tlv(out, param::kind::HEARTBEAT_RECEIVED, |out| out.extend_from_slice(&received));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RawChunk;

    /// The HEARTBEAT ACK in these bytes.
    fn read(bytes: &[u8]) -> HeartbeatAckChunk<'_> {
        HeartbeatAckChunk::from_raw(RawChunk::split_first(bytes, 0).unwrap()).unwrap()
    }

    #[test]
    fn a_timed_answer_echoes_the_heartbeat_and_tells_the_time() {
        // Five bytes of Heartbeat Info, and the padding that is not part of the chunk.
        for value in [&[0, 1, 0, 9, 1, 2, 3, 4, 5][..], &[0, 1, 0, 8, 1, 2, 3, 4][..]] {
            let heartbeat = HeartbeatChunk { params: Params::new(value, CHUNK_HEADER_LEN) };
            let mut bytes = Vec::new();
            let ack = heartbeat.to_timed_ack(0xfedc_ba98);
            ack.encode(&mut bytes);
            assert_eq!(bytes.len(), ack.encoded_len());
            let read = read(&bytes);
            assert_eq!(read.info(), heartbeat.info());
            assert_eq!(read.received(), Some(0xfedc_ba98));
        }
    }

    #[test]
    fn a_time_of_another_length_is_none() {
        let info = [0, 1, 0, 4];
        for value in
            [&[0x8d, 0x7b, 0, 7, 1, 2, 3, 0][..], &[0x8d, 0x7b, 0, 4], &[0x8d, 0x7b, 0], &[]]
        {
            let mut bytes = vec![kind::HEARTBEAT_ACK, 0, 0, 0];
            bytes.extend([&info, value].concat());
            let params = Params::new(&bytes[CHUNK_HEADER_LEN..], CHUNK_HEADER_LEN);
            assert_eq!(HeartbeatAckChunk { params }.received(), None, "{value:?}");
        }
    }
}
