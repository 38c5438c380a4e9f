//! What the tests with boxes share.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

pub use polypath_emu::for_tests::build;
use polypath_emu::{InterfaceSpec, LinkSpec, Namespace, NatSpec, NetworkSpec, RouteSpec};
use polypath_link::{LinkConfig, LinkSeed, NatConfig};

/// For what comes.
pub const WAIT: Duration = Duration::from_secs(5);
/// For what does not.
pub const SHORT: Duration = Duration::from_millis(100);

pub fn socket(namespace: &Namespace, address: IpAddr, port: u16) -> UdpSocket {
    namespace.run(|| UdpSocket::bind((address, port)).unwrap()).unwrap()
}

/// Where the next packet came from; `None` if none did.
pub fn receive(socket: &UdpSocket, wait: Duration) -> Option<SocketAddr> {
    socket.set_read_timeout(Some(wait)).unwrap();
    socket.recv_from(&mut [0; 100]).ok().map(|(_, from)| from)
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// The addresses of one family: two of the client, three of the server, two of boxes.
#[derive(Clone, Copy)]
pub struct Family {
    pub clients: [&'static str; 2],
    pub servers: [&'static str; 3],
    pub external: [&'static str; 2],
}

pub const V4: Family = Family {
    clients: ["10.0.1.1", "10.0.2.1"],
    servers: ["203.0.113.2", "203.0.113.3", "203.0.113.4"],
    external: ["198.51.100.1", "198.51.100.2"],
};
pub const V6: Family = Family {
    clients: ["fd00:0:0:1::1", "fd00:0:0:2::1"],
    servers: ["fd00::2", "fd00::3", "fd00::4"],
    external: ["2001:db8::1", "2001:db8::2"],
};

/// Two uplinks of a client to a server with several addresses on one interface. `behind` says
/// behind which box each uplink is; boxes of that many are made.
pub fn uplinks(family: Family, behind: [usize; 2], change: impl Fn(&mut NatConfig)) -> NetworkSpec {
    let mut spec = NetworkSpec::default();
    let interface = |name: &str, addresses| InterfaceSpec { name: name.into(), addresses };
    let servers = family.servers.map(ip);
    spec.server.interfaces = vec![interface("net0", servers.to_vec())];
    for (name, client) in ["a", "b"].into_iter().zip(family.clients.map(ip)) {
        spec.client.interfaces.push(interface(name, vec![client]));
        let first = spec.links.len();
        for direction in ["forward", "reverse"] {
            let name = format!("{name}.{direction}");
            let seed = LinkSeed::new(1, spec.links.len() as u64);
            let config = LinkConfig { delay: 1_000_000, ..LinkConfig::default() };
            spec.links.push(LinkSpec { name, config, seed });
        }
        for server in servers {
            for (from, to, link) in [(client, server, first), (server, client, first + 1)] {
                let (path, links) = (name.into(), vec![link]);
                spec.routes.push(RouteSpec { path, from, to, links, vanish_above: None });
            }
        }
    }
    for number in 0..=behind.into_iter().max().unwrap_or(0) {
        let mut config = NatConfig::new(ip(family.external[number]));
        change(&mut config);
        let own = family.clients.into_iter().zip(behind).filter(|(_, own)| *own == number);
        spec.nats.push(NatSpec {
            name: format!("home{number}"),
            inside: own.map(|(client, _)| ip(client)).collect(),
            config,
            seed: LinkSeed::new(2, number as u64),
        });
    }
    spec
}
