//! From a scenario to an emulated network, in which the same links carry real packets; and what is
//! told of it.

mod capture;

pub use capture::Capture;

use std::net::IpAddr;

use polypath_emu::{
    CrossSpec, HostSpec, InterfaceSpec, LinkSpec, Measurement, NatCounters, NatSpec, NetworkSpec,
    RouteSpec, Stats,
};
use polypath_sim::{WorldSpec, link_seed, nat_seed, spec};
use serde::Serialize;

use crate::run::RunError;
use crate::scenario::Scenario;
use crate::world::world_spec;

/// Emulated networks run longer than simulations do: changes that repeat go on for so long, in ns.
const AN_HOUR: u64 = 3_600_000_000_000;
/// Repeated changes faster than this, in ns, end with the scenario.
const FAST: u64 = 10_000_000;

/// The network of a checked scenario with the draws of this seed, as far as they do not hang on the
/// traffic. Packet sizes count as in the simulator: from the IP header on.
///
/// # Errors
/// When the simulator would refuse the scenario, too.
pub fn network(scenario: &Scenario, seed: u64) -> Result<NetworkSpec, RunError> {
    let mut world = world_spec(scenario, false)?;
    world.check()?;
    if world.repeats.iter().all(|repeat| repeat.period >= FAST) {
        world.time.measure = world.time.measure.max(AN_HOUR);
    }
    let topology = &world.topology;
    let host = |name| topology.hosts.iter().find(|host| host.name == name);
    let side = |name| host(name).map(|host| host_spec(topology, host)).unwrap_or_default();
    Ok(NetworkSpec {
        client: side("client"),
        server: side("server"),
        links: topology.links.iter().map(|link| link_spec(&world, link, seed)).collect(),
        routes: topology.routes.iter().map(|route| route_spec(topology, route)).collect(),
        cross: world.cross.iter().map(|cross| cross_spec(topology, cross, seed)).collect(),
        nats: topology.nats.iter().map(|nat| nat_spec(nat, seed)).collect(),
        ..NetworkSpec::default()
    })
}

/// What in a scenario an emulated network leaves to the programs that run in it, in words.
#[must_use]
pub fn left_out(scenario: &Scenario) -> Vec<&'static str> {
    let wishes = scenario.at.iter().any(|change| change.admin.is_some());
    wishes
        .then_some("`admin` of [[at]]: it is the sender's wish, not the network's")
        .into_iter()
        .collect()
}

/// Each address has an interface of its own, which is called like the path if there is only one.
fn host_spec(topology: &spec::Topology, host: &spec::HostSpec) -> HostSpec {
    let interface = |(n, &address): (usize, &IpAddr)| {
        let mut routes = topology.routes.iter().filter(|route| route.from == address);
        let own = routes.next().filter(|_| routes.next().is_none()).map(|route| &route.name);
        let name = own.filter(|name| polypath_emu::is_name(name));
        let name = name.cloned().unwrap_or_else(|| format!("net{n}"));
        InterfaceSpec { name, addresses: vec![address] }
    };
    HostSpec { interfaces: host.addresses.iter().enumerate().map(interface).collect() }
}

fn link_spec(world: &WorldSpec, link: &spec::LinkSpec, seed: u64) -> LinkSpec {
    let mut config = link.config.clone();
    config.schedule = world.link_schedule(&link.name, seed);
    LinkSpec { name: link.name.clone(), config, seed: link_seed(seed, &link.name) }
}

fn route_spec(topology: &spec::Topology, route: &spec::RouteSpec) -> RouteSpec {
    RouteSpec {
        path: route.name.clone(),
        from: route.from,
        to: route.to,
        links: route.links.iter().filter_map(|name| position(topology, name)).collect(),
        vanish_above: None,
    }
}

fn cross_spec(topology: &spec::Topology, cross: &spec::CrossSpec, seed: u64) -> CrossSpec {
    // Checked worlds have cross traffic on links that there are.
    let link = position(topology, &cross.link).unwrap_or(0);
    CrossSpec { link, packets: Box::new(cross.packets(seed)) }
}

fn nat_spec(nat: &spec::NatSpec, seed: u64) -> NatSpec {
    NatSpec {
        name: nat.name.clone(),
        inside: nat.inside.clone(),
        config: nat.config.clone(),
        seed: nat_seed(seed, &nat.name),
    }
}

fn position(topology: &spec::Topology, link: &str) -> Option<usize> {
    topology.links.iter().position(|known| known.name == link)
}

/// What an emulated network did, for `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What it found when it measured itself; empty if it did not.
    pub routes: Vec<RouteReport>,
    /// What crossed each link since the start.
    pub links: Vec<LinkReport>,
    /// What became of packets at boxes that translate addresses, since the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nats: Vec<NatReport>,
    /// Packets without a route from their source to their destination.
    pub unrouted: u64,
    /// Packets that arrived at an interface that was down.
    pub refused: u64,
    /// How late packets were.
    pub lateness: LatenessReport,
}

/// A route, as measured: delays in s, rates in bit/s.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RouteReport {
    /// The path's name.
    pub path: String,
    /// Source address.
    pub from: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// What the scenario says.
    pub delay_expected: f64,
    /// What was found.
    pub delay_measured: f64,
    /// What the links would have carried of what was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_expected: Option<f64>,
    /// What they carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_measured: Option<f64>,
}

/// A link's counters, in packets.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkReport {
    /// Its name.
    pub link: String,
    /// Packets that came.
    pub offered: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Bytes that arrived.
    pub delivered_bytes: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Found no room, or dropped early.
    pub overflowed: u64,
    /// Lost as the link was down.
    pub cut: u64,
}

/// A box's counters, in packets.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NatReport {
    /// Its name.
    pub nat: String,
    /// Translated on their way out.
    pub outbound: u64,
    /// Translated on their way in.
    pub inbound: u64,
    /// From outside, for a port that nobody has.
    pub unmapped: u64,
    /// From outside, of somebody whom the filter does not let in.
    pub filtered: u64,
    /// From inside, for which there was no room.
    pub refused: u64,
    /// ICMP errors led on, either way.
    pub errors: u64,
    /// ICMP errors that the box sent itself.
    pub answers: u64,
    /// Fragments, protocols without ports, errors about packets that nobody sent.
    pub other: u64,
}

/// How late packets were, in s.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatenessReport {
    /// Packets delivered.
    pub packets: u64,
    /// Half of them were at most so late.
    pub median: f64,
    /// 99 % of them.
    pub p99: f64,
    /// 99.9 % of them.
    pub p999: f64,
    /// All of them.
    pub max: f64,
}

impl Report {
    /// Puts together what was measured and what was counted.
    #[must_use]
    pub fn new(measured: &[Measurement], stats: &Stats) -> Self {
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let late = &stats.lateness;
        Self {
            routes: measured.iter().map(RouteReport::new).collect(),
            links: stats.links.iter().map(|(name, link)| LinkReport::new(name, link)).collect(),
            nats: stats.nats.iter().map(|(name, nat)| NatReport::new(name, nat)).collect(),
            unrouted: stats.unrouted,
            refused: stats.refused,
            lateness: LatenessReport {
                packets: late.frames,
                median: seconds(late.median),
                p99: seconds(late.p99),
                p999: seconds(late.p999),
                max: seconds(late.max),
            },
        }
    }
}

impl RouteReport {
    fn new(found: &Measurement) -> Self {
        Self {
            path: found.path.clone(),
            from: found.from,
            to: found.to,
            delay_expected: found.delay.expected,
            delay_measured: found.delay.measured,
            rate_expected: found.rate.map(|rate| rate.expected),
            rate_measured: found.rate.map(|rate| rate.measured),
        }
    }
}

impl LinkReport {
    fn new(name: &str, link: &polypath_link::LinkStats) -> Self {
        let drops = link.dropped;
        Self {
            link: name.to_owned(),
            offered: link.offered,
            delivered: link.delivered,
            delivered_bytes: link.delivered_bytes,
            lost: drops.loss + drops.bit_error,
            overflowed: drops.queue_full + drops.red,
            cut: drops.down,
        }
    }
}

impl NatReport {
    fn new(name: &str, counters: &NatCounters) -> Self {
        let NatCounters { packets, errors, answers, other } = *counters;
        Self {
            nat: name.to_owned(),
            outbound: packets.outbound,
            inbound: packets.inbound,
            unmapped: packets.unmapped,
            filtered: packets.filtered,
            refused: packets.refused,
            errors,
            answers,
            other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Source;

    fn of(text: &str) -> NetworkSpec {
        let rest = "[[flow]]\napp = 'saturated'\n[time]\nmeasure = '10s'\n";
        let source = Source::new("test", format!("{text}\n{rest}")).unwrap();
        let spec = network(&source.scenario().unwrap(), 1).unwrap();
        assert_eq!(spec.check(), Ok(()));
        spec
    }

    fn names(host: &HostSpec) -> Vec<&str> {
        host.interfaces.iter().map(|interface| interface.name.as_str()).collect()
    }

    #[test]
    fn paths_become_interfaces_of_their_name_and_routes_with_their_links() {
        let spec = of("[path.wifi]\nrate = '20Mbit/s'\n[path.abcdefghijklmnopqr]\ndelay = '5ms'");
        assert_eq!(names(&spec.client), ["wifi", "net1"]);
        assert_eq!(spec.client.addresses().next().unwrap().to_string(), "10.0.1.1");
        assert_eq!(spec.routes.len(), 4);
        assert_eq!(
            (spec.links[0].name.as_str(), &spec.routes[0].links[..]),
            ("wifi.forward", &[0][..])
        );
        assert_eq!(spec.links[0].config.rate, Some(20_000_000));
    }

    #[test]
    fn one_server_address_is_one_interface() {
        let spec = of("[path.a]\n[path.b]\n[endpoints]\nserver-addresses = 'one'\nfamily = 'ipv6'");
        assert_eq!((names(&spec.client), names(&spec.server)), (vec!["a", "b"], vec!["net0"]));
        assert_eq!(spec.routes[3].from, spec.routes[1].from);
    }

    #[test]
    fn routes_share_links_and_changes_that_repeat_go_on() {
        let spec = of(
            "[link.x]\nrate = '10Mbit/s'\n[link.a]\n[link.b]\n[route.r]\nlinks = ['a', 'x']\n\
             [route.s]\nlinks = ['b', 'x']\n[[every]]\ntarget = 'x'\nperiod = '1s'\nrate = ['1Mbit/s', '2Mbit/s']\n\
             [[cross]]\nlink = 'x'\nrate = '1Mbit/s'",
        );
        let crossed = |route: usize| -> Vec<_> {
            spec.routes[route].links.iter().map(|&n| spec.links[n].name.as_str()).collect()
        };
        assert_eq!(
            (crossed(0), crossed(1)),
            (vec!["a.forward", "x.forward"], vec!["x.reverse", "a.reverse"])
        );
        assert_eq!(crossed(2)[1], "x.forward");
        assert_eq!(spec.links[0].config.schedule.len(), 3600);
        assert_eq!(spec.cross.len(), 1);
    }
}
