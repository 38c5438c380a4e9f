//! The scenarios that come with the project are read, mapped and expanded.

use std::path::{Path, PathBuf};

use polypath_experiments::disk::{read_source, source_from_text};
use polypath_experiments::sweep;
use polypath_run::{read_scenario, world_spec};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/examples");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

#[test]
fn every_example_makes_a_world() {
    let files = examples();
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let source = read_source(&file).unwrap_or_else(|error| panic!("{error}"));
        let scenario = read_scenario(&source).unwrap_or_else(|error| panic!("{error}"));
        let spec = world_spec(&scenario, false).unwrap();
        spec.check().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(!sweep::expand_sweep(&source).unwrap_or_else(|error| panic!("{error}")).is_empty());
    }
}

#[test]
fn a_scenario_survives_being_written_and_read() {
    for file in examples() {
        let scenario = read_source(&file).unwrap().parse_scenario().unwrap();
        let text = toml::to_string(&scenario).unwrap();
        // Where the file was, for the names of traces are relative.
        let again = source_from_text(file.display().to_string(), text).unwrap().parse_scenario();
        assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), scenario);
    }
}
