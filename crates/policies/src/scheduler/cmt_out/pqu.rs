//! The path quality unit of S4, equation 2.

use core::cmp::Ordering;

/// PQU = O / (O + R), kept as the two numbers: equal quotients are then equal beyond rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pqu {
    outstanding: u64,
    round_data: u64,
}

impl Pqu {
    /// The value 1: the limit for R to 0.
    pub const ONE: Self = Self::new(1, 0);
    /// The value 1/2: what the first burst of a path gives.
    pub const HALF: Self = Self::new(1, 1);
    /// The value 0.
    pub const ZERO: Self = Self::new(0, 1);

    /// The unit for `outstanding` and `round_data` bytes; not both may be zero.
    pub(super) const fn new(outstanding: u64, round_data: u64) -> Self {
        Self { outstanding, round_data }
    }

    /// The quotient.
    pub fn value(self) -> f64 {
        self.outstanding as f64 / self.denominator() as f64
    }

    /// Orders by the quotients, without rounding.
    pub(super) fn cmp_exact(&self, other: &Self) -> Ordering {
        let scaled = |a: &Self, b: &Self| u128::from(a.outstanding) * b.denominator();
        scaled(self, other).cmp(&scaled(other, self))
    }

    fn denominator(self) -> u128 {
        (u128::from(self.outstanding) + u128::from(self.round_data)).max(1)
    }
}
