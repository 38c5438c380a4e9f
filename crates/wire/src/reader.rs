//! A cursor over received bytes that knows where in the packet it stands.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::items::{Items, WireItem};
use crate::{Item, WireError, WireErrorKind};

/// Reads fields off the front of an item's value.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
    item: Item,
}

impl<'a> Reader<'a> {
    /// `offset` is that of `bytes` in the packet.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], offset: usize, item: Item) -> Self {
        Self { rest: bytes, offset, item }
    }

    #[inline]
    pub(crate) fn read_array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let Some((head, tail)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.truncated_error(N));
        };
        self.rest = tail;
        self.offset += N;
        Ok(*head)
    }

    #[inline]
    pub(crate) fn read_u16(&mut self) -> Result<u16, WireError> {
        self.read_array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn read_u32(&mut self) -> Result<u32, WireError> {
        self.read_array().map(u32::from_be_bytes)
    }

    pub(crate) fn read_ipv4(&mut self) -> Result<Ipv4Addr, WireError> {
        self.read_array::<4>().map(Ipv4Addr::from)
    }

    pub(crate) fn read_ipv6(&mut self) -> Result<Ipv6Addr, WireError> {
        self.read_array::<16>().map(Ipv6Addr::from)
    }

    #[inline]
    pub(crate) fn take_bytes(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let Some((head, tail)) = self.rest.split_at_checked(len) else {
            return Err(self.truncated_error(len));
        };
        self.rest = tail;
        self.offset += len;
        Ok(head)
    }

    /// `count` items; the caller has made sure that the count agrees with what is left.
    #[inline]
    pub(crate) fn read_items<T: WireItem<N>, const N: usize>(
        &mut self,
        count: usize,
    ) -> Result<Items<'a, T, N>, WireError> {
        let bytes = self.take_bytes(count.saturating_mul(N))?;
        Ok(Items::new(bytes.as_chunks().0))
    }

    /// As many items as there are bytes left, which must not end inside one.
    pub(crate) fn all_items<T: WireItem<N>, const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<Items<'a, T, N>, WireError> {
        self.expect_left(field, self.rest.len().div_ceil(N) * N)?;
        self.read_items(self.rest.len() / N)
    }

    /// Everything left, and where it starts, without taking it.
    pub(crate) const fn peek_rest(&self) -> (&'a [u8], usize) {
        (self.rest, self.offset)
    }

    /// Everything left, and where it starts.
    #[inline]
    pub(crate) fn take_rest(self) -> (&'a [u8], usize) {
        (self.rest, self.offset)
    }

    /// Count fields that ask for anything but exactly what is left are lies.
    #[inline]
    pub(crate) fn expect_left(&self, field: &'static str, needed: usize) -> Result<(), WireError> {
        if self.rest.len() == needed {
            return Ok(());
        }
        Err(self.error_here(WireErrorKind::Count { field, needed, left: self.rest.len() }))
    }

    /// The item must end here.
    #[inline]
    pub(crate) fn expect_end(self) -> Result<(), WireError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.error_here(WireErrorKind::Trailing { item: self.item, extra: self.rest.len() }))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn error_here(&self, kind: WireErrorKind) -> WireError {
        WireError { offset: self.offset, kind }
    }

    #[cold]
    fn truncated_error(&self, needed: usize) -> WireError {
        self.error_here(WireErrorKind::Truncated { item: self.item, needed, left: self.rest.len() })
    }
}
