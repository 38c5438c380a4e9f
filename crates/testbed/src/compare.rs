//! The same scenario in both worlds, several times.

use polypath_emu::{Bounds, Emulation};
use polypath_experiments::stats::Estimate;
use polypath_link::{Change, LinkConfig};
use polypath_run::{Recording, RunError, run_world, world_spec};
use polypath_scenario::Scenario;
use polypath_sim::WorldSpec;
use polypath_sim::results::FlowResult;
use serde::Serialize;

use crate::error::TestbedError;
use crate::meter::FlowOutcome;
use crate::network::network_spec;
use crate::play::play;

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
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
    /// Whether the goodputs agree: within 5 %, or, where packets are lost at random, within each other's intervals.
    pub agree: bool,
}

/// A figure in both worlds: means with half widths of their 95 % intervals (`None` for a single run).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    /// The second less the first, as a share of the first.
    pub difference: f64,
}

/// Runs a checked scenario in both worlds. `told` hears what is being done.
///
/// # Errors
/// When either world fails or refuses the scenario.
pub fn compare(
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
        simulated.push(run_world(&world, seed, Recording::default(), &mut |_| ())?.flows);
        told(&format!("emulated run {of}"));
        let network = Emulation::build(network_spec(scenario, seed)?)?;
        if options.check && n == 1 {
            measure(&network)?;
        }
        let played = play(&world, &network)?;
        late_p99 = late_p99.max(played.lateness.p99 as f64 * 1e-9);
        emulated.push(played.flows);
    }
    let lossy = is_lossy(&world);
    let flows = (0..world.flows.len()).map(|n| {
        let simulated = simulated.iter().filter_map(|flows: &Vec<FlowResult>| flows.get(n));
        let emulated = emulated.iter().filter_map(|flows: &Vec<FlowOutcome>| flows.get(n));
        flow(&world, n, &simulated.collect::<Vec<_>>(), &emulated.collect::<Vec<_>>(), lossy)
    });
    let flows = flows.collect();
    Ok(Comparison { title: scenario.title.clone(), lossy, runs: options.runs, flows, late_p99 })
}

fn measure(network: &Emulation) -> Result<(), TestbedError> {
    let bounds = Bounds::default();
    let measured = network.measure(&bounds)?;
    let faults: Vec<_> = measured.iter().filter_map(|route| route.fault(&bounds)).collect();
    if faults.is_empty() { Ok(()) } else { Err(TestbedError::Untrue(faults.join("; "))) }
}

fn flow(
    world: &WorldSpec,
    n: usize,
    simulated: &[&FlowResult],
    emulated: &[&FlowOutcome],
    lossy: bool,
) -> FlowComparison {
    let goodput = |flow: &&FlowResult| Some(simulated_goodput(world, flow));
    let mean = |flow: &&FlowResult| flow.total.delay.map(|delay| delay.mean * 1e-9);
    let p99 = |flow: &&FlowResult| flow.total.delay.map(|delay| delay.p99 as f64 * 1e-9);
    let pair =
        |first: Option<Vec<f64>>, second: Option<Vec<f64>>| Some(Pair::of(&first?, &second?));
    let goodputs: Vec<f64> = simulated.iter().filter_map(goodput).collect();
    let measured: Vec<f64> = emulated.iter().map(|flow| flow.goodput).collect();
    let goodput = Pair::of(&goodputs, &measured);
    let all = |of: fn(&FlowOutcome) -> Option<f64>| emulated.iter().map(|flow| of(flow)).collect();
    FlowComparison {
        flow: world.flows.get(n).map(|flow| flow.name.clone()).unwrap_or_default(),
        goodput,
        delay_mean: pair(simulated.iter().map(mean).collect(), all(|flow| flow.delay_mean)),
        delay_p99: pair(simulated.iter().map(p99).collect(), all(|flow| flow.delay_p99)),
        agree: if lossy { goodput.overlaps() } else { goodput.difference.abs() <= TOLERANCE },
    }
}

/// Over the measuring time, or up to the last delivery of a flow with an end: as the emulated one is measured.
fn simulated_goodput(world: &WorldSpec, flow: &FlowResult) -> f64 {
    let finished = flow.outcome == polypath_sim::results::Outcome::Finished;
    let last = flow.times.last_delivery.filter(|_| finished);
    let until = last.and_then(|last| last.checked_sub(world.time.settle));
    until.map_or(flow.total.goodput, |ns| flow.total.bytes as f64 * 8e9 / ns.max(1) as f64)
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
    fn of(simulated: &[f64], emulated: &[f64]) -> Self {
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
        let pair = Pair::of(&[10.0, 10.0], &[9.0, 10.0]);
        assert_eq!((pair.simulated, pair.simulated_half), (10.0, Some(0.0)));
        assert_eq!((pair.emulated, pair.difference), (9.5, -0.050_000_000_000_000_044));
        assert!(pair.overlaps());
        assert!(!Pair::of(&[10.0, 10.1, 9.9], &[9.0, 9.1, 8.9]).overlaps());
        let single = Pair::of(&[10.0], &[5.0]);
        assert!(single.emulated_half.is_none() && single.overlaps());
    }
}
