//! SHUTDOWN (RFC 9260 section 3.3.8); SHUTDOWN ACK and SHUTDOWN COMPLETE have no fields.

use super::kind;
use super::raw::put_chunk_header;
use crate::tlv::put_u32;
use crate::{EncodeChunk, RawChunk, Tsn, WireError};

/// SHUTDOWN (7): the sender has no more data, and none unacknowledged.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |   type = 7    |     flags     |          length = 8           |
/// +---------------+---------------+-------------------------------+
/// |                      cumulative TSN ack                       |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownChunk {
    /// The last TSN received before the first hole.
    pub cumulative_tsn: Tsn,
}

impl ShutdownChunk {
    pub(crate) fn from_raw(raw: RawChunk<'_>) -> Result<Self, WireError> {
        let mut reader = raw.value_reader();
        let cumulative_tsn = Tsn(reader.read_u32()?);
        reader.expect_end()?;
        Ok(Self { cumulative_tsn })
    }
}

impl EncodeChunk for ShutdownChunk {
    fn encoded_len(&self) -> usize {
        8
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::SHUTDOWN, 0, self.encoded_len());
        put_u32(out, self.cumulative_tsn.0);
    }
}
