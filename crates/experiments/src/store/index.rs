//! Which runs there are, and where: 24 bytes a run.

use super::key::Key;

/// Entries that are not sorted in yet, at most.
const FRESH: usize = 1 << 16;

/// A run's key, its block and its row there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// The key in two halves: a number of 128 bits would take 32 bytes with what follows.
    key: [u64; 2],
    block: u32,
    row: u32,
}

/// Runs by key. Of several with one key the first counts: they are the same.
#[derive(Debug, Default)]
pub(super) struct Index {
    sorted: Vec<Entry>,
    fresh: Vec<Entry>,
}

fn halves(key: &Key) -> [u64; 2] {
    let bytes = key.to_bytes();
    let (high, low) = bytes.split_at(8);
    [high, low].map(|half| half.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn whole(key: [u64; 2]) -> Key {
    let [high, low] = key.map(u64::to_be_bytes);
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(high.into_iter().chain(low)).for_each(|(byte, from)| *byte = from);
    Key::of_bytes(bytes)
}

impl Index {
    pub(super) fn add(&mut self, key: &Key, block: u32, row: u32) {
        self.fresh.push(Entry { key: halves(key), block, row });
        if self.fresh.len() >= FRESH.max(self.sorted.len() / 4) {
            self.sort();
        }
    }

    /// Sorts in what was added.
    pub(super) fn sort(&mut self) {
        self.sorted.append(&mut self.fresh);
        // Nearly sorted, which this sort is made for.
        self.sorted.sort();
        self.sorted.dedup_by_key(|entry| entry.key);
    }

    /// Block and row of a run.
    pub(super) fn find(&self, key: &Key) -> Option<(u32, u32)> {
        let wanted = halves(key);
        let found = self.sorted.binary_search_by_key(&wanted, |entry| entry.key).ok();
        let found = found.and_then(|at| self.sorted.get(at));
        let found = found.or_else(|| self.fresh.iter().find(|entry| entry.key == wanted));
        found.map(|entry| (entry.block, entry.row))
    }

    /// Number of runs, once they are sorted in.
    pub(super) fn len(&self) -> usize {
        self.sorted.len() + self.fresh.len()
    }

    /// All keys, in their order, once they are sorted in.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.sorted.iter().map(|entry| whole(entry.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_24_bytes() {
        assert_eq!(size_of::<Entry>(), 24);
    }

    #[test]
    fn runs_are_found_before_and_after_they_are_sorted_in() {
        let keys: Vec<Key> = (0..1000_u32).map(|n| Key::from_content(&n.to_le_bytes())).collect();
        let mut index = Index::default();
        let check = |index: &mut Index, sort: bool| {
            keys.iter().enumerate().for_each(|(n, key)| index.add(key, n as u32, 7));
            if sort {
                index.sort();
            }
            assert!(keys.iter().enumerate().all(|(n, key)| index.find(key) == Some((n as u32, 7))));
            assert_eq!(index.find(&Key::from_content(b"another")), None);
        };
        check(&mut index, false);
        check(&mut index, true);
        assert_eq!(index.len(), 1000);
        let mut sorted = keys.clone();
        sorted.sort();
        assert!(index.keys().eq(sorted));
    }
}
