//! The same scenario in both worlds, several times.

use polypath_experiments::stats::Estimate;
use polypath_link::{Change, LinkConfig};
use polypath_run::{RunError, world_spec};
use polypath_scenario::Scenario;
use polypath_sim::WorldSpec;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::TestbedError;
use crate::meter::FlowOutcome;
use crate::worlds::{emulate_once, simulate_once};

/// Without losses the worlds may differ by so much of the goodput.
const TOLERANCE: f64 = 0.05;

/// How to compare.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The first seed; each run in either world has the next one.
    pub first_seed: u64,
    /// Runs in each world.
    pub runs: u32,
    /// Whether the first emulated network measures itself.
    pub check: bool,
}

/// What the two worlds have made of a scenario.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// The scenario's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether links lose packets at random.
    pub lossy: bool,
    /// Runs in each world.
    pub runs: u32,
    /// In the order of the scenario.
    pub flows: Vec<FlowComparison>,
    /// In the worst emulated run, 99 % of the packets were at most so late, in s.
    pub late_p99: f64,
}

/// What the two worlds have made of a flow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FlowComparison {
    /// Its name.
    pub flow: String,
    /// Payload bit/s delivered.
    pub goodput: Pair,
    /// Mean delay of messages, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_mean: Option<Pair>,
    /// 99th percentile of the delays of messages, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_p99: Option<Pair>,
    /// Whether the goodputs agree: within 5 %, or, where packets are lost at random, within each
    /// other's intervals.
    pub agree: bool,
}

/// A figure in both worlds: means with half widths of their 95 % intervals (`None` for a single
/// run).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Pair {
    /// In the simulator.
    pub simulated: f64,
    /// Half width of its interval.
    pub simulated_half: Option<f64>,
    /// In the emulated network.
    pub emulated: f64,
    /// Half width of its interval.
    pub emulated_half: Option<f64>,
    /// The second less the first, as a share of the first; JSON has null where the first is zero.
    #[schemars(with = "Option<f64>")]
    pub difference: f64,
}

/// Runs a checked scenario in both worlds. `told` hears what is being done.
///
/// # Errors
/// When either world fails or refuses the scenario.
pub fn compare_worlds(
    scenario: &Scenario,
    options: Options,
    told: &mut dyn FnMut(&str),
) -> Result<Comparison, TestbedError> {
    let world = world_spec(scenario, false)?;
    world.check().map_err(RunError::from)?;
    crate::app::check_all(&world)?;
    let seeds = (0..options.runs).map(|n| options.first_seed.wrapping_add(n.into()));
    let (mut simulated, mut emulated, mut late_p99) = (Vec::new(), Vec::new(), 0.0f64);
    for (n, seed) in (1..).zip(seeds) {
        let of = format!("{n} of {}", options.runs);
        told(&format!("simulated run {of}"));
        simulated.push(simulate_once(&world, seed)?.flows);
        told(&format!("emulated run {of}"));
        let played = emulate_once(scenario, &world, seed, options.check && n == 1)?;
        late_p99 = late_p99.max(played.lateness.p99 as f64 * 1e-9);
        emulated.push(played.flows);
    }
    let lossy = is_lossy(&world);
    let of_flow = |all: &[Vec<FlowOutcome>], n: usize| -> Vec<FlowOutcome> {
        all.iter().filter_map(|flows| flows.get(n)).cloned().collect()
    };
    let flows = world.flows.iter().enumerate().map(|(n, flow)| {
        compare_flow(&flow.name, &of_flow(&simulated, n), &of_flow(&emulated, n), lossy)
    });
    let flows = flows.collect();
    Ok(Comparison { title: scenario.title.clone(), lossy, runs: options.runs, flows, late_p99 })
}

fn compare_flow(
    name: &str,
    simulated: &[FlowOutcome],
    emulated: &[FlowOutcome],
    lossy: bool,
) -> FlowComparison {
    let goodputs =
        |flows: &[FlowOutcome]| -> Vec<f64> { flows.iter().map(|flow| flow.goodput).collect() };
    let goodput = Pair::from_runs(&goodputs(simulated), &goodputs(emulated));
    let pair = |figure: fn(&FlowOutcome) -> Option<f64>| {
        let all = |flows: &[FlowOutcome]| flows.iter().map(figure).collect::<Option<Vec<_>>>();
        Some(Pair::from_runs(&all(simulated)?, &all(emulated)?))
    };
    FlowComparison {
        flow: name.to_owned(),
        goodput,
        delay_mean: pair(|flow| flow.delay_mean),
        delay_p99: pair(|flow| flow.delay_p99),
        agree: if lossy { goodput.overlaps() } else { goodput.difference.abs() <= TOLERANCE },
    }
}

/// Whether anything but the applications is left to chance.
fn is_lossy(world: &WorldSpec) -> bool {
    let random = |config: &LinkConfig| {
        let later = config.schedule.iter().any(|(_, change)| matches!(change, Change::Loss(_)));
        !config.loss.is_empty() || config.jitter.is_some() || later
    };
    let links = world.topology.links.iter().any(|link| random(&link.config));
    links || !world.repeats.is_empty() || !world.cross.is_empty()
}

impl Pair {
    fn from_runs(simulated: &[f64], emulated: &[f64]) -> Self {
        let [first, second] =
            [simulated, emulated].map(|sample| Estimate::of_runs(sample).interval());
        let half = |half: f64| half.is_finite().then_some(half);
        Self {
            simulated: first.mean,
            simulated_half: half(first.half),
            emulated: second.mean,
            emulated_half: half(second.half),
            difference: second.mean / first.mean - 1.0,
        }
    }

    /// Whether the intervals have something in common.
    #[must_use]
    pub fn overlaps(&self) -> bool {
        let wide = |half: Option<f64>| half.unwrap_or(f64::INFINITY);
        let both = wide(self.simulated_half) + wide(self.emulated_half);
        (self.simulated - self.emulated).abs() <= both
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_tell_means_intervals_and_their_difference() {
        let pair = Pair::from_runs(&[10.0, 10.0], &[9.0, 10.0]);
        assert_eq!((pair.simulated, pair.simulated_half), (10.0, Some(0.0)));
        assert_eq!((pair.emulated, pair.difference), (9.5, -0.050_000_000_000_000_044));
        assert!(pair.overlaps());
        assert!(!Pair::from_runs(&[10.0, 10.1, 9.9], &[9.0, 9.1, 8.9]).overlaps());
        let single = Pair::from_runs(&[10.0], &[5.0]);
        assert!(single.emulated_half.is_none() && single.overlaps());
    }
}
