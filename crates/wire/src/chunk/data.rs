//! DATA (RFC 9260 section 3.3.1, I bit from RFC 7053) and I-DATA (RFC 8260 section 2.1).

use super::kind;
use super::raw::put_chunk_header;
use crate::tlv::saturating_length;
use crate::{EncodeChunk, Mid, RawChunk, Ssn, StreamId, Tsn, WireError};

/// Length of a DATA chunk's fields before the payload, in bytes.
pub const DATA_HEADER_LEN: usize = 16;

/// Length of an I-DATA chunk's fields before the payload, in bytes.
pub const I_DATA_HEADER_LEN: usize = 20;

/// The flags of DATA and I-DATA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataFlags {
    /// U: the message may be delivered out of order.
    pub unordered: bool,
    /// B: the first fragment of its message.
    pub beginning: bool,
    /// E: the last fragment of its message.
    pub ending: bool,
    /// I: to be acknowledged at once (RFC 7053).
    pub immediate: bool,
}

impl DataFlags {
    const E: u8 = 0x01;
    const B: u8 = 0x02;
    const U: u8 = 0x04;
    const I: u8 = 0x08;

    /// From the chunk's flags byte; reserved bits are ignored.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self {
            unordered: bits & Self::U != 0,
            beginning: bits & Self::B != 0,
            ending: bits & Self::E != 0,
            immediate: bits & Self::I != 0,
        }
    }

    /// The chunk's flags byte.
    #[inline]
    #[must_use]
    pub fn to_byte(self) -> u8 {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        bit(self.ending, Self::E)
            | bit(self.beginning, Self::B)
            | bit(self.unordered, Self::U)
            | bit(self.immediate, Self::I)
    }
}

/// DATA (0): a message or a fragment of one.
///
/// ```text
/// +---------------+-------+-+-+-+-+-------------------------------+
/// |   type = 0    |  res  |I|U|B|E|            length             |
/// +---------------+-------+-+-+-+-+-------------------------------+
/// |                              TSN                              |
/// +-------------------------------+-------------------------------+
/// |      stream identifier        |    stream sequence number     |
/// +-------------------------------+-------------------------------+
/// |                 payload protocol identifier                   |
/// +---------------------------------------------------------------+
/// |                            payload                            |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataChunk<'a> {
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// The stream of the message.
    pub stream: StreamId,
    /// The message's place in the stream; without meaning if unordered.
    pub ssn: Ssn,
    /// Payload protocol identifier: the application's, passed on untouched.
    pub ppid: u32,
    /// Fragment and delivery flags.
    pub flags: DataFlags,
    /// User data; a received chunk may lack it, which is answered with ABORT ("No User Data").
    pub payload: &'a [u8],
}

impl<'a> DataChunk<'a> {
    #[inline]
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        let mut reader = raw.value_reader();
        Ok(Self {
            flags: DataFlags::from_bits(raw.flags),
            tsn: Tsn(reader.read_u32()?),
            stream: StreamId(reader.read_u16()?),
            ssn: Ssn(reader.read_u16()?),
            ppid: reader.read_u32()?,
            payload: reader.take_rest().0,
        })
    }
}

impl EncodeChunk for DataChunk<'_> {
    #[inline]
    fn encoded_len(&self) -> usize {
        DATA_HEADER_LEN + self.payload.len()
    }

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        let [l0, l1] = saturating_length(self.encoded_len()).to_be_bytes();
        let [t0, t1, t2, t3] = self.tsn.0.to_be_bytes();
        let [i0, i1] = self.stream.0.to_be_bytes();
        let [s0, s1] = self.ssn.0.to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid.to_be_bytes();
        let flags = self.flags.to_byte();
        // One copy of a whole header costs less than a capacity check for every field.
        out.extend_from_slice(&[
            kind::DATA,
            flags,
            l0,
            l1,
            t0,
            t1,
            t2,
            t3,
            i0,
            i1,
            s0,
            s1,
            p0,
            p1,
            p2,
            p3,
        ]);
        out.extend_from_slice(self.payload);
    }
}

/// I-DATA (64): a message or a fragment of one, whose fragments may be interleaved with others.
///
/// ```text
/// +---------------+-------+-+-+-+-+-------------------------------+
/// |   type = 64   |  res  |I|U|B|E|            length             |
/// +---------------+-------+-+-+-+-+-------------------------------+
/// |                              TSN                              |
/// +-------------------------------+-------------------------------+
/// |      stream identifier        |           reserved            |
/// +-------------------------------+-------------------------------+
/// |                      message identifier                       |
/// +---------------------------------------------------------------+
/// |   payload protocol identifier (B = 1) or FSN (B = 0)          |
/// +---------------------------------------------------------------+
/// |                            payload                            |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IDataChunk<'a> {
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// The stream of the message.
    pub stream: StreamId,
    /// The message's number among those of its stream, ordered and unordered counted apart.
    pub mid: Mid,
    /// Of a first fragment the payload protocol identifier, of any other the fragment sequence
    /// number.
    pub ppid_or_fsn: u32,
    /// Fragment and delivery flags.
    pub flags: DataFlags,
    /// User data.
    pub payload: &'a [u8],
}

impl<'a> IDataChunk<'a> {
    /// The payload protocol identifier, which only the first fragment carries.
    #[inline]
    #[must_use]
    pub const fn ppid(&self) -> Option<u32> {
        if self.flags.beginning { Some(self.ppid_or_fsn) } else { None }
    }

    /// The fragment sequence number; that of the first fragment is 0 and not sent.
    #[inline]
    #[must_use]
    pub const fn fsn(&self) -> u32 {
        if self.flags.beginning { 0 } else { self.ppid_or_fsn }
    }

    #[inline]
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        let mut reader = raw.value_reader();
        let tsn = Tsn(reader.read_u32()?);
        let (stream, _reserved) = (StreamId(reader.read_u16()?), reader.read_u16()?);
        Ok(Self {
            flags: DataFlags::from_bits(raw.flags),
            tsn,
            stream,
            mid: Mid(reader.read_u32()?),
            ppid_or_fsn: reader.read_u32()?,
            payload: reader.take_rest().0,
        })
    }
}

impl EncodeChunk for IDataChunk<'_> {
    #[inline]
    fn encoded_len(&self) -> usize {
        I_DATA_HEADER_LEN + self.payload.len()
    }

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::I_DATA, self.flags.to_byte(), self.encoded_len());
        let [t0, t1, t2, t3] = self.tsn.0.to_be_bytes();
        let [i0, i1] = self.stream.0.to_be_bytes();
        let [m0, m1, m2, m3] = self.mid.0.to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid_or_fsn.to_be_bytes();
        out.extend_from_slice(&[t0, t1, t2, t3, i0, i1, 0, 0, m0, m1, m2, m3, p0, p1, p2, p3]);
        out.extend_from_slice(self.payload);
    }
}
