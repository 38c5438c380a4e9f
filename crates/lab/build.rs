//! Names the stack's version by its sources and by the crates it is built from, so that stored results are never
//! mistaken for those of another one.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// What decides about the result of a run. The lock file stands for the versions of all dependencies: a random
/// distribution or an ordering of theirs may change with a new one.
const SOURCES: [&str; 11] = [
    "../../Cargo.lock",
    "../wire/src",
    "../proto/src",
    "../policies/src",
    "../link/src",
    "../sim/src",
    "../metrics/src",
    "src/world.rs",
    "src/world",
    "src/profile.rs",
    "src/limit",
];

fn main() {
    let mut hash = Sha256::new();
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        for file in files(Path::new(source)) {
            let text = fs::read(&file).expect("a source file can be read");
            hash.update(file.to_string_lossy().as_bytes());
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(&text);
        }
    }
    let digest: String = hash.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
    println!("cargo:rustc-env=POLYPATH_STACK={digest}");
}

fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).expect("a source folder can be read");
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    inside.iter().flat_map(|path| files(path)).collect()
}
