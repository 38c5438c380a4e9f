//! Lists of error causes, borrowed or owned.

use crate::tlv::{Naming, Tlv, next_tlv, push_tlv};
use crate::{Item, WireError};

const NAMING: Naming = Naming { header: Item::CauseHeader, item: Item::Cause };

/// A list of error causes in a received packet, each checked when it is reached. Two lists are
/// equal when their bytes are, wherever they stand.
#[derive(Clone, Copy, Debug)]
pub struct Causes<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Causes<'a> {
    /// `offset` is that of the first cause in the packet.
    pub(crate) const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// The causes in the order sent; ends after the first error.
    #[must_use]
    pub const fn iter(&self) -> CauseIter<'a> {
        CauseIter { rest: self.bytes, offset: self.offset }
    }

    /// The wire form.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// A copy that outlives the packet.
    #[must_use]
    pub fn to_buf(&self) -> CausesBuf {
        CausesBuf(self.bytes.to_vec())
    }
}

impl PartialEq for Causes<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Causes<'_> {}

impl<'a> IntoIterator for Causes<'a> {
    type Item = Result<RawCause<'a>, WireError>;
    type IntoIter = CauseIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &Causes<'a> {
    type Item = Result<RawCause<'a>, WireError>;
    type IntoIter = CauseIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterator over the error causes of a [`Causes`].
#[derive(Clone, Debug)]
pub struct CauseIter<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Iterator for CauseIter<'a> {
    type Item = Result<RawCause<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let tlv = next_tlv(&mut self.rest, &mut self.offset, NAMING)?;
        Some(tlv.map(RawCause::from_tlv))
    }
}

/// An error cause with checked length and unchecked value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawCause<'a> {
    /// Its code, see [`cause::code`](crate::cause::code).
    pub code: u16,
    /// Its value, without padding.
    pub value: &'a [u8],
    /// Bytes from the start of the packet to its code field.
    pub offset: usize,
    bytes: &'a [u8],
}

impl<'a> RawCause<'a> {
    fn from_tlv(tlv: Tlv<'a>) -> Self {
        Self { code: tlv.kind, value: tlv.value, offset: tlv.offset, bytes: tlv.bytes }
    }

    /// The whole cause with its header, without padding.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// An owned list of error causes in its wire form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CausesBuf(Vec<u8>);

impl CausesBuf {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Appends the cause of this code whose value `value` writes.
    pub(super) fn push_tlv(&mut self, code: u16, value: impl FnOnce(&mut Vec<u8>)) {
        push_tlv(&mut self.0, code, value);
    }

    /// The list as it is borrowed from a packet; offsets in errors count from its start.
    #[must_use]
    pub fn as_causes(&self) -> Causes<'_> {
        Causes::new(&self.0, 0)
    }

    /// Whether there is no cause.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
