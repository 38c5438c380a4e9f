//! `fixed`: each stream has its path.

use std::collections::BTreeMap;

use polypath_proto::PathId;
use polypath_proto::ids::StreamId;
use polypath_proto::policy::{PathPick, PathScheduler, Policy};
use polypath_proto::view::{AssocView, ChunkMeta, PathAdmin, PathView};

use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("fixed", read_options)
    .summary("a fixed map of streams to paths; streams of a failed path move until it is back")
    .source("S0 section 6.1")
    .options(&[OptionEntry {
        name: "map",
        default: "mod",
        values: "mod|<stream:path,stream:path,...>",
        summary: "stream modulo number of paths; or pairs, the streams not listed going by mod",
    }]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let map = match options.text("map") {
        "mod" => StreamMap::default(),
        "" => return Err(options.refuse("map")),
        _ => {
            let pairs = options.map("map", 0..=u16::MAX, 0..=u8::MAX)?;
            pairs.into_iter().map(|(s, p)| (StreamId(s), PathId(p))).collect()
        }
    };
    Ok(Box::new(move |_, _| Box::new(FixedMap::new(map.clone()))))
}

/// Streams and their paths. A stream that is not listed has the path "stream modulo number of
/// paths".
pub type StreamMap = BTreeMap<StreamId, PathId>;

/// A fixed map of streams to paths.
///
/// Streams whose path is not usable are dealt out over the usable ones by their rank among the
/// streams of that path, so that they spread evenly, and return when it recovers.
#[derive(Clone, Debug)]
pub struct FixedMap {
    map: StreamMap,
}

impl FixedMap {
    /// A scheduler with this map.
    pub const fn new(map: StreamMap) -> Self {
        Self { map }
    }

    fn path_of(&self, view: &AssocView<'_>, stream: StreamId) -> Option<PathId> {
        let (home, rank) = self.home_of(view, stream);
        let home = view.path(home).filter(|p| p.usable);
        home.or_else(|| {
            let n = view.usable().count();
            view.usable().nth(rank.checked_rem(n)?)
        })
        .map(|p| p.id)
    }

    /// The stream's path while nothing fails, and its rank among the streams of that path.
    fn home_of(&self, view: &AssocView<'_>, stream: StreamId) -> (PathId, usize) {
        if let Some(&home) = self.map.get(&stream) {
            let earlier = self.map.range(..stream).filter(|(_, path)| **path == home);
            return (home, earlier.count());
        }
        let number = usize::from(stream.0);
        let homes = || view.paths.iter().filter(|p: &&PathView| p.admin == PathAdmin::Active);
        let n = homes().count().max(1);
        (homes().nth(number % n).map_or(view.primary, |p| p.id), number / n)
    }
}

impl Policy for FixedMap {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for FixedMap {
    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        if view.sendable().next().is_none() {
            return PathPick::Wait;
        }
        let path = self.path_of(view, next.stream).and_then(|p| view.path(p));
        path.filter(|p| p.sendable).map_or(PathPick::Skip, |p| PathPick::Use(p.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{chunk, paths, view};

    fn picks(map: &mut FixedMap, p: &[PathView], streams: u16) -> Vec<Option<u8>> {
        let pick = |s| match map.pick_path(&view(p), &chunk(s, 100)) {
            PathPick::Use(path) => Some(path.0),
            other => {
                assert_eq!(other, PathPick::Skip);
                None
            }
        };
        (0..streams).map(pick).collect()
    }

    fn fail(path: &mut PathView, failed: bool) {
        (path.usable, path.sendable) = (!failed, !failed);
    }

    #[test]
    fn seven_streams_over_three_paths_as_in_s0() {
        let pairs = [(1, 0), (3, 0), (5, 0), (2, 1), (4, 1), (6, 1), (0, 2)];
        let pairs = pairs.map(|(s, p)| (StreamId(s), PathId(p)));
        let mut map = FixedMap::new(StreamMap::from(pairs));
        let mut p = paths(3);
        let all = |ids: [u8; 7]| ids.map(Some).to_vec();
        assert_eq!(picks(&mut map, &p, 7), all([2, 0, 1, 0, 1, 0, 1]));
        fail(&mut p[0], true);
        assert_eq!(picks(&mut map, &p, 7), all([2, 1, 1, 2, 1, 1, 1]), "1, 3, 5 to 1, 2, 1");
        fail(&mut p[0], false);
        assert_eq!(picks(&mut map, &p, 7), all([2, 0, 1, 0, 1, 0, 1]), "back home");
    }

    #[test]
    fn a_full_path_skips_its_streams_and_only_those() {
        let mut map = FixedMap::new(StreamMap::new());
        let mut p = paths(2);
        p[1].sendable = false;
        assert_eq!(picks(&mut map, &p, 4), [Some(0), None, Some(0), None]);
        p[0].sendable = false;
        assert_eq!(map.pick_path(&view(&p), &chunk(0, 100)), PathPick::Wait);
    }

    #[test]
    fn modulo_spreads_the_streams_of_a_failed_path() {
        let mut map = FixedMap::new(StreamMap::new());
        let mut p = paths(3);
        fail(&mut p[2], true);
        // Streams 2, 5, 8 have ranks 0, 1, 2 on path 2.
        let expected = [0, 1, 0, 0, 1, 1, 0, 1, 0].map(Some);
        assert_eq!(picks(&mut map, &p, 9), expected);
    }

    #[test]
    fn a_map_to_a_path_that_does_not_exist_is_remapped() {
        let mut map = FixedMap::new(StreamMap::from([(StreamId(0), PathId(9))]));
        assert_eq!(picks(&mut map, &paths(2), 1), [Some(0)]);
    }
}
