//! `polypath cross-check`.

use std::path::Path;

use polypath_run::read_scenario;
use polypath_testbed::{Comparison, Options, TestbedError, compare, markdown, text};
use serde::Serialize;

use crate::args::CrossCheckArgs;
use crate::failure::Failure;
use crate::{input, output};

/// What `--json` prints for each scenario.
#[derive(Serialize)]
struct Report<'a> {
    scenario: &'a str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

pub(crate) fn cross_check(args: &CrossCheckArgs) -> Result<(), Failure> {
    let mut all = Vec::new();
    for path in &args.scenarios {
        let scenario = read_scenario(&input::source(path, &args.set)?)?;
        let name = name(path);
        let options = Options {
            first_seed: args.seed.unwrap_or(scenario.seeds.first),
            runs: args.runs,
            check: !args.no_check,
        };
        let mut told = |what: &str| eprintln!("{name}: {what}");
        let comparison = compare(&scenario, options, &mut told)?;
        if !args.json && !args.markdown {
            output::text(&format!("{name}\n{}\n", text(&comparison)))?;
        }
        all.push((name, comparison));
    }
    print(args, &all)?;
    let bad: Vec<_> = all.iter().filter(|(_, c)| !c.flows.iter().all(|flow| flow.agree)).collect();
    if bad.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = bad.iter().map(|(name, _)| name.as_str()).collect();
    Err(Failure::run(format!("the worlds disagree in {}", names.join(", "))))
}

fn print(args: &CrossCheckArgs, all: &[(String, Comparison)]) -> Result<(), Failure> {
    if args.json {
        let reports = all.iter().map(|(scenario, comparison)| Report { scenario, comparison });
        let reports: Vec<_> = reports.collect();
        output::json(&reports)?;
    } else if args.markdown {
        output::text(&markdown(all))?;
    }
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_stem().map_or_else(|| "stdin".into(), |stem| stem.to_string_lossy().into_owned())
}

impl From<TestbedError> for Failure {
    fn from(error: TestbedError) -> Self {
        if error.is_bad_input() {
            Self::input(error)
        } else if error.is_missing_requirement() {
            Self::missing(error)
        } else {
            Self::run(error)
        }
    }
}
