//! Where to listen, from where to send, and to whom: what users write becomes addresses.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};

use nix::net::if_::InterfaceFlags;
use polypath_net::{AssocConfig, DEFAULT_PORT, Follow, LocalAddress, Profile};

/// Paths of one association, at most, as in the core.
const MAX_ADDRESSES: usize = 16;

/// What is wrong with an address that the user gave.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Not of the form HOST or HOST:PORT.
    #[error(
        "{text:?}: an address or a name, with :PORT if not {DEFAULT_PORT} (IPv6: [ADDRESS]:PORT), is expected"
    )]
    Malformed {
        /// What was given.
        text: String,
    },
    /// A name without an address.
    #[error("host {host:?}: {source}")]
    Unknown {
        /// The name.
        host: String,
        /// The resolver's word.
        source: io::Error,
    },
    /// Only addresses can be listened at.
    #[error("--listen {text:?}: an address of this host is expected, not a name")]
    NotAnAddress {
        /// What was given.
        text: String,
    },
    /// Nothing to listen at.
    #[error(
        "--listen ADDRESS is missing, at least one (nothing listens on all addresses by itself); this host has {own}"
    )]
    NoListen {
        /// The addresses of this host.
        own: String,
    },
    /// One endpoint has one UDP port.
    #[error("--listen with ports {first} and {second}: all addresses share one UDP port")]
    TwoPorts {
        /// The first.
        first: u16,
        /// Another one.
        second: u16,
    },
    /// No such device, or it has no address.
    #[error("network device {device:?} {why}; this host has {own}")]
    Device {
        /// Its name.
        device: String,
        /// What is wrong.
        why: &'static str,
        /// The addresses of this host.
        own: String,
    },
    /// No way there.
    #[error("no route to {remote}: {source}")]
    NoRoute {
        /// The peer's address.
        remote: IpAddr,
        /// The system's word.
        source: io::Error,
    },
    /// More than an association can have.
    #[error("{count} addresses given: at most {MAX_ADDRESSES} are allowed")]
    TooMany {
        /// So many.
        count: usize,
    },
    /// The interfaces could not be read.
    #[error("the network devices of this host: {0}")]
    Interfaces(io::Error),
}

/// The addresses of `HOST[:PORT],HOST[:PORT],...`: all that names have, in the family of the first
/// one, or in those of `local` if there is any.
///
/// # Errors
/// When a host has a malformed port or is unknown.
pub fn resolve_hosts(list: &str, local: &[LocalAddress]) -> Result<Vec<SocketAddr>, PlaceError> {
    let found = resolve_all(list)?;
    let first: Vec<_> = found.first().map(SocketAddr::is_ipv4).into_iter().collect();
    let of_local: Vec<_> = local.iter().map(|l| l.address.is_ipv4()).collect();
    at_most(of_families(found, if local.is_empty() { &first } else { &of_local }))
}

/// All addresses, each once.
fn resolve_all(list: &str) -> Result<Vec<SocketAddr>, PlaceError> {
    let mut found = Vec::new();
    for text in list.split(',') {
        for address in resolve_one(text.trim())? {
            if !found.contains(&address) {
                found.push(address);
            }
        }
    }
    Ok(found)
}

/// The addresses in one of these families; true: IPv4.
fn of_families(mut all: Vec<SocketAddr>, ipv4: &[bool]) -> Vec<SocketAddr> {
    all.retain(|address| ipv4.contains(&address.is_ipv4()));
    all
}

fn resolve_one(text: &str) -> Result<Vec<SocketAddr>, PlaceError> {
    let (host, port) = split_port(text)?;
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let all = (host, port).to_socket_addrs();
    let host = host.to_owned();
    match all.map(Iterator::collect::<Vec<_>>) {
        Ok(all) if all.is_empty() => {
            Err(PlaceError::Unknown { host, source: io::Error::other("it has no address") })
        }
        Ok(all) => Ok(all),
        Err(source) => Err(PlaceError::Unknown { host, source }),
    }
}

/// Host and port of `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.
pub(crate) fn split_port(text: &str) -> Result<(&str, u16), PlaceError> {
    let malformed = || PlaceError::Malformed { text: text.to_owned() };
    if text.parse::<IpAddr>().is_ok() {
        return Ok((text, DEFAULT_PORT));
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(malformed)?;
            let port = match after {
                "" => None,
                after => Some(after.strip_prefix(':').ok_or_else(malformed)?),
            };
            (host, port)
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Ok(DEFAULT_PORT), str::parse).map_err(|_| malformed())?;
    if host.is_empty() || host.contains(char::is_whitespace) || port == 0 {
        return Err(malformed());
    }
    Ok((host, port))
}

/// The addresses of `--listen`, and their UDP port.
///
/// # Errors
/// When there is none, one is not an address, or ports differ.
pub fn parse_listen(given: &[String]) -> Result<(Vec<IpAddr>, u16), PlaceError> {
    let mut addresses = Vec::new();
    let mut port = None;
    for text in given.iter().flat_map(|list| list.split(',')) {
        let (host, this) = split_port(text.trim())?;
        let address = host.parse::<IpAddr>();
        addresses
            .push(address.map_err(|_| PlaceError::NotAnAddress { text: text.trim().to_owned() })?);
        match *port.get_or_insert(this) {
            first if first != this => return Err(PlaceError::TwoPorts { first, second: this }),
            _ => {}
        }
    }
    match port {
        Some(port) => Ok((at_most(addresses)?, port)),
        None => Err(PlaceError::NoListen { own: own_list()? }),
    }
}

/// What stands for all devices, now and as they come and go.
pub const AUTO: &str = "auto";

/// From where packets go, and to whom.
#[derive(Clone, Debug)]
pub struct Ends {
    /// Our addresses.
    pub local: Vec<LocalAddress>,
    /// The peer's.
    pub remote: Vec<SocketAddr>,
    /// Which addresses to take up and to give up later.
    pub follow: Option<Follow>,
}

/// The two ends of `--local`, `--paths` and a list of hosts: addresses as given; or those of
/// devices; or, with [`AUTO`], those of all devices, as they come and go; or else what the routing
/// table says. Devices are used with their addresses in the family of the first host address; those
/// that have none, with the other family, if the hosts have it.
///
/// # Errors
/// As [`resolve_hosts`] and [`routed_sources`]; when a named device does not exist, or has no
/// usable address.
pub fn resolve_ends(local: &[IpAddr], paths: &[String], hosts: &str) -> Result<Ends, PlaceError> {
    let auto = paths.iter().any(|name| name == AUTO);
    if paths.is_empty() {
        let given: Vec<LocalAddress> = local.iter().map(|&address| address.into()).collect();
        let remote = resolve_hosts(hosts, &given)?;
        let local = if given.is_empty() { routed_sources(&remote)? } else { given };
        return Ok(Ends { local, remote, follow: None });
    }
    let all = resolve_all(hosts)?;
    // Nothing but loopback leads to a loopback address.
    if auto && all.iter().all(|to| to.ip().is_loopback()) {
        return resolve_ends(&[], &[], hosts);
    }
    let own = list_interfaces()?;
    let mut given =
        if auto { of_all_devices(&own, &all) } else { at_most(of_devices(&own, paths, &all)?)? };
    given.truncate(MAX_ADDRESSES);
    if given.is_empty() {
        return resolve_ends(&[], &[], hosts);
    }
    let families: Vec<_> = given.iter().map(|l| l.address.is_ipv4()).collect();
    let remote = at_most(of_families(all, &families))?;
    let follow = auto.then(|| {
        let addresses: Vec<IpAddr> = remote.iter().map(SocketAddr::ip).collect();
        Follow::families_of(&addresses)
    });
    Ok(Ends { local: given, remote, follow })
}

/// The addresses of all devices that lead to `remote`.
fn of_all_devices(own: &[Interface], remote: &[SocketAddr]) -> Vec<LocalAddress> {
    let mut names: Vec<&str> = Vec::new();
    for own in own.iter().filter(|i| i.up && !i.address.is_loopback()) {
        if !names.contains(&own.device.as_str()) {
            names.push(&own.device);
        }
    }
    names.into_iter().flat_map(|name| of_device(own, name, remote)).collect()
}

/// The addresses of the devices `names`, each a list, that lead to `remote`.
fn of_devices(
    own: &[Interface],
    names: &[String],
    remote: &[SocketAddr],
) -> Result<Vec<LocalAddress>, PlaceError> {
    let mut found = Vec::new();
    for name in names.iter().flat_map(|list| list.split(',')).map(str::trim) {
        let fail =
            |why| Err(PlaceError::Device { device: name.to_owned(), why, own: join_names(own) });
        let mut of_it = own.iter().filter(|i| i.device == name).peekable();
        if of_it.peek().is_none() {
            return fail("does not exist or has no address");
        }
        if of_it.clone().all(|i| !i.up) {
            return fail("is down");
        }
        if of_it.all(|i| link_local(i.address)) {
            return fail("has link-local addresses only");
        }
        let usable = of_device(own, name, remote);
        if usable.is_empty() {
            return fail("has no address in a family of the peer");
        }
        found.extend(usable);
    }
    Ok(found)
}

/// The addresses of a device, bound to it: those in the family of the peer's first address, or else
/// in its other one. None that is link-local.
fn of_device(own: &[Interface], name: &str, remote: &[SocketAddr]) -> Vec<LocalAddress> {
    let of_family = |ipv4: bool| -> Vec<LocalAddress> {
        let usable = own.iter().filter(|i| i.device == name && i.up && !link_local(i.address));
        let matching = usable.filter(|i| i.address.is_ipv4() == ipv4);
        matching.map(|i| LocalAddress::on_device(i.address, name)).collect()
    };
    let mut found = remote.iter().map(|to| of_family(to.is_ipv4()));
    found.find(|addresses| !addresses.is_empty()).unwrap_or_default()
}

/// From where packets to these addresses leave by the routing table, one for each route, in the
/// order of `remote`.
///
/// # Errors
/// When there is no route to any of them.
pub fn routed_sources(remote: &[SocketAddr]) -> Result<Vec<LocalAddress>, PlaceError> {
    let mut found: Vec<LocalAddress> = Vec::new();
    let mut trouble = None;
    for &to in remote {
        let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
        let from = UdpSocket::bind((any, 0)).and_then(|socket| {
            // Nothing is sent: the kernel only looks up the route.
            socket.connect(to)?;
            socket.local_addr()
        });
        match from {
            Ok(from) if found.iter().all(|l| l.address != from.ip()) => {
                found.push(from.ip().into())
            }
            Ok(_) => {}
            Err(source) => {
                trouble.get_or_insert(PlaceError::NoRoute { remote: to.ip(), source });
            }
        }
    }
    match trouble {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// Lets the addresses of associations come and go (RFC 5061), as [`AUTO`] needs it at both ends;
/// but not with a profile that reproduces what others did.
pub fn let_addresses_change(profile: Profile, assoc: &mut AssocConfig) {
    let free = !profile.is_reproduction();
    assoc.extensions.authentication |= free;
    assoc.extensions.dynamic_addresses |= free;
}

/// An address of this host.
struct Interface {
    device: String,
    address: IpAddr,
    up: bool,
}

fn list_interfaces() -> Result<Vec<Interface>, PlaceError> {
    let all = nix::ifaddrs::getifaddrs().map_err(|e| PlaceError::Interfaces(e.into()))?;
    let with_address = all.filter_map(|entry| {
        let storage = entry.address?;
        let v4 = storage.as_sockaddr_in().map(|a| IpAddr::from(a.ip()));
        let address = v4.or_else(|| storage.as_sockaddr_in6().map(|a| a.ip().into()))?;
        let up = entry.flags.contains(InterfaceFlags::IFF_UP);
        Some(Interface { device: entry.interface_name, address, up })
    });
    Ok(with_address.collect())
}

/// The network device that has this address; `None`: nobody tells.
pub(crate) fn device_of(address: IpAddr) -> Option<String> {
    let own = list_interfaces().ok()?;
    own.into_iter().find(|interface| interface.address == address).map(|i| i.device)
}

/// The addresses of this host, whether they are up or not.
pub(crate) fn own_addresses() -> Result<Vec<IpAddr>, PlaceError> {
    Ok(list_interfaces()?.into_iter().map(|interface| interface.address).collect())
}

fn own_list() -> Result<String, PlaceError> {
    Ok(join_names(&list_interfaces()?))
}

fn join_names(interfaces: &[Interface]) -> String {
    let usable = interfaces.iter().filter(|i| i.up && !link_local(i.address));
    let all: Vec<_> = usable.map(|i| format!("{} ({})", i.address, i.device)).collect();
    if all.is_empty() { "no address".to_owned() } else { all.join(", ") }
}

fn link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn at_most<T>(all: Vec<T>) -> Result<Vec<T>, PlaceError> {
    match all.len() {
        0..=MAX_ADDRESSES => Ok(all),
        count => Err(PlaceError::TooMany { count }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(address: &str) -> LocalAddress {
        address.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn hosts_come_with_or_without_ports() {
        let all = resolve_hosts("192.0.2.1, 192.0.2.2:7,192.0.2.1:9899", &[]).unwrap();
        assert_eq!(all, ["192.0.2.1:9899".parse().unwrap(), "192.0.2.2:7".parse().unwrap()]);
        let v6 = resolve_hosts("2001:db8::1,[2001:db8::2]:7,[2001:db8::3]", &[]).unwrap();
        let shown: Vec<_> = v6.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["[2001:db8::1]:9899", "[2001:db8::2]:7", "[2001:db8::3]:9899"]);
    }

    #[test]
    fn the_family_follows_the_local_addresses() {
        let list = "192.0.2.1,2001:db8::1";
        assert!(resolve_hosts(list, &[]).unwrap().iter().all(SocketAddr::is_ipv4));
        assert!(resolve_hosts(list, &[local("::1")]).unwrap().iter().all(SocketAddr::is_ipv6));
        assert_eq!(resolve_hosts(list, &[local("::1"), local("127.0.0.1")]).unwrap().len(), 2);
    }

    #[test]
    fn nonsense_is_named() {
        for bad in ["", "a:b", "host:0", "host:70000", "[::1", "[::1]x", "a b", "1.2.3.4:", ":7"] {
            let error = resolve_hosts(bad, &[]).unwrap_err().to_string();
            assert!(error.contains(&format!("{bad:?}")), "{bad}: {error}");
        }
        let many: Vec<_> = (1..=17).map(|port| format!("192.0.2.1:{port}")).collect();
        assert!(resolve_hosts(&many.join(","), &[]).unwrap_err().to_string().contains("17"));
    }

    #[test]
    fn one_listens_at_named_addresses_with_one_port() {
        let given = ["127.0.0.1:7000".to_owned(), "127.0.0.2:7000,[::1]:7000".to_owned()];
        let (addresses, port) = parse_listen(&given).unwrap();
        assert_eq!((addresses.len(), port), (3, 7000));
        let none = parse_listen(&[]).unwrap_err().to_string();
        assert!(none.contains("--listen") && none.contains("127.0.0.1 (lo)"), "{none}");
        let two = parse_listen(&["127.0.0.1".to_owned(), "127.0.0.2:1".to_owned()]).unwrap_err();
        assert!(matches!(two, PlaceError::TwoPorts { first: 9899, second: 1 }));
        assert!(matches!(
            parse_listen(&["localhost".to_owned()]),
            Err(PlaceError::NotAnAddress { .. })
        ));
    }

    #[test]
    fn devices_have_addresses() {
        let lo = resolve_ends(&[], &["lo".to_owned()], "127.0.0.1").unwrap().local;
        assert_eq!(lo[0].device.as_deref(), Some("lo"));
        let error =
            resolve_ends(&[], &["nosuch0".to_owned()], "127.0.0.1").unwrap_err().to_string();
        assert!(error.contains("nosuch0") && error.contains("lo"), "{error}");
    }

    fn interface(device: &str, address: &str) -> Interface {
        Interface { device: device.to_owned(), address: address.parse().unwrap(), up: true }
    }

    /// A host with two families on e1 and e2, one on each of the others.
    fn dual_stack() -> Vec<Interface> {
        [
            ("lo", "127.0.0.1"),
            ("lo", "::1"),
            ("e1", "198.51.100.1"),
            ("e1", "fe80::1"),
            ("e1", "2001:db8:1::1"),
            ("e2", "203.0.113.1"),
            ("e2", "2001:db8:2::1"),
            ("four", "192.0.2.4"),
            ("six", "2001:db8:6::1"),
            ("bare", "fe80::2"),
            ("bare", "169.254.0.2"),
        ]
        .map(|(device, address)| interface(device, address))
        .into()
    }

    /// What of the devices leads to the peer.
    fn chosen(names: &str, peer: &str) -> Result<Vec<String>, String> {
        let found = of_devices(&dual_stack(), &[names.to_owned()], &resolve_all(peer).unwrap());
        let shown = |all: Vec<LocalAddress>| all.iter().map(|l| l.address.to_string()).collect();
        found.map(shown).map_err(|error| error.to_string())
    }

    #[test]
    fn devices_follow_the_families_of_the_peer() {
        let v4 = ["198.51.100.1", "203.0.113.1"].map(str::to_owned);
        let v6 = ["2001:db8:1::1", "2001:db8:2::1"].map(str::to_owned);
        assert_eq!(chosen("e1,e2", "192.0.2.99").unwrap(), v4);
        assert_eq!(chosen("e1,e2", "[2001:db8::99]").unwrap(), v6);
        assert_eq!(chosen("e1,e2", "192.0.2.99,2001:db8::99").unwrap(), v4);
        assert_eq!(chosen("e1,e2", "2001:db8::99,192.0.2.99").unwrap(), v6);
    }

    #[test]
    fn a_device_with_one_family_uses_that_if_the_peer_has_it() {
        let both = ["192.0.2.4", "2001:db8:6::1"].map(str::to_owned);
        assert_eq!(chosen("four,six", "192.0.2.99,2001:db8::99").unwrap(), both);
        let error = chosen("e1,six", "192.0.2.99").unwrap_err();
        assert!(error.contains("\"six\" has no address in a family of the peer"), "{error}");
        let error = chosen("bare", "192.0.2.99").unwrap_err();
        assert!(error.contains("link-local addresses only"), "{error}");
    }

    #[test]
    fn auto_follows_the_families_of_the_peer_too() {
        let of = |peer: &str| -> Vec<String> {
            let all = of_all_devices(&dual_stack(), &resolve_all(peer).unwrap());
            all.iter().map(|l| l.address.to_string()).collect()
        };
        assert_eq!(of("2001:db8::99"), ["2001:db8:1::1", "2001:db8:2::1", "2001:db8:6::1"]);
        assert_eq!(of("192.0.2.99"), ["198.51.100.1", "203.0.113.1", "192.0.2.4"]);
        let either = ["198.51.100.1", "203.0.113.1", "192.0.2.4", "2001:db8:6::1"];
        assert_eq!(of("192.0.2.99,2001:db8::99"), either);
    }

    #[test]
    fn auto_takes_all_devices_and_goes_on_watching_them() {
        let auto = [AUTO.to_owned()];
        let here = resolve_ends(&[], &auto, "127.0.0.1").unwrap();
        assert_eq!((here.local, here.follow), (vec![local("127.0.0.1")], None));
        let Ok(there) = resolve_ends(&[], &auto, "192.0.2.1") else { return };
        assert!(there.follow.is_some_and(|follow| follow.ipv4 && !follow.ipv6));
        assert!(there.local.iter().all(|l| l.address.is_ipv4() && !l.address.is_loopback()));
    }

    #[test]
    fn addresses_change_but_not_in_a_reproduction() {
        for (profile, free) in
            [(Profile::Fast, true), (Profile::Paper, false), (Profile::Ns2, false)]
        {
            let mut assoc = AssocConfig::default();
            let_addresses_change(profile, &mut assoc);
            let on = assoc.extensions;
            assert_eq!((on.authentication, on.dynamic_addresses), (free, free));
        }
    }

    #[test]
    fn routes_name_the_local_address() {
        let to = ["127.0.0.5:9".parse().unwrap(), "127.0.0.6:9".parse().unwrap()];
        assert_eq!(routed_sources(&to).unwrap(), [local("127.0.0.1")]);
    }
}
