//! How long each path takes at least, and how long it took just then.

use std::collections::BTreeMap;

use crate::chunks::Chunks;

const SECOND: u64 = 1_000_000_000;

/// Floors are looked for within so many seconds before and after.
const WINDOW: u64 = 30;

/// A neighbour further away tells nothing of a queue, ns.
const NEAR: u64 = SECOND;

/// One-way delays of one direction, by the sender's paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Floors(BTreeMap<u8, PathDelays>);

#[derive(Clone, Debug, Default)]
struct PathDelays {
    /// When it was sent, and how long it took, ns; ascending.
    delays: Vec<(u64, u64)>,
    /// The least of each second.
    least: BTreeMap<u64, u64>,
}

impl Floors {
    /// Of all transmissions that came.
    pub(crate) fn of(chunks: &Chunks) -> Self {
        let mut paths: BTreeMap<u8, PathDelays> = BTreeMap::new();
        for one in chunks.0.iter().flat_map(|chunk| &chunk.transmissions) {
            let Some(came) = one.arrival else { continue };
            let delay = came.at.saturating_sub(one.sent);
            let path = paths.entry(one.path).or_default();
            path.delays.push((one.sent, delay));
            let least = path.least.entry(one.sent / SECOND).or_insert(delay);
            *least = delay.min(*least);
        }
        paths.values_mut().for_each(|path| path.delays.sort_unstable());
        Self(paths)
    }

    /// What anything sent on `path` at `at` takes at least, ns; 0 where nothing came.
    pub(crate) fn floor(&self, path: u8, at: u64) -> u64 {
        let Some(own) = self.0.get(&path) else { return 0 };
        let second = at / SECOND;
        let near = second.saturating_sub(WINDOW)..=second.saturating_add(WINDOW);
        let least = own.least.range(near).map(|(_, least)| *least).min();
        least.or_else(|| own.least.values().copied().min()).unwrap_or(0)
    }

    /// What something sent on `path` at `at` would have taken: as long as its nearest neighbour.
    pub(crate) fn expected(&self, path: u8, at: u64) -> u64 {
        let floor = self.floor(path, at);
        let Some(own) = self.0.get(&path) else { return floor };
        let after = own.delays.partition_point(|(sent, _)| *sent < at);
        let (before, rest) = own.delays.split_at(after);
        let near = |(sent, delay): &(u64, u64)| (sent.abs_diff(at), *delay);
        let neighbours = before.last().into_iter().chain(rest.first()).map(near);
        let nearest = neighbours.min().filter(|(distance, _)| *distance <= NEAR);
        nearest.map_or(floor, |(_, delay)| delay.max(floor))
    }
}
