//! The demo: a real file over three paths that have little in common, one by one and together.

use bytes::Bytes;
use polypath_scenario::{Assignment, PathSpec, Scenario, Source};
use polypath_sim::results::{FlowResult, Outcome, PathResult};
use polypath_sim::spec::{AppSpec, FileContent};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::run::{Recording, RunError, run_world};
use crate::world::world_spec;

/// The demo's network, a file of the examples.
const SCENARIO: &str = include_str!("../files/three-dissimilar.toml");
/// What the demo found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Demo {
    /// Name of the file.
    pub file: String,
    /// Its size in bytes.
    pub size: u64,
    /// SHA-256 of what was sent.
    pub sha256: String,
    /// Seed of all runs.
    pub seed: u64,
    /// The paths in words.
    pub network: Vec<String>,
    /// The ways of sending, the best single path first.
    pub ways: Vec<Way>,
}

/// One way of sending the file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Way {
    /// What it is called.
    pub label: String,
    /// Whether the file arrived, and bit for bit as it was sent.
    pub identical: bool,
    /// SHA-256 of what arrived, if anything did.
    pub sha256: Option<String>,
    /// From the start of the association to the last delivery, s.
    pub seconds: Option<f64>,
    /// Payload bit/s over that time; 0 if the file did not arrive.
    pub goodput: f64,
    /// What each path did.
    pub paths: Vec<PathResult>,
}

/// How the file is sent: a label and what is set over the scenario.
struct Plan {
    label: String,
    set: Vec<Assignment>,
}

impl Demo {
    /// Sends `content` over each single path and over all of them. The recording is the last way's.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn run(
        file: &str,
        content: Bytes,
        seed: u64,
        recording: Recording<'_>,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self, RunError> {
        let source = demo_network();
        let plans = list_plans(&source);
        let last = plans.len().saturating_sub(1);
        let (mut ways, mut recording) = (Vec::new(), Some(recording));
        for (n, plan) in plans.iter().enumerate() {
            let own = recording.take_if(|_| n == last).unwrap_or_default();
            let mut part = |done: f64| progress((n as f64 + done) / (last + 1) as f64);
            ways.push(send_content(&source, plan, &content, seed, own, &mut part)?);
        }
        let singles = ways.len().saturating_sub(2);
        Ok(Self {
            file: file.to_owned(),
            size: content.len() as u64,
            sha256: hash_content(&content),
            seed,
            network: describe_paths(&build_scenario(&source, &[])),
            ways: best_first(ways, singles),
        })
    }

    /// Whether the file arrived bit for bit in every way.
    pub fn is_identical(&self) -> bool {
        self.ways.iter().all(|way| way.identical)
    }
}

/// The demo's scenario; a test reads it, so it is sound.
fn demo_network() -> Source {
    Source::new("three-dissimilar.toml", SCENARIO).unwrap_or_else(|error| unreachable!("{error}"))
}

fn build_scenario(source: &Source, set: &[Assignment]) -> Scenario {
    let mut source = source.clone();
    for assignment in set {
        // A test applies every plan to the embedded scenario.
        let set = source.set_field(assignment);
        set.unwrap_or_else(|error| unreachable!("{error}"));
    }
    source.parse_scenario().unwrap_or_else(|error| unreachable!("{error}"))
}

/// Each path alone, then all of them under round robin and under the profile's own scheduler.
fn list_plans(source: &Source) -> Vec<Plan> {
    let scenario = build_scenario(source, &[]);
    let single = |name: &str| Plan {
        label: format!("{name} alone"),
        set: vec![Assignment::new("flow[0].paths", vec![name.to_owned()].into())],
    };
    let all = |label: &str, scheduler: &str| Plan {
        label: label.to_owned(),
        set: vec![Assignment::new("stack.path-scheduler", scheduler.into())],
    };
    let mut plans: Vec<Plan> = scenario.path_names().map(single).collect();
    plans.push(all("all three, round robin", "rr"));
    plans.push(all("all three, knapsack", "knapsack"));
    plans
}

fn send_content(
    source: &Source,
    plan: &Plan,
    content: &Bytes,
    seed: u64,
    recording: Recording<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Way, RunError> {
    let mut spec = world_spec(&build_scenario(source, &plan.set), recording.trace.is_some())?;
    for flow in &mut spec.flows {
        if let AppSpec::File { content: file, .. } = &mut flow.app {
            *file = FileContent::Bytes(content.clone());
        }
    }
    let result = run_world(&spec, seed, recording, progress)?;
    Ok(result.flows.into_iter().next().map_or_else(
        || unreachable!("the embedded scenario has a flow"),
        |flow| build_way(&plan.label, content, flow),
    ))
}

fn build_way(label: &str, content: &Bytes, flow: FlowResult) -> Way {
    let finished = flow.outcome == Outcome::Finished;
    let identical = finished && flow.integrity.holds() && flow.file.as_ref() == Some(content);
    let seconds = flow.times.from_connect().filter(|_| finished).map(|nanos| nanos as f64 / 1e9);
    Way {
        label: label.to_owned(),
        identical,
        sha256: flow.file.as_ref().map(|file| hash_content(file)),
        seconds,
        goodput: seconds.map_or(0.0, |seconds| content.len() as f64 * 8.0 / seconds),
        paths: flow.paths,
    }
}

/// Keeps the best of the first `singles` ways, and names it so.
fn best_first(mut ways: Vec<Way>, singles: usize) -> Vec<Way> {
    let rest = ways.split_off(singles.min(ways.len()));
    let mut best = ways.into_iter().max_by(|a, b| a.goodput.total_cmp(&b.goodput));
    if let Some(best) = &mut best {
        best.label.push_str(" (best one)");
    }
    best.into_iter().chain(rest).collect()
}

/// One line per path: rate, delay, loss.
fn describe_paths(scenario: &Scenario) -> Vec<String> {
    let line = |(name, path): (&String, &PathSpec)| {
        let rate = path.rate.unwrap_or_default().to_string();
        let delay = path.delay.unwrap_or_default().to_string();
        let loss = path.loss.map_or(String::new(), |loss| format!("  {loss} of packets lost"));
        format!("{name:<10} {rate:>9}  {delay:>6} each way{loss}")
    };
    scenario.path.iter().map(line).collect()
}

fn hash_content(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_suits_the_embedded_scenario() {
        let source = demo_network();
        for plan in list_plans(&source) {
            assert_eq!(build_scenario(&source, &plan.set).flow.len(), 1);
        }
    }

    #[test]
    fn hashes_are_those_of_the_standard() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash_content(b""), empty);
    }
}
