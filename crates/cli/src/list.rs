//! The commands that only print what there is.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use clap::CommandFactory as _;
use polypath_scenario::{catalogue, example};

use crate::args::Args;
use crate::failure::Failure;
use crate::output;
use crate::talk::Talk;

pub(crate) fn print_policies(json: bool) -> Result<(), Failure> {
    if json {
        output::print_json(&catalogue::list_policies())
    } else {
        output::print_list(&catalogue::policies_text())
    }
}

pub(crate) fn print_metrics(json: bool) -> Result<(), Failure> {
    if json {
        output::print_json(&polypath_run::metrics::list_metrics())
    } else {
        output::print_list(&polypath_run::metrics::metrics_text())
    }
}

pub(crate) fn write_example(file: Option<&Path>, talk: Talk) -> Result<(), Failure> {
    let Some(path) = file else { return output::print_text(example::SCENARIO) };
    let written =
        File::create_new(path).and_then(|mut file| file.write_all(example::SCENARIO.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::bad_input(format!("{}: exists already (allowed: a new file)", path.display()))
        }
        _ => Failure::run_failed(format!("{}: cannot be written: {error}", path.display())),
    })?;
    talk.say(format_args!("{0} written; run it with: polypath simulate {0}", path.display()));
    Ok(())
}

pub(crate) fn print_completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "polypath", &mut text);
    output::print_text(&String::from_utf8_lossy(&text))
}
