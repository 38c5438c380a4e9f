//! Parameters of ASCONF and ASCONF-ACK (RFC 5061 section 4.2).

use std::net::IpAddr;

use super::address::{push_address, read_address};
use crate::reader::Reader;
use crate::tlv::put_u32;
use crate::{Causes, WireError};

/// A request about one address: Add IP (0xC001), Delete IP (0xC002), Set Primary (0xC004).
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |             type              |            length             |
/// +-------------------------------+-------------------------------+
/// |                        correlation id                         |
/// +---------------------------------------------------------------+
/// |                       address parameter                       |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsconfRequest {
    /// Chosen by the sender, repeated in the answer.
    pub correlation: u32,
    /// The address; the unspecified one stands for the packet's source address.
    pub address: IpAddr,
}

impl AsconfRequest {
    pub(crate) fn read_value(mut reader: Reader<'_>) -> Result<Self, WireError> {
        let (correlation, address) = (reader.read_u32()?, read_address(&mut reader)?);
        reader.expect_end()?;
        Ok(Self { correlation, address })
    }

    pub(crate) fn write_value(&self, out: &mut Vec<u8>) {
        put_u32(out, self.correlation);
        push_address(out, self.address);
    }
}

/// Error Cause Indication (0xC003): a request was not performed.
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |         type = 0xC003         |            length             |
/// +-------------------------------+-------------------------------+
/// |                        correlation id                         |
/// +---------------------------------------------------------------+
/// |                         error causes                          |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsconfError<'a> {
    /// That of the request.
    pub correlation: u32,
    /// Why it failed.
    pub causes: Causes<'a>,
}

impl<'a> AsconfError<'a> {
    pub(crate) fn read_value(mut reader: Reader<'a>) -> Result<Self, WireError> {
        let correlation = reader.read_u32()?;
        let (rest, offset) = reader.take_rest();
        Ok(Self { correlation, causes: Causes::new(rest, offset) })
    }

    pub(crate) fn write_value(&self, out: &mut Vec<u8>) {
        put_u32(out, self.correlation);
        out.extend_from_slice(self.causes.as_bytes());
    }
}
