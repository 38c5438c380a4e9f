//! One run of a world: simulated, or over real sockets.

use polypath_emu::{Bounds, Emulation};
use polypath_run::{Recording, run_world};
use polypath_scenario::Scenario;
use polypath_sim::WorldSpec;
use polypath_sim::results::{FlowResult, Outcome};

use crate::error::TestbedError;
use crate::meter::{FlowOutcome, Played};
use crate::network::network_spec;
use crate::play::play_flows;

/// A simulated run.
pub(crate) struct Simulated {
    /// In the order of the scenario.
    pub(crate) flows: Vec<FlowOutcome>,
    /// When it ended, ns.
    pub(crate) end: u64,
}

/// Runs a checked world in the simulator.
pub(crate) fn simulate_once(world: &WorldSpec, seed: u64) -> Result<Simulated, TestbedError> {
    let result = run_world(world, seed, Recording::default(), &mut |_| ())?;
    let flows = result.flows.iter().enumerate().map(|(n, flow)| simulated_flow(world, n, flow));
    Ok(Simulated { flows: flows.collect(), end: result.end })
}

/// Runs a checked world, which is that of `scenario`, in an emulated network; `check`: the network
/// measures itself before.
pub(crate) fn emulate_once(
    scenario: &Scenario,
    world: &WorldSpec,
    seed: u64,
    check: bool,
) -> Result<Played, TestbedError> {
    let network = Emulation::build(network_spec(scenario, seed)?)?;
    if check {
        verify_network(&network)?;
    }
    play_flows(world, seed, &network)
}

fn verify_network(network: &Emulation) -> Result<(), TestbedError> {
    let bounds = Bounds::default();
    let measured = network.measure_routes(&bounds)?;
    let faults: Vec<_> =
        measured.iter().filter_map(|route| route.describe_fault(&bounds)).collect();
    if faults.is_empty() { Ok(()) } else { Err(TestbedError::Untrue(faults.join("; "))) }
}

fn simulated_flow(world: &WorldSpec, n: usize, flow: &FlowResult) -> FlowOutcome {
    let (sent, sacks) = (flow.counters.packets_sent, flow.counters.sacks_received);
    FlowOutcome {
        name: flow.name.clone(),
        goodput: simulated_goodput(world, n, flow),
        delay_mean: flow.total.delay.map(|delay| delay.mean * 1e-9),
        delay_p99: flow.total.delay.map(|delay| delay.p99 as f64 * 1e-9),
        sacks: (sent > 0).then(|| sacks as f64 / sent as f64),
    }
}

/// Over the measuring time, or up to the last delivery of a flow with an end: as the emulated one
/// is measured.
fn simulated_goodput(world: &WorldSpec, n: usize, flow: &FlowResult) -> f64 {
    let finished = flow.outcome == Outcome::Finished;
    let last = flow.times.last_delivery.filter(|_| finished);
    let start = world.flows.get(n).map_or(0, |flow| flow.start_at);
    let until = last.and_then(|last| last.checked_sub(start.max(world.time.settle)));
    until.map_or(flow.total.goodput, |ns| flow.total.bytes as f64 * 8e9 / ns.max(1) as f64)
}
