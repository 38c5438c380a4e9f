//! What a network is made of: plain data, and the check that it makes sense.

use std::net::IpAddr;

use polypath_link::{
    ConfigError, LinkConfig, LinkSeed, Nanos, NatChange, NatConfig, NatConfigError,
};

/// A client, a server, and what lies between them.
#[derive(Debug, Default)]
pub struct NetworkSpec {
    /// The first host.
    pub client: HostSpec,
    /// The second host.
    pub server: HostSpec,
    /// Unidirectional links; a duplex link is two of them.
    pub links: Vec<LinkSpec>,
    /// Which links a packet crosses from one address to another. A packet without a route is
    /// dropped and counted.
    pub routes: Vec<RouteSpec>,
    /// Packets of others on the links.
    pub cross: Vec<CrossSpec>,
    /// Boxes that translate addresses between the links of clients and the server.
    pub nats: Vec<NatSpec>,
    /// Greatest IP packet that the interfaces send, in bytes; `None`: 1500.
    pub mtu: Option<u32>,
    /// Bytes that links count for a packet beyond its IP packet: 0 as in the simulator, 14 to count
    /// Ethernet frames, 38 for what a packet takes of an Ethernet wire.
    pub frame_overhead: u32,
}

/// Which of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The first.
    Client,
    /// The second.
    Server,
}

/// One of the two hosts.
#[derive(Clone, Debug, Default)]
pub struct HostSpec {
    /// Its interfaces, each with at least one address.
    pub interfaces: Vec<InterfaceSpec>,
}

/// A network interface of a host.
#[derive(Clone, Debug)]
pub struct InterfaceSpec {
    /// Its name on the host, such as `wifi`: 1 to 15 letters, digits, dots, dashes or underscores.
    pub name: String,
    /// Its addresses; no address belongs to two interfaces.
    pub addresses: Vec<IpAddr>,
}

/// One direction of a link.
#[derive(Debug)]
pub struct LinkSpec {
    /// Its name, unique.
    pub name: String,
    /// Rate, delay, queue, losses, schedule. Times count from [`crate::Emulation::start`].
    pub config: LinkConfig,
    /// What its random draws come from.
    pub seed: LinkSeed,
}

/// The way from one address to another.
#[derive(Clone, Debug)]
pub struct RouteSpec {
    /// The name of the path; a path's two directions share it.
    pub path: String,
    /// Source address, of one host.
    pub from: IpAddr,
    /// Destination address, of the other host.
    pub to: IpAddr,
    /// Positions in [`NetworkSpec::links`] in the order in which they are crossed; several routes
    /// may share a link.
    pub links: Vec<usize>,
    /// IP packets above so many bytes vanish without a word, as in a network that drops what tells
    /// of its MTU. `None`: they do not.
    pub vanish_above: Option<u32>,
}

/// A box that translates the addresses of clients behind it: at the end of their links, in front of
/// the server. It works from [`crate::Emulation::start`] on; before, everything passes untouched.
#[derive(Clone, Debug)]
pub struct NatSpec {
    /// Its name, unique.
    pub name: String,
    /// Addresses of the client behind it. Nobody outside can send to them.
    pub inside: Vec<IpAddr>,
    /// How it behaves. Its external addresses belong to nobody else; times of its schedule count
    /// from [`crate::Emulation::start`].
    pub config: NatConfig,
    /// What its ports are drawn from.
    pub seed: LinkSeed,
}

/// Packets of others, which enter a link, leave it at its end, and are answered by nobody.
pub struct CrossSpec {
    /// Position in [`NetworkSpec::links`].
    pub link: usize,
    /// When each enters, in ns from [`crate::Emulation::start`], never decreasing; and its bytes.
    pub packets: Box<dyn Iterator<Item = (Nanos, u32)> + Send>,
}

impl std::fmt::Debug for CrossSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrossSpec").field("link", &self.link).finish_non_exhaustive()
    }
}

/// Something in a [`NetworkSpec`] that no network can have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// Linux has no interface of that name.
    #[error(
        "interface {0:?}: not a name (allowed: 1 to 15 of letters, digits, dots, dashes, \
         underscores, other than lo, each once per host)"
    )]
    Name(String),
    /// Two interfaces have the same address, or an interface has none.
    #[error("interface {interface}: {what} (allowed: one address or more, each once)")]
    Addresses {
        /// The interface's name.
        interface: String,
        /// What is wrong with them.
        what: String,
    },
    /// A route does not lead from one host to the other.
    #[error("route {path}: {from} to {to} (allowed: an address of one host to one of the other)")]
    Ends {
        /// The path's name.
        path: String,
        /// Its source.
        from: IpAddr,
        /// Its destination.
        to: IpAddr,
    },
    /// A route or a source of cross traffic names a link that is not there.
    #[error("{what}: link number {link} (allowed: below {links})")]
    NoLink {
        /// Who names it.
        what: String,
        /// Its number.
        link: usize,
        /// How many there are.
        links: usize,
    },
    /// A link's settings are impossible.
    #[error("link {name}: {error}")]
    Link {
        /// The link's name.
        name: String,
        /// What is wrong.
        error: ConfigError,
    },
    /// A box's settings are impossible.
    #[error("nat {name}: {error}")]
    Nat {
        /// The box's name.
        name: String,
        /// What is wrong.
        error: NatConfigError,
    },
    /// A box is not where it can be.
    #[error("nat {name}: {address} (allowed: {allowed})")]
    NatAddress {
        /// The box's name.
        name: String,
        /// The address in question.
        address: IpAddr,
        /// Which there may be.
        allowed: &'static str,
    },
    /// An MTU that IP cannot live with.
    #[error("mtu: {0} bytes (allowed: 1280 to 65535)")]
    Mtu(u32),
}

pub(crate) const DEFAULT_MTU: u32 = 1500;
const NAME_BYTES: usize = 15;

impl NetworkSpec {
    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), SpecError> {
        self.hosts().try_for_each(HostSpec::check_interfaces)?;
        self.check_unique_addresses()?;
        for link in &self.links {
            let named = |error| SpecError::Link { name: link.name.clone(), error };
            link.config.check().map_err(named)?;
        }
        self.routes.iter().try_for_each(|route| self.check_route(route))?;
        self.cross.iter().try_for_each(|cross| self.check_link("cross traffic", cross.link))?;
        (0..self.nats.len()).try_for_each(|n| self.check_nat(n))?;
        match self.mtu() {
            1280..=65_535 => Ok(()),
            mtu => Err(SpecError::Mtu(mtu)),
        }
    }

    pub(crate) fn mtu(&self) -> u32 {
        self.mtu.unwrap_or(DEFAULT_MTU)
    }

    fn hosts(&self) -> impl Iterator<Item = &HostSpec> {
        [&self.client, &self.server].into_iter()
    }

    fn check_unique_addresses(&self) -> Result<(), SpecError> {
        let mut seen = Vec::new();
        for interface in self.hosts().flat_map(|host| &host.interfaces) {
            for address in &interface.addresses {
                if seen.contains(address) {
                    let what = format!("{address} a second time");
                    return Err(SpecError::Addresses { interface: interface.name.clone(), what });
                }
                seen.push(*address);
            }
        }
        Ok(())
    }

    fn check_route(&self, route: &RouteSpec) -> Result<(), SpecError> {
        let (from, to) = (route.from, route.to);
        let there = self.client.has_address(from) && self.server.has_address(to);
        let back = self.server.has_address(from) && self.client.has_address(to);
        if !(there || back) {
            return Err(SpecError::Ends { path: route.path.clone(), from, to });
        }
        route.links.iter().try_for_each(|&link| self.check_link(&route.path, link))
    }

    fn check_nat(&self, n: usize) -> Result<(), SpecError> {
        let Some((nat, earlier)) = self.nats.get(..=n).and_then(<[NatSpec]>::split_last) else {
            return Ok(());
        };
        nat.config.check().map_err(|error| SpecError::Nat { name: nat.name.clone(), error })?;
        let refuse = |address: &IpAddr, allowed| {
            Err(SpecError::NatAddress { name: nat.name.clone(), address: *address, allowed })
        };
        let taken = |inside: &&IpAddr| earlier.iter().any(|other| other.inside.contains(inside));
        if let Some(address) = nat.inside.iter().find(|a| !self.client.has_address(**a) || taken(a))
        {
            return refuse(address, "inside: addresses of the client, each behind one box");
        }
        let readdressed = nat.config.schedule.iter().filter_map(|(_, change)| match change {
            NatChange::Readdress(address) => Some(address),
            NatChange::Rebind | NatChange::Forget => None,
        });
        let all = self.nats.iter().enumerate().filter(|(other, _)| *other != n);
        let others: Vec<_> = all.flat_map(|(_, other)| &other.config.external).collect();
        let mut external = nat.config.external.iter().chain(readdressed);
        let used =
            |address: IpAddr| self.client.has_address(address) || self.server.has_address(address);
        match external.find(|address| used(**address) || others.contains(address)) {
            Some(address) => refuse(address, "external: addresses of no host and no other box"),
            None => Ok(()),
        }
    }

    fn check_link(&self, what: &str, link: usize) -> Result<(), SpecError> {
        let links = self.links.len();
        if link < links {
            return Ok(());
        }
        Err(SpecError::NoLink { what: what.to_owned(), link, links })
    }
}

impl HostSpec {
    /// All its addresses, interface by interface.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.interfaces.iter().flat_map(|interface| interface.addresses.iter().copied())
    }

    fn has_address(&self, address: IpAddr) -> bool {
        self.addresses().any(|own| own == address)
    }

    fn check_interfaces(&self) -> Result<(), SpecError> {
        for (n, interface) in self.interfaces.iter().enumerate() {
            let earlier = self.interfaces.iter().take(n);
            if !is_name(&interface.name) || earlier.map(|i| &i.name).any(|i| *i == interface.name) {
                return Err(SpecError::Name(interface.name.clone()));
            }
            if interface.addresses.is_empty() {
                let interface = interface.name.clone();
                return Err(SpecError::Addresses { interface, what: "no address".into() });
            }
        }
        Ok(())
    }
}

/// Whether an interface can be called so, and `ip -batch` reads it as one word.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let reserved = matches!(name, "lo" | "." | ".." | "all" | "default");
    (1..=NAME_BYTES).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.starts_with('-')
        && !reserved
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn host(interfaces: &[(&str, &str)]) -> HostSpec {
        let interface = |(name, address): &(&str, &str)| InterfaceSpec {
            name: (*name).to_owned(),
            addresses: vec![address.parse().unwrap()],
        };
        HostSpec { interfaces: interfaces.iter().map(interface).collect() }
    }

    /// Two hosts with one link each way.
    pub(crate) fn one_path(config: &LinkConfig) -> NetworkSpec {
        let link = |n: u64, name: &str| LinkSpec {
            name: name.to_owned(),
            config: config.clone(),
            seed: LinkSeed::new(1, n),
        };
        let route = |from: &str, to: &str, link| RouteSpec {
            path: "a".into(),
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            links: vec![link],
            vanish_above: None,
        };
        NetworkSpec {
            client: host(&[("a", "10.0.1.1")]),
            server: host(&[("a", "10.0.1.2")]),
            links: vec![link(0, "a.forward"), link(1, "a.reverse")],
            routes: vec![route("10.0.1.1", "10.0.1.2", 0), route("10.0.1.2", "10.0.1.1", 1)],
            ..NetworkSpec::default()
        }
    }

    #[test]
    fn a_network_of_one_path_is_fine() {
        assert_eq!(one_path(&LinkConfig::default()).check(), Ok(()));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let refused = |change: fn(&mut NetworkSpec)| {
            let mut spec = one_path(&LinkConfig::default());
            let (config, seed) = (NatConfig::new([198, 51, 100, 7].into()), LinkSeed::new(1, 2));
            let inside = spec.client.addresses().collect();
            spec.nats = vec![NatSpec { name: "home".into(), inside, config, seed }];
            change(&mut spec);
            spec.check().unwrap_err().to_string()
        };
        let text = refused(|spec| spec.client.interfaces[0].name = "a path of a name".into());
        assert!(text.starts_with("interface \"a path of a name\""), "{text}");
        let text =
            refused(|spec| spec.server.interfaces[0].addresses = vec!["10.0.1.1".parse().unwrap()]);
        assert_eq!(
            text,
            "interface a: 10.0.1.1 a second time (allowed: one address or more, each once)"
        );
        let text = refused(|spec| spec.routes[0].to = "10.0.1.1".parse().unwrap());
        assert!(text.starts_with("route a: 10.0.1.1 to 10.0.1.1"), "{text}");
        assert_eq!(
            refused(|spec| spec.routes[0].links = vec![2]),
            "a: link number 2 (allowed: below 2)"
        );
        let text = refused(|spec| spec.links[1].config.rate = Some(0));
        assert!(text.starts_with("link a.reverse: rate: 0"), "{text}");
        let text = refused(|spec| spec.nats[0].config.timeout = 0);
        assert_eq!(text, "nat home: timeout: 0 ns (allowed: at least 1 ns)");
        let text = refused(|spec| spec.nats[0].inside = vec!["10.0.1.2".parse().unwrap()]);
        let allowed = "inside: addresses of the client, each behind one box";
        assert_eq!(text, format!("nat home: 10.0.1.2 (allowed: {allowed})"));
        let text = refused(|spec| spec.nats.push(spec.nats[0].clone()));
        assert!(text.starts_with("nat home: 198.51.100.7 (allowed: external"), "{text}");
        let text = refused(|spec| {
            let change = NatChange::Readdress("10.0.1.2".parse().unwrap());
            spec.nats[0].config.schedule = vec![(0, change)];
        });
        assert!(text.starts_with("nat home: 10.0.1.2 (allowed: external"), "{text}");
        assert_eq!(refused(|spec| spec.mtu = Some(100)), "mtu: 100 bytes (allowed: 1280 to 65535)");
    }

    #[test]
    fn names_are_one_word_of_at_most_fifteen_bytes() {
        assert!(["a", "eth0.5", "abcdefghijklmno"].iter().all(|name| is_name(name)));
        assert!(
            !["", "lo", "-a", "a b", "a/b", "abcdefghijklmnop", "weiß"].iter().any(|n| is_name(n))
        );
    }
}
