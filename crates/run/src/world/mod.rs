//! From a scenario to the simulator's world.

mod changes;
mod cross;
mod nat;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use polypath_link as link;
use polypath_proto::config::{self, AssocConfig, PathPairing};
use polypath_proto::{Reliability, Service, StreamNeeds};
use polypath_scenario::profile::{Layers, Stack};
use polypath_scenario::units::{Delay, Packets, QueueSize, Rate, Size};
use polypath_scenario::{
    App, BesideSpec, Direction, Encapsulation, Family, FlowSpec, LinkSettings, LossPlace,
    NeedsSpec, PathSpec, ReliabilitySpec, Scenario, ServerAddresses, ServiceSetting,
};
use polypath_sim::spec;

/// ns-2's and the papers' usual order of magnitude.
const DEFAULT_QUEUE: u32 = 100;
/// The first flow's ports; each flow takes two.
const FIRST_PORT: u16 = 5_000;

/// The world of a checked scenario. `trace` makes the ends record their events.
///
/// # Errors
/// A policy that does not exist; checked scenarios have none.
pub fn world_spec(
    scenario: &Scenario,
    trace: bool,
) -> Result<spec::WorldSpec, polypath_policies::PolicyError> {
    let flows = (0..scenario.flow.len()).map(|n| flow(scenario, n, trace));
    Ok(spec::WorldSpec {
        topology: topology(scenario),
        flows: flows.collect::<Result<Vec<_>, _>>()?,
        actions: changes::wishes(scenario),
        repeats: changes::repeats(scenario),
        cross: cross::sources(scenario),
        time: time(scenario),
        sample_every: scenario.time.sample.map(|Delay(ns)| ns),
    })
}

fn time(scenario: &Scenario) -> spec::TimeSpec {
    let Delay(settle) = scenario.time.settle.unwrap_or_default();
    spec::TimeSpec {
        settle,
        measure: scenario.time.last_moment().0.saturating_sub(settle),
        stop_when_done: scenario.flow.iter().all(FlowSpec::ends_by_itself),
    }
}

fn topology(scenario: &Scenario) -> spec::Topology {
    let mut topology = spec::Topology::default();
    let (clients, servers): (Vec<_>, Vec<_>) =
        (0..scenario.path_names().count()).map(|path| addresses(scenario, path)).unzip();
    for (name, spec) in scenario.path.iter().chain(&scenario.link) {
        topology.links.extend(links(scenario, name, spec));
    }
    let ways = scenario.path.iter().map(|(name, spec)| own_links(name, spec));
    let ways = ways.chain(scenario.route.values().map(|route| route.links.clone()));
    for (path, (name, way)) in scenario.path_names().zip(ways).enumerate() {
        let (client, server) = addresses(scenario, path);
        let route = |from, to, links| spec::RouteSpec { name: name.to_owned(), from, to, links };
        let forward = way.iter().map(|link| directed(link, Direction::Forward)).collect();
        let reverse = way.iter().rev().map(|link| directed(link, Direction::Reverse)).collect();
        topology.routes.push(route(client, server, forward));
        topology.routes.push(route(server, client, reverse));
    }
    topology.nats = nat::boxes(scenario);
    topology.hosts = vec![host("client", clients), host("server", servers)];
    topology
}

fn host(name: &str, mut addresses: Vec<IpAddr>) -> spec::HostSpec {
    addresses.dedup();
    spec::HostSpec { name: name.to_owned(), addresses }
}

/// Client and server address of a path: the path's number is the third part, as in 10.0.1.1.
fn addresses(scenario: &Scenario, path: usize) -> (IpAddr, IpAddr) {
    // Checked scenarios have at most 16 paths.
    let network = u8::try_from(path + 1).unwrap_or(u8::MAX);
    let address = |network: u8, host: u8| match scenario.endpoints.family {
        Family::Ipv4 => IpAddr::V4(Ipv4Addr::new(10, 0, network, host)),
        Family::Ipv6 => {
            IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, network.into(), 0, 0, 0, host.into()))
        }
    };
    let server = match scenario.endpoints.server_addresses {
        ServerAddresses::PerPath => address(network, 2),
        ServerAddresses::One => address(0, 2),
    };
    (address(network, 1), server)
}

/// Names of the duplex links of a path of its own, from client to server.
fn own_links(name: &str, spec: &PathSpec) -> Vec<String> {
    match spec.edge {
        Some(_) => vec![edge(name, "client"), name.to_owned(), edge(name, "server")],
        None => vec![name.to_owned()],
    }
}

fn edge(path: &str, side: &str) -> String {
    format!("{path}.{side}-edge")
}

fn directed(link: &str, direction: Direction) -> String {
    match direction {
        Direction::Forward => format!("{link}.forward"),
        Direction::Reverse => format!("{link}.reverse"),
    }
}

fn links(scenario: &Scenario, name: &str, spec: &PathSpec) -> Vec<spec::LinkSpec> {
    let mut links = Vec::new();
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut config = link_config(&spec.one_way(direction));
        config.schedule = changes::schedule(scenario, name, direction);
        links.push(spec::LinkSpec { name: directed(name, direction), config });
        if let Some(settings) = &spec.edge {
            for side in ["client", "server"] {
                let name = directed(&edge(name, side), direction);
                links.push(spec::LinkSpec { name, config: link_config(settings) });
            }
        }
    }
    links
}

fn link_config(settings: &LinkSettings) -> link::LinkConfig {
    link::LinkConfig {
        rate: settings.rate.map(|Rate(bits)| bits),
        trace: trace(settings),
        mtu: settings.mtu.map(|Size(bytes)| u32::try_from(bytes).unwrap_or(u32::MAX)),
        delay: settings.delay.unwrap_or_default().0,
        jitter: settings
            .jitter
            .map(|Delay(max)| link::Jitter { max, reorder: settings.reorder.unwrap_or(false) }),
        queue: queue(settings),
        loss: losses(settings),
        loss_at: match settings.loss_at.unwrap_or(LossPlace::Entry) {
            LossPlace::Entry => link::LossAt::Entry,
            LossPlace::Exit => link::LossAt::Exit,
        },
        schedule: Vec::new(),
    }
}

/// The delivery trace, from where the run begins in it.
fn trace(settings: &LinkSettings) -> Option<link::DeliveryTrace> {
    let trace = settings.trace.as_ref()?.trace()?;
    Some(settings.trace_start.map_or_else(|| trace.clone(), |Delay(start)| trace.from(start)))
}

/// What the link sends in `time`, but at least a packet: with less room nothing could ever wait.
fn room_for(settings: &LinkSettings, Delay(time): Delay) -> u64 {
    let traced = || trace(settings).map_or(0, |trace| trace.mean_rate());
    let rate = settings.rate.map_or_else(traced, |Rate(bits)| bits);
    let bytes = u128::from(rate) * u128::from(time) / 8_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX).max(1_500)
}

fn queue(settings: &LinkSettings) -> link::Queue {
    let limit = |Packets(packets): Packets| u32::try_from(packets).unwrap_or(u32::MAX);
    if let Some(red) = settings.red {
        let default = link::RedConfig::default();
        return link::Queue::Red(link::RedConfig {
            min_packets: f64::from(limit(red.min)),
            max_packets: f64::from(limit(red.max)),
            max_p: red.probability.as_f64(),
            weight: red.weight.map_or(default.weight, |weight| weight.as_f64()),
            limit_packets: match settings.queue {
                Some(QueueSize::Unlimited) => u32::MAX,
                queue => queue.and_then(QueueSize::packets).map_or(DEFAULT_QUEUE, limit),
            },
        });
    }
    match settings.queue {
        None => link::Queue::DropTailPackets(DEFAULT_QUEUE),
        Some(QueueSize::Unlimited) => link::Queue::Unlimited,
        Some(QueueSize::Packets(packets)) => link::Queue::DropTailPackets(limit(packets)),
        Some(QueueSize::Bytes(Size(bytes))) => link::Queue::DropTailBytes(bytes),
        Some(QueueSize::Time(time)) => link::Queue::DropTailBytes(room_for(settings, time)),
    }
}

fn losses(settings: &LinkSettings) -> Vec<link::LossModel> {
    let bernoulli = settings.loss.map(|loss| link::LossModel::Bernoulli(loss.as_f64()));
    let bits = settings.bit_errors.map(|errors| link::LossModel::BitError(errors.as_f64()));
    let bursts = settings.bursts.map(|bursts| link::LossModel::GilbertElliott {
        p_good_to_bad: bursts.to_bad.as_f64(),
        p_bad_to_good: bursts.to_good.as_f64(),
        loss_good: bursts.loss_good.as_f64(),
        loss_bad: bursts.loss_bad.as_f64(),
    });
    let script = settings.lose.clone().map(link::LossModel::Scripted);
    [bernoulli, bits, bursts, script].into_iter().flatten().collect()
}

fn flow(
    scenario: &Scenario,
    n: usize,
    trace: bool,
) -> Result<spec::FlowSpec, polypath_policies::PolicyError> {
    // `n` counts the scenario's flows.
    let flow = &scenario.flow[n];
    let layers = Layers::of(scenario, n);
    let end = |port, stack: Stack| {
        let stack = with_oracle(stack, scenario, flow);
        Ok(spec::EndSpec { port, assoc: assoc(flow, stack, trace)? })
    };
    // Two ports per flow; more than 30,000 flows would wrap, and the world's own check refuses that.
    let port = FIRST_PORT.wrapping_add(u16::try_from(2 * n).unwrap_or(u16::MAX));
    let open = flow.start.unwrap_or_default().0;
    let jitter = flow.jitter.unwrap_or_default().0;
    Ok(spec::FlowSpec {
        client: end(port, layers.sender())?,
        server: end(port.wrapping_add(1), layers.receiver())?,
        pairing: match scenario.endpoints.server_addresses {
            ServerAddresses::PerPath => PathPairing::Index,
            ServerAddresses::One => PathPairing::Mesh,
        },
        encapsulation: match scenario.endpoints.encapsulation {
            Encapsulation::Raw => config::Encapsulation::Raw,
            Encapsulation::Udp => config::Encapsulation::Udp,
        },
        connect_at: open,
        connect_jitter: if flow.send_at.is_none() { jitter } else { 0 },
        start_at: flow.send_at.map_or(open, |Delay(ns)| ns),
        start_jitter: if flow.send_at.is_some() { jitter } else { 0 },
        reader: spec::ReaderSpec {
            rate: flow.read_rate.map(|Rate(bits)| bits),
            ..spec::ReaderSpec::default()
        },
        trace,
        needs: needs(&flow.needs.unwrap_or_default()),
        reliability: reliability(flow.reliability),
        beside: flow.beside.iter().map(beside).collect(),
        ..spec::FlowSpec::new(scenario.flow_name(n), flow_paths(scenario, flow), app(flow))
    })
}

fn needs(spec: &NeedsSpec) -> StreamNeeds {
    let service = match spec.service {
        ServiceSetting::Throughput => Service::Throughput,
        ServiceSetting::LowDelay => Service::LowDelay,
    };
    let deadline = spec.deadline.map(Delay::duration);
    StreamNeeds { service, priority: spec.priority, deadline }
}

/// Checked: one rule at most.
fn reliability(spec: Option<ReliabilitySpec>) -> Reliability {
    let spec = spec.unwrap_or_default();
    let lifetime = spec.lifetime.map(|lifetime| Reliability::Timed(lifetime.duration()));
    let limited = spec.retransmissions.map(Reliability::Limited);
    lifetime.or(limited).or(spec.priority.map(Reliability::Priority)).unwrap_or_default()
}

fn beside(spec: &BesideSpec) -> spec::BesideSpec {
    spec::BesideSpec {
        // Checked: up to 64 KiB.
        bytes: u32::try_from(spec.message.0).unwrap_or(u32::MAX),
        every: spec.every.0,
        unordered: spec.unordered,
        reliability: reliability(spec.reliability),
        needs: needs(&spec.needs),
    }
}

/// Address pairs of the flow's paths; the sender opens the association.
fn flow_paths(scenario: &Scenario, flow: &FlowSpec) -> Vec<(IpAddr, IpAddr)> {
    let number = |name| scenario.path_names().position(|known| known == name);
    let pair = |path| {
        let (client, server) = addresses(scenario, path);
        match way(flow) {
            Direction::Forward => (client, server),
            Direction::Reverse => (server, client),
        }
    };
    flow_path_names(scenario, flow).filter_map(number).map(pair).collect()
}

/// The flow's paths in the order of their numbers in the association.
fn flow_path_names<'a>(
    scenario: &'a Scenario,
    flow: &'a FlowSpec,
) -> impl Iterator<Item = &'a str> {
    let all = flow.paths.is_none().then(|| scenario.path_names());
    let chosen = flow.paths.iter().flatten().map(String::as_str);
    all.into_iter().flatten().chain(chosen)
}

fn way(flow: &FlowSpec) -> Direction {
    flow.direction.unwrap_or(Direction::Forward)
}

/// RTX-LOSSRATE is an oracle: where its rates are not given, it knows what the scenario says of the paths, client to
/// server.
fn with_oracle(mut stack: Stack, scenario: &Scenario, flow: &FlowSpec) -> Stack {
    if stack.policies.retransmission == "lossrate" {
        let rates: Vec<String> = flow_path_names(scenario, flow)
            .map(|name| forward_loss(scenario, name).to_string())
            .collect();
        stack.policies.retransmission = format!("lossrate?rates={}", rates.join(","));
    }
    stack
}

fn forward_loss(scenario: &Scenario, name: &str) -> f64 {
    let of = |settings: LinkSettings| settings.loss.map_or(0.0, |loss| loss.as_f64());
    let own = scenario.path.get(name).map(|spec| spec.one_way(Direction::Forward));
    own.map_or(0.0, of)
}

fn assoc(
    flow: &FlowSpec,
    stack: Stack,
    trace: bool,
) -> Result<Arc<AssocConfig>, polypath_policies::PolicyError> {
    let policies = stack.policy_factory()?;
    let streams = flow.stream_count();
    Ok(Arc::new(AssocConfig {
        outbound_streams: stack.assoc.outbound_streams.max(streams),
        inbound_streams: stack.assoc.inbound_streams.max(streams),
        policies,
        trace,
        ..stack.assoc
    }))
}

fn app(flow: &FlowSpec) -> spec::AppSpec {
    // Checked scenarios have messages below 4 GiB, and the fields that their application needs.
    let bytes = |Size(bytes): Size| u32::try_from(bytes).unwrap_or(u32::MAX);
    let messages = spec::MessageSpec {
        bytes: bytes(flow.message_or_default()),
        streams: flow.streams.unwrap_or(1),
        unordered: flow.unordered.unwrap_or(false),
    };
    let rate = flow.rate.map(|Rate(bits)| bits);
    let period = |Delay(ns): Delay| {
        if flow.fixed.unwrap_or(false) {
            spec::Period::Fixed(ns)
        } else {
            spec::Period::Exponential(ns)
        }
    };
    match flow.app {
        App::Saturated => spec::AppSpec::Saturated {
            messages,
            refill: if flow.per_stream_share.unwrap_or(false) {
                spec::Refill::Contingent
            } else if flow.per_stream_backlog.unwrap_or(false) {
                spec::Refill::LeastUnsent
            } else {
                spec::Refill::RoundRobin
            },
        },
        App::File => spec::AppSpec::File {
            content: spec::FileContent::Pattern(flow.size.unwrap_or_default().0),
            messages,
        },
        App::Cbr => spec::AppSpec::ConstantRate { messages, rate: rate.unwrap_or_default() },
        App::Onoff => spec::AppSpec::OnOff {
            messages,
            rate,
            on: period(flow.on.unwrap_or_default()),
            off: period(flow.off.unwrap_or_default()),
        },
        App::Request => spec::AppSpec::RequestResponse {
            request_bytes: messages.bytes,
            response_bytes: bytes(flow.response.unwrap_or_default()),
            think: flow.think.unwrap_or_default().0,
            count: flow.count,
        },
    }
}
