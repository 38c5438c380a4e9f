//! PAD (RFC 4820 section 3).

use super::kind;
use super::raw::{CHUNK_HEADER_LEN, put_chunk_header};
use crate::EncodeChunk;

/// PAD (132): makes a packet longer, as path MTU probes need it.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |  type = 132   |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |                            padding                            |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PadChunk<'a> {
    /// Bytes without meaning.
    pub padding: &'a [u8],
}

impl EncodeChunk for PadChunk<'_> {
    fn encoded_len(&self) -> usize {
        CHUNK_HEADER_LEN + self.padding.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::PAD, 0, self.encoded_len());
        out.extend_from_slice(self.padding);
    }
}

/// A PAD to be sent: zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PadRepr {
    /// Bytes of padding behind the chunk's 4-byte header.
    pub len: usize,
}

impl EncodeChunk for PadRepr {
    fn encoded_len(&self) -> usize {
        CHUNK_HEADER_LEN + self.len
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::PAD, 0, self.encoded_len());
        out.resize(out.len() + self.len, 0);
    }
}
