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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Steps from `b` to `a` on the shorter way round, as plain integers.
    fn ahead(a: u32, b: u32) -> i64 {
        let steps = (i64::from(a) - i64::from(b)).rem_euclid(1 << 32);
        if steps > 1 << 31 { steps - (1 << 32) } else { steps }
    }

    proptest! {
        #[test]
        fn order_is_that_of_the_shorter_way_round(a: u32, step in -3i64..=3, far in 0i64..3) {
            let b = (i64::from(a) + step + far * (1 << 30)).rem_euclid(1 << 32) as u32;
            let steps = ahead(a, b);
            let half = steps == 1 << 31;
            prop_assert_eq!(Tsn(a).gt(Tsn(b)), steps > 0 && !half);
            prop_assert_eq!(Tsn(a).ge(Tsn(b)), steps >= 0 && !half);
            prop_assert_eq!(Tsn(a).lt(Tsn(b)), steps < 0);
            prop_assert_eq!(Tsn(a).le(Tsn(b)), steps <= 0);
        }

        #[test]
        fn adding_and_distance_are_inverse(a: u32, n: u32) {
            let sum = Tsn(a).add(n);
            prop_assert_eq!(i64::from(sum.0), (i64::from(a) + i64::from(n)) % (1 << 32));
            prop_assert_eq!(sum.distance(Tsn(a)), n);
        }

        #[test]
        fn sixteen_bits_wrap_like_thirty_two(a: u16, n: u16) {
            let (low, high) = (Ssn(a).lt(Ssn(a).add(n)), Tsn(0).lt(Tsn(u32::from(n) << 16)));
            prop_assert_eq!(low, high);
            prop_assert_eq!(Ssn(a).add(n).distance(Ssn(a)), n);
        }
    }

    #[test]
    fn numbers_wrap() {
        assert_eq!(Tsn(u32::MAX).next(), Tsn(0));
        assert_eq!(Mid(0).prev(), Mid(u32::MAX));
        assert_eq!(Ssn(u16::MAX).next(), Ssn(0));
        assert!(Tsn(u32::MAX).lt(Tsn(0)) && Ssn(0).gt(Ssn(u16::MAX)));
    }

    #[test]
    fn half_the_space_apart_there_is_no_order() {
        let (a, b) = (Tsn(5), Tsn(5 + (1 << 31)));
        assert!(!a.lt(b) && !a.gt(b) && !a.le(b) && !a.ge(b));
    }
}
