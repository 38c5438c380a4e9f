//! COOKIE ECHO (RFC 9260 section 3.3.11); COOKIE ACK has no fields.

use super::kind;
use super::raw::{CHUNK_HEADER_LEN, put_chunk_header};
use crate::EncodeChunk;

/// COOKIE ECHO (10): the state cookie comes back.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |   type = 10   |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |                            cookie                             |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieEchoChunk<'a> {
    /// The value of the State Cookie parameter, as it came.
    pub cookie: &'a [u8],
}

impl EncodeChunk for CookieEchoChunk<'_> {
    fn encoded_len(&self) -> usize {
        CHUNK_HEADER_LEN + self.cookie.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::COOKIE_ECHO, 0, self.encoded_len());
        out.extend_from_slice(self.cookie);
    }
}
