//! Scenario files and what is set over them.

use std::io::Read as _;
use std::path::Path;

use polypath_experiments::disk;
use polypath_scenario::Source;

use crate::failure::Failure;

/// The file's content, or that of stdin for `-`, with these assignments.
pub(crate) fn source(path: &Path, set: &[String]) -> Result<Source, Failure> {
    let mut source = read(path)?;
    for assignment in set {
        source.set(&assignment.parse()?)?;
    }
    for hint in source.hints() {
        eprintln!("polypath: {}: {hint}", source.name());
    }
    Ok(source)
}

fn read(path: &Path) -> Result<Source, Failure> {
    if path != Path::new("-") {
        return Ok(disk::read_source(path)?);
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::input(format!("stdin: {error}")))?;
    Ok(disk::source("stdin", text)?)
}
