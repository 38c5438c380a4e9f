//! What `--permit` allows: one pattern of targets.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ipnet::IpNet;

use super::global::is_global;
use super::target::{HostName, TargetError, check_path, parse_ip, parse_port};

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PermitError {
    /// Of none of the forms.
    #[error(
        "{text:?}: HOST:PORTS or unix:/PATH is expected, HOST being a name, *.DOMAIN, an address \
         or network (IPv6 in [brackets]), internet, or anywhere"
    )]
    Malformed {
        /// What was given.
        text: String,
    },
    /// Everything, but which everything?
    #[error(
        "{text:?}: \"*\" is no host (allowed: internet:PORT for all but private addresses, \
         anywhere:PORT for all)"
    )]
    Star {
        /// What was given.
        text: String,
    },
    /// No ports.
    #[error("{text:?}: ports {ports:?} (allowed: one of 1 to 65535, FIRST-LAST, or * for all)")]
    Ports {
        /// What was given.
        text: String,
        /// The part that is wrong.
        ports: String,
    },
    /// No network.
    #[error("{text:?}: network {network:?} (allowed: ADDRESS/BITS, no address bits behind BITS)")]
    Network {
        /// What was given.
        text: String,
        /// The part that is wrong.
        network: String,
    },
    /// No host, or no path.
    #[error("{text:?}: {source}")]
    Target {
        /// What was given.
        text: String,
        /// What is wrong with the part.
        source: TargetError,
    },
}

/// A pattern of targets, which are permitted: `HOST:PORTS` or `unix:/PATH`.
///
/// HOST is a name; `*.DOMAIN`, any name below it; an IP address; a network, such as `10.0.0.0/8`
/// or `[2001:db8::/32]`; `internet`, all names and all [global](is_global) addresses; `anywhere`,
/// all of either. PORTS is a number, `FIRST-LAST`, or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit(Pattern);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Tcp { hosts: Hosts, ports: Ports },
    Unix(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    Name(HostName),
    Below(HostName),
    Network(IpNet),
    Internet,
    Anywhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ports {
    first: u16,
    last: u16,
}

const INTERNET: &str = "internet";
const ANYWHERE: &str = "anywhere";
const ALL_PORTS: Ports = Ports { first: 1, last: u16::MAX };

/// To which addresses a permitted name may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// To [global](is_global) ones: whoever runs a name's zone chooses its addresses, and could
    /// choose those behind the server.
    Global,
    /// To any: who permits a name trusts whoever runs its zone.
    All,
}

impl Reach {
    /// Whether it may be this one.
    pub fn includes(self, ip: IpAddr) -> bool {
        self == Self::All || is_global(ip)
    }
}

impl Permit {
    /// The address must be canonical.
    pub(super) fn permits_address(&self, to: SocketAddr) -> bool {
        let Pattern::Tcp { hosts, ports } = &self.0 else { return false };
        ports.contain(to.port()) && hosts.contain(to.ip())
    }

    /// Whether it says `internet`.
    pub(super) const fn is_internet(&self) -> bool {
        matches!(&self.0, Pattern::Tcp { hosts: Hosts::Internet, .. })
    }

    /// Whether a listener may be there. Port 0 is any free one, which the system chooses from those
    /// that ask for no privilege: all of them must be permitted.
    pub(super) fn permits_listen(&self, at: SocketAddr) -> bool {
        let Pattern::Tcp { hosts, ports } = &self.0 else { return false };
        let any_port = at.port() == 0 && ports.contain(1024) && ports.contain(u16::MAX);
        (any_port || ports.contain(at.port())) && hosts.contain(at.ip())
    }

    /// `None`: the name is not permitted.
    pub(super) fn name_reach(&self, host: &HostName, port: u16) -> Option<Reach> {
        match &self.0 {
            Pattern::Tcp { hosts, ports } if ports.contain(port) => hosts.name_reach(host),
            _ => None,
        }
    }

    /// To the byte: what symbolic links and `..` make of other paths is not asked.
    pub(super) fn permits_unix(&self, path: &Path) -> bool {
        matches!(&self.0, Pattern::Unix(permitted) if permitted.as_os_str() == path.as_os_str())
    }
}

impl Hosts {
    fn contain(&self, ip: IpAddr) -> bool {
        match self {
            Self::Name(_) | Self::Below(_) => false,
            // Linux takes 0.0.0.0 and :: for this host: a network that happens to contain them
            // does not mean that.
            Self::Network(net) if ip.is_unspecified() => *net == IpNet::from(ip),
            Self::Network(net) => net.contains(&ip),
            Self::Internet => is_global(ip),
            Self::Anywhere => true,
        }
    }

    fn name_reach(&self, host: &HostName) -> Option<Reach> {
        match self {
            Self::Name(name) => (name == host).then_some(Reach::All),
            Self::Below(domain) => host.is_below(domain).then_some(Reach::All),
            // A name may lead to an address of the network, or may not: to find out, one would
            // have to look up names that nobody has permitted.
            Self::Network(_) => None,
            Self::Internet => Some(Reach::Global),
            Self::Anywhere => Some(Reach::All),
        }
    }
}

impl Ports {
    fn contain(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl FromStr for Permit {
    type Err = PermitError;

    fn from_str(text: &str) -> Result<Self, PermitError> {
        let of_target = |source| PermitError::Target { text: text.to_owned(), source };
        // A host may be called "unix" too.
        if let Some(path) = text.strip_prefix("unix:").filter(|path| parse_ports(path).is_none()) {
            let path = check_path(path.into()).map_err(of_target)?;
            return Ok(Self(Pattern::Unix(path)));
        }
        if text == "*" {
            return Err(PermitError::Star { text: text.to_owned() });
        }
        let malformed = || PermitError::Malformed { text: text.to_owned() };
        let (host, ports) = text.rsplit_once(':').ok_or_else(malformed)?;
        if host.is_empty() || host.contains(':') && !host.starts_with('[') {
            return Err(malformed());
        }
        let hosts = parse_hosts(text, host)?;
        let of_ports = || PermitError::Ports { text: text.to_owned(), ports: ports.to_owned() };
        Ok(Self(Pattern::Tcp { hosts, ports: parse_ports(ports).ok_or_else(of_ports)? }))
    }
}

fn parse_hosts(text: &str, host: &str) -> Result<Hosts, PermitError> {
    if host == "*" {
        return Err(PermitError::Star { text: text.to_owned() });
    }
    if let Some(ip) = parse_ip(host) {
        return Ok(Hosts::Network(ip.into()));
    }
    if host.contains('/') {
        let network = || PermitError::Network { text: text.to_owned(), network: host.to_owned() };
        return parse_network(host).map(Hosts::Network).ok_or_else(network);
    }
    let of_target = |source| PermitError::Target { text: text.to_owned(), source };
    if let Some(domain) = host.strip_prefix("*.") {
        return Ok(Hosts::Below(domain.parse().map_err(of_target)?));
    }
    let name: HostName = host.parse().map_err(of_target)?;
    Ok(match name.as_str() {
        INTERNET => Hosts::Internet,
        ANYWHERE => Hosts::Anywhere,
        _ => Hosts::Name(name),
    })
}

/// `ADDRESS/BITS`, in brackets if it likes; of IPv4-mapped IPv6 the IPv4 network.
fn parse_network(text: &str) -> Option<IpNet> {
    let inner = text.strip_prefix('[').map_or(Some(text), |rest| rest.strip_suffix(']'))?;
    let (address, bits) = inner.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let mut bits = u8::try_from(parse_port(bits)?).ok()?;
    let mut ip = address;
    if address.is_ipv6() && address.to_canonical().is_ipv4() && bits >= 96 {
        (ip, bits) = (address.to_canonical(), bits - 96);
    }
    let network = IpNet::new(ip, bits).ok()?;
    // 10.0.0.1/8 is a mistake: as likely the address is meant as the network.
    (network.trunc() == network).then_some(network)
}

fn parse_ports(text: &str) -> Option<Ports> {
    if text == "*" {
        return Some(ALL_PORTS);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (parse_port(first)?, parse_port(last)?);
    (first > 0 && first <= last).then_some(Ports { first, last })
}

impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Pattern::Tcp { hosts, ports } => write!(f, "{hosts}:{ports}"),
            Pattern::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name}"),
            Self::Below(domain) => write!(f, "*.{domain}"),
            Self::Internet => f.write_str(INTERNET),
            Self::Anywhere => f.write_str(ANYWHERE),
            Self::Network(net) => {
                let one = net.prefix_len() == net.max_prefix_len();
                let text = if one { net.addr().to_string() } else { net.to_string() };
                if net.addr().is_ipv6() { write!(f, "[{text}]") } else { f.write_str(&text) }
            }
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ALL_PORTS => f.write_str("*"),
            Self { first, last } if first == last => write!(f, "{first}"),
            Self { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Result<String, String> {
        text.parse::<Permit>().map(|p| p.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn patterns_are_read() {
        for (text, want) in [
            ("DB.example.com.:443", "db.example.com:443"),
            ("*.example.com:8000-8010", "*.example.com:8000-8010"),
            ("192.0.2.1:1-65535", "192.0.2.1:*"),
            ("192.0.2.1/32:5-5", "192.0.2.1:5"),
            ("10.0.0.0/8:*", "10.0.0.0/8:*"),
            ("0.0.0.0/0:80", "0.0.0.0/0:80"),
            ("[2001:db8::1]:80", "[2001:db8::1]:80"),
            ("[2001:db8::/32]:80", "[2001:db8::/32]:80"),
            ("[::ffff:10.0.0.0/104]:80", "10.0.0.0/8:80"),
            ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
            ("Internet:443", "internet:443"),
            ("anywhere:*", "anywhere:*"),
            ("unix:/run/a", "unix:/run/a"),
            ("unix:80-90", "unix:80-90"),
            ("unix:*", "unix:*"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_told_in_one_line() {
        for (text, why) in [
            ("", "HOST:PORTS"),
            ("internet", "HOST:PORTS"),
            (":80", "HOST:PORTS"),
            ("2001:db8::1:80", "IPv6 in [brackets]"),
            ("*", "internet:PORT"),
            ("*:443", "internet:PORT"),
            ("*.:443", "1 to 253"),
            ("*.*.com:443", "is no name"),
            ("a.*:443", "is no name"),
            ("*.127.1:443", "is a number"),
            ("0x7f.1:443", "is a number"),
            ("db:0", "1 to 65535"),
            ("db:22,443", "1 to 65535"),
            ("db:9-8", "FIRST-LAST"),
            ("db:-8", "FIRST-LAST"),
            ("db:0-8", "FIRST-LAST"),
            ("db:1-65536", "FIRST-LAST"),
            ("db:", "* for all"),
            ("10.0.0.1/8:80", "no address bits behind"),
            ("10.0.0.0/33:80", "ADDRESS/BITS"),
            ("10.0.0.0/:80", "ADDRESS/BITS"),
            ("[2001:db8::]/32:80", "ADDRESS/BITS"),
            ("[2001:db8::/129]:80", "ADDRESS/BITS"),
            ("10/8:80", "ADDRESS/BITS"),
            ("unix:a", "absolute"),
        ] {
            let error = shown(text).unwrap_err();
            let shows = error.contains(&format!("{text:?}")) && error.lines().count() == 1;
            assert!(shows && error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(
            host in "(\\*\\.)?[a-z]{1,5}(\\.[a-z]\\.?)?|internet\\.?|anywhere|[0-9.]{7,9}(/8)?",
            six: std::net::Ipv6Addr,
            bits in 0_u8..=128,
            (first, last) in (1_u16.., 1_u16..),
        ) {
            let six = IpNet::new(six.into(), bits).unwrap().trunc();
            for text in [format!("{host}:{first}-{last}"), format!("[{six}]:{first}")] {
                if let Ok(permit) = text.parse::<Permit>() {
                    prop_assert_eq!(permit.to_string().parse::<Permit>(), Ok(permit));
                }
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,40}|[a-z0-9:/.*-]{0,20}|\\[[0-9a-f:/]{0,12}\\]:1") {
            let _ = text.parse::<Permit>();
        }
    }
}
