//! The simulator on the four set-ups for which the speed of ns-2 was recorded: two paths, each host
//! - edge - core - edge - host, so that every packet crosses three links.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use polypath_link::{LinkConfig, LossModel, Queue};
use polypath_policies::PolicySpec;
use polypath_proto::config::{AssocConfig, CcConfig, CwndUnit, InitialCwnd, InitialSsthresh};
use polypath_sim::spec::{
    AppSpec, FlowSpec, HostSpec, LinkSpec, MessageSpec, Refill, RouteSpec, TimeSpec, Topology,
    WorldSpec,
};

use crate::cpu;

/// One of the four set-ups.
pub(crate) struct Setup {
    pub(crate) name: &'static str,
    seconds: u64,
    core_mbit: u64,
    edge_mbit: u64,
    delay_ms: u64,
    loss: f64,
    queue: u32,
    receive_buffer: u32,
    ssthresh: u64,
    /// Arguments of ns-2's script for the same run.
    ns2: &'static str,
    /// Packets that both hosts of ns-2 send (recorded with queue monitors, which the timed run goes
    /// without).
    ns2_packets: u64,
    /// How many times ns-2's packets per CPU second we aim for.
    pub(crate) aim: f64,
}

/// The four set-ups of the reference data, in their order.
pub(crate) const SETUPS: [Setup; 4] = [
    Setup {
        name: "2 x 10 Mbit/s, 300 s",
        seconds: 300,
        core_mbit: 10,
        edge_mbit: 100,
        delay_ms: 45,
        loss: 0.0,
        queue: 50,
        receive_buffer: 4_194_304,
        ssthresh: 65_536,
        ns2: "bytes=0 dur=300 losses=0,0 rbuf=4194304 pol=2 unordered=1 poll=0",
        ns2_packets: 736_141,
        aim: 3.0,
    },
    Setup {
        name: "the same with 1 % loss",
        seconds: 300,
        core_mbit: 10,
        edge_mbit: 100,
        delay_ms: 45,
        loss: 0.01,
        queue: 50,
        receive_buffer: 1_048_576,
        ssthresh: 65_536,
        ns2: "bytes=0 dur=300 losses=0.01,0.01 rbuf=1048576 pol=2 unordered=1 poll=0",
        ns2_packets: 137_672,
        aim: 3.0,
    },
    Setup {
        name: "2 x 100 Mbit/s, 45 ms, window-limited, 60 s",
        seconds: 60,
        core_mbit: 100,
        edge_mbit: 1000,
        delay_ms: 45,
        loss: 0.0,
        queue: 750,
        receive_buffer: 2_400_000,
        ssthresh: 16_777_216,
        ns2: "bytes=0 dur=60 losses=0,0 bw=100 ebw=1000 q=750 rbuf=2400000 ssthresh=16777216 pol=2 unordered=1 poll=0",
        ns2_packets: 1_477_281,
        aim: 30.0,
    },
    Setup {
        name: "2 x 100 Mbit/s, 5 ms, 60 s",
        seconds: 60,
        core_mbit: 100,
        edge_mbit: 1000,
        delay_ms: 5,
        loss: 0.0,
        queue: 750,
        receive_buffer: 400_000,
        ssthresh: 16_777_216,
        ns2: "bytes=0 dur=60 losses=0,0 bw=100 ebw=1000 q=750 delays=5,5 rbuf=400000 ssthresh=16777216 pol=2 unordered=1 poll=0",
        ns2_packets: 1_498_331,
        aim: 3.0,
    },
];

/// Packets and CPU time of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) packets: u64,
    pub(crate) cpu: Duration,
}

impl Cost {
    /// SCTP packets sent by both hosts, per CPU second.
    pub(crate) fn packet_rate(&self) -> f64 {
        self.packets as f64 / self.cpu.as_secs_f64()
    }
}

impl Setup {
    /// Runs our simulator.
    pub(crate) fn run(&self) -> Result<Cost> {
        let spec = self.world_spec()?;
        let (result, cpu) = cpu::measure_cpu(|| polypath_sim::run(&spec, 1, None))?;
        let result = result?;
        for flow in &result.flows {
            ensure!(flow.integrity.holds(), "{}: {} was damaged", self.name, flow.name);
        }
        Ok(Cost { packets: result.packets, cpu })
    }

    /// Runs ns-2, if it is installed.
    pub(crate) fn run_ns2(&self, script: &str) -> Result<Option<Cost>> {
        let run = || {
            let mut command = Command::new("ns");
            command.arg(script).args(self.ns2.split(' ')).stdout(Stdio::null());
            command.status()
        };
        let (status, cpu) = cpu::of_children(run)?;
        match status {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            status => {
                ensure!(status.context("ns-2")?.success(), "ns-2 failed on: {}", self.ns2);
                Ok(Some(Cost { packets: self.ns2_packets, cpu }))
            }
        }
    }

    fn world_spec(&self) -> Result<WorldSpec> {
        let (sender, receiver) = (|i| host_address(i, 1), |i| host_address(i, 2));
        let mut topology = Topology {
            hosts: vec![
                HostSpec { name: "sender".into(), addresses: (0..2).map(sender).collect() },
                HostSpec { name: "receiver".into(), addresses: (0..2).map(receiver).collect() },
            ],
            ..Topology::default()
        };
        for i in 0..2 {
            for (direction, from, to) in
                [("forward", sender(i), receiver(i)), ("reverse", receiver(i), sender(i))]
            {
                let links = self.link_specs(i, direction);
                topology.routes.push(RouteSpec {
                    name: format!("path {i}"),
                    from,
                    to,
                    links: links.iter().map(|l| l.name.clone()).collect(),
                });
                topology.links.extend(links);
            }
        }
        let messages = MessageSpec { unordered: true, ..MessageSpec::default() };
        let app = AppSpec::Saturated { messages, refill: Refill::RoundRobin };
        let paths = (0..2).map(|i| (sender(i), receiver(i))).collect();
        let flow = FlowSpec::new("flow", paths, app).with_assoc(self.assoc_config()?);
        let measure = self.seconds * 1_000_000_000;
        Ok(WorldSpec {
            topology,
            flows: vec![flow],
            time: TimeSpec { settle: 0, measure, stop_when_done: false },
            ..WorldSpec::default()
        })
    }

    /// Edge, core, edge. ns-2's queue limit counts one packet more than may wait.
    fn link_specs(&self, path: u8, direction: &str) -> Vec<LinkSpec> {
        let ms = 1_000_000;
        let edge = LinkConfig {
            rate: Some(self.edge_mbit * 1_000_000),
            delay: ms,
            queue: Queue::DropTailPackets(999),
            ..LinkConfig::default()
        };
        let core = LinkConfig {
            rate: Some(self.core_mbit * 1_000_000),
            delay: (self.delay_ms - 2) * ms,
            queue: Queue::DropTailPackets(self.queue - 1),
            loss: if self.loss > 0.0 { vec![LossModel::Bernoulli(self.loss)] } else { vec![] },
            ..LinkConfig::default()
        };
        [("in", edge.clone()), ("core", core), ("out", edge)]
            .map(|(part, config)| LinkSpec { name: format!("{path} {direction} {part}"), config })
            .into()
    }

    fn assoc_config(&self) -> Result<Arc<AssocConfig>> {
        Ok(Arc::new(AssocConfig {
            receive_buffer: self.receive_buffer,
            // The saturated source of ns-2 never runs dry; four windows never do either.
            send_buffer: 4 * u64::from(self.receive_buffer),
            congestion: CcConfig {
                unit: CwndUnit::PathMtu,
                initial_cwnd: InitialCwnd::Bytes(4380),
                initial_ssthresh: InitialSsthresh::Bytes(self.ssthresh),
                loss_floor_mtus: 2,
                abc_limit: 1,
                abc_per_acked: false,
                full_for_round_trip: false,
                idle_halves_alone: false,
            },
            policies: polypath_policies::factory(&PolicySpec::default())?,
            ..AssocConfig::default()
        }))
    }
}

fn host_address(path: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, path, host).into()
}
