//! A case's network, as the emulator wants it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use polypath_emu::{HostSpec, InterfaceSpec, LinkSpec, NetworkSpec, RouteSpec};
use polypath_link::{Jitter, JitterShape, LinkConfig, LinkSeed, LossModel, Queue};

use super::case::{Family, Network};
use crate::peer::Role;

const MS: u64 = 1_000_000;

/// Bytes that may wait.
const QUEUE: u64 = 250_000;

impl Network {
    /// The address of a host on each path.
    pub(super) fn addresses(&self, role: Role) -> Vec<IpAddr> {
        let host = match role {
            Role::Client => 1,
            Role::Server => 2,
        };
        let shared = self.one_server_address && role == Role::Server;
        let paths = if shared { 1 } else { self.paths };
        (1..=paths).map(|path| self.address(path, host)).collect()
    }

    fn address(&self, path: u8, host: u8) -> IpAddr {
        let v6 = match self.family {
            Family::V4 => false,
            Family::V6 => true,
            Family::Mixed => path.is_multiple_of(2),
        };
        if v6 {
            return Ipv6Addr::new(0xfd00, path.into(), 0, 0, 0, 0, 0, host.into()).into();
        }
        Ipv4Addr::new(10, 0, path, host).into()
    }

    /// The name of a path and of its interfaces.
    pub(super) fn path_name(path: usize) -> String {
        format!("path{path}")
    }

    pub(super) fn network_spec(&self) -> NetworkSpec {
        let (clients, servers) = (self.addresses(Role::Client), self.addresses(Role::Server));
        let mut spec = NetworkSpec {
            client: host_spec(&clients),
            server: host_spec(&servers),
            ..NetworkSpec::default()
        };
        for (n, (&client, &server)) in clients.iter().zip(servers.iter().cycle()).enumerate() {
            for (from, to) in [(client, server), (server, client)] {
                let link = spec.links.len();
                let name = format!("link{link}");
                let seed = LinkSeed::new(1, link as u64);
                spec.links.push(LinkSpec { name, config: self.link_config(n), seed });
                let path = Self::path_name(n);
                spec.routes.push(RouteSpec {
                    path,
                    from,
                    to,
                    links: vec![link],
                    vanish_above: None,
                });
            }
        }
        spec
    }

    fn link_config(&self, path: usize) -> LinkConfig {
        let delay = self.delays.get(path).or(self.delays.last()).copied().unwrap_or(0);
        let mut loss = Vec::new();
        if self.loss > 0.0 {
            loss.push(LossModel::Bernoulli(self.loss));
        }
        if !self.drop.is_empty() {
            loss.push(LossModel::Scripted(self.drop.to_vec()));
        }
        LinkConfig {
            rate: Some(self.rate * 1_000_000),
            delay: delay * MS,
            jitter: (self.jitter > 0).then_some(Jitter {
                max: self.jitter * MS,
                shape: JitterShape::Uniform,
                reorder: true,
            }),
            queue: Queue::DropTailBytes(QUEUE),
            loss,
            ..LinkConfig::default()
        }
    }
}

fn host_spec(addresses: &[IpAddr]) -> HostSpec {
    let interface = |(n, &address): (usize, &IpAddr)| InterfaceSpec {
        name: Network::path_name(n),
        addresses: vec![address],
    };
    HostSpec { interfaces: addresses.iter().enumerate().map(interface).collect() }
}
