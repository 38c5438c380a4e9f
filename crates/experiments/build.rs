//! Names the stack's version by its sources and by the crates it is built from, so that stored
//! results are never mistaken for those of another one; and by what comes out of its runs, so that
//! pages of results are not stale because of a change that leaves results as they are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The crate that makes a run of a scenario: with those below it, it decides about the result.
const ROOT: &str = "polypath-run";
/// The lock file has the versions of all other dependencies: a random distribution or an ordering
/// of theirs may change with a new one.
const LOCK: &str = "../../Cargo.lock";
/// The profiles whose results are kept as hashes, by the names of the files.
const PROFILES: [&str; 3] = ["paper", "ns2", "fast"];
/// What the program carries (`src/carried.rs`); a file that comes or goes is no change of another.
const CARRIED: &str = "files";

fn main() {
    let mut hash = Sha256::new();
    // Crates from a registry have no neighbours; there the version alone says which sources they
    // are of.
    let sources = crates().into_iter().map(|name| folder(&name).join("src"));
    for source in sources.filter(|source| source.exists()) {
        println!("cargo:rerun-if-changed={}", source.display());
        for file in files(&source) {
            let text = fs::read(&file).expect("a source file can be read");
            hash.update(file.to_string_lossy().as_bytes());
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(&text);
        }
    }
    println!("cargo:rerun-if-changed={LOCK}");
    for package in locked_packages(&fs::read_to_string(LOCK).unwrap_or_default()) {
        hash.update(package.as_bytes());
    }
    let digest: String = hash.finalize().iter().take(8).map(hexadecimal).collect();
    println!("cargo:rustc-env=POLYPATH_STACK={digest}");
    for profile in PROFILES {
        let kept = Path::new("fingerprints").join(format!("{profile}.txt"));
        println!("cargo:rerun-if-changed={}", kept.display());
        let text = fs::read(&kept).expect("every profile has its fingerprint");
        let digest: String = Sha256::digest(&text).iter().take(4).map(hexadecimal).collect();
        println!("cargo:rustc-env=POLYPATH_RESULTS_{}={digest}", profile.to_uppercase());
    }
    files(Path::new(CARRIED)).iter().filter_map(|file| file.parent()).for_each(|folder| {
        println!("cargo:rerun-if-changed={}", folder.display());
    });
}

fn hexadecimal(byte: &u8) -> String {
    format!("{byte:02x}")
}

/// The entries of the lock file for what [`ROOT`] and the crates below it are built from. Those of
/// our own crates name their tools for tests, too; their manifests know better.
fn locked_packages(lock: &str) -> BTreeSet<&str> {
    let entries = lock.split("\n\n").filter(|entry| entry.starts_with("[[package]]"));
    let entries: Vec<(&str, &str)> =
        entries.filter_map(|entry| Some((field(entry, "name")?, entry))).collect();
    let own = crates();
    let manifests = own.iter().map(|name| fs::read_to_string(folder(name).join("Cargo.toml")));
    let mut open: Vec<String> = Vec::new();
    for manifest in manifests.map_while(Result::ok) {
        open.extend(dependencies(&manifest).map(str::to_owned));
    }
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        // Several versions may be there; which one is meant is not worth finding out.
        for (_, entry) in entries.iter().filter(|(known, _)| *known == name && !own.contains(&name))
        {
            if found.insert(*entry) {
                let below = entry.split_once("dependencies = [").map_or("", |(_, list)| list);
                open.extend(below.split('"').skip(1).step_by(2).map(first_word));
            }
        }
    }
    found
}

fn first_word(text: &str) -> String {
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// The value of `name = "value"`.
fn field<'a>(entry: &'a str, name: &str) -> Option<&'a str> {
    let line = entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""))?;
    line.strip_suffix('"')
}

/// The names of [`ROOT`] and of all crates of ours below it, as their manifests have them.
fn crates() -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    let mut open = vec![ROOT.to_owned()];
    while let Some(name) = open.pop() {
        let manifest = folder(&name).join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        println!("cargo:rerun-if-changed={}", manifest.display());
        let below = dependencies(&text).filter(|below| below.starts_with("polypath-"));
        open.extend(below.filter(|below| !known.contains(*below)).map(str::to_owned));
        known.insert(name);
    }
    known
}

/// The dependencies of a manifest, without those of tests.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let own = lines.take_while(|line| !line.starts_with('['));
    own.filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|name| !name.is_empty())
}

/// Where a crate of this workspace has its sources.
fn folder(name: &str) -> PathBuf {
    Path::new("..").join(name.trim_start_matches("polypath-"))
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
