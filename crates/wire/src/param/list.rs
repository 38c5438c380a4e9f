//! Lists of parameters, borrowed or owned.

use crate::tlv::{Naming, Tlv, next_tlv, push_tlv};
use crate::{Item, UnknownAction, WireError};

const NAMING: Naming = Naming { header: Item::ParameterHeader, item: Item::Parameter };

/// A list of parameters in a received packet, each checked when it is reached. Two lists are equal
/// when their bytes are, wherever they stand.
#[derive(Clone, Copy, Debug)]
pub struct Params<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Params<'a> {
    /// `offset` is that of the first parameter in the packet.
    pub(crate) const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// The parameters in the order sent; ends after the first error.
    #[must_use]
    pub const fn iter(&self) -> ParamIter<'a> {
        ParamIter { rest: self.bytes, offset: self.offset }
    }

    /// The wire form.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// A copy that outlives the packet.
    #[must_use]
    pub fn to_buf(&self) -> ParamsBuf {
        ParamsBuf(self.bytes.to_vec())
    }
}

impl PartialEq for Params<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Params<'_> {}

impl<'a> IntoIterator for Params<'a> {
    type Item = Result<RawParam<'a>, WireError>;
    type IntoIter = ParamIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &Params<'a> {
    type Item = Result<RawParam<'a>, WireError>;
    type IntoIter = ParamIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterator over the parameters of a [`Params`].
#[derive(Clone, Debug)]
pub struct ParamIter<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Iterator for ParamIter<'a> {
    type Item = Result<RawParam<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let tlv = next_tlv(&mut self.rest, &mut self.offset, NAMING)?;
        Some(tlv.map(RawParam::from_tlv))
    }
}

/// A parameter with checked length and unchecked value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawParam<'a> {
    /// Its type, see [`param::kind`](crate::param::kind).
    pub kind: u16,
    /// Its value, without padding.
    pub value: &'a [u8],
    /// Bytes from the start of the packet to its type field.
    pub offset: usize,
    bytes: &'a [u8],
}

impl<'a> RawParam<'a> {
    fn from_tlv(tlv: Tlv<'a>) -> Self {
        Self { kind: tlv.kind, value: tlv.value, offset: tlv.offset, bytes: tlv.bytes }
    }

    /// The whole parameter with its header, without padding.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What a receiver that does not know `kind` has to do.
    #[must_use]
    pub const fn unknown_action(kind: u16) -> UnknownAction {
        let [top, _] = kind.to_be_bytes();
        UnknownAction::from_top_bits(top)
    }
}

/// An owned list of parameters in its wire form.
///
/// ```
/// use polypath_wire::{Parameter, ParamsBuf};
///
/// let mut params = ParamsBuf::new();
/// params.push(&Parameter::StateCookie(b"sealed"));
/// params.push(&Parameter::ForwardTsnSupported);
/// assert_eq!(params.as_params().iter().count(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamsBuf(Vec<u8>);

impl ParamsBuf {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// A list in its wire form, checked when it is read.
    #[must_use]
    pub fn from_wire(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// Appends the parameter of this type whose value `value` writes.
    pub(super) fn push_tlv(&mut self, kind: u16, value: impl FnOnce(&mut Vec<u8>)) {
        push_tlv(&mut self.0, kind, value);
    }

    /// The list as it is borrowed from a packet; offsets in errors count from its start.
    #[must_use]
    pub fn as_params(&self) -> Params<'_> {
        Params::new(&self.0, 0)
    }

    /// Whether there is no parameter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
