//! Address parameters where exactly one is due: in ASCONF and its requests.

use std::net::IpAddr;

use super::kind;
use super::list::Params;
use crate::reader::Reader;
use crate::tlv::{TLV_HEADER_LEN, put_u16};
use crate::{Item, WireError, WireErrorKind};

/// Takes the address parameter in front. Address parameters need no padding.
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |     type = 5 (6 for IPv6)     |    length = 8 (20 for IPv6)   |
/// +-------------------------------+-------------------------------+
/// |                 address, 4 bytes (16 for IPv6)                |
/// +---------------------------------------------------------------+
/// ```
pub(crate) fn read_address(reader: &mut Reader<'_>) -> Result<IpAddr, WireError> {
    let (bytes, offset) = reader.peek_rest();
    let Some(raw) = Params::new(bytes, offset).iter().next().transpose()? else {
        let kind = WireErrorKind::Count { field: "address parameter", needed: 8, left: 0 };
        return Err(WireError { offset, kind });
    };
    let mut value = Reader::new(raw.value, raw.offset + TLV_HEADER_LEN, Item::Parameter(raw.kind));
    let address = match raw.kind {
        kind::IPV4 => value.read_ipv4()?.into(),
        kind::IPV6 => value.read_ipv6()?.into(),
        other => {
            let value = u32::from(other);
            let kind = WireErrorKind::Value { field: "address type", value, allowed: "5 or 6" };
            return Err(WireError { offset, kind });
        }
    };
    value.expect_end()?;
    reader.take_bytes(raw.bytes().len())?;
    Ok(address)
}

pub(crate) fn push_address(out: &mut Vec<u8>, address: IpAddr) {
    put_u16(out, if address.is_ipv4() { kind::IPV4 } else { kind::IPV6 });
    match address {
        IpAddr::V4(v4) => {
            put_u16(out, 8);
            out.extend_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            put_u16(out, 20);
            out.extend_from_slice(&v6.octets());
        }
    }
}

/// Bytes that [`push_address`] appends.
pub(crate) const fn address_len(address: IpAddr) -> usize {
    match address {
        IpAddr::V4(_) => TLV_HEADER_LEN + 4,
        IpAddr::V6(_) => TLV_HEADER_LEN + 16,
    }
}
