//! What happens next: one entry per link, timer and so on, not per packet.

use polypath_link::Nanos;

/// No time: the slot has nothing to do.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// The next time of each of a fixed number of slots, and the earliest of them.
///
/// A tournament tree: a change replays one way to the root, and nothing is ever invalid. Slots with equal times
/// come in the order in which they were set.
#[derive(Debug)]
pub(crate) struct Agenda {
    entries: Vec<Entry>,
    /// Node `n` holds the earlier slot of its children `2n` and `2n + 1`; node 1 is the root. The leaves, from
    /// `leaves` on, are the slots.
    winners: Vec<u32>,
    leaves: usize,
    /// Counts changes; breaks ties.
    changes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Nanos,
    order: u64,
}

impl Agenda {
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        let idle = Entry { at: NEVER, order: 0 };
        // Each inner node starts with the leftmost leaf below it; all are equal.
        let mut winners: Vec<u32> = vec![0; leaves];
        winners.extend(0..leaves as u32);
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node];
        }
        Self { entries: vec![idle; leaves], winners, leaves, changes: 0 }
    }

    /// Sets the next time of `slot`, [`NEVER`] for none. Keeps the slot's place among equals if it is the same.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, at: Nanos) {
        if self.entries[slot].at == at {
            return;
        }
        self.changes += 1;
        self.entries[slot] = Entry { at, order: self.changes };
        self.replay(slot);
    }

    /// The earliest slot and its time.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Nanos, usize)> {
        let slot = self.winners[1] as usize;
        let at = self.entries[slot].at;
        (at != NEVER).then_some((at, slot))
    }

    fn replay(&mut self, slot: usize) {
        let mut node = (self.leaves + slot) / 2;
        while node > 0 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            let later = self.entries[right as usize] < self.entries[left as usize];
            self.winners[node] = if later { right } else { left };
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_come_in_the_order_in_which_they_were_set() {
        let mut agenda = Agenda::new(3);
        agenda.set(2, 5);
        agenda.set(0, 5);
        agenda.set(1, 5);
        assert_eq!(agenda.next(), Some((5, 2)));
        agenda.set(2, 5);
        assert_eq!(agenda.next(), Some((5, 2)), "the same time again changes nothing");
        agenda.set(2, NEVER);
        assert_eq!(agenda.next(), Some((5, 0)));
    }

    proptest! {
        #[test]
        fn the_earliest_slot_comes_first(
            slots in 1usize..40,
            changes in proptest::collection::vec((0usize..40, 0u64..20), 0..200),
        ) {
            let mut agenda = Agenda::new(slots);
            let mut model = vec![(NEVER, 0); slots];
            for (order, (slot, at)) in (1..).zip(changes) {
                let (slot, at) = (slot % slots, if at == 0 { NEVER } else { at });
                agenda.set(slot, at);
                if model[slot].0 != at {
                    model[slot] = (at, order);
                }
                let first = model.iter().zip(0..).min().map(|(&(at, _), slot)| (at, slot));
                prop_assert_eq!(agenda.next(), first.filter(|(at, _)| *at != NEVER));
            }
        }
    }
}
