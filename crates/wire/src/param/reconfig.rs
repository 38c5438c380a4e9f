//! Parameters of RE-CONFIG (RFC 6525 section 4).

use crate::reader::Reader;
use crate::tlv::{put_u16, put_u32};
use crate::{Items, StreamId, Tsn, WireError};

/// Outgoing SSN Reset Request (13): the sender starts these streams of its own at SSN 0 again.
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |           type = 13           |     length = 16 + 2 * N       |
/// +-------------------------------+-------------------------------+
/// |                   request sequence number                     |
/// +---------------------------------------------------------------+
/// |                   response sequence number                    |
/// +---------------------------------------------------------------+
/// |                  sender's last assigned TSN                   |
/// +-------------------------------+-------------------------------+
/// |          stream 1             |  ...           stream N       |
/// +-------------------------------+-------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingReset<'a> {
    /// Request sequence number.
    pub request: u32,
    /// The request of the peer that this answers, else the last one received.
    pub response: u32,
    /// Data up to this TSN belong to the time before the reset.
    pub last_tsn: Tsn,
    /// The streams; none means all.
    pub streams: Items<'a, StreamId, 2>,
}

impl<'a> OutgoingReset<'a> {
    pub(crate) fn read_value(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok(Self {
            request: reader.read_u32()?,
            response: reader.read_u32()?,
            last_tsn: Tsn(reader.read_u32()?),
            streams: reader.all_items("streams")?,
        })
    }

    pub(crate) fn write_value(&self, out: &mut Vec<u8>) {
        put_u32(out, self.request);
        put_u32(out, self.response);
        put_u32(out, self.last_tsn.0);
        out.extend_from_slice(self.streams.as_bytes());
    }
}

/// Incoming SSN Reset Request (14): the peer is asked to reset these streams of its own.
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |           type = 14           |      length = 8 + 2 * N       |
/// +-------------------------------+-------------------------------+
/// |                   request sequence number                     |
/// +-------------------------------+-------------------------------+
/// |          stream 1             |  ...           stream N       |
/// +-------------------------------+-------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomingReset<'a> {
    /// Request sequence number.
    pub request: u32,
    /// The streams; none means all.
    pub streams: Items<'a, StreamId, 2>,
}

impl<'a> IncomingReset<'a> {
    pub(crate) fn read_value(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok(Self { request: reader.read_u32()?, streams: reader.all_items("streams")? })
    }

    pub(crate) fn write_value(&self, out: &mut Vec<u8>) {
        put_u32(out, self.request);
        out.extend_from_slice(self.streams.as_bytes());
    }
}

/// Add Outgoing (17) or Incoming (18) Streams Request.
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |           type = 17 or 18     |          length = 12          |
/// +-------------------------------+-------------------------------+
/// |                   request sequence number                     |
/// +-------------------------------+-------------------------------+
/// |     number of new streams     |           reserved            |
/// +-------------------------------+-------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddStreams {
    /// Request sequence number.
    pub request: u32,
    /// Streams to add.
    pub count: u16,
}

impl AddStreams {
    pub(crate) fn read_value(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let (request, count, _reserved) =
            (reader.read_u32()?, reader.read_u16()?, reader.read_u16()?);
        Ok(Self { request, count })
    }

    pub(crate) fn write_value(&self, out: &mut Vec<u8>) {
        put_u32(out, self.request);
        put_u16(out, self.count);
        put_u16(out, 0);
    }
}

/// Re-configuration Response (16).
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |           type = 16           |       length = 12 or 20       |
/// +-------------------------------+-------------------------------+
/// |                   response sequence number                    |
/// +---------------------------------------------------------------+
/// |                            result                             |
/// +---------------------------------------------------------------+
/// |                  sender's next TSN (optional)                 |
/// +---------------------------------------------------------------+
/// |                 receiver's next TSN (optional)                |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconfigResponse {
    /// Sequence number of the request.
    pub response: u32,
    /// What became of it.
    pub result: ReconfigResult,
    /// Only in the answer to an SSN/TSN reset.
    pub next_tsns: Option<TsnPair>,
}

/// The TSNs after an SSN/TSN reset, as the sender of the response sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TsnPair {
    /// What the sender of the response will use next.
    pub sender_next: Tsn,
    /// What the sender of the response expects next.
    pub receiver_next: Tsn,
}

impl ReconfigResponse {
    pub(crate) fn read_value(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let response = reader.read_u32()?;
        let result = ReconfigResult(reader.read_u32()?);
        let next_tsns = if reader.is_empty() {
            None
        } else {
            let sender_next = Tsn(reader.read_u32()?);
            Some(TsnPair { sender_next, receiver_next: Tsn(reader.read_u32()?) })
        };
        Ok(Self { response, result, next_tsns })
    }

    pub(crate) fn write_value(&self, out: &mut Vec<u8>) {
        put_u32(out, self.response);
        put_u32(out, self.result.0);
        if let Some(pair) = self.next_tsns {
            put_u32(out, pair.sender_next.0);
            put_u32(out, pair.receiver_next.0);
        }
    }
}

/// Result code of a re-configuration request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconfigResult(pub u32);

impl ReconfigResult {
    /// Success, nothing to do.
    pub const NOTHING_TO_DO: Self = Self(0);
    /// Success, performed.
    pub const PERFORMED: Self = Self(1);
    /// Denied.
    pub const DENIED: Self = Self(2);
    /// Error, wrong SSN.
    pub const WRONG_SSN: Self = Self(3);
    /// Error, another request is in progress.
    pub const REQUEST_IN_PROGRESS: Self = Self(4);
    /// Error, bad sequence number.
    pub const BAD_SEQUENCE_NUMBER: Self = Self(5);
    /// In progress: ask again.
    pub const IN_PROGRESS: Self = Self(6);
}
