//! Scenario files on this machine's disk.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use polypath_scenario::{Files, ScenarioError, Source};

/// The files of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

/// Bytes of a file that a scenario names, at most: traces have some megabytes.
const MAX_FILE: u64 = 64 << 20;

impl Files for Disk {
    fn text(&self, path: &Path) -> io::Result<String> {
        read_bounded(path, MAX_FILE)
    }
}

/// A file may be of anybody, and without an end.
fn read_bounded(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        let problem = format!("too long (allowed: up to {most} bytes)");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(text)
}

/// No policy takes a longer file.
const MAX_POLICY_FILE: u64 = 1 << 20;

/// The text of a file of this machine, for a registry of policies; relative names are of the
/// working directory.
///
/// # Errors
/// One line that names the file.
pub fn read_policy_file(name: &str) -> Result<String, String> {
    read_bounded(Path::new(name), MAX_POLICY_FILE).map_err(|error| format!("{name}: {error}"))
}

/// Reads a scenario file; files that it names are looked for beside it.
///
/// # Errors
/// When it cannot be read or is not TOML.
pub fn read_source(path: &Path) -> Result<Source, ScenarioError> {
    let name = path.display().to_string();
    match read_bounded(path, MAX_FILE) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_an_end_are_not_read_to_it() {
        let error = Disk.text(Path::new("/dev/zero")).expect_err("endless").to_string();
        assert_eq!(error, "too long (allowed: up to 67108864 bytes)");
        let error = read_policy_file("/dev/zero").expect_err("endless");
        assert_eq!(error, "/dev/zero: too long (allowed: up to 1048576 bytes)");
    }
}
