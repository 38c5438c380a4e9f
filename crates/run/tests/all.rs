//! All tests of runs in one program: it links once, and its tests run beside each other.

mod admin;
mod changes;
mod closed_forms;
mod common;
mod copies;
mod dependencies;
mod failover;
mod fast;
mod given_up;
mod metric_names;
mod nat;
mod ns2_reference;
mod ns2_rows;
mod outage;
mod path_order;
mod response_times;
mod thin_near_paths;
mod wake_ups;
mod way_back;

/// A file that is not named above would be no test at all.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at its own files")]
fn every_file_is_part_of_this_program() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let text = include_str!("all.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_test = path.extension().is_some_and(|extension| extension == "rs");
        assert!(!is_test || name == "all" || text.contains(&format!("mod {name};")), "{name}");
    }
}
