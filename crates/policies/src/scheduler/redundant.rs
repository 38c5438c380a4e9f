//! `redundant`: the same data on several paths.
//!
//! New data leaves by the fastest path, and only by it: when its window is full, all wait, so that
//! goodput is what the best path carries. The other paths send copies, each as fast as its own
//! window allows; what is acknowledged by then is left out. So a slow path carries the newest data
//! that is still missing, and a message arrives with the first copy that does.

use polypath_proto::PathId;
use polypath_proto::policy::{PathPick, PathScheduler, Policy};
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("redundant", read_options)
    .summary("new data on the fastest path, and copies of it on the others")
    .source("Frömmgen et al., IEEE ICC 2016 (ReMP TCP); Multipath TCP in Linux")
    .options(&[OptionEntry {
        name: "paths",
        default: "16",
        values: "<2..16>",
        summary: "paths that carry each chunk, at most; the fastest ones",
    }]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let paths = options.number("paths", 2..=16)?;
    Ok(Box::new(move |_, _| Box::new(Redundant { paths })))
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Redundant {
    /// Paths that carry each chunk, at most.
    pub paths: usize,
}

/// Usable paths, the fastest first.
fn rank_paths<'a>(view: &AssocView<'a>) -> Vec<&'a PathView> {
    let mut paths: Vec<&PathView> = view.usable().collect();
    paths.sort_by_key(|p| (p.srtt.unwrap_or(view.rto_initial), p.id));
    paths
}

impl Policy for Redundant {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for Redundant {
    fn pick_path(&mut self, view: &AssocView<'_>, _next: &ChunkMeta) -> PathPick {
        let fastest = rank_paths(view).first().copied().filter(|p| p.sendable);
        // Without anything in flight there is no feedback that could wake us.
        let any = || view.sendable().next().filter(|_| view.outstanding == 0);
        fastest.or_else(any).map_or(PathPick::Wait, |p| PathPick::Use(p.id))
    }

    fn copy_paths(&self, view: &AssocView<'_>, path: PathId, _chunk: &ChunkMeta) -> Vec<PathId> {
        let others = rank_paths(view).into_iter().map(|p| p.id).filter(|&p| p != path);
        others.take(self.paths.saturating_sub(1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{chunk, paths, view};
    use polypath_proto::time::Duration;

    #[test]
    fn the_fastest_path_admits_and_the_next_ones_copy() {
        let mut p = paths(3);
        for (path, ms) in p.iter_mut().zip([90, 20, 50]) {
            path.srtt = Some(Duration::from_millis(ms));
        }
        let mut scheduler = Redundant { paths: 2 };
        let next = chunk(0, 1);
        assert_eq!(scheduler.pick_path(&view(&p), &next), PathPick::Use(PathId(1)));
        assert_eq!(scheduler.copy_paths(&view(&p), PathId(1), &next), [PathId(2)]);
        scheduler.paths = 16;
        assert_eq!(scheduler.copy_paths(&view(&p), PathId(1), &next), [PathId(2), PathId(0)]);
        p[1].sendable = false;
        let mut busy = view(&p);
        busy.outstanding = 1000;
        assert_eq!(
            scheduler.pick_path(&busy, &next),
            PathPick::Wait,
            "no faster than the best path"
        );
        p[1].usable = false;
        assert_eq!(scheduler.pick_path(&view(&p), &next), PathPick::Use(PathId(2)));
        assert_eq!(scheduler.copy_paths(&view(&p), PathId(2), &next), [PathId(0)]);
    }
}
