//! What happens next: one entry per link, timer and so on, not per packet.

use polypath_link::Nanos;

/// No time: the slot has nothing to do.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// Bits of a key that hold the slot, below those that hold the order; above them is the time.
const SLOT_BITS: u32 = 24;
/// Bits of the order: enough for 10^12 changes, months of computing.
const ORDER_BITS: u32 = 40;
const SLOT_MASK: u128 = (1 << SLOT_BITS) - 1;

/// The next time of each of a fixed number of slots, and the earliest of them.
///
/// A tournament tree: a change replays its way to the root, and nothing is ever invalid. Slots with
/// equal times come in the order in which they were set.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// Node `n` is the smaller of its children `2n` and `2n + 1`; node 1 is the root. The leaves,
    /// from `leaves` on, are the slots. A node is one number, time first, so that comparing takes
    /// no branch and no look-up.
    keys: Vec<u128>,
    leaves: usize,
    /// Counts changes; breaks ties.
    changes: u64,
}

impl EventQueue {
    /// A queue of so many idle slots, fewer than 2^24.
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        Self { keys: vec![packed_key(NEVER, 0, 0); 2 * leaves], leaves, changes: 0 }
    }

    /// Sets the next time of `slot`, [`NEVER`] for none. Keeps the slot's place among equals if it
    /// is the same.
    #[inline]
    pub(crate) fn set_time(&mut self, slot: usize, at: Nanos) {
        if time_of_key(self.keys[self.leaves + slot]) != at {
            self.changes += 1;
            self.replay_to_root(slot, packed_key(at, self.changes, slot));
        }
    }

    /// The earliest slot and its time.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<(Nanos, usize)> {
        let first = self.keys[1];
        let at = time_of_key(first);
        (at != NEVER).then_some((at, (first & SLOT_MASK) as usize))
    }

    fn replay_to_root(&mut self, slot: usize, mut smallest: u128) {
        let mut node = self.leaves + slot;
        loop {
            if self.keys[node] == smallest {
                return;
            }
            self.keys[node] = smallest;
            if node == 1 {
                return;
            }
            smallest = smallest.min(self.keys[node ^ 1]);
            node /= 2;
        }
    }
}

#[inline]
const fn packed_key(at: Nanos, order: u64, slot: usize) -> u128 {
    (at as u128) << (SLOT_BITS + ORDER_BITS) | (order as u128) << SLOT_BITS | slot as u128
}

#[inline]
const fn time_of_key(key: u128) -> Nanos {
    (key >> (SLOT_BITS + ORDER_BITS)) as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_come_in_the_order_in_which_they_were_set() {
        let mut queue = EventQueue::new(3);
        queue.set_time(2, 5);
        queue.set_time(0, 5);
        queue.set_time(1, 5);
        assert_eq!(queue.next_event(), Some((5, 2)));
        queue.set_time(2, 5);
        assert_eq!(queue.next_event(), Some((5, 2)), "the same time again changes nothing");
        queue.set_time(2, NEVER);
        assert_eq!(queue.next_event(), Some((5, 0)));
    }

    proptest! {
        #[test]
        fn the_earliest_slot_comes_first(
            slots in 1usize..40,
            changes in proptest::collection::vec((0usize..40, 0u64..20), 0..200),
        ) {
            let mut queue = EventQueue::new(slots);
            let mut model = vec![(NEVER, 0); slots];
            for (order, (slot, at)) in (1..).zip(changes) {
                let (slot, at) = (slot % slots, if at == 0 { NEVER } else { at });
                queue.set_time(slot, at);
                if model[slot].0 != at {
                    model[slot] = (at, order);
                }
                let first = model.iter().zip(0..).min().map(|(&(at, _), slot)| (at, slot));
                prop_assert_eq!(queue.next_event(), first.filter(|(at, _)| *at != NEVER));
            }
        }
    }
}
