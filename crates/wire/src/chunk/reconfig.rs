//! RE-CONFIG (RFC 6525 section 3.1).

use super::kind;
use super::raw::{CHUNK_HEADER_LEN, put_chunk_header};
use crate::param::kind::{
    ADD_INCOMING_STREAMS, ADD_OUTGOING_STREAMS, INCOMING_SSN_RESET, OUTGOING_SSN_RESET,
    RECONFIG_RESPONSE,
};
use crate::{EncodeChunk, Params, RawChunk, WireError, WireErrorKind};

/// RE-CONFIG (130): streams are reset or added.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |  type = 130   |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |                  re-configuration parameter                   |
/// +---------------------------------------------------------------+
/// |             re-configuration parameter (optional)             |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconfigChunk<'a> {
    /// One or two parameters, in one of the combinations that are allowed.
    pub params: Params<'a>,
}

impl<'a> ReconfigChunk<'a> {
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        let params = Params::new(raw.value, raw.value_offset());
        let mut iter = params.iter();
        let first = iter.next().transpose()?.map(|p| p.kind);
        let second = iter.next().transpose()?.map(|p| p.kind);
        if is_allowed(first, second) && iter.next().is_none() {
            return Ok(Self { params });
        }
        let kind = WireErrorKind::Value {
            field: "first parameter's type",
            value: first.map_or(0, u32::from),
            allowed: "in one of the combinations of RFC 6525 section 3.1",
        };
        Err(WireError { offset: raw.value_offset(), kind })
    }
}

/// Whether RFC 6525 section 3.1 has this combination of parameter types.
fn is_allowed(first: Option<u16>, second: Option<u16>) -> bool {
    match (first, second) {
        (Some(one), None) => (OUTGOING_SSN_RESET..=ADD_INCOMING_STREAMS).contains(&one),
        (Some(one), Some(two)) => matches!(
            (one, two),
            (OUTGOING_SSN_RESET, INCOMING_SSN_RESET)
                | (ADD_OUTGOING_STREAMS, ADD_INCOMING_STREAMS)
                | (RECONFIG_RESPONSE, OUTGOING_SSN_RESET | RECONFIG_RESPONSE)
        ),
        (None, _) => false,
    }
}

impl EncodeChunk for ReconfigChunk<'_> {
    fn encoded_len(&self) -> usize {
        CHUNK_HEADER_LEN + self.params.as_bytes().len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::RECONFIG, 0, self.encoded_len());
        out.extend_from_slice(self.params.as_bytes());
    }
}
