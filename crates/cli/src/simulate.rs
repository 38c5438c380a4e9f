//! `polypath simulate`.

use polypath_experiments::recording::with_recording;
use polypath_report::table;
use polypath_run::limit::{self, BoundUtilisation};
use polypath_run::{RunError, RunResult, read_scenario, run_world, world_spec};
use polypath_scenario::{Policies, Scenario};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::talk::Talk;
use crate::{input, output};

/// What `--json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Report<'a> {
    /// The scenario with its `--set`s.
    scenario: &'a Scenario,
    /// What the run found out.
    result: &'a RunResult,
    /// What the paths and buffers admit, and what was reached of it.
    limits: &'a BoundUtilisation,
}

pub(crate) fn simulate(
    args: &SimulateArgs,
    talk: Talk,
    policies: &Policies,
) -> Result<(), Failure> {
    let scenario = read_scenario(&input::read_source(&args.scenario, &args.set, talk, policies)?)?;
    let seed = args.seed.unwrap_or(scenario.seeds.first);
    let mut progress = talk.progress();
    let spec = world_spec(&scenario, args.files.trace.is_some()).map_err(RunError::from)?;
    let files = args.files.open(args.json)?;
    let result = with_recording(files, |recording| {
        run_world(&spec, seed, recording, &mut |done| progress.report_fraction(done))
    })?;
    drop(progress);
    let limits = limit::of_world(&spec, seed).measure_utilisation(&result);
    if args.json {
        output::print_json(&Report { scenario: &scenario, result: &result, limits: &limits })?;
    } else {
        output::print_text(&format_heading(&scenario))?;
        output::print_text(&table::format_result(&result, &limits))?;
    }
    table::describe_failures(&result).map_or(Ok(()), |failures| Err(Failure::run_failed(failures)))
}

fn format_heading(scenario: &Scenario) -> String {
    scenario.title.as_ref().map_or(String::new(), |title| format!("{title}: "))
}
