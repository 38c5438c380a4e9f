//! Scenario files and what is set over them.

use std::io::Read as _;
use std::path::Path;

use polypath_experiments::disk;
use polypath_scenario::Source;

use crate::failure::Failure;

/// The file's content, or that of stdin for `-`, with these assignments.
pub(crate) fn read_source(path: &Path, set: &[String]) -> Result<Source, Failure> {
    let mut source = read_file_or_stdin(path)?;
    for assignment in set {
        source.set_field(&assignment.parse()?)?;
    }
    for hint in source.hints() {
        eprintln!("polypath: {}: {hint}", source.name());
    }
    Ok(source)
}

fn read_file_or_stdin(path: &Path) -> Result<Source, Failure> {
    if path != Path::new("-") {
        return Ok(disk::read_source(path)?);
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::bad_input(format!("stdin: {error}")))?;
    Ok(disk::source_from_text("stdin", text)?)
}
