//! INIT and INIT ACK (RFC 9260 sections 3.3.2 and 3.3.3).

use super::kind;
use super::raw::put_chunk_header;
use crate::tlv::{put_u16, put_u32};
use crate::{EncodeChunk, Params, ParamsBuf, RawChunk, Tsn, WireError};

const INIT_HEADER_LEN: usize = 20;

/// The fixed part of INIT and INIT ACK.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// | type = 1 or 2 |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |                         initiate tag                          |
/// +---------------------------------------------------------------+
/// |          advertised receiver window credit (a_rwnd)           |
/// +-------------------------------+-------------------------------+
/// |  number of outbound streams   |   number of inbound streams   |
/// +-------------------------------+-------------------------------+
/// |                          initial TSN                          |
/// +---------------------------------------------------------------+
/// |                          parameters                           |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitFixed {
    /// The verification tag of all packets to the sender; 0 is invalid.
    pub initiate_tag: u32,
    /// Advertised receiver window credit in bytes; less than 1500 is invalid.
    pub a_rwnd: u32,
    /// Streams that the sender wants to send on; 0 is invalid.
    pub outbound_streams: u16,
    /// The most streams that the sender accepts; 0 is invalid.
    pub inbound_streams: u16,
    /// The sender's first TSN.
    pub initial_tsn: Tsn,
}

impl InitFixed {
    fn split_raw(raw: RawChunk<'_>) -> Result<(Self, Params<'_>), WireError> {
        let mut reader = raw.value_reader();
        let fixed = Self {
            initiate_tag: reader.read_u32()?,
            a_rwnd: reader.read_u32()?,
            outbound_streams: reader.read_u16()?,
            inbound_streams: reader.read_u16()?,
            initial_tsn: Tsn(reader.read_u32()?),
        };
        let (params, offset) = reader.take_rest();
        Ok((fixed, Params::new(params, offset)))
    }

    fn write_chunk(&self, kind: u8, params: Params<'_>, out: &mut Vec<u8>) {
        put_chunk_header(out, kind, 0, encoded_len(params));
        put_u32(out, self.initiate_tag);
        put_u32(out, self.a_rwnd);
        put_u16(out, self.outbound_streams);
        put_u16(out, self.inbound_streams);
        put_u32(out, self.initial_tsn.0);
        out.extend_from_slice(params.as_bytes());
    }
}

fn encoded_len(params: Params<'_>) -> usize {
    INIT_HEADER_LEN + params.as_bytes().len()
}

macro_rules! init_chunk {
    ($kind:expr, $(#[$view_doc:meta])* $view:ident, $(#[$repr_doc:meta])* $repr:ident) => {
        $(#[$view_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $view<'a> {
            /// Tag, window, streams and TSN; as sent, for what is invalid is answered in many ways.
            pub fixed: InitFixed,
            /// Addresses, extensions and so on.
            pub params: Params<'a>,
        }

        impl<'a> $view<'a> {
            pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
                InitFixed::split_raw(raw).map(|(fixed, params)| Self { fixed, params })
            }

            /// A copy that outlives the packet.
            #[must_use]
            pub fn to_repr(&self) -> $repr {
                $repr { fixed: self.fixed, params: self.params.to_buf() }
            }
        }

        impl EncodeChunk for $view<'_> {
            fn encoded_len(&self) -> usize {
                encoded_len(self.params)
            }

            fn encode(&self, out: &mut Vec<u8>) {
                self.fixed.write_chunk($kind, self.params, out);
            }
        }

        $(#[$repr_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $repr {
            /// Tag, window, streams and TSN.
            pub fixed: InitFixed,
            /// Addresses, extensions and so on.
            pub params: ParamsBuf,
        }

        impl EncodeChunk for $repr {
            fn encoded_len(&self) -> usize {
                encoded_len(self.params.as_params())
            }

            fn encode(&self, out: &mut Vec<u8>) {
                self.fixed.write_chunk($kind, self.params.as_params(), out);
            }
        }
    };
}

init_chunk!(
    kind::INIT,
    /// INIT (1): the wish for an association.
    InitChunk,
    /// An INIT that owns its parameters.
    InitRepr
);
init_chunk!(
    kind::INIT_ACK,
    /// INIT ACK (2): the answer to INIT, with the state cookie among its parameters.
    InitAckChunk,
    /// An INIT ACK that owns its parameters.
    InitAckRepr
);
