//! Type, length, value: the form that parameters and error causes share (RFC 9260 section 3.2.1).
//!
//! ```text
//! +-------------------------------+-------------------------------+
//! |             type              |   length (4 + that of value)  |
//! +-------------------------------+-------------------------------+
//! |                 value, then 0 to 3 bytes of padding           |
//! +---------------------------------------------------------------+
//! ```

use crate::{Item, WireError, WireErrorKind};

/// Length of type and length fields.
pub(crate) const TLV_HEADER_LEN: usize = 4;

/// One item of a list.
#[derive(Clone, Copy)]
pub(crate) struct Tlv<'a> {
    pub(crate) kind: u16,
    /// Header and value, without padding.
    pub(crate) bytes: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) offset: usize,
}

/// How errors name the items of a list.
#[derive(Clone, Copy)]
pub(crate) struct Naming {
    pub(crate) header: Item,
    pub(crate) item: fn(u16) -> Item,
}

/// Takes the first item off `rest`, which starts at `offset` in the packet. Afterwards `rest` is
/// empty if there was an error. `None` at the end of the list.
pub(crate) fn next_tlv<'a>(
    rest: &mut &'a [u8],
    offset: &mut usize,
    naming: Naming,
) -> Option<Result<Tlv<'a>, WireError>> {
    if rest.is_empty() {
        return None;
    }
    let tlv = first_tlv(rest, *offset, naming);
    // Whether the last item's padding is counted by what holds the list is up to the sender.
    let padded = tlv.map_or(rest.len(), |t| t.bytes.len().next_multiple_of(4));
    *rest = rest.get(padded..).unwrap_or_default();
    *offset += padded;
    Some(tlv)
}

fn first_tlv<'a>(bytes: &'a [u8], offset: usize, naming: Naming) -> Result<Tlv<'a>, WireError> {
    let Some(([k0, k1, l0, l1], _)) = bytes.split_first_chunk::<TLV_HEADER_LEN>() else {
        let (needed, left) = (TLV_HEADER_LEN, bytes.len());
        let kind = WireErrorKind::Truncated { item: naming.header, needed, left };
        return Err(WireError { offset, kind });
    };
    let kind = u16::from_be_bytes([*k0, *k1]);
    let length = u16::from_be_bytes([*l0, *l1]);
    let Some((tlv, value)) = bytes
        .get(..usize::from(length))
        .and_then(|tlv| tlv.get(TLV_HEADER_LEN..).map(|value| (tlv, value)))
    else {
        let kind = WireErrorKind::Length { item: (naming.item)(kind), length, left: bytes.len() };
        return Err(WireError { offset: offset + 2, kind });
    };
    Ok(Tlv { kind, bytes: tlv, value, offset })
}

/// Appends an item to a list, after the padding of the one before it. The last item of a list stays
/// unpadded: what holds the list must not count that padding (RFC 9260 section 3.2).
///
/// A value of more than 65531 bytes gets a wrong length, but then the chunk that holds it is too
/// long for any packet, too.
pub(crate) fn push_tlv(out: &mut Vec<u8>, kind: u16, value: impl FnOnce(&mut Vec<u8>)) {
    out.resize(out.len().next_multiple_of(4), 0);
    write_tlv(out, kind, value);
}

/// Appends an item without regard to alignment.
pub(crate) fn write_tlv(out: &mut Vec<u8>, kind: u16, value: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    put_u16(out, kind);
    put_u16(out, 0);
    value(out);
    let length = saturating_length(out.len().saturating_sub(start)).to_be_bytes();
    if let Some(field) = out.get_mut(start + 2..start + TLV_HEADER_LEN) {
        field.copy_from_slice(&length);
    }
}

/// A length field; what it cannot express is refused by the packet writer.
#[inline]
pub(crate) fn saturating_length(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

#[inline]
pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}
