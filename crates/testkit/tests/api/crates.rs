//! Which packages are published, and where their sources are.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Names of the published packages that are libraries, with their folders of sources.
pub(crate) fn published_libraries() -> Vec<(String, PathBuf)> {
    let folders = fs::read_dir(root().join("crates")).expect("crates").flatten();
    let mut found: Vec<_> = folders.filter_map(|entry| library(&entry.path())).collect();
    found.sort();
    assert!(found.len() > 10, "{found:?}");
    found
}

fn library(folder: &Path) -> Option<(String, PathBuf)> {
    let manifest: toml::Table =
        fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().expect("a manifest");
    let package = manifest["package"].as_table().expect("a package");
    let hidden = package.get("publish").is_some_and(|value| value.as_bool() == Some(false));
    let source = folder.join("src");
    let name = package["name"].as_str().expect("a name").to_owned();
    (!hidden && source.join("lib.rs").exists()).then_some((name, source))
}
