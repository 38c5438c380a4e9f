//! Hosts, and the links and routes between them.

use core::net::IpAddr;

use polypath_scenario::{Direction, Scenario};
use polypath_sim::spec;

use super::links::build_link_specs;
use super::nat;
use super::places::{directed_name, own_links, path_addresses};

pub(super) fn build_topology(scenario: &Scenario) -> spec::Topology {
    let mut topology = spec::Topology::default();
    let (clients, servers): (Vec<_>, Vec<_>) =
        (0..scenario.path_names().count()).map(|path| path_addresses(scenario, path)).unzip();
    for (name, spec) in scenario.path.iter().chain(&scenario.link) {
        topology.links.extend(build_link_specs(scenario, name, spec));
    }
    let ways = scenario.path.iter().map(|(name, spec)| own_links(name, spec));
    let ways = ways.chain(scenario.route.values().map(|route| route.links.clone()));
    for (path, (name, way)) in scenario.path_names().zip(ways).enumerate() {
        let (client, server) = path_addresses(scenario, path);
        let route = |from, to, links| spec::RouteSpec { name: name.to_owned(), from, to, links };
        let forward = way.iter().map(|link| directed_name(link, Direction::Forward)).collect();
        let reverse =
            way.iter().rev().map(|link| directed_name(link, Direction::Reverse)).collect();
        topology.routes.push(route(client, server, forward));
        topology.routes.push(route(server, client, reverse));
    }
    topology.nats = nat::build_nat_specs(scenario);
    topology.hosts = vec![build_host_spec("client", clients), build_host_spec("server", servers)];
    topology
}

fn build_host_spec(name: &str, mut addresses: Vec<IpAddr>) -> spec::HostSpec {
    addresses.dedup();
    spec::HostSpec { name: name.to_owned(), addresses }
}
