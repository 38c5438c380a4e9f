//! Address parameters where exactly one is due: in ASCONF and its requests.

use std::net::IpAddr;

use super::kind;
use crate::tlv::{TLV_HEADER_LEN, put_u16};
use crate::{Parameter, Params, WireError, WireErrorKind};

/// The address in front of `bytes` (which start at `offset` in the packet) and the bytes that it
/// takes. Address parameters need no padding.
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |     type = 5 (6 for IPv6)     |    length = 8 (20 for IPv6)   |
/// +-------------------------------+-------------------------------+
/// |                 address, 4 bytes (16 for IPv6)                |
/// +---------------------------------------------------------------+
/// ```
pub(crate) fn decode_address(bytes: &[u8], offset: usize) -> Result<(IpAddr, usize), WireError> {
    let Some(raw) = Params::new(bytes, offset).iter().next().transpose()? else {
        let kind = WireErrorKind::Count { field: "address parameter", needed: 8, left: 0 };
        return Err(WireError { offset, kind });
    };
    let address = match raw.decode()? {
        Parameter::Ipv4(address) => address.into(),
        Parameter::Ipv6(address) => address.into(),
        _ => {
            let value = u32::from(raw.kind);
            let kind = WireErrorKind::Value { field: "address type", value, allowed: "5 or 6" };
            return Err(WireError { offset, kind });
        }
    };
    Ok((address, raw.bytes().len()))
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
