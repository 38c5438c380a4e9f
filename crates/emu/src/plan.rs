//! What is kept of a specification once its links are on their way: names, and who is where.

use polypath_link::LinkConfig;

use crate::error::Error;
use crate::fabric::steady_config;
use crate::spec::{Host, HostSpec, NetworkSpec, RouteSpec};

#[derive(Debug)]
pub(crate) struct Plan {
    client: HostSpec,
    server: HostSpec,
    links: Vec<(String, LinkConfig)>,
    routes: Vec<RouteSpec>,
    nats: Vec<String>,
    pub(crate) overhead: u32,
    pub(crate) mtu: u32,
}

impl Plan {
    pub(crate) fn from_spec(spec: &NetworkSpec) -> Self {
        let link = |link: &crate::spec::LinkSpec| (link.name.clone(), steady_config(&link.config));
        Self {
            client: spec.client.clone(),
            server: spec.server.clone(),
            links: spec.links.iter().map(link).collect(),
            routes: spec.routes.clone(),
            nats: spec.nats.iter().map(|nat| nat.name.clone()).collect(),
            overhead: spec.frame_overhead,
            mtu: spec.mtu(),
        }
    }

    pub(crate) fn host_spec(&self, host: Host) -> &HostSpec {
        match host {
            Host::Client => &self.client,
            Host::Server => &self.server,
        }
    }

    /// Interfaces of both hosts.
    pub(crate) fn ports(&self) -> usize {
        self.client.interfaces.len() + self.server.interfaces.len()
    }

    pub(crate) fn routes(&self) -> &[RouteSpec] {
        &self.routes
    }

    /// The number of the box of this name.
    pub(crate) fn nat_index(&self, name: &str) -> Result<usize, Error> {
        let found = self.nats.iter().position(|known| known == name);
        found.ok_or_else(|| Self::unknown_name("nat", name, self.nats.clone()))
    }

    pub(crate) fn link_names(&self) -> impl Iterator<Item = String> {
        self.links.iter().map(|(name, _)| name.clone())
    }

    /// The links of a route as they are while the network is measured.
    pub(crate) fn steady_links(&self, route: &RouteSpec) -> Vec<LinkConfig> {
        let config = |&link: &usize| self.links.get(link).map(|(_, config)| config.clone());
        route.links.iter().filter_map(config).collect()
    }

    pub(crate) fn link_index(&self, name: &str) -> Result<usize, Error> {
        let found = self.links.iter().position(|(known, _)| known == name);
        found.ok_or_else(|| Self::unknown_name("link", name, self.link_names().collect()))
    }

    pub(crate) fn links_of_path(&self, path: &str) -> Result<Vec<usize>, Error> {
        let of_path = || self.routes.iter().filter(|route| route.path == path);
        if of_path().next().is_none() {
            let mut known: Vec<_> = self.routes.iter().map(|route| route.path.clone()).collect();
            known.dedup();
            return Err(Self::unknown_name("path", path, known));
        }
        let mut links: Vec<_> = of_path().flat_map(|route| route.links.iter().copied()).collect();
        links.sort_unstable();
        links.dedup();
        Ok(links)
    }

    pub(crate) fn unknown_name(kind: &'static str, name: &str, known: Vec<String>) -> Error {
        Error::Unknown { kind, name: name.to_owned(), known: known.join(", ") }
    }
}
