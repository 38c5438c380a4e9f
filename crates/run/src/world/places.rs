//! The names and addresses that the parts of a world know one another by.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use polypath_scenario::{Direction, Family, FlowSpec, PathSpec, Scenario, ServerAddresses};

/// Client and server address of a path: the path's number is the third part, as in 10.0.1.1.
pub(super) fn path_addresses(scenario: &Scenario, path: usize) -> (IpAddr, IpAddr) {
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
pub(super) fn own_links(name: &str, spec: &PathSpec) -> Vec<String> {
    match spec.edge {
        Some(_) => vec![edge_name(name, "client"), name.to_owned(), edge_name(name, "server")],
        None => vec![name.to_owned()],
    }
}

pub(super) fn edge_name(path: &str, side: &str) -> String {
    format!("{path}.{side}-edge")
}

pub(super) fn directed_name(link: &str, direction: Direction) -> String {
    match direction {
        Direction::Forward => format!("{link}.forward"),
        Direction::Reverse => format!("{link}.reverse"),
    }
}

/// The flow's paths in the order of their numbers in the association.
pub(super) fn flow_path_names<'a>(
    scenario: &'a Scenario,
    flow: &'a FlowSpec,
) -> impl Iterator<Item = &'a str> {
    let all = flow.paths.is_none().then(|| scenario.path_names());
    let chosen = flow.paths.iter().flatten().map(String::as_str);
    all.into_iter().flatten().chain(chosen)
}

pub(super) fn data_direction(flow: &FlowSpec) -> Direction {
    flow.direction.unwrap_or(Direction::Forward)
}
