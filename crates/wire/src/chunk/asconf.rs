//! ASCONF and ASCONF-ACK (RFC 5061 section 4.1).

use std::net::IpAddr;

use super::kind;
use super::raw::put_chunk_header;
use crate::param::{address_len, push_address, read_address};
use crate::tlv::put_u32;
use crate::{EncodeChunk, Params, RawChunk, WireError};

/// ASCONF (193): requests about the sender's addresses.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |  type = 193   |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |                         serial number                         |
/// +---------------------------------------------------------------+
/// |              address parameter (of the sender)                |
/// +---------------------------------------------------------------+
/// |                      request parameters                       |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsconfChunk<'a> {
    /// Counts ASCONF chunks, from the initial TSN on.
    pub serial: u32,
    /// An address of the sender, by which the association is found.
    pub address: IpAddr,
    /// The requests.
    pub params: Params<'a>,
}

impl<'a> AsconfChunk<'a> {
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        let mut reader = raw.value_reader();
        let (serial, address) = (reader.read_u32()?, read_address(&mut reader)?);
        let (params, offset) = reader.take_rest();
        let params = Params::new(params, offset);
        Ok(Self { serial, address, params })
    }
}

impl EncodeChunk for AsconfChunk<'_> {
    fn encoded_len(&self) -> usize {
        8 + address_len(self.address) + self.params.as_bytes().len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::ASCONF, 0, self.encoded_len());
        put_u32(out, self.serial);
        push_address(out, self.address);
        out.extend_from_slice(self.params.as_bytes());
    }
}

/// ASCONF-ACK (128): what became of the requests.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |  type = 128   |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |                         serial number                         |
/// +---------------------------------------------------------------+
/// |                      response parameters                      |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsconfAckChunk<'a> {
    /// That of the ASCONF.
    pub serial: u32,
    /// The responses; a request without one succeeded.
    pub params: Params<'a>,
}

impl<'a> AsconfAckChunk<'a> {
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        let mut reader = raw.value_reader();
        let serial = reader.read_u32()?;
        let (rest, offset) = reader.take_rest();
        Ok(Self { serial, params: Params::new(rest, offset) })
    }
}

impl EncodeChunk for AsconfAckChunk<'_> {
    fn encoded_len(&self) -> usize {
        8 + self.params.as_bytes().len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::ASCONF_ACK, 0, self.encoded_len());
        put_u32(out, self.serial);
        out.extend_from_slice(self.params.as_bytes());
    }
}
