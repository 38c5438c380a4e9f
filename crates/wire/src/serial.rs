//! Serial numbers: counters that wrap and still have an order (RFC 1982).

use std::fmt;

use crate::items::WireItem;

macro_rules! serial_number {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        ///
        /// Compared as RFC 1982 serial numbers. Two values exactly half the number space apart have
        /// no order: neither is less, neither is greater.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            const HALF: $int = 1 << (<$int>::BITS - 1);

            /// Whether `self` comes before `other`.
            #[inline]
            #[must_use]
            pub const fn lt(self, other: Self) -> bool {
                let ahead = other.0.wrapping_sub(self.0);
                ahead != 0 && ahead < Self::HALF
            }

            /// Whether `self` equals `other` or comes before it.
            #[inline]
            #[must_use]
            pub const fn le(self, other: Self) -> bool {
                other.0.wrapping_sub(self.0) < Self::HALF
            }

            /// Whether `self` comes after `other`.
            #[inline]
            #[must_use]
            pub const fn gt(self, other: Self) -> bool {
                other.lt(self)
            }

            /// Whether `self` equals `other` or comes after it.
            #[inline]
            #[must_use]
            pub const fn ge(self, other: Self) -> bool {
                other.le(self)
            }

            /// The number `n` steps ahead, wrapping.
            #[inline]
            #[must_use]
            #[expect(
                clippy::should_implement_trait,
                reason = "serial addition wraps; `+` would pass for that of plain integers"
            )]
            pub const fn add(self, n: $int) -> Self {
                Self(self.0.wrapping_add(n))
            }

            /// The number after this one, wrapping.
            #[inline]
            #[must_use]
            pub const fn next(self) -> Self {
                self.add(1)
            }

            /// The number before this one, wrapping.
            #[inline]
            #[must_use]
            pub const fn prev(self) -> Self {
                Self(self.0.wrapping_sub(1))
            }

            /// Steps ahead from `from` to `self` (`self - from`, wrapping).
            #[inline]
            #[must_use]
            pub const fn distance(self, from: Self) -> $int {
                self.0.wrapping_sub(from.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

serial_number!(
    /// A transmission sequence number: counts the DATA and I-DATA chunks of an association.
    Tsn,
    u32
);
serial_number!(
    /// A stream sequence number: counts the ordered messages of a stream (DATA).
    Ssn,
    u16
);
serial_number!(
    /// A message identifier: counts the messages of a stream, ordered and unordered apart (I-DATA).
    Mid,
    u32
);

/// The number of a stream; streams are counted from 0 and do not wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StreamId(pub u16);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl WireItem<4> for Tsn {
    #[inline]
    fn from_wire(bytes: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(bytes))
    }

    #[inline]
    fn to_wire(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }
}

impl WireItem<2> for StreamId {
    #[inline]
    fn from_wire(bytes: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(bytes))
    }

    #[inline]
    fn to_wire(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }
}
