//! A path scheduler that Polypath does not know.

use polypath::policy::{
    AssocView, ChunkMeta, OptionEntry, PathPick, PathScheduler, Policy, PolicyEntry,
};

/// The path with the most room in its congestion window, counted after leaving a reserve free.
#[derive(Debug)]
struct MostRoom {
    /// Bytes.
    reserve: u64,
}

impl Policy for MostRoom {
    fn name(&self) -> &'static str {
        "most-room"
    }
}

impl PathScheduler for MostRoom {
    fn pick_path(&mut self, view: &AssocView<'_>, _next: &ChunkMeta) -> PathPick {
        // Nothing in flight: no acknowledgement would ask again, so the reserve does not count.
        let idle = view.paths.iter().all(|path| path.outstanding == 0);
        let reserve = if idle { 0 } else { self.reserve };
        let roomy = view.sendable().filter(|path| path.room() > reserve);
        let best = roomy.max_by_key(|path| path.room());
        best.map_or(PathPick::Wait, |path| PathPick::Use(path.id))
    }
}

/// How the registry makes it.
pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("most-room", |options| {
    let reserve = options.number("reserve", 0..=1_000_000)?;
    Ok(Box::new(move |_settings, _rng| Box::new(MostRoom { reserve })))
})
.summary("the path with the most room in its congestion window")
.source("this application")
.options(&[OptionEntry {
    name: "reserve",
    default: "0",
    values: "<0..1000000>",
    summary: "bytes of the window that stay free",
}]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_rules() {
        for seed in 1..=8 {
            polypath_testkit::conformance::check_path_scheduler(
                |_seed| Box::new(MostRoom { reserve: 3000 }),
                seed,
            );
        }
    }
}
