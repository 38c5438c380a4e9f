//! The demo: a real file over three paths that have little in common.

use bytes::Bytes;
use polypath_sim::results::{FlowResult, Outcome, PathResult};
use polypath_sim::spec::{AppSpec, FileContent};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::format::{bytes, rate, share, time};
use crate::run::{Files, RunError, run_world};
use crate::scenario::{Assignment, Scenario, Source};
use crate::table::{print, table};
use crate::world::world_spec;

/// The demo's network, a file of the examples.
const SCENARIO: &str = include_str!("../../../scenarios/examples/three-dissimilar.toml");
/// Columns of the longest bar.
const BAR: usize = 28;

/// What the demo found.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
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
    /// Sends `content` over each single path and over all of them. The capture is the last way's.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn run(
        file: &str,
        content: Bytes,
        seed: u64,
        files: &Files,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self, RunError> {
        let source = network();
        let plans = plans(&source);
        let last = plans.len().saturating_sub(1);
        let mut ways = Vec::new();
        for (n, plan) in plans.iter().enumerate() {
            let none = Files::default();
            let files = if n == last { files } else { &none };
            let mut part = |done: f64| progress((n as f64 + done) / (last + 1) as f64);
            ways.push(send(&source, plan, &content, seed, files, &mut part)?);
        }
        let singles = ways.len().saturating_sub(2);
        Ok(Self {
            file: file.to_owned(),
            size: content.len() as u64,
            sha256: hash(&content),
            seed,
            network: describe(&scenario(&source, &[])),
            ways: best_first(ways, singles),
        })
    }

    /// Whether the file arrived bit for bit in every way.
    pub fn identical(&self) -> bool {
        self.ways.iter().all(|way| way.identical)
    }

    /// The demo in 80 columns.
    pub fn text(&self) -> String {
        let mut text = format!("{} ({}) over three paths:\n\n", self.file, bytes(self.size as f64));
        for line in &self.network {
            text.push_str(&format!("  {line}\n"));
        }
        text.push('\n');
        text.push_str(&self.chart());
        if let Some(best) = self.ways.last() {
            text.push_str(&format!("\nWhat each path did under {}:\n\n", best.label));
            text.push_str(&indent(&path_table(&best.paths)));
        }
        text.push('\n');
        text.push_str(&self.verdict());
        text
    }

    fn chart(&self) -> String {
        let most = self.ways.iter().map(|way| way.goodput).fold(0.0, f64::max);
        let line = |way: &Way| {
            let time = way.seconds.map_or("never".to_owned(), |s| time(s * 1e9));
            let (label, rate) = (&way.label, rate(way.goodput));
            format!("  {label:<24} {time:>8} {rate:>13}  {}\n", bar(way.goodput, most))
        };
        self.ways.iter().map(line).collect()
    }

    fn verdict(&self) -> String {
        let word = if self.identical() {
            "Bit-identical every time.".to_owned()
        } else {
            let bad = self.ways.iter().filter(|way| !way.identical).map(|way| way.label.as_str());
            format!("NOT IDENTICAL: {}.", bad.collect::<Vec<_>>().join("; "))
        };
        format!("{word}\nSHA-256 {}\n", self.sha256)
    }
}

/// The demo's scenario; a test reads it, so it is sound.
fn network() -> Source {
    Source::new("three-dissimilar.toml", SCENARIO).unwrap_or_else(|error| unreachable!("{error}"))
}

fn scenario(source: &Source, set: &[Assignment]) -> Scenario {
    let mut source = source.clone();
    for assignment in set {
        // A test applies every plan to the embedded scenario.
        let set = source.set(assignment);
        set.unwrap_or_else(|error| unreachable!("{error}"));
    }
    source.scenario().unwrap_or_else(|error| unreachable!("{error}"))
}

/// Each path alone, then all of them under round robin and under the profile's own scheduler.
fn plans(source: &Source) -> Vec<Plan> {
    let scenario = scenario(source, &[]);
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

fn send(
    source: &Source,
    plan: &Plan,
    content: &Bytes,
    seed: u64,
    files: &Files,
    progress: &mut dyn FnMut(f64),
) -> Result<Way, RunError> {
    let mut spec = world_spec(&scenario(source, &plan.set), files.trace.is_some())?;
    for flow in &mut spec.flows {
        if let AppSpec::File { content: file, .. } = &mut flow.app {
            *file = FileContent::Bytes(content.clone());
        }
    }
    let result = run_world(&spec, seed, files, progress)?;
    Ok(result.flows.into_iter().next().map_or_else(
        || unreachable!("the embedded scenario has a flow"),
        |flow| way(&plan.label, content, flow),
    ))
}

fn way(label: &str, content: &Bytes, flow: FlowResult) -> Way {
    let finished = flow.outcome == Outcome::Finished;
    let identical = finished && flow.integrity.holds() && flow.file.as_ref() == Some(content);
    let seconds = flow.times.from_connect().filter(|_| finished).map(|nanos| nanos as f64 / 1e9);
    Way {
        label: label.to_owned(),
        identical,
        sha256: flow.file.as_ref().map(|file| hash(file)),
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
fn describe(scenario: &Scenario) -> Vec<String> {
    let line = |(name, path): (&String, &crate::scenario::PathSpec)| {
        let rate = path.rate.unwrap_or_default().to_string();
        let delay = path.delay.unwrap_or_default().to_string();
        let loss = path.loss.map_or(String::new(), |loss| format!("  {loss} of packets lost"));
        format!("{name:<10} {rate:>9}  {delay:>6} each way{loss}")
    };
    scenario.path.iter().map(line).collect()
}

fn path_table(paths: &[PathResult]) -> String {
    let all: u64 = paths.iter().map(|path| path.payload_bytes).sum();
    let mut table =
        table(&["path", "packets", "data", "share", "sent again", "timeouts", "RTT", "cwnd"]);
    for path in paths {
        table.add_row(vec![
            path.name.clone(),
            path.packets_sent.to_string(),
            bytes(path.payload_bytes as f64),
            share(path.payload_bytes as f64, all as f64),
            crate::format::count(path.retransmissions_fast + path.retransmissions_timeout),
            crate::format::count(path.timeouts),
            path.srtt.map_or(crate::format::NONE.to_owned(), |srtt| time(srtt as f64)),
            bytes(path.cwnd as f64),
        ]);
    }
    print(&table)
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// A bar of at most [`BAR`] columns, in eighths of a column.
fn bar(value: f64, most: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if most <= 0.0 {
        return String::new();
    }
    let eighths = (value / most * BAR as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_suits_the_embedded_scenario() {
        let source = network();
        for plan in plans(&source) {
            assert_eq!(scenario(&source, &plan.set).flow.len(), 1);
        }
    }

    #[test]
    fn bars_are_to_scale() {
        assert_eq!(bar(1.0, 1.0), "█".repeat(BAR));
        assert_eq!(bar(0.5, 1.0).chars().count(), BAR / 2);
        assert_eq!(bar(0.0, 1.0), "");
        assert_eq!(bar(0.0, 0.0), "");
    }

    #[test]
    fn hashes_are_those_of_the_standard() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash(b""), empty);
    }
}
