//! All mutants of `cargo mutants --list --json` in one build of the core.
//!
//! `cargo mutants` builds the tests again for each mutant, which takes minutes; the tests
//! themselves take seconds. So this program writes all mutants into one copy of the sources: each
//! mutated place asks which mutant is chosen, by the environment variable `MUTANT`, and evaluates
//! that one or the original. It edits text at the positions that the list names, and prints nothing
//! anew.
//!
//! `docs/measurements/mutants.md` has the commands in order. `COPY` is a copy of the checkout which
//! exists already. `RESULTS` is a file with a line for each run; it grows.

// It runs other programs, and stops those that hang.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

mod build;
mod constants;
mod list;
mod place;
mod report;
mod run;
mod splice;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "
build CHECKOUT COPY LIST
    writes the mutants into COPY until it compiles without those that cannot
run COPY LIST RESULTS SECONDS PROGRAM [ARGUMENT...]
    runs a test program for each mutant that none has caught yet
report COPY LIST RESULTS
    prints a table, and the names of those that survive

Example: build . ../copy list.json";

fn main() -> ExitCode {
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mutants-in-one-build: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn answer() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--help"] => {
            println!("usage: {USAGE}");
            Ok(())
        }
        ["build", checkout, copy, list] => {
            // What is written into the copy must not be the sources themselves.
            let whole = |path: &str| fs::canonicalize(path).with_context(|| path.to_owned());
            if whole(checkout)? == whole(copy)? {
                bail!("{copy}: the copy must be another folder than the checkout");
            }
            build::build(Path::new(checkout), Path::new(copy), &list::read(list)?)
        }
        ["run", copy, list, results, seconds, ref program @ ..] if !program.is_empty() => {
            let mutants = list::read(list)?;
            run::run(Path::new(copy), &mutants, Path::new(results), seconds.parse()?, program)
        }
        ["report", copy, list, results] => {
            report::report(Path::new(copy), &list::read(list)?, Path::new(results))
        }
        _ => bail!("usage: {USAGE}"),
    }
}
