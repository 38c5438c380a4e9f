//! Where a connection goes: an address, a name, or a Unix socket.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// The longest path of a Unix socket, bytes: `sun_path` with its NUL, unix(7).
const LONGEST_PATH: usize = 107;

/// The longest name, characters without the dot at its end, and the longest label (RFC 1035,
/// section 2.3.4).
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// What is wrong with a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Of none of the forms.
    #[error("{text:?}: HOST:PORT, [IPV6]:PORT or unix:/PATH is expected")]
    Malformed {
        /// What was given.
        text: String,
    },
    /// A host that is neither an address nor a name.
    #[error("host {host:?} {why}")]
    Host {
        /// What was given.
        host: String,
        /// What is wrong, and what is allowed.
        why: &'static str,
    },
    /// No port.
    #[error("port {port:?} (allowed: 1 to 65535)")]
    Port {
        /// What was given.
        port: String,
    },
    /// No path of a socket.
    #[error("socket {path:?} (allowed: an absolute path of 2 to {LONGEST_PATH} bytes, no NUL)")]
    Path {
        /// What was given.
        path: PathBuf,
    },
}

/// A name of a host, in lower case, without a dot at its end: never an address in any of the forms
/// that a resolver takes for one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// As it is looked up.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a name below `domain`, and not that itself.
    pub fn is_below(&self, domain: &Self) -> bool {
        self.0.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HostName {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let name = text.strip_suffix('.').unwrap_or(text);
        match wrong_with(name) {
            Some(why) => Err(TargetError::Host { host: text.to_owned(), why }),
            None => Ok(Self(name.to_ascii_lowercase())),
        }
    }
}

fn wrong_with(name: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_ascii() {
        Some("has letters beyond ASCII (allowed: its form that begins with xn--)")
    } else if !name.chars().all(allowed) {
        Some("is no name (allowed: letters, digits, '-', '_' and '.'; IPv6 in [brackets])")
    } else if name.is_empty() || name.len() > LONGEST_NAME {
        Some("is empty or too long (allowed: 1 to 253 characters)")
    } else if name.split('.').any(|label| label.is_empty() || label.len() > LONGEST_LABEL) {
        Some("has a part that is empty or too long (allowed: 1 to 63 characters)")
    } else if ends_in_number(name) {
        Some("is a number (allowed: addresses of four decimal numbers, and names)")
    } else {
        None
    }
}

/// Whether a resolver may take it for an IPv4 address: inet_aton(3) does so with `127.1`,
/// `0x7f000001` and `017700000001`. The rule is that of the URL standard (WHATWG, 3.5, "ends in a
/// number"), and as there no name on the Internet is lost: no top-level domain is a number
/// (RFC 3696, section 2).
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    last.bytes().all(|b| b.is_ascii_digit())
        || hex.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Where a connection goes. What it shows is what it is read from, but a path that is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// There.
    Address(SocketAddr),
    /// To one of the addresses of a name.
    Name {
        /// The name.
        host: HostName,
        /// TCP's.
        port: u16,
    },
    /// To a Unix socket.
    Unix(PathBuf),
}

impl Target {
    /// A host by its name or IP address, the latter also in brackets. IPv4-mapped IPv6 addresses
    /// (RFC 4291, section 2.5.5.2) are the IPv4 addresses that they reach.
    ///
    /// # Errors
    /// When it is neither, or the port is 0.
    pub fn from_host(host: &str, port: u16) -> Result<Self, TargetError> {
        if port == 0 {
            return Err(TargetError::Port { port: port.to_string() });
        }
        match parse_ip(host) {
            Some(ip) => Ok(Self::Address(SocketAddr::new(ip, port))),
            None => Ok(Self::Name { host: host.parse()?, port }),
        }
    }

    /// A Unix socket.
    ///
    /// # Errors
    /// When the path is not absolute, longer than 107 bytes, or has a NUL (which would make it one
    /// of the abstract namespace, unix(7)).
    pub fn unix(path: impl Into<PathBuf>) -> Result<Self, TargetError> {
        check_path(path.into()).map(Self::Unix)
    }
}

/// Also for sockets to listen at.
pub(super) fn check_path(path: PathBuf) -> Result<PathBuf, TargetError> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let fits = (2..=LONGEST_PATH).contains(&bytes.len()) && !bytes.contains(&0);
    if fits && path.is_absolute() { Ok(path) } else { Err(TargetError::Path { path }) }
}

/// An IP address, also in brackets.
pub(super) fn parse_ip(text: &str) -> Option<IpAddr> {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(text).parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// Digits alone: `u16` itself takes `+80`.
pub(super) fn parse_port(text: &str) -> Option<u16> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Name { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        if text.starts_with('/') {
            return Self::unix(text);
        }
        // A host may be called "unix" too.
        if let Some(path) = text.strip_prefix("unix:").filter(|rest| parse_port(rest).is_none()) {
            return Self::unix(path);
        }
        let malformed = || TargetError::Malformed { text: text.to_owned() };
        let (host, port) = text.rsplit_once(':').ok_or_else(malformed)?;
        if host.is_empty() || host.contains(':') && !host.starts_with('[') {
            return Err(malformed());
        }
        let number = parse_port(port).ok_or_else(|| TargetError::Port { port: port.to_owned() })?;
        Self::from_host(host, number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Result<String, String> {
        text.parse::<Target>().map(|t| t.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn targets_are_read() {
        for (text, want) in [
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("[2001:DB8::1]:443", "[2001:db8::1]:443"),
            ("[192.0.2.1]:80", "192.0.2.1:80"),
            ("[::ffff:127.0.0.1]:1", "127.0.0.1:1"),
            ("[::ffff:7f00:1]:1", "127.0.0.1:1"),
            ("DB.Example.COM.:5432", "db.example.com:5432"),
            ("localhost.:22", "localhost:22"),
            ("_sip-1.a.1b:65535", "_sip-1.a.1b:65535"),
            ("0xg:1", "0xg:1"),
            ("unix:80", "unix:80"),
            ("unix:/run/a b:1", "unix:/run/a b:1"),
            ("/run/a", "unix:/run/a"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_target_is_refused() {
        let long = format!("{}:1", "a".repeat(64));
        let longer = format!("{}a:1", "a.".repeat(127));
        let deep = format!("/{}", "a".repeat(107));
        for (text, why) in [
            ("", "HOST:PORT"),
            ("host", "HOST:PORT"),
            (":80", "HOST:PORT"),
            ("2001:db8::1:80", "[IPV6]:PORT"),
            ("host:0", "1 to 65535"),
            ("host:65536", "1 to 65535"),
            ("host:+80", "1 to 65535"),
            ("host:", "1 to 65535"),
            ("[::1]", "1 to 65535"),
            ("[fe80::1%lo]:1", "no name"),
            ("[name]:1", "no name"),
            ("user@host:1", "no name"),
            ("a b:1", "no name"),
            ("a\0:1", "no name"),
            ("*:1", "no name"),
            ("bücher.example:1", "xn--"),
            ("1２7.0.0.1:1", "xn--"),
            ("a..b:1", "1 to 63"),
            (".:1", "1 to 253"),
            (&long, "1 to 63"),
            (&longer, "1 to 253"),
            ("unix:run/a", "absolute"),
            ("unix:", "absolute"),
            ("/", "absolute"),
            ("/a\0b", "absolute"),
            (&deep, "107 bytes"),
        ] {
            let error = shown(text).unwrap_err();
            assert!(error.contains(why) && error.lines().count() == 1, "{text}: {error}");
        }
    }

    #[test]
    fn numbers_that_resolvers_take_for_addresses_are_no_names() {
        for host in [
            "127.1",
            "127.0.1",
            "0x7f000001",
            "0X7F.1",
            "0x7f.0.0.0x1",
            "2130706433",
            "017700000001",
            "0177.0.0.01",
            "127.0.0.1.",
            "127.0.0.01",
            "999.1.1.1",
            "1.2.3.4.5",
            "a.0x",
            "example.1",
        ] {
            let error = Target::from_host(host, 1).unwrap_err().to_string();
            assert!(error.contains("is a number"), "{host}: {error}");
        }
    }

    #[test]
    fn names_are_below_their_domain_alone() {
        let name = |text: &str| text.parse::<HostName>().unwrap();
        let domain = name("example.com");
        assert!(
            name("a.example.com").is_below(&domain) && name("a.b.Example.com").is_below(&domain)
        );
        for other in ["example.com", "notexample.com", "example.com.org", "com"] {
            assert!(!name(other).is_below(&domain), "{other}");
        }
    }

    #[test]
    fn paths_need_not_be_utf_8() {
        use std::os::unix::ffi::OsStrExt as _;
        let path = std::ffi::OsStr::from_bytes(b"/run/\xff");
        assert_eq!(Target::unix(path), Ok(Target::Unix(path.into())));
        assert!(Target::unix(std::ffi::OsStr::from_bytes(b"\0/run")).is_err());
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(
            text in "[a-z0-9.-]{1,9}:[0-9]{1,5}|\\[[0-9a-f:.]{2,9}\\]:[0-9]{1,3}|(unix:)?/.{1,9}",
        ) {
            if let Ok(target) = text.parse::<Target>() {
                prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
            }
        }

        #[test]
        fn no_address_is_a_name(ip: [u8; 4], six: u128, port in 1_u16..) {
            let six = std::net::Ipv6Addr::from_bits(six);
            for host in [IpAddr::from(ip).to_string(), six.to_string(), format!("[{six}]")] {
                prop_assert!(matches!(Target::from_host(&host, port), Ok(Target::Address(_))));
                prop_assert!(host.parse::<HostName>().is_err());
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,40}|[a-z0-9:./\\[\\]x]{0,20}") {
            let _ = text.parse::<Target>();
            let _ = Target::from_host(&text, 1);
            let _ = Target::unix(text);
        }
    }
}
