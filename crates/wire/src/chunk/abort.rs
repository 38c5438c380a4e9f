//! ABORT (RFC 9260 section 3.3.7) and ERROR (section 3.3.10).

use super::kind;
use super::raw::{CHUNK_HEADER_LEN, put_chunk_header};
use crate::{Causes, EncodeChunk, RawChunk};

/// The T bit of ABORT and SHUTDOWN COMPLETE.
pub(crate) const REFLECTED: u8 = 0x01;

/// ABORT (6): the association is no more.
///
/// ```text
/// +---------------+-------------+-+-------------------------------+
/// |   type = 6    |  reserved   |T|            length             |
/// +---------------+-------------+-+-------------------------------+
/// |                         error causes                          |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortChunk<'a> {
    /// T: the packet's verification tag is the one its receiver expects in packets *it* sends.
    pub reflected: bool,
    /// Why.
    pub causes: Causes<'a>,
}

impl<'a> AbortChunk<'a> {
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Self {
        let causes = Causes::new(raw.value, raw.value_offset());
        Self { reflected: raw.flags & REFLECTED != 0, causes }
    }
}

impl EncodeChunk for AbortChunk<'_> {
    fn encoded_len(&self) -> usize {
        CHUNK_HEADER_LEN + self.causes.as_bytes().len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let flags = if self.reflected { REFLECTED } else { 0 };
        put_chunk_header(out, kind::ABORT, flags, self.encoded_len());
        out.extend_from_slice(self.causes.as_bytes());
    }
}

/// ERROR (9): something is wrong, the association goes on.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |   type = 9    |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |                         error causes                          |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorChunk<'a> {
    /// What is wrong; a sender gives at least one.
    pub causes: Causes<'a>,
}

impl<'a> ErrorChunk<'a> {
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Self {
        Self { causes: Causes::new(raw.value, raw.value_offset()) }
    }
}

impl EncodeChunk for ErrorChunk<'_> {
    fn encoded_len(&self) -> usize {
        CHUNK_HEADER_LEN + self.causes.as_bytes().len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::ERROR, 0, self.encoded_len());
        out.extend_from_slice(self.causes.as_bytes());
    }
}
