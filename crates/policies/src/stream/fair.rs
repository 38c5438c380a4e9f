//! `fair`: the same bandwidth for every stream (SS_FC, fair capacity).

use super::wfq::WeightedFair;
use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::stream_scheduler("fair", |_| {
    Ok(Box::new(|_, _| Box::new(WeightedFair::equal_weights(ENTRY.name))))
})
.summary("every non-empty stream gets the same number of bytes")
.source("RFC 8260 section 3.5");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::model::Model;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The rule in its own words: pick the smallest credit, subtract it from all, refill with the
    /// next message's size.
    fn by_credits(messages: &[(u16, u32)]) -> Vec<u16> {
        let mut queues: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for &(stream, chunks) in messages.iter().rev() {
            queues.entry(stream).or_default().push(chunks);
        }
        let mut credits: BTreeMap<u16, u32> =
            queues.iter_mut().filter_map(|(s, q)| Some((*s, q.pop()?))).collect();
        let mut sizes = credits.clone();
        let mut order = Vec::new();
        while let Some((&stream, &credit)) = credits.iter().min_by_key(|(_, credit)| **credit) {
            order.extend((0..sizes[&stream]).map(|_| stream));
            credits.values_mut().for_each(|c| *c -= credit);
            match queues.get_mut(&stream).and_then(Vec::pop) {
                Some(size) => {
                    credits.insert(stream, size);
                    sizes.insert(stream, size);
                }
                None => {
                    credits.remove(&stream);
                }
            }
        }
        order
    }

    proptest! {
        #[test]
        fn virtual_time_is_the_rule_of_credits(
            messages in prop::collection::vec((0u16..5, 1u32..9), 0..60),
        ) {
            let order = Model::new(&messages).drain(&mut WeightedFair::equal_weights(ENTRY.name), false);
            prop_assert_eq!(order, by_credits(&messages));
        }
    }

    #[test]
    fn credits_by_hand() {
        // Credits 3, 1, 2 chunks. Take 1 (3-1=2, next 1, 2-1=1); 1 and 2 tie at 1: lower stream;
        // and so on.
        let mut model = Model::new(&[(0, 3), (1, 1), (1, 1), (1, 1), (1, 1), (2, 2), (2, 2)]);
        let order = model.drain(&mut WeightedFair::equal_weights(ENTRY.name), false);
        assert_eq!(order, [1, 1, 2, 2, 0, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn bytes_are_shared_evenly_whatever_the_message_sizes() {
        for interleaved in [false, true] {
            let mut scheduler = WeightedFair::equal_weights(ENTRY.name);
            let mut model = Model::new(&[]);
            for _ in 0..1000 {
                model.push(&mut scheduler, 0, 1);
                model.push(&mut scheduler, 1, 5);
                model.push(&mut scheduler, 2, 20);
            }
            let order: Vec<_> =
                (0..1800).map_while(|_| model.step(&mut scheduler, interleaved)).collect();
            for stream in 0..3 {
                let chunks = order.iter().filter(|s| **s == stream).count();
                assert!(chunks.abs_diff(600) <= 20, "stream {stream}: {chunks} chunks");
            }
        }
    }

    #[test]
    fn interleaving_alternates_inside_large_messages() {
        let mut model = Model::new(&[(0, 3), (1, 3), (2, 1)]);
        let order = model.drain(&mut WeightedFair::equal_weights(ENTRY.name), true);
        // F is 1 for all, by chunks: 0, 1, 2 by the tie. Then 2, 2: 0, 1; then 3, 3.
        assert_eq!(order, [0, 1, 2, 0, 1, 0, 1]);
    }

    #[test]
    fn interleaving_lets_single_chunks_into_a_large_message_before_and_after_it_begins() {
        let mut scheduler = WeightedFair::equal_weights(ENTRY.name);
        let mut model = Model::new(&[(0, 100), (1, 1)]);
        let order: Vec<_> = (0..4).map_while(|_| model.step(&mut scheduler, true)).collect();
        assert_eq!(order, [0, 1, 0, 0]);
        model.push(&mut scheduler, 1, 1);
        model.push(&mut scheduler, 1, 1);
        // V is 3 chunks: F is 4 for both, then 5 for both.
        let order: Vec<_> = (0..5).map_while(|_| model.step(&mut scheduler, true)).collect();
        assert_eq!(order, [0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_stream_that_was_empty_gets_nothing_for_the_past() {
        let mut scheduler = WeightedFair::equal_weights(ENTRY.name);
        let mut model = Model::new(&[]);
        for _ in 0..100 {
            model.push(&mut scheduler, 0, 1);
        }
        assert!((0..50).all(|_| model.step(&mut scheduler, false) == Some(0)));
        for _ in 0..10 {
            model.push(&mut scheduler, 1, 1);
        }
        let order: Vec<_> = (0..6).map_while(|_| model.step(&mut scheduler, false)).collect();
        assert_eq!(order, [0, 1, 0, 1, 0, 1]);
    }
}
