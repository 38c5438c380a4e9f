//! The commands that only print what there is.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use clap::CommandFactory as _;
use polypath_scenario::{catalogue, example, schema};

use crate::args::Args;
use crate::failure::Failure;
use crate::output;

pub(crate) fn policies(json: bool) -> Result<(), Failure> {
    if json {
        output::json(&catalogue::policies())
    } else {
        output::text(&catalogue::policies_text())
    }
}

pub(crate) fn schema() -> Result<(), Failure> {
    output::text(&schema::scenario_schema())
}

pub(crate) fn init(file: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = file else { return output::text(example::SCENARIO) };
    let written =
        File::create_new(path).and_then(|mut file| file.write_all(example::SCENARIO.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::input(format!("{}: exists already (allowed: a new file)", path.display()))
        }
        _ => Failure::run(format!("{}: cannot be written: {error}", path.display())),
    })?;
    eprintln!("{0} written; run it with: polypath simulate {0}", path.display());
    Ok(())
}

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "polypath", &mut text);
    output::text(&String::from_utf8_lossy(&text))
}
