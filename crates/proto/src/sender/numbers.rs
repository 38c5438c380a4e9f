//! The numbers that tell messages and fragments apart: SSNs of DATA, MIDs and FSNs of I-DATA.

use super::types::Number;
use crate::ids::{Mid, Ssn};

/// The counters of one outbound stream. Given out when a chunk leaves, so that what is never sent leaves no gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    ssn: u16,
    /// Of the next ordered and of the next unordered message (RFC 8260 section 2.1).
    mids: [u32; 2],
    /// Of the next fragment of the message under way.
    fsn: u32,
}

/// Which chunk carries the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    IData,
}

impl Numbers {
    /// Counters of which all MIDs begin at `first`; anything but 0 is for tests of the wrap.
    pub(crate) const fn from_mid(first: u32) -> Self {
        Self { ssn: 0, mids: [first; 2], fsn: 0 }
    }

    /// The number of the next chunk, which ends its message or not.
    ///
    /// A MID is never in use twice: at most 65,000 chunks are in flight (`sending_half::MAX_TSNS`), where RFC 8260 allows 2^31 - 1
    /// messages of a class and as many fragments.
    #[inline]
    pub(super) const fn next(&mut self, kind: Kind, unordered: bool, ends: bool) -> Number {
        match kind {
            Kind::Data if unordered => Number::Ssn(Ssn(0)),
            Kind::Data => {
                let number = Number::Ssn(Ssn(self.ssn));
                self.ssn = self.ssn.wrapping_add(ends as u16);
                number
            }
            Kind::IData => {
                let mid = &mut self.mids[unordered as usize];
                let number = Number::Mid { mid: Mid(*mid), fsn: self.fsn };
                *mid = mid.wrapping_add(ends as u32);
                self.fsn = if ends { 0 } else { self.fsn.wrapping_add(1) };
                number
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn mid(mid: u32, fsn: u32) -> Number {
        Number::Mid { mid: Mid(mid), fsn }
    }

    #[test]
    fn ordered_and_unordered_messages_are_counted_apart() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.next(Kind::IData, false, false), mid(0, 0));
        assert_eq!(numbers.next(Kind::IData, false, true), mid(0, 1));
        assert_eq!(numbers.next(Kind::IData, true, true), mid(0, 0));
        assert_eq!(numbers.next(Kind::IData, false, true), mid(1, 0));
        assert_eq!(numbers.next(Kind::IData, true, true), mid(1, 0));
    }

    #[test]
    fn mids_and_fsns_wrap() {
        let mut numbers = Numbers::from_mid(u32::MAX);
        numbers.fsn = u32::MAX;
        assert_eq!(numbers.next(Kind::IData, false, false), mid(u32::MAX, u32::MAX));
        assert_eq!(numbers.next(Kind::IData, false, true), mid(u32::MAX, 0));
        assert_eq!(numbers.next(Kind::IData, false, true), mid(0, 0));
        assert_eq!(numbers.next(Kind::IData, true, true), mid(u32::MAX, 0));
        assert_eq!(numbers.next(Kind::IData, true, true), mid(0, 0));
    }

    #[test]
    fn unordered_data_takes_no_ssn() {
        let mut numbers = Numbers { ssn: u16::MAX, ..Numbers::default() };
        assert_eq!(numbers.next(Kind::Data, true, true), Number::Ssn(Ssn(0)));
        assert_eq!(numbers.next(Kind::Data, false, false), Number::Ssn(Ssn(u16::MAX)));
        assert_eq!(numbers.next(Kind::Data, false, true), Number::Ssn(Ssn(u16::MAX)));
        assert_eq!(numbers.next(Kind::Data, false, true), Number::Ssn(Ssn(0)));
    }
}
