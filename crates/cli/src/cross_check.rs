//! `polypath cross-check`.

pub(crate) mod draws;

use std::path::Path;

use polypath_run::read_scenario;
use polypath_scenario::Policies;
use polypath_testbed::{
    Comparison, Options, TestbedError, compare_worlds, format_comparison, format_markdown,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::CrossCheckArgs;
use crate::failure::Failure;
use crate::talk::Talk;
use crate::{input, output};

/// What `--json` prints for each scenario.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Report<'a> {
    /// Name of the scenario.
    scenario: &'a str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

pub(crate) fn cross_check(
    args: &CrossCheckArgs,
    talk: Talk,
    policies: &Policies,
) -> Result<(), Failure> {
    match args.draws {
        Some(wanted) => draws::check_draws(args, wanted, talk),
        None => check_scenarios(args, talk, policies),
    }
}

fn check_scenarios(args: &CrossCheckArgs, talk: Talk, policies: &Policies) -> Result<(), Failure> {
    let mut all = Vec::new();
    for path in &args.scenarios {
        let scenario = read_scenario(&input::read_source(path, &args.set, talk, policies)?)?;
        let name = scenario_name(path);
        let options = Options {
            first_seed: args.seed.unwrap_or(scenario.seeds.first),
            runs: args.runs,
            check: !args.no_check,
        };
        let mut told = |what: &str| talk.say(format_args!("{name}: {what}"));
        let comparison = compare_worlds(&scenario, options, &mut told)?;
        if !args.json && !args.markdown {
            output::print_text(&format!("{name}\n{}\n", format_comparison(&comparison)))?;
        }
        all.push((name, comparison));
    }
    print_comparisons(args, &all)?;
    let bad: Vec<_> = all.iter().filter(|(_, c)| !c.flows.iter().all(|flow| flow.agree)).collect();
    if bad.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = bad.iter().map(|(name, _)| name.as_str()).collect();
    Err(Failure::run_failed(format!("the worlds disagree in {}", names.join(", "))))
}

fn print_comparisons(args: &CrossCheckArgs, all: &[(String, Comparison)]) -> Result<(), Failure> {
    if args.json {
        let reports = all.iter().map(|(scenario, comparison)| Report { scenario, comparison });
        let reports: Vec<_> = reports.collect();
        output::print_json(&reports)?;
    } else if args.markdown {
        output::print_text(&format_markdown(all))?;
    }
    Ok(())
}

fn scenario_name(path: &Path) -> String {
    path.file_stem().map_or_else(|| "stdin".into(), |stem| stem.to_string_lossy().into_owned())
}

impl From<TestbedError> for Failure {
    fn from(error: TestbedError) -> Self {
        if error.is_bad_input() {
            Self::bad_input(error)
        } else if error.is_missing_requirement() {
            Self::missing_requirement(error)
        } else {
            Self::run_failed(error)
        }
    }
}
