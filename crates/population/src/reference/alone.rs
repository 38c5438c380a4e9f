//! Each path alone: the same stack, application, network and seed, but one path only.

use std::collections::BTreeMap;

use polypath_run::RunError;
use polypath_scenario::{Direction, Scenario};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::{Outcome, run_scenario};
use crate::application::Application;

/// A path whose line carries less than this share of what another one carried alone is not run: it
/// cannot be the best. (The tenth is for what had arrived, out of order, before it was measured.)
const HOPELESS: f64 = 0.9;
/// Where lateness counts, paths that carry this share of the most are compared by it.
const AS_MUCH: f64 = 0.99;

/// What paths came to alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alone {
    /// Name of the best path.
    pub best: String,
    /// What it came to.
    pub outcome: Outcome,
    /// How many paths were run; the others are too slow to be the best.
    pub runs: usize,
}

/// Runs the paths that may be the best, each alone.
pub(crate) fn run_paths_alone(
    scenario: &Scenario,
    application: Application,
) -> Result<Alone, RunError> {
    let mut paths: Vec<(&str, f64)> =
        scenario.path_names().map(|path| (path, line_rate(scenario, path))).collect();
    paths.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut outcomes: BTreeMap<&str, Outcome> = BTreeMap::new();
    let mut most: f64 = 0.0;
    for (path, rate) in paths {
        if !application.is_latency_bound() && rate < HOPELESS * most {
            break;
        }
        let outcome = run_scenario(&only_path(scenario, path), application)?;
        most = most.max(outcome.performance);
        outcomes.insert(path, outcome);
    }
    let best = outcomes.iter().max_by(|a, b| rank(*a.1, most).total_cmp(&rank(*b.1, most)));
    let (best, outcome) = best.map_or(("", Outcome::default()), |(path, one)| (*path, *one));
    Ok(Alone { best: best.to_owned(), outcome, runs: outcomes.len() })
}

/// Greater is better. Where lateness counts, the earliest of those that carry as much as any.
fn rank(outcome: Outcome, most: f64) -> f64 {
    match outcome.p99 {
        Some(p99) if outcome.performance >= AS_MUCH * most => most + 1.0 / p99.max(1e-9),
        _ => outcome.performance,
    }
}

/// The same scenario with one path.
fn only_path(scenario: &Scenario, path: &str) -> Scenario {
    let mut single = scenario.clone();
    for flow in &mut single.flow {
        flow.paths = Some(vec![path.to_owned()]);
    }
    single
}

/// The most that the links of a path ever carry forward, bit/s; no bound for traces.
fn line_rate(scenario: &Scenario, path: &str) -> f64 {
    let rate = |link: &&str| {
        let spec = scenario.path.get(*link).or_else(|| scenario.link.get(*link))?;
        let own = spec.one_way(Direction::Forward).rate?.0;
        let changes = scenario.at.iter().filter(|change| change.target == **link);
        Some(changes.filter_map(|change| change.rate).fold(own, |most, rate| most.max(rate.0)))
    };
    let links = scenario.links_of(path);
    links.iter().filter_map(rate).min().map_or(f64::INFINITY, |rate| rate as f64)
}
