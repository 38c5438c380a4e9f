//! The command `polypath` with a path scheduler of one's own: in `simulate`, `sweep`, `population`
//! and all the rest it is named like those that are part of Polypath.
//!
//! ```sh
//! cargo run --release --example own_scheduler -- \
//!     sweep two-paths --axis stack.path-scheduler=rr,most-room,most-room?reserve=3000
//! ```

use std::process::ExitCode;

use polypath_policies::{OptionEntry, PolicyEntry, Registry};
use polypath_proto::policy::{PathPick, PathScheduler, Policy};
use polypath_proto::view::{AssocView, ChunkMeta};

const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("most-room", |options| {
    let reserve = options.number("reserve", 0..=1_000_000)?;
    Ok(Box::new(move |_cc, _rng| Box::new(MostRoom { reserve })))
})
.summary("the path with the most room in its congestion window")
.source("this example")
.options(&[OptionEntry {
    name: "reserve",
    default: "0",
    values: "<0..1000000>",
    summary: "bytes of each window that stay free while something is in flight",
}]);

/// The path with the most room, counted after leaving a reserve free.
#[derive(Debug)]
struct MostRoom {
    reserve: u64,
}

impl Policy for MostRoom {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for MostRoom {
    fn pick_path(&mut self, view: &AssocView<'_>, _next: &ChunkMeta) -> PathPick {
        // Nothing in flight brings no feedback that could wake us up.
        let busy = view.paths.iter().any(|path| path.outstanding > 0);
        let reserve = if busy { self.reserve } else { 0 };
        let open = view.sendable().filter(|path| path.room() > reserve);
        open.max_by_key(|path| path.room()).map_or(PathPick::Wait, |path| PathPick::Use(path.id))
    }
}

fn main() -> ExitCode {
    let mut registry = Registry::builtin();
    if let Err(error) = registry.add(ENTRY) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    polypath_cli::run_command(std::env::args_os(), registry).into()
}
