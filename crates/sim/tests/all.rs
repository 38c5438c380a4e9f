//! All tests of the simulator in one program: it links once, and its tests run beside each other.

mod capture;
mod common;
mod congestion;
mod determinism;
mod interleaving;
mod limited_reports;
mod multipath;
mod pacing;
mod single_path;
mod specification;
mod tuning;

/// A file that is not named above would be no test at all.
#[test]
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
