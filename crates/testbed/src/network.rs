//! From a scenario to an emulated network, in which the same links carry real packets.

use std::net::IpAddr;

use polypath_emu::{CrossSpec, HostSpec, InterfaceSpec, LinkSpec, NatSpec, NetworkSpec, RouteSpec};
use polypath_run::{RunError, world_spec};
use polypath_scenario::Scenario;
use polypath_sim::{WorldSpec, link_seed, nat_seed, spec};

/// Emulated networks run longer than simulations do: changes that repeat go on for so long, in ns.
const AN_HOUR: u64 = 3_600_000_000_000;
/// Repeated changes faster than this, in ns, end with the scenario.
const FAST: u64 = 10_000_000;

/// The network of a checked scenario with the draws of this seed, as far as they do not hang on the
/// traffic. Packet sizes count as in the simulator: from the IP header on.
///
/// # Errors
/// When the simulator would refuse the scenario, too.
pub fn network_spec(scenario: &Scenario, seed: u64) -> Result<NetworkSpec, RunError> {
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
        links: route.links.iter().filter_map(|name| link_position(topology, name)).collect(),
        vanish_above: None,
    }
}

fn cross_spec(topology: &spec::Topology, cross: &spec::CrossSpec, seed: u64) -> CrossSpec {
    // Checked worlds have cross traffic on links that there are.
    let link = link_position(topology, &cross.link).unwrap_or(0);
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

fn link_position(topology: &spec::Topology, link: &str) -> Option<usize> {
    topology.links.iter().position(|known| known.name == link)
}

#[cfg(test)]
mod tests {
    use polypath_scenario::Source;

    use super::*;

    fn of(text: &str) -> NetworkSpec {
        let rest = "[[flow]]\napp = 'saturated'\n[time]\nmeasure = '10s'\n";
        let source = Source::new("test", format!("{text}\n{rest}")).unwrap();
        let spec = network_spec(&source.parse_scenario().unwrap(), 1).unwrap();
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
