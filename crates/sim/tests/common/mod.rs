//! Worlds for tests.
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::Arc;

use polypath_link::{LinkConfig, LossModel, Queue};
use polypath_policies::PolicySpec;
use polypath_proto::config::AssocConfig;
use polypath_sim::results::RunResult;
use polypath_sim::spec::{
    AppSpec, FileContent, FlowSpec, MessageSpec, Refill, TimeSpec, Topology, WorldSpec,
};
use polypath_sim::{DuplexPath, Observer};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SEC: u64 = 1_000_000_000;
pub(crate) const MBIT: u64 = 1_000_000;

/// A link of so many Mbit/s and ms, with room for 100 packets.
pub(crate) fn link(mbit: u64, ms: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(mbit * MBIT),
        delay: ms * MS,
        queue: Queue::DropTailPackets(100),
        ..LinkConfig::default()
    }
}

/// The same with random loss.
pub(crate) fn lossy(mbit: u64, ms: u64, loss: f64) -> LinkConfig {
    LinkConfig { loss: vec![LossModel::Bernoulli(loss)], ..link(mbit, ms) }
}

/// CMT with default policies and these buffers.
pub(crate) fn assoc(buffer: u32) -> Arc<AssocConfig> {
    let policies = polypath_policies::factory(&PolicySpec::default()).expect("defaults are valid");
    let config = AssocConfig {
        receive_buffer: buffer,
        send_buffer: buffer.into(),
        policies,
        ..AssocConfig::default()
    };
    Arc::new(config)
}

/// One flow over disjoint symmetric paths `A`, `B` and so on.
pub(crate) fn world(links: &[LinkConfig], app: AppSpec, buffer: u32) -> WorldSpec {
    let names = ["A", "B", "C", "D"];
    let path = |(name, link): (&&str, &LinkConfig)| DuplexPath::symmetric(*name, link.clone());
    let paths: Vec<_> = names.iter().zip(links).map(path).collect();
    let addresses = (0..paths.len()).map(Topology::disjoint_addresses).collect();
    WorldSpec {
        topology: Topology::disjoint(&paths),
        flows: vec![FlowSpec::new("flow", addresses, app).with_assoc(assoc(buffer))],
        ..WorldSpec::default()
    }
}

pub(crate) fn saturated() -> AppSpec {
    AppSpec::Saturated { messages: MessageSpec::default(), refill: Refill::RoundRobin }
}

pub(crate) fn file(bytes: u64) -> AppSpec {
    AppSpec::File { content: FileContent::Pattern(bytes), messages: MessageSpec::default() }
}

pub(crate) fn seconds(settle: u64, measure: u64) -> TimeSpec {
    TimeSpec { settle: settle * SEC, measure: measure * SEC, stop_when_done: true }
}

pub(crate) fn run(spec: &WorldSpec, seed: u64) -> RunResult {
    let result = polypath_sim::run(spec, seed, None).expect("a valid world");
    for flow in &result.flows {
        assert!(flow.integrity.holds(), "{}: {:?}", flow.name, flow.integrity);
    }
    result
}

pub(crate) fn observe(spec: &WorldSpec, seed: u64, observer: &mut dyn Observer) -> RunResult {
    polypath_sim::run(spec, seed, Some(observer)).expect("a valid world")
}
