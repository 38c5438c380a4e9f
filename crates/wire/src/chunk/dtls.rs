//! DTLS: a record that holds all other chunks of a packet.

use super::kind;
use super::raw::put_chunk_header;
use crate::{EncodeChunk, RawChunk, WireError};

/// The R bit.
const RESTART: u8 = 1;

/// DTLS (65, draft-ietf-tsvwg-sctp-dtls-chunk section 4.2), the only chunk of its packet.
///
/// ```text
/// +---------------+-------------+-+-------------------------------+
/// |   type = 65   |  reserved   |R|            length             |
/// +---------------+-------------+-+-------------------------------+
/// |  pre-padding  |          record (a DTLSCiphertext)            |
/// +---------------+-----------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DtlsChunk<'a> {
    /// R: the record was made with the keys for a restart.
    pub restart: bool,
    /// The record.
    pub record: &'a [u8],
}

impl<'a> DtlsChunk<'a> {
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        let mut reader = raw.value_reader();
        let [_pre_padding] = reader.read_array()?;
        Ok(Self { restart: raw.flags & RESTART != 0, record: reader.take_rest().0 })
    }
}

impl EncodeChunk for DtlsChunk<'_> {
    fn encoded_len(&self) -> usize {
        5 + self.record.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(
            out,
            kind::DTLS,
            if self.restart { RESTART } else { 0 },
            self.encoded_len(),
        );
        out.push(0);
        out.extend_from_slice(self.record);
    }
}
