//! Common topologies in few words.

use std::net::{IpAddr, Ipv4Addr};

use polypath_link::LinkConfig;

use crate::spec::{HostSpec, LinkSpec, RouteSpec, Topology};

/// A path between two hosts: the links that each direction crosses, one after the other.
#[derive(Clone, Debug)]
pub struct DuplexPath {
    /// Its name; its links are called `<name>.forward`, `<name>.reverse`, and `<name>.forward.1`
    /// and so on from the second link of a direction.
    pub name: String,
    /// Links from the client to the server.
    pub forward: Vec<LinkConfig>,
    /// Links from the server to the client.
    pub reverse: Vec<LinkConfig>,
}

impl DuplexPath {
    /// A path of one link per direction, both with the same settings.
    #[must_use]
    pub fn symmetric(name: impl Into<String>, link: LinkConfig) -> Self {
        Self { name: name.into(), forward: vec![link.clone()], reverse: vec![link] }
    }
}

impl Topology {
    /// A host `client` and a host `server` with an interface each per path, and nothing shared
    /// between the paths.
    #[must_use]
    pub fn disjoint(paths: &[DuplexPath]) -> Self {
        let (client, server): (Vec<_>, Vec<_>) = (0..paths.len()).map(path_addresses).unzip();
        let mut topology = Self::default();
        for (path, (&near, &far)) in paths.iter().zip(client.iter().zip(&server)) {
            topology.add_path(path, near, far);
        }
        topology.hosts = vec![
            HostSpec { name: "client".into(), addresses: client },
            HostSpec { name: "server".into(), addresses: server },
        ];
        topology
    }

    /// The (client, server) addresses of path number `path` of [`Self::disjoint`]: 10.`path`.0.1
    /// and 10.`path`.0.2, for up to 256 paths.
    #[must_use]
    pub fn disjoint_addresses(path: usize) -> (IpAddr, IpAddr) {
        path_addresses(path)
    }

    fn add_path(&mut self, path: &DuplexPath, near: IpAddr, far: IpAddr) {
        let forward = self.add_links(&path.name, "forward", &path.forward);
        let reverse = self.add_links(&path.name, "reverse", &path.reverse);
        for (from, to, links) in [(near, far, forward), (far, near, reverse)] {
            self.routes.push(RouteSpec { name: path.name.clone(), from, to, links });
        }
    }

    fn add_links(&mut self, path: &str, direction: &str, configs: &[LinkConfig]) -> Vec<String> {
        let name = |hop: usize| match hop {
            0 => format!("{path}.{direction}"),
            hop => format!("{path}.{direction}.{hop}"),
        };
        let names: Vec<_> = (0..configs.len()).map(name).collect();
        let links = names.iter().cloned().zip(configs.iter().cloned());
        self.links.extend(links.map(|(name, config)| LinkSpec { name, config }));
        names
    }
}

fn path_addresses(path: usize) -> (IpAddr, IpAddr) {
    let net = u8::try_from(path % 256).unwrap_or(0);
    (Ipv4Addr::new(10, net, 0, 1).into(), Ipv4Addr::new(10, net, 0, 2).into())
}
