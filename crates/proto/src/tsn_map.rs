//! A set of TSNs near a moving base, as a ring of bits.
//!
//! TSNs are *extended* here to 64 bits that never wrap ([`extend`]), so that plain comparison
//! works; the wire's 32 bits are their low half. All operations cost at most one step per 64 TSNs
//! between the base and the highest member.

use std::collections::VecDeque;

use crate::ids::Tsn;

/// The extended TSN nearest to `near` whose low 32 bits are `tsn` (RFC 1982 serial arithmetic
/// around `near`).
#[inline]
pub(crate) const fn extend(near: u64, tsn: Tsn) -> u64 {
    let delta = tsn.0.wrapping_sub(near as u32).cast_signed();
    near.wrapping_add_signed(delta as i64)
}

/// The 32 bits of an extended TSN that go on the wire.
#[inline]
pub(crate) const fn wire(tsn: u64) -> Tsn {
    Tsn(tsn as u32)
}

/// Extended TSNs start here, so that a peer's nonsense just below the first TSN stays above zero.
pub(crate) const EPOCH: u64 = 1 << 32;

/// A set of extended TSNs at or above `base`.
#[derive(Clone, Debug)]
pub(crate) struct TsnMap {
    /// Members are at or above it.
    base: u64,
    /// Bit `t % 64` of word `t / 64 - base / 64`.
    words: VecDeque<u64>,
    len: usize,
}

impl TsnMap {
    pub(crate) const fn new(base: u64) -> Self {
        Self { base, words: VecDeque::new(), len: 0 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn slot(&self, tsn: u64) -> Option<(usize, u64)> {
        let word = (tsn / 64).checked_sub(self.base / 64)?;
        Some((usize::try_from(word).ok()?, 1 << (tsn % 64)))
    }

    #[inline]
    pub(crate) fn contains(&self, tsn: u64) -> bool {
        let Some((word, bit)) = self.slot(tsn) else { return false };
        tsn >= self.base && self.words.get(word).is_some_and(|w| w & bit != 0)
    }

    /// Adds `tsn`; false if it was a member, or lies below the base. The caller bounds how far
    /// above the base it may lie.
    pub(crate) fn insert(&mut self, tsn: u64) -> bool {
        let Some((word, bit)) = self.slot(tsn) else { return false };
        if tsn < self.base {
            return false;
        }
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        match self.words.get_mut(word) {
            Some(w) if *w & bit == 0 => {
                *w |= bit;
                self.len += 1;
                true
            }
            _ => false,
        }
    }

    /// Removes `tsn`; false if it was no member.
    pub(crate) fn remove(&mut self, tsn: u64) -> bool {
        if !self.contains(tsn) {
            return false;
        }
        let Some((word, bit)) = self.slot(tsn) else { return false };
        if let Some(w) = self.words.get_mut(word) {
            *w &= !bit;
            self.len -= 1;
        }
        self.trim();
        true
    }

    fn trim(&mut self) {
        while self.words.back() == Some(&0) {
            self.words.pop_back();
        }
    }

    /// The highest member.
    pub(crate) fn highest(&self) -> Option<u64> {
        let last = self.words.iter().rposition(|w| *w != 0)?;
        let word = self.words.get(last)?;
        Some((self.base / 64 + last as u64) * 64 + 63 - u64::from(word.leading_zeros()))
    }

    /// Drops all members below `base` and makes it the new base.
    #[inline]
    pub(crate) fn advance(&mut self, base: u64) {
        if self.words.is_empty() {
            self.base = self.base.max(base);
        } else if base > self.base {
            self.drop_below(base);
        }
    }

    #[inline(never)]
    fn drop_below(&mut self, base: u64) {
        let skip = base / 64 - self.base / 64;
        for _ in 0..skip {
            match self.words.pop_front() {
                Some(w) => self.len -= w.count_ones() as usize,
                None => break,
            }
        }
        self.base = base;
        if let Some(w) = self.words.front_mut() {
            let below = *w & ((1 << (base % 64)) - 1);
            self.len -= below.count_ones() as usize;
            *w &= !below;
        }
        self.trim();
    }

    /// How many members follow each other without a gap from `from` on.
    pub(crate) fn run_length(&self, from: u64) -> u64 {
        let mut at = from;
        loop {
            let bits = self.word(at / 64) >> (at % 64);
            let ones = u64::from(bits.trailing_ones()).min(64 - at % 64);
            at += ones;
            if ones == 0 || !at.is_multiple_of(64) {
                return at - from;
            }
        }
    }

    /// The first of the members that lead up to `tsn`, which is one, without a gap.
    pub(crate) fn run_start(&self, tsn: u64) -> u64 {
        let mut at = tsn;
        loop {
            let bits = self.word(at / 64) << (63 - at % 64);
            let ones = u64::from(bits.leading_ones()).min(at % 64 + 1);
            let start = (at + 1) - ones;
            if start > at || !start.is_multiple_of(64) || start == 0 {
                return start;
            }
            at = start - 1;
        }
    }

    /// The bits of word `index` (TSNs `64 * index ..`); zero where there are no members.
    #[inline]
    pub(crate) fn word(&self, index: u64) -> u64 {
        let word = index.checked_sub(self.base / 64).and_then(|i| usize::try_from(i).ok());
        word.and_then(|i| self.words.get(i)).copied().unwrap_or(0)
    }

    /// Word indices that may have members: from the base's to the highest member's.
    pub(crate) fn word_range(&self) -> core::ops::Range<u64> {
        let first = self.base / 64;
        first..first + self.words.len() as u64
    }
}

#[cfg(test)]
impl TsnMap {
    /// Maximal runs of members, ascending, as inclusive ranges: what gap ack blocks must say.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let range = self.word_range();
        let starts = move |t: &u64| self.contains(*t) && !self.contains(t.saturating_sub(1));
        let run = |start| (start, start + self.run_length(start) - 1);
        (range.start * 64..range.end * 64).filter(starts).map(run)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64),
        Remove(u64),
        Advance(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        let near = 1000u64..1400;
        prop_oneof![
            6 => near.clone().prop_map(Op::Insert),
            2 => near.clone().prop_map(Op::Remove),
            1 => near.prop_map(Op::Advance),
        ]
    }

    proptest! {
        #[test]
        fn a_run_begins_where_it_is_said_to(
            tsns in proptest::collection::btree_set(1000u64..1400, 0..300),
        ) {
            let mut map = TsnMap::new(1000);
            tsns.iter().for_each(|tsn| _ = map.insert(*tsn));
            for (first, last) in map.runs() {
                prop_assert_eq!(map.run_start(last), first);
            }
        }

        #[test]
        fn agrees_with_a_plain_set(ops in proptest::collection::vec(op(), 0..400)) {
            let (mut map, mut model, mut base) = (TsnMap::new(1000), BTreeSet::new(), 1000);
            for op in ops {
                match op {
                    Op::Insert(t) => prop_assert_eq!(map.insert(t), t >= base && model.insert(t)),
                    Op::Remove(t) => prop_assert_eq!(map.remove(t), model.remove(&t)),
                    Op::Advance(t) => {
                        base = base.max(t);
                        map.advance(t);
                        model = model.split_off(&base);
                    }
                }
                model = model.split_off(&base);
                prop_assert_eq!(map.is_empty(), model.is_empty());
                prop_assert_eq!(map.highest(), model.last().copied());
                let members: Vec<u64> = (1000..1400).filter(|t| map.contains(*t)).collect();
                prop_assert_eq!(&members, &model.iter().copied().collect::<Vec<_>>());
                let run = (base..).take_while(|t| model.contains(t)).count() as u64;
                prop_assert_eq!(map.run_length(base), run);
            }
        }

        #[test]
        fn extension_finds_the_nearest(near in EPOCH..EPOCH * 4, delta in -(1i64 << 31) + 1..1i64 << 31) {
            let tsn = near.wrapping_add_signed(delta);
            prop_assert_eq!(extend(near, wire(tsn)), tsn);
        }
    }
}
