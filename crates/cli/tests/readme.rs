//! The commands of README.md, run as a reader would type them; its Rust is that of the crate's
//! documentation, which is compiled.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;

/// Longer than any block takes, on a machine that does other things, too.
const BOUND: Duration = Duration::from_secs(120);

/// How README.md says that a block is not run, and why.
const NOT_RUN: &str = "<!-- not run: ";

/// The package of the command, whose release is not built here: what was built for this test stands
/// for it.
const BUILT: (&str, &str) = ("cargo run --profile quick -p polypath-cli --", "polypath");

/// A fenced block.
struct Block {
    language: String,
    /// Why it is not run.
    not_run: Option<String>,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blocks() -> Vec<Block> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let (mut open, mut before) = (false, "");
    for line in readme.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(language), false) => {
                let reason = before.strip_prefix(NOT_RUN).and_then(|r| r.strip_suffix(" -->"));
                blocks.push(Block {
                    language: language.to_owned(),
                    not_run: reason.map(str::to_owned),
                    text: String::new(),
                });
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                let block = blocks.last_mut().expect("a block is open");
                block.text += line;
                block.text.push('\n');
            }
            (None, false) => before = line,
        }
    }
    blocks
}

/// A folder that holds nothing: what is installed needs no checkout.
fn empty_folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// This build's `polypath` before all others.
fn search_path() -> std::ffi::OsString {
    let program = assert_cmd::cargo::cargo_bin("polypath");
    let here = program.parent().map(Path::to_owned);
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(here.into_iter().chain(std::env::split_paths(&others))).unwrap()
}

#[test]
fn commands_of_the_readme_work() {
    let folder = empty_folder();
    let (mut run, mut skipped) = (0, Vec::new());
    for block in blocks().into_iter().filter(|block| block.language == "sh") {
        if let Some(reason) = block.not_run {
            skipped.push(reason);
            continue;
        }
        let script = block.text.replace(BUILT.0, BUILT.1);
        assert!(!script.contains("cargo "), "nothing builds here: {script}");
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &script]).env("PATH", search_path()).current_dir(folder.path());
        let output = shell.timeout(BOUND).output().unwrap();
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{script}: {talk}");
        run += 1;
    }
    for reason in &skipped {
        eprintln!("skipped: {reason}");
    }
    assert!(run >= 2 && skipped.iter().all(|reason| !reason.is_empty()));
    assert!(folder.path().join("run.pcapng").exists() && folder.path().join("run.jsonl").exists());
}

#[test]
fn packages_that_the_readme_names_are_there() {
    let manifest = fs::read_to_string(root().join("crates/cli/Cargo.toml")).unwrap();
    assert!(BUILT.0.contains("-p polypath-cli ") && manifest.contains("name = \"polypath-cli\""));
    let manifest = fs::read_to_string(root().join("crates/polypath/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"polypath\""));
}

#[test]
fn rust_of_the_readme_is_compiled_as_documentation() {
    let docs = fs::read_to_string(root().join("crates/polypath/src/lib.rs")).unwrap();
    let docs: Vec<&str> = docs.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    let rust: Vec<_> = blocks().into_iter().filter(|block| block.language == "rust").collect();
    assert!(!rust.is_empty());
    for line in rust.iter().flat_map(|block| block.text.lines()) {
        assert!(docs.contains(&line), "not in crates/polypath/src/lib.rs: {line}");
    }
}

#[test]
fn blocks_say_what_they_are() {
    for block in blocks() {
        let known = ["sh", "text", "rust"].contains(&block.language.as_str());
        assert!(known, "a block in {:?}: {}", block.language, block.text);
    }
}
