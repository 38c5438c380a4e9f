//! AUTH (RFC 4895 section 4.1).

use super::kind;
use super::raw::put_chunk_header;
use crate::tlv::put_u16;
use crate::{EncodeChunk, RawChunk, WireError};

/// AUTH (15): an HMAC over itself (with the HMAC as zeros) and all chunks behind it.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |   type = 15   |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |     shared key identifier     |        HMAC identifier        |
/// +-------------------------------+-------------------------------+
/// |                             HMAC                              |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthChunk<'a> {
    /// Which endpoint-pair shared key.
    pub key_id: u16,
    /// Which HMAC.
    pub hmac_id: u16,
    /// The HMAC; zeros while it is computed.
    pub hmac: &'a [u8],
}

impl<'a> AuthChunk<'a> {
    /// Where the HMAC starts in the chunk, in bytes.
    pub const HMAC_OFFSET: usize = 8;

    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        let mut reader = raw.value_reader();
        Ok(Self {
            key_id: reader.read_u16()?,
            hmac_id: reader.read_u16()?,
            hmac: reader.take_rest().0,
        })
    }
}

impl EncodeChunk for AuthChunk<'_> {
    fn encoded_len(&self) -> usize {
        Self::HMAC_OFFSET + self.hmac.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::AUTH, 0, self.encoded_len());
        put_u16(out, self.key_id);
        put_u16(out, self.hmac_id);
        out.extend_from_slice(self.hmac);
    }
}
