//! The packages, what they declare, and what ARCHITECTURE.md says that they use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Names of packages without `polypath-`.
pub(crate) type Names = BTreeSet<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folders of all packages.
pub(crate) fn packages() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(root().join("crates")).expect("crates").flatten();
    let mut folders: Vec<_> = crates.map(|entry| entry.path()).collect();
    folders.push(root().join("interop"));
    folders.retain(|folder| folder.join("Cargo.toml").exists());
    folders.sort();
    folders
}

pub(crate) fn manifest(folder: &Path) -> toml::Table {
    let text = std::fs::read_to_string(folder.join("Cargo.toml")).expect("readable");
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

/// A package's name as the table and the rule write it.
pub(crate) fn short(name: &str) -> String {
    name.strip_prefix("polypath-").unwrap_or(name).to_owned()
}

/// The packages of ours that a package depends on, but for its tests.
pub(crate) fn declared(folder: &Path) -> Names {
    let manifest = manifest(folder);
    let dependencies = manifest.get("dependencies").and_then(|table| table.as_table());
    let names = dependencies.into_iter().flatten().map(|(name, _)| name);
    names.filter(|name| name.starts_with("polypath")).map(|name| short(name)).collect()
}

/// From ARCHITECTURE.md's table of crates: package and what it uses.
pub(crate) fn table() -> BTreeMap<String, Names> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("readable");
    let rows = text.lines().filter(|line| line.starts_with("| `polypath"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (first, last) = (cells[0].trim_matches('`'), cells[cells.len() - 1]);
        let uses = last.split(", ").filter(|name| *name != "nothing").map(str::to_owned);
        (short(first), uses.collect())
    })
    .collect()
}
