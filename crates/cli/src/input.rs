//! Scenario files and what is set over them.

use std::io::Read as _;
use std::path::Path;

use polypath_experiments::disk;
use polypath_scenario::{Policies, Source};

use crate::examples;
use crate::failure::Failure;
use crate::talk::Talk;

/// The file's content, that of an example by its name, or that of stdin for `-`, with these
/// assignments.
pub(crate) fn read_source(
    path: &Path,
    set: &[String],
    talk: Talk,
    policies: &Policies,
) -> Result<Source, Failure> {
    let mut source = read_file_or_stdin(path)?.with_policies(policies.clone());
    for assignment in set {
        source.set_field(&assignment.parse()?)?;
    }
    for hint in source.hints() {
        talk.say(format_args!("polypath: {}: {hint}", source.name()));
    }
    Ok(source)
}

fn read_file_or_stdin(path: &Path) -> Result<Source, Failure> {
    if path != Path::new("-") {
        return match examples::source_by_name(path) {
            Some(source) => source,
            None => Ok(disk::read_source(path)?),
        };
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::bad_input(format!("stdin: {error}")))?;
    Ok(disk::source_from_text("stdin", text)?)
}
