//! Whether a specification makes sense.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use polypath_link::{ConfigError, NatChange, NatConfigError};
use polypath_proto::config::Encapsulation;

use crate::delivery_checker::LONGEST_SIDE_MESSAGE;
use crate::spec::{
    Action, AppSpec, FlowSpec, MessageSpec, NatSpec, Period, ReaderSpec, RouteSpec, Topology,
    WorldSpec,
};

/// What is wrong with a specification.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// Two things of one kind have the same name, address or port.
    #[error("{field}: {value} appears twice (allowed: once)")]
    Twice {
        /// What it names.
        field: &'static str,
        /// The name.
        value: String,
    },
    /// Something refers to what is not there.
    #[error("{field}: {value} does not exist (allowed: {allowed})")]
    Unknown {
        /// Where it is referred to.
        field: String,
        /// The name.
        value: String,
        /// What there is.
        allowed: String,
    },
    /// A number lies outside its range.
    #[error("{field}: {value} (allowed: {allowed})")]
    Range {
        /// Which.
        field: String,
        /// Its value.
        value: String,
        /// Its range.
        allowed: &'static str,
    },
    /// A link cannot be as it is described.
    #[error("link {link}: {source}")]
    Link {
        /// The link's name.
        link: String,
        /// Why not.
        source: ConfigError,
    },
    /// A box cannot be as it is described.
    #[error("nat {nat}: {source}")]
    Nat {
        /// The box's name.
        nat: String,
        /// Why not.
        source: NatConfigError,
    },
    /// A flow's path has no route, in at least one direction.
    #[error("flow {flow}: no route from {from} to {to} (allowed: paths with routes both ways)")]
    NoRoute {
        /// The flow's name.
        flow: String,
        /// Source address.
        from: IpAddr,
        /// Destination address.
        to: IpAddr,
    },
    /// The addresses of one end of a flow are not on one host.
    #[error("flow {flow}: {address} is not on host {host} (allowed: one host for each end)")]
    Hosts {
        /// The flow's name.
        flow: String,
        /// The address that does not fit.
        address: IpAddr,
        /// The host of the first path's address.
        host: String,
    },
}

impl WorldSpec {
    /// Checks everything that the types do not say.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), SpecError> {
        self.topology.check()?;
        check_unique("flow", self.flows.iter().map(|flow| &flow.name))?;
        self.flows.iter().try_for_each(|flow| flow.check(&self.topology))?;
        self.check_ports()?;
        self.actions.iter().try_for_each(|action| self.check_action(&action.action))?;
        self.check_repeats()?;
        self.check_cross()?;
        let positive = |field, value: u64| in_range(field, value, value > 0, "at least 1 ns");
        positive("time.measure", self.time.measure)?;
        positive("sample_every", self.sample_every.unwrap_or(1))
    }

    fn check_ports(&self) -> Result<(), SpecError> {
        let mut seen = BTreeSet::new();
        for flow in &self.flows {
            let first = flow.paths.first();
            let ends =
                first.map(|&(client, server)| [(client, &flow.client), (server, &flow.server)]);
            for (address, end) in ends.into_iter().flatten() {
                let host = self.topology.host_of(address);
                if !seen.insert((host, end.port)) {
                    return Err(SpecError::Twice { field: "port", value: end.port.to_string() });
                }
            }
        }
        Ok(())
    }

    fn check_repeats(&self) -> Result<(), SpecError> {
        check_unique("repeat", self.repeats.iter().map(|repeat| &repeat.name))?;
        let links: Vec<_> = self.topology.links.iter().map(|link| &link.name).collect();
        let end = self.time.settle.saturating_add(self.time.measure);
        for repeat in &self.repeats {
            if let Some(name) = repeat.links.iter().find(|name| !links.contains(name)) {
                return Err(unknown_name(&format!("repeat {}", repeat.name), name, &links));
            }
            repeat.check(end)?;
        }
        Ok(())
    }

    fn check_cross(&self) -> Result<(), SpecError> {
        check_unique("cross", self.cross.iter().map(|cross| &cross.name))?;
        let links: Vec<_> = self.topology.links.iter().map(|link| &link.name).collect();
        for cross in &self.cross {
            if !links.contains(&&cross.link) {
                return Err(unknown_name(&format!("cross {}", cross.name), &cross.link, &links));
            }
            cross.check()?;
        }
        Ok(())
    }

    fn check_action(&self, action: &Action) -> Result<(), SpecError> {
        let known = |field: &str, name: &String, names: Vec<&String>| {
            if names.contains(&name) { Ok(()) } else { Err(unknown_name(field, name, &names)) }
        };
        match action {
            Action::CutLink(name) | Action::RestoreLink(name) => {
                known("action.link", name, self.topology.links.iter().map(|l| &l.name).collect())
            }
            Action::CutPath(name) | Action::RestorePath(name) => {
                known("action.path", name, self.topology.routes.iter().map(|r| &r.name).collect())
            }
            Action::PathAdmin { flow, .. } | Action::Shutdown(flow) | Action::Abort(flow) => {
                known("action.flow", flow, self.flows.iter().map(|f| &f.name).collect())
            }
        }
    }
}

impl Topology {
    /// The position of the host that owns `address`.
    pub(crate) fn host_of(&self, address: IpAddr) -> Option<usize> {
        self.hosts.iter().position(|host| host.addresses.contains(&address))
    }

    fn check(&self) -> Result<(), SpecError> {
        check_unique("host", self.hosts.iter().map(|host| &host.name))?;
        check_unique("address", self.hosts.iter().flat_map(|host| &host.addresses))?;
        check_unique("link", self.links.iter().map(|link| &link.name))?;
        for link in &self.links {
            let error = |source| SpecError::Link { link: link.name.clone(), source };
            link.config.check().map_err(error)?;
        }
        let links: BTreeSet<_> = self.links.iter().map(|link| &link.name).collect();
        let mut pairs = BTreeMap::new();
        for route in &self.routes {
            if pairs.insert((route.from, route.to), ()).is_some() {
                let value = format!("{} to {}", route.from, route.to);
                return Err(SpecError::Twice { field: "route", value });
            }
            self.check_route(route, &links)?;
        }
        self.check_nats()
    }

    fn check_nats(&self) -> Result<(), SpecError> {
        check_unique("nat", self.nats.iter().map(|nat| &nat.name))?;
        check_unique("nat inside", self.nats.iter().flat_map(|nat| &nat.inside))?;
        check_unique("nat external", self.nats.iter().flat_map(|nat| &nat.config.external))?;
        for nat in &self.nats {
            let error = |source| SpecError::Nat { nat: nat.name.clone(), source };
            nat.config.check().map_err(error)?;
            let field = format!("nat {}", nat.name);
            for address in &nat.inside {
                let known = self.host_of(*address).is_some();
                in_range(&field, address, known, "inside: addresses of hosts")?;
            }
            for address in nat.all_external() {
                let free = self.host_of(address).is_none();
                in_range(&field, address, free, "external: addresses of no host")?;
            }
        }
        Ok(())
    }

    fn is_behind_nat(&self, address: IpAddr) -> bool {
        self.nats.iter().any(|nat| nat.inside.contains(&address))
    }

    fn check_route(&self, route: &RouteSpec, links: &BTreeSet<&String>) -> Result<(), SpecError> {
        let field = format!("route {}", route.name);
        if let Some(name) = route.links.iter().find(|name| !links.contains(name)) {
            return Err(unknown_name(&field, name, &links.iter().copied().collect::<Vec<_>>()));
        }
        let families = route.from.is_ipv4() == route.to.is_ipv4();
        in_range(&field, route.to, families, "two addresses of one family")?;
        in_range(&field, "no links", !route.links.is_empty(), "at least one link")?;
        [route.from, route.to].into_iter().try_for_each(|address| {
            in_range(&field, address, self.host_of(address).is_some(), "addresses of hosts")
        })
    }

    fn has_route(&self, from: IpAddr, to: IpAddr) -> bool {
        self.routes.iter().any(|route| (route.from, route.to) == (from, to))
    }
}

impl FlowSpec {
    fn check(&self, topology: &Topology) -> Result<(), SpecError> {
        let field = |name: &str| format!("flow {}: {name}", self.name);
        in_range(&field("paths"), "none", !self.paths.is_empty(), "at least one")?;
        for &(client, server) in &self.paths {
            for (from, to) in [(client, server), (server, client)] {
                if !topology.has_route(from, to) {
                    return Err(SpecError::NoRoute { flow: self.name.clone(), from, to });
                }
            }
        }
        self.check_nats(topology)?;
        self.check_host(topology, self.paths.iter().map(|path| path.0))?;
        self.check_host(topology, self.paths.iter().map(|path| path.1))?;
        self.app.check(&field("app"), self.client.assoc.outbound_streams)?;
        self.check_beside(&field("beside"))?;
        self.reader.check(&field("reader"))
    }

    /// SCTP has no ports that a box could translate, and nobody outside knows whom to call.
    fn check_nats(&self, topology: &Topology) -> Result<(), SpecError> {
        let field = |name: &str| format!("flow {}: {name}", self.name);
        for &(client, server) in &self.paths {
            let udp = self.encapsulation == Encapsulation::Udp;
            let bare = !udp && topology.is_behind_nat(client);
            in_range(&field("encapsulation"), "raw", !bare, "udp on paths through a nat")?;
            let open = !topology.is_behind_nat(server);
            in_range(&field("paths"), server, open, "servers that are not behind a nat")?;
        }
        Ok(())
    }

    fn check_beside(&self, field: &str) -> Result<(), SpecError> {
        let Some(messages) = self.app.endless_messages().filter(|_| !self.beside.is_empty()) else {
            let none = self.beside.is_empty();
            return in_range(field, "messages", none, "only beside an application without an end");
        };
        let streams = usize::from(messages.streams) + self.beside.len();
        let enough = streams <= usize::from(self.client.assoc.outbound_streams);
        in_range(field, streams, enough, "no more streams than the association has")?;
        self.beside.iter().try_for_each(|beside| {
            let size = (1..=LONGEST_SIDE_MESSAGE as u64).contains(&beside.bytes.into());
            in_range(field, beside.bytes, size, "messages of 1 to 65536 bytes")?;
            in_range(field, beside.every, beside.every > 0, "an interval of at least 1 ns")
        })
    }

    fn check_host(
        &self,
        topology: &Topology,
        mut addresses: impl Iterator<Item = IpAddr>,
    ) -> Result<(), SpecError> {
        let host = addresses.next().and_then(|first| topology.host_of(first));
        let Some(address) = addresses.find(|&address| topology.host_of(address) != host) else {
            return Ok(());
        };
        let host = host.and_then(|host| topology.hosts.get(host));
        let host = host.map_or_else(String::new, |host| host.name.clone());
        Err(SpecError::Hosts { flow: self.name.clone(), address, host })
    }
}

impl NatSpec {
    /// External addresses of now and later.
    fn all_external(&self) -> impl Iterator<Item = IpAddr> {
        let later = self.config.schedule.iter().filter_map(|(_, change)| match change {
            NatChange::Readdress(address) => Some(*address),
            NatChange::Rebind | NatChange::Forget => None,
        });
        self.config.external.iter().copied().chain(later)
    }
}

impl AppSpec {
    fn check(&self, field: &str, outbound_streams: u16) -> Result<(), SpecError> {
        let messages = |spec: &MessageSpec| spec.check(field, outbound_streams);
        let rate = |rate: u64| in_range(field, rate, rate > 0, "a rate of at least 1 bit/s");
        let size = |bytes: u32| in_range(field, bytes, bytes > 0, "at least 1 byte");
        match self {
            Self::Saturated { messages: spec, .. } => messages(spec),
            Self::File { messages: spec, .. } => {
                let most = spec.most_bytes.unwrap_or_default();
                in_range(field, most, most == 0, "messages of one size, as files are cut into")?;
                messages(spec)
            }
            Self::ConstantRate { messages: spec, rate: bits } => {
                messages(spec).and_then(|()| rate(*bits))
            }
            Self::OnOff { messages: spec, rate: bits, on, off } => {
                messages(spec)?;
                rate(bits.unwrap_or(1))?;
                on.check(field)?;
                off.check(field)
            }
            Self::RequestResponse { request_bytes, response_bytes, count, .. } => {
                size(*request_bytes)?;
                size(*response_bytes)?;
                let count = count.unwrap_or(1);
                in_range(field, count, count > 0, "at least one request")
            }
        }
    }
}

impl MessageSpec {
    fn check(&self, field: &str, outbound_streams: u16) -> Result<(), SpecError> {
        in_range(field, self.bytes, self.bytes > 0, "messages of at least 1 byte")?;
        if let Some(most) = self.most_bytes {
            let varies = most > self.bytes && most as usize <= LONGEST_SIDE_MESSAGE;
            in_range(field, most, varies, "a greatest message above the smallest, to 65536 bytes")?;
        }
        let streams = (1..=outbound_streams).contains(&self.streams);
        in_range(field, self.streams, streams, "1 to the association's outbound streams")
    }
}

impl Period {
    fn check(self, field: &str) -> Result<(), SpecError> {
        let (Self::Fixed(ns) | Self::Exponential(ns)) = self;
        in_range(field, ns, ns > 0, "a period of at least 1 ns")
    }
}

impl ReaderSpec {
    fn check(&self, field: &str) -> Result<(), SpecError> {
        in_range(field, 0, self.rate != Some(0), "a rate of at least 1 bit/s")?;
        self.pauses.iter().try_for_each(|(from, to)| {
            in_range(
                field,
                format!("{from} to {to} ns"),
                from < to,
                "pauses that end after they begin",
            )
        })
    }
}

fn check_unique<T: Ord + ToString>(
    field: &'static str,
    values: impl Iterator<Item = T>,
) -> Result<(), SpecError> {
    let mut seen = BTreeSet::new();
    for value in values {
        let text = value.to_string();
        if !seen.insert(value) {
            return Err(SpecError::Twice { field, value: text });
        }
    }
    Ok(())
}

fn in_range(
    field: &str,
    value: impl ToString,
    allowed: bool,
    range: &'static str,
) -> Result<(), SpecError> {
    let error =
        || SpecError::Range { field: field.into(), value: value.to_string(), allowed: range };
    if allowed { Ok(()) } else { Err(error()) }
}

fn unknown_name(field: &str, value: &str, names: &[&String]) -> SpecError {
    let names: BTreeSet<_> = names.iter().map(|name| name.as_str()).collect();
    let allowed = names.into_iter().collect::<Vec<_>>().join(", ");
    SpecError::Unknown { field: field.into(), value: value.into(), allowed }
}
