//! `min-rtt`: the fastest path with room.

use polypath_proto::policy::{PathPick, PathScheduler, Policy};
use polypath_proto::time::Duration;
use polypath_proto::view::{AssocView, ChunkMeta};

use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("min-rtt", read_options)
    .summary("the path of the smallest smoothed RTT among those with an open window")
    .source("Multipath TCP's default scheduler in Linux")
    .options(&[OptionEntry {
        name: "unmeasured",
        default: "rto-initial",
        values: "rto-initial|first",
        summary: "RTT of a path without a sample: RTO.Initial, or zero so that it is tried first",
    }]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let choices = [("rto-initial", Unmeasured::RtoInitial), ("first", Unmeasured::First)];
    let unmeasured = options.choice("unmeasured", &choices)?;
    Ok(Box::new(move |_, _| Box::new(MinRtt { unmeasured })))
}

/// What stands in for the RTT of a path that was not measured yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// RTO.Initial.
    RtoInitial,
    /// Zero.
    First,
}

/// Smallest smoothed RTT first; ties go to the path that was added first.
#[derive(Clone, Copy, Debug)]
pub struct MinRtt {
    /// How paths without an RTT sample are treated.
    pub unmeasured: Unmeasured,
}

impl Policy for MinRtt {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for MinRtt {
    fn pick_path(&mut self, view: &AssocView<'_>, _next: &ChunkMeta) -> PathPick {
        let unmeasured = match self.unmeasured {
            Unmeasured::RtoInitial => view.rto_initial,
            Unmeasured::First => Duration::ZERO,
        };
        let fastest = view.sendable().min_by_key(|p| p.srtt.unwrap_or(unmeasured));
        fastest.map_or(PathPick::Wait, |p| PathPick::Use(p.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{chunk, paths, view};
    use polypath_proto::PathId;

    #[test]
    fn the_fastest_open_path_wins() {
        let mut p = paths(3);
        p[0].srtt = Some(Duration::from_millis(90));
        p[1].srtt = Some(Duration::from_millis(20));
        let mut scheduler = MinRtt { unmeasured: Unmeasured::RtoInitial };
        assert_eq!(scheduler.pick_path(&view(&p), &chunk(0, 1)), PathPick::Use(PathId(1)));
        p[1].sendable = false;
        assert_eq!(scheduler.pick_path(&view(&p), &chunk(0, 1)), PathPick::Use(PathId(0)));
        scheduler.unmeasured = Unmeasured::First;
        assert_eq!(scheduler.pick_path(&view(&p), &chunk(0, 1)), PathPick::Use(PathId(2)));
        p.iter_mut().for_each(|p| p.sendable = false);
        assert_eq!(scheduler.pick_path(&view(&p), &chunk(0, 1)), PathPick::Wait);
    }
}
