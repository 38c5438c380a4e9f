//! Worlds of the papers, built without scenario files: what the reference tests share.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use polypath_link::{LinkConfig, LossModel, Queue};
use polypath_policies::PolicySpec;
use polypath_proto::config::{
    AssocConfig, BurstRule, CcConfig, CmtConfig, CwndUnit, InitialCwnd, InitialSsthresh,
    ReproductionConfig, RtoConfig,
};
use polypath_proto::time::Duration;
use polypath_sim::spec::{
    AppSpec, FlowSpec, HostSpec, LinkSpec, RouteSpec, TimeSpec, Topology, WorldSpec,
};

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000_000_000;

/// One disjoint path between the two hosts, the same in both directions.
#[derive(Clone, Copy, Debug)]
pub struct PathSpec {
    /// Bit/s of the bottleneck.
    pub rate: u64,
    /// One-way delay, ms.
    pub delay_ms: u64,
    /// Packets that may wait.
    pub queue: u32,
    /// Bernoulli loss.
    pub loss: f64,
    /// Rate of the edge links before and behind the bottleneck, with 1 ms of the delay each;
    /// `None`: no edges.
    pub edge: Option<u64>,
}

impl PathSpec {
    pub fn plain(mbit: u64, delay_ms: u64) -> Self {
        Self { rate: mbit * 1_000_000, delay_ms, queue: 100, loss: 0.0, edge: None }
    }

    /// A path of S1's topology as the reference runs have it. ns-2's queue limit of 50 lets 49
    /// packets wait.
    pub fn s1(loss: f64, delay_ms: u64) -> Self {
        Self { rate: 10_000_000, delay_ms, queue: 49, loss, edge: Some(100_000_000) }
    }

    fn links(&self, name: &str) -> Vec<LinkSpec> {
        let core_delay = (self.delay_ms - if self.edge.is_some() { 2 } else { 0 }) * MS;
        let loss = if self.loss > 0.0 { vec![LossModel::Bernoulli(self.loss)] } else { vec![] };
        let core = LinkConfig {
            rate: Some(self.rate),
            delay: core_delay,
            queue: Queue::DropTailPackets(self.queue),
            loss,
            ..LinkConfig::default()
        };
        let core = LinkSpec { name: format!("{name} core"), config: core };
        let Some(rate) = self.edge else { return vec![core] };
        let edge = |end: &str| LinkSpec {
            name: format!("{name} {end}"),
            config: LinkConfig {
                rate: Some(rate),
                delay: MS,
                queue: Queue::DropTailPackets(999),
                ..LinkConfig::default()
            },
        };
        vec![edge("in"), core, edge("out")]
    }
}

pub fn address(path: usize, host: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, path as u8, host).into()
}

/// Two hosts with these disjoint paths.
pub fn topology(paths: &[PathSpec]) -> Topology {
    let host = |name: &str, host| HostSpec {
        name: name.into(),
        addresses: (0..paths.len()).map(|i| address(i, host)).collect(),
    };
    let mut topology =
        Topology { hosts: vec![host("sender", 1), host("receiver", 2)], ..Topology::default() };
    for (i, path) in paths.iter().enumerate() {
        for (direction, from, to) in [("forward", 1, 2), ("reverse", 2, 1)] {
            let links = path.links(&format!("{i} {direction}"));
            topology.routes.push(RouteSpec {
                name: format!("path {i}"),
                from: address(i, from),
                to: address(i, to),
                links: links.iter().map(|l| l.name.clone()).collect(),
            });
            topology.links.extend(links);
        }
    }
    topology
}

/// A world with one flow over all these paths.
pub fn world(paths: &[PathSpec], assoc: AssocConfig, app: AppSpec, time: TimeSpec) -> WorldSpec {
    let pairs = (0..paths.len()).map(|i| (address(i, 1), address(i, 2))).collect();
    let flow = FlowSpec::new("flow", pairs, app).with_assoc(Arc::new(assoc));
    WorldSpec { topology: topology(paths), flows: vec![flow], time, ..WorldSpec::default() }
}

pub fn policies(
    change: impl FnOnce(&mut PolicySpec),
) -> Arc<dyn polypath_proto::policy::PolicyFactory> {
    let mut spec = PolicySpec::default();
    change(&mut spec);
    polypath_policies::factory(&spec).unwrap()
}

/// The column of S0 in the matrix of profiles, with send and receive buffer of `sigma` bytes.
pub fn s0(sigma: u32) -> AssocConfig {
    AssocConfig {
        send_buffer: u64::from(sigma),
        receive_buffer: sigma,
        max_message: 1452,
        rto: RtoConfig { initial: Duration::from_secs(3), ..RtoConfig::default() },
        congestion: CcConfig { unit: CwndUnit::PathMtu, ..CcConfig::default() },
        ..AssocConfig::default()
    }
}

/// The settings of the reference runs with ns-2 (S1).
pub fn s1(receive_buffer: u32) -> AssocConfig {
    AssocConfig {
        send_buffer: u64::MAX,
        receive_buffer,
        max_message: 1452,
        rto: RtoConfig { initial: Duration::from_secs(3), ..RtoConfig::default() },
        cmt: CmtConfig { rtt_same_path: false, ..CmtConfig::default() },
        congestion: CcConfig {
            unit: CwndUnit::PathMtu,
            initial_cwnd: InitialCwnd::Bytes(4380),
            initial_ssthresh: InitialSsthresh::Bytes(65_536),
            loss_floor_mtus: 2,
            abc_limit: 1,
            abc_per_acked: false,
            full_for_round_trip: false,
            idle_halves_alone: false,
        },
        reproduction: ReproductionConfig {
            chunk_charge: 16,
            max_burst_rule: BurstRule::AfterFastRetransmit,
            ..ReproductionConfig::default()
        },
        ..AssocConfig::default()
    }
}
