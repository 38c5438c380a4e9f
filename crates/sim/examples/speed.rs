//! Packets per CPU second in the four set-ups in which ns-2 was measured (`data/ns2`): two paths, each over three
//! links. Run it with `cargo run --release -p polypath-sim --example speed`.

use std::error::Error;
use std::sync::Arc;

use polypath_link::{LinkConfig, LossModel, Queue};
use polypath_policies::PolicySpec;
use polypath_proto::config::{AssocConfig, CcConfig, InitialCwnd, InitialSsthresh, RtoConfig};
use polypath_proto::time::Duration;
use polypath_sim::spec::{AppSpec, FlowSpec, MessageSpec, Refill, TimeSpec, Topology, WorldSpec};
use polypath_sim::{DuplexPath, run};

const MBIT: u64 = 1_000_000;
const MS: u64 = 1_000_000;
const SEC: u64 = 1_000_000_000;

/// What differs between the set-ups, and the packets that ns-2 counted.
struct Setup {
    name: &'static str,
    core: u64,
    edge: u64,
    delay: u64,
    queue: u32,
    loss: f64,
    buffer: u32,
    ssthresh: u64,
    seconds: u64,
    ns2_packets: u64,
}

const SLOW: Setup = Setup {
    name: "2 x 10 Mbit/s",
    core: 10 * MBIT,
    edge: 100 * MBIT,
    delay: 45 * MS,
    queue: 50,
    loss: 0.0,
    buffer: 4 << 20,
    ssthresh: 65_536,
    seconds: 300,
    ns2_packets: 736_141,
};

const FAST: Setup = Setup {
    name: "2 x 100 Mbit/s, window-limited",
    core: 100 * MBIT,
    edge: 1000 * MBIT,
    queue: 750,
    buffer: 2_400_000,
    ssthresh: 16 << 20,
    seconds: 60,
    ns2_packets: 1_477_281,
    ..SLOW
};

const SETUPS: [Setup; 4] = [
    SLOW,
    Setup {
        name: "2 x 10 Mbit/s, 1 % loss",
        loss: 0.01,
        buffer: 1 << 20,
        ns2_packets: 137_672,
        ..SLOW
    },
    FAST,
    Setup {
        name: "2 x 100 Mbit/s, 5 ms",
        delay: 5 * MS,
        buffer: 400_000,
        ns2_packets: 1_498_331,
        ..FAST
    },
];

#[expect(clippy::disallowed_types, reason = "an example measures the time that it takes")]
fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:<32}{:>10}{:>10}{:>12}{:>9}{:>12}",
        "", "packets", "ns-2", "Mbit/s", "s", "packets/s"
    );
    for setup in &SETUPS {
        let spec = world(setup)?;
        let begin = std::time::Instant::now();
        let result = run(&spec, 1, None)?;
        let seconds = begin.elapsed().as_secs_f64();
        let goodput: f64 = result.flows.iter().map(|flow| flow.total.goodput).sum();
        println!(
            "{:<32}{:>10}{:>10}{:>12.2}{:>9.3}{:>12.0}",
            setup.name,
            result.packets,
            setup.ns2_packets,
            goodput / 1e6,
            seconds,
            result.packets as f64 / seconds,
        );
    }
    Ok(())
}

fn world(setup: &Setup) -> Result<WorldSpec, Box<dyn Error>> {
    let edge = LinkConfig {
        rate: Some(setup.edge),
        delay: MS,
        queue: Queue::DropTailPackets(1000),
        ..LinkConfig::default()
    };
    let core = LinkConfig {
        rate: Some(setup.core),
        delay: setup.delay - 2 * MS,
        queue: Queue::DropTailPackets(setup.queue),
        loss: (setup.loss > 0.0).then_some(LossModel::Bernoulli(setup.loss)).into_iter().collect(),
        ..LinkConfig::default()
    };
    let hops = vec![edge.clone(), core, edge];
    let path =
        |name: &str| DuplexPath { name: name.into(), forward: hops.clone(), reverse: hops.clone() };
    let messages = MessageSpec { unordered: true, ..MessageSpec::default() };
    let app = AppSpec::Saturated { messages, refill: Refill::RoundRobin };
    let addresses = (0..2).map(Topology::disjoint_addresses).collect();
    Ok(WorldSpec {
        topology: Topology::disjoint(&[path("A"), path("B")]),
        flows: vec![FlowSpec::new("flow", addresses, app).with_assoc(stack(setup)?)],
        time: TimeSpec { settle: 0, measure: setup.seconds * SEC, stop_when_done: false },
        ..WorldSpec::default()
    })
}

/// The settings of ns-2's module.
fn stack(setup: &Setup) -> Result<Arc<AssocConfig>, Box<dyn Error>> {
    Ok(Arc::new(AssocConfig {
        receive_buffer: setup.buffer,
        send_buffer: u64::MAX,
        rto: RtoConfig { initial: Duration::from_secs(3), ..RtoConfig::default() },
        congestion: CcConfig {
            initial_cwnd: InitialCwnd::Bytes(4380),
            initial_ssthresh: InitialSsthresh::Bytes(setup.ssthresh),
            loss_floor_mtus: 2,
            ..CcConfig::default()
        },
        policies: polypath_policies::factory(&PolicySpec::default())?,
        ..AssocConfig::default()
    }))
}
