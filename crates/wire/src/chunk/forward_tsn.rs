//! FORWARD-TSN (RFC 3758 section 3.2) and I-FORWARD-TSN (RFC 8260 section 2.3.1).

use super::kind;
use super::raw::put_chunk_header;
use super::sack::put_items;
use crate::items::WireItem;
use crate::tlv::put_u32;
use crate::{EncodeChunk, Items, Mid, RawChunk, Ssn, StreamId, Tsn, WireError};

const FORWARD_TSN_HEADER_LEN: usize = 8;

/// An ordered message that FORWARD-TSN skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedStream {
    /// Its stream.
    pub stream: StreamId,
    /// The largest number skipped in this stream.
    pub ssn: Ssn,
}

impl WireItem<4> for SkippedStream {
    fn from_wire([i0, i1, s0, s1]: [u8; 4]) -> Self {
        let stream = StreamId(u16::from_be_bytes([i0, i1]));
        Self { stream, ssn: Ssn(u16::from_be_bytes([s0, s1])) }
    }

    fn to_wire(self) -> [u8; 4] {
        let ([i0, i1], [s0, s1]) = (self.stream.0.to_be_bytes(), self.ssn.0.to_be_bytes());
        [i0, i1, s0, s1]
    }
}

/// A message that I-FORWARD-TSN skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedMessage {
    /// Its stream.
    pub stream: StreamId,
    /// U: whether `mid` counts the unordered messages.
    pub unordered: bool,
    /// The largest number skipped in this stream.
    pub mid: Mid,
}

impl WireItem<8> for SkippedMessage {
    fn from_wire([i0, i1, _, u, m0, m1, m2, m3]: [u8; 8]) -> Self {
        Self {
            stream: StreamId(u16::from_be_bytes([i0, i1])),
            unordered: u & 1 != 0,
            mid: Mid(u32::from_be_bytes([m0, m1, m2, m3])),
        }
    }

    fn to_wire(self) -> [u8; 8] {
        let [i0, i1] = self.stream.0.to_be_bytes();
        let [m0, m1, m2, m3] = self.mid.0.to_be_bytes();
        [i0, i1, 0, u8::from(self.unordered), m0, m1, m2, m3]
    }
}

macro_rules! forward_tsn_chunk {
    (
        $kind:expr, $item:ty, $item_len:expr,
        $(#[$view_doc:meta])* $view:ident, $(#[$repr_doc:meta])* $repr:ident
    ) => {
        $(#[$view_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $view<'a> {
            /// Every TSN up to this one counts as received.
            pub new_cumulative_tsn: Tsn,
            /// The messages given up; as sent, streams unchecked.
            pub skipped: Items<'a, $item, $item_len>,
        }

        impl<'a> $view<'a> {
            pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
                let mut reader = raw.value_reader();
                let new_cumulative_tsn = Tsn(reader.read_u32()?);
                Ok(Self { new_cumulative_tsn, skipped: reader.all_items("skipped messages")? })
            }
        }

        impl EncodeChunk for $view<'_> {
            fn encoded_len(&self) -> usize {
                FORWARD_TSN_HEADER_LEN + self.skipped.as_bytes().len()
            }

            fn encode(&self, out: &mut Vec<u8>) {
                put_chunk_header(out, $kind, 0, self.encoded_len());
                put_u32(out, self.new_cumulative_tsn.0);
                out.extend_from_slice(self.skipped.as_bytes());
            }
        }

        $(#[$repr_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $repr<'a> {
            /// Every TSN up to this one counts as received.
            pub new_cumulative_tsn: Tsn,
            /// The messages given up.
            pub skipped: &'a [$item],
        }

        impl EncodeChunk for $repr<'_> {
            fn encoded_len(&self) -> usize {
                FORWARD_TSN_HEADER_LEN + $item_len * self.skipped.len()
            }

            fn encode(&self, out: &mut Vec<u8>) {
                put_chunk_header(out, $kind, 0, self.encoded_len());
                put_u32(out, self.new_cumulative_tsn.0);
                put_items(out, self.skipped);
            }
        }
    };
}

forward_tsn_chunk!(
    kind::FORWARD_TSN,
    SkippedStream,
    4,
    /// FORWARD-TSN (192): do not wait for these any longer.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |  type = 192   |     flags     |            length             |
    /// +---------------+---------------+-------------------------------+
    /// |                      new cumulative TSN                       |
    /// +-------------------------------+-------------------------------+
    /// |           stream 1            |           SSN 1               |
    /// |              ...              |              ...              |
    /// +-------------------------------+-------------------------------+
    /// ```
    ForwardTsnChunk,
    /// A FORWARD-TSN to be sent, made of what its sender has at hand.
    ForwardTsnRepr
);
forward_tsn_chunk!(
    kind::I_FORWARD_TSN,
    SkippedMessage,
    8,
    /// I-FORWARD-TSN (194): the same where messages are interleaved.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |  type = 194   |     flags     |            length             |
    /// +---------------+---------------+-------------------------------+
    /// |                      new cumulative TSN                       |
    /// +-------------------------------+-----------------------------+-+
    /// |           stream 1            |          reserved           |U|
    /// +-------------------------------+-----------------------------+-+
    /// |                     message identifier 1                      |
    /// |                              ...                              |
    /// +---------------------------------------------------------------+
    /// ```
    IForwardTsnChunk,
    /// An I-FORWARD-TSN to be sent, made of what its sender has at hand.
    IForwardTsnRepr
);
