//! Scenario files on this machine's disk.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use polypath_scenario::{Files, ScenarioError, Source};

/// The files of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

impl Files for Disk {
    fn text(&self, path: &Path) -> io::Result<String> {
        std::fs::read_to_string(path)
    }
}

/// No policy takes a longer file.
const MAX_POLICY_FILE: u64 = 1 << 20;

/// The text of a file of this machine, for a registry of policies; relative names are of the
/// working directory.
///
/// # Errors
/// One line that names the file.
pub fn read_policy_file(name: &str) -> Result<String, String> {
    let refused = |error: io::Error| format!("{name}: {error}");
    let file = std::fs::File::open(name).map_err(refused)?;
    let mut text = String::new();
    file.take(MAX_POLICY_FILE + 1).read_to_string(&mut text).map_err(refused)?;
    if text.len() as u64 > MAX_POLICY_FILE {
        return Err(format!("{name}: too long (allowed: up to {MAX_POLICY_FILE} bytes)"));
    }
    Ok(text)
}

/// Reads a scenario file; files that it names are looked for beside it.
///
/// # Errors
/// When it cannot be read or is not TOML.
pub fn read_source(path: &Path) -> Result<Source, ScenarioError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => source_from_text(name, text),
        Err(error) => Err(ScenarioError::of_file(name, format!("cannot be read: {error}"))),
    }
}

/// Takes a text; `name` stands for its file in messages, and files that it names are looked for
/// in the folder of `name`.
///
/// # Errors
/// When it is not TOML.
pub fn source_from_text(
    name: impl Into<String>,
    text: impl Into<String>,
) -> Result<Source, ScenarioError> {
    Source::with_files(name, text, Arc::new(Disk))
}
