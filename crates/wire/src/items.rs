//! Lists of equal items, borrowed from the packet or owned.

use std::fmt;
use std::marker::PhantomData;

/// A list element that takes `N` bytes on the wire.
pub trait WireItem<const N: usize>: Copy {
    /// The item that these bytes stand for.
    fn from_wire(bytes: [u8; N]) -> Self;
    /// The item's bytes.
    fn to_wire(self) -> [u8; N];
}

impl WireItem<2> for u16 {
    #[inline]
    fn from_wire(bytes: [u8; 2]) -> Self {
        Self::from_be_bytes(bytes)
    }

    #[inline]
    fn to_wire(self) -> [u8; 2] {
        self.to_be_bytes()
    }
}

/// A list of `T` in its wire form, decoded while it is read.
#[derive(PartialEq, Eq)]
pub struct Items<'a, T, const N: usize> {
    wire: &'a [[u8; N]],
    item: PhantomData<T>,
}

impl<'a, T: WireItem<N>, const N: usize> Items<'a, T, N> {
    /// The empty list.
    pub const EMPTY: Self = Self { wire: &[], item: PhantomData };

    /// A list of which these are the items' bytes.
    #[inline]
    #[must_use]
    pub const fn new(wire: &'a [[u8; N]]) -> Self {
        Self { wire, item: PhantomData }
    }

    /// Number of items.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.wire.len()
    }

    /// Whether there is no item.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.wire.is_empty()
    }

    /// The items in the order sent.
    #[inline]
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator + Clone + use<'a, T, N> {
        self.wire.iter().map(|bytes| T::from_wire(*bytes))
    }

    /// The wire form.
    #[inline]
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.wire.as_flattened()
    }
}

impl<T, const N: usize> Clone for Items<'_, T, N> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const N: usize> Copy for Items<'_, T, N> {}

impl<T: WireItem<N> + fmt::Debug, const N: usize> fmt::Debug for Items<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// An owned list of `T` in its wire form, made by collecting items.
#[derive(Clone, PartialEq, Eq)]
pub struct ItemsBuf<T, const N: usize> {
    wire: Vec<[u8; N]>,
    item: PhantomData<T>,
}

impl<T: WireItem<N>, const N: usize> ItemsBuf<T, N> {
    /// The list, to be put into a parameter, error cause or chunk.
    #[must_use]
    pub fn as_items(&self) -> Items<'_, T, N> {
        Items::new(&self.wire)
    }
}

impl<T: WireItem<N>, const N: usize> FromIterator<T> for ItemsBuf<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self { wire: items.into_iter().map(T::to_wire).collect(), item: PhantomData }
    }
}

impl<T: WireItem<N> + fmt::Debug, const N: usize> fmt::Debug for ItemsBuf<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_items().fmt(f)
    }
}
