//! `polypath simulate`.

use std::io::Read as _;
use std::path::Path;

use polypath_lab::limit::{self, Shares};
use polypath_lab::run::{Files, RunError, run_world};
use polypath_lab::scenario::{Scenario, Source};
use polypath_lab::world::world_spec;
use polypath_lab::{RunResult, table};
use serde::Serialize;

use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    /// The scenario with its `--set`s.
    scenario: &'a Scenario,
    /// What the run found out.
    result: &'a RunResult,
    /// What the paths and buffers admit, and what was reached of it.
    limits: &'a Shares,
}

pub(crate) fn simulate(args: &SimulateArgs) -> Result<(), Failure> {
    let mut source = read(&args.scenario)?;
    for assignment in &args.set {
        source.set(&assignment.parse()?)?;
    }
    let scenario = source.scenario()?;
    let seed = args.seed.unwrap_or(scenario.seeds.first);
    let files = Files { pcap: args.files.pcap.clone(), trace: args.files.trace.clone() };
    let mut progress = Progress::new();
    let spec = world_spec(&scenario, files.trace.is_some()).map_err(RunError::from)?;
    let result = run_world(&spec, seed, &files, &mut |done| progress.report(done))?;
    drop(progress);
    let limits = limit::of_world(&spec, seed).shares(&result);
    if args.json {
        output::json(&Report { scenario: &scenario, result: &result, limits: &limits })?;
    } else {
        output::text(&heading(&scenario))?;
        output::text(&table::result(&result, &limits))?;
    }
    table::failures(&result).map_or(Ok(()), |failures| Err(Failure::run(failures)))
}

fn read(path: &Path) -> Result<Source, Failure> {
    if path != Path::new("-") {
        return Ok(Source::read(path)?);
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::input(format!("stdin: {error}")))?;
    Ok(Source::new("stdin", text)?)
}

fn heading(scenario: &Scenario) -> String {
    scenario.title.as_ref().map_or(String::new(), |title| format!("{title}: "))
}
