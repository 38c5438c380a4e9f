//! Which TSNs have arrived: the cumulative TSN, what lies above it, and what came twice.

use std::collections::VecDeque;

use crate::config::NrSack;
use crate::ids::Tsn;
use crate::tsn_map::{EPOCH, TsnMap, extend, wire};

/// A gap ack block's offset has 16 bits: TSNs further above the cumulative TSN cannot be reported.
const MAX_OFFSET: u64 = u16::MAX as u64;

/// Duplicate TSNs remembered for the next SACK; RFC 9260 asks to report them (SHOULD), not all of
/// them.
const MAX_DUPLICATES: usize = 128;

/// Room for sizes that is kept when there is no gap, so that an idle association is small.
const KEPT_SIZES: usize = 1024;

/// What a TSN is to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Not here yet.
    New,
    /// Here already.
    Duplicate,
    /// Too far above the cumulative TSN to be reported.
    OutOfRange,
}

/// The TSNs received. All are extended TSNs.
#[derive(Clone, Debug)]
pub(super) struct Tracker {
    cumulative: u64,
    above: TsnMap,
    /// Those of `above` whose messages were delivered. Kept only where NR-SACKs report it.
    delivered: TsnMap,
    nr_sack: NrSack,
    /// Payload bytes of TSN `cumulative + 1 + i`; 0 where it is missing.
    sizes: VecDeque<u16>,
    out_of_order: u64,
    duplicates: Vec<Tsn>,
}

impl Tracker {
    pub(super) const fn new(peer_initial_tsn: Tsn, nr_sack: NrSack) -> Self {
        let first = EPOCH + peer_initial_tsn.0 as u64;
        Self {
            cumulative: first - 1,
            above: TsnMap::new(first),
            delivered: TsnMap::new(first),
            nr_sack,
            sizes: VecDeque::new(),
            out_of_order: 0,
            duplicates: Vec::new(),
        }
    }

    /// The last TSN before the first gap.
    #[inline]
    pub(super) const fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// TSNs received above the cumulative one.
    pub(super) const fn above(&self) -> &TsnMap {
        &self.above
    }

    /// Those of them that will never be dropped; `None`: none of them will.
    pub(super) const fn non_renegable(&self) -> Option<&TsnMap> {
        match self.nr_sack {
            NrSack::Received => None,
            NrSack::Off | NrSack::Delivered => Some(&self.delivered),
        }
    }

    /// The highest TSN received and not dropped since.
    pub(super) fn highest(&self) -> u64 {
        self.above.highest().unwrap_or(self.cumulative)
    }

    #[inline]
    pub(super) const fn has_gaps(&self) -> bool {
        !self.above.is_empty()
    }

    /// Payload bytes received above the cumulative TSN.
    pub(super) const fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// TSNs that came again since the last SACK, as far as they are remembered.
    pub(super) fn duplicates(&self) -> &[Tsn] {
        &self.duplicates
    }

    /// They were reported.
    pub(super) fn clear_duplicates(&mut self) {
        self.duplicates.clear();
    }

    /// The extended form of a TSN from the wire.
    #[inline]
    pub(super) const fn extend(&self, tsn: Tsn) -> u64 {
        extend(self.cumulative, tsn)
    }

    #[inline]
    pub(super) fn contains(&self, tsn: u64) -> bool {
        tsn <= self.cumulative || self.above.contains(tsn)
    }

    /// What `tsn` would be if it was accepted.
    #[inline]
    pub(super) fn judge(&self, tsn: u64) -> Arrival {
        if self.contains(tsn) {
            Arrival::Duplicate
        } else if tsn - self.cumulative > MAX_OFFSET {
            Arrival::OutOfRange
        } else {
            Arrival::New
        }
    }

    /// Remembers that `tsn` came again.
    pub(super) fn duplicate(&mut self, tsn: u64) {
        if self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push(wire(tsn));
        }
    }

    /// Books a new TSN with `payload` bytes.
    #[inline]
    pub(super) fn record(&mut self, tsn: u64, payload: usize) {
        if tsn == self.cumulative + 1 {
            self.advance(tsn + self.above.run_length(tsn + 1));
        } else {
            self.record_above(tsn, payload);
        }
    }

    /// No TSN up to `cum` is waited for.
    pub(super) fn skip_to(&mut self, cum: u64) {
        self.advance(cum + self.above.run_length(cum + 1));
    }

    /// TSNs go on behind `cum`; what arrived above the old ones is forgotten.
    pub(super) fn restart(&mut self, cum: u64) {
        self.advance(cum.max(self.cumulative));
    }

    #[inline]
    fn advance(&mut self, to: u64) {
        let passed = to - self.cumulative;
        self.cumulative = to;
        self.above.advance(to + 1);
        self.delivered.advance(to + 1);
        if !self.sizes.is_empty() {
            self.forget_sizes(passed);
        }
    }

    fn forget_sizes(&mut self, passed: u64) {
        let passed = usize::try_from(passed).unwrap_or(usize::MAX).min(self.sizes.len());
        self.out_of_order -= self.sizes.drain(..passed).map(u64::from).sum::<u64>();
        if self.sizes.is_empty() {
            self.sizes.shrink_to(KEPT_SIZES);
        }
    }

    fn record_above(&mut self, tsn: u64, payload: usize) {
        if !self.above.insert(tsn) {
            return;
        }
        let Some(index) = self.size_index(tsn) else { return };
        if self.sizes.len() <= index {
            self.sizes.resize(index + 1, 0);
        }
        if let Some(size) = self.sizes.get_mut(index) {
            // A chunk's length field has 16 bits.
            *size = u16::try_from(payload).unwrap_or(u16::MAX);
            self.out_of_order += u64::from(*size);
        }
    }

    fn size_index(&self, tsn: u64) -> Option<usize> {
        usize::try_from(tsn.checked_sub(self.cumulative + 1)?).ok()
    }

    /// Un-books a TSN above the cumulative one: its chunk was dropped (RFC 9260 section 6.2).
    pub(super) fn renege(&mut self, tsn: u64) {
        if !self.above.remove(tsn) {
            return;
        }
        let size = self.size_index(tsn).and_then(|index| self.sizes.get_mut(index));
        if let Some(size) = size {
            self.out_of_order -= u64::from(core::mem::take(size));
        }
    }

    /// The message in the TSNs from `first` to `last` was delivered. They are booked already.
    #[inline]
    pub(super) fn deliver(&mut self, first: u64, last: u64) {
        if self.nr_sack != NrSack::Delivered || last <= self.cumulative {
            return;
        }
        for tsn in first.max(self.cumulative + 1)..=last {
            self.delivered.insert(tsn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracker(initial: u32) -> Tracker {
        Tracker::new(Tsn(initial), NrSack::Delivered)
    }

    fn arrive(tracker: &mut Tracker, tsn: u32) -> Arrival {
        let tsn = tracker.extend(Tsn(tsn));
        let arrival = tracker.judge(tsn);
        if arrival == Arrival::New {
            tracker.record(tsn, 100);
        }
        arrival
    }

    #[test]
    fn the_cumulative_tsn_passes_filled_gaps_and_wraps() {
        let mut t = tracker(u32::MAX - 1);
        assert_eq!(arrive(&mut t, u32::MAX), Arrival::New);
        assert_eq!(arrive(&mut t, 1), Arrival::New);
        assert_eq!((wire(t.cumulative()), t.out_of_order()), (Tsn(u32::MAX - 2), 200));
        assert_eq!(arrive(&mut t, u32::MAX - 1), Arrival::New);
        assert_eq!((wire(t.cumulative()), t.out_of_order()), (Tsn(u32::MAX), 100));
        assert_eq!(arrive(&mut t, 0), Arrival::New);
        assert_eq!((wire(t.cumulative()), t.out_of_order()), (Tsn(1), 0));
        assert!(!t.has_gaps());
    }

    #[test]
    fn what_cannot_be_reported_is_out_of_range_and_old_tsns_are_duplicates() {
        let mut t = tracker(1000);
        assert_eq!(arrive(&mut t, 999 + 65_535), Arrival::New);
        assert_eq!(arrive(&mut t, 999 + 65_536), Arrival::OutOfRange);
        assert_eq!(arrive(&mut t, 999u32.wrapping_add(1 << 31)), Arrival::Duplicate);
        assert_eq!(arrive(&mut t, 998), Arrival::Duplicate);
        assert_eq!(arrive(&mut t, 999 + 65_535), Arrival::Duplicate);
    }

    #[test]
    fn reneging_takes_a_tsn_back() {
        let mut t = tracker(1);
        arrive(&mut t, 3);
        arrive(&mut t, 5);
        t.renege(t.extend(Tsn(5)));
        assert_eq!((t.highest(), t.out_of_order()), (t.extend(Tsn(3)), 100));
        assert_eq!(arrive(&mut t, 5), Arrival::New);
    }

    #[test]
    fn remembered_duplicates_are_bounded() {
        let mut t = tracker(1);
        (0..10_000).for_each(|_| t.duplicate(EPOCH));
        assert_eq!(t.duplicates().len(), MAX_DUPLICATES);
        t.clear_duplicates();
        assert!(t.duplicates().is_empty());
    }
}
