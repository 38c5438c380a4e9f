//! Which connections are carried where: what users write for `-L`, `-R` and `-D`, as in ssh(1).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use super::target::{Target, TargetError, check_path, parse_ip, parse_port};

/// What is wrong with what the user wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Of none of the forms of [`ForwardSpec`].
    #[error(
        "{text:?}: [BIND:]PORT:HOST:HOSTPORT is expected, with /SOCKET for [BIND:]PORT or \
         for HOST:HOSTPORT if it is one (IPv6 in [brackets])"
    )]
    Forward {
        /// What was given.
        text: String,
    },
    /// Of none of the forms of [`DynamicSpec`].
    #[error("{text:?}: [BIND:]PORT or /SOCKET is expected (IPv6 in [brackets])")]
    Dynamic {
        /// What was given.
        text: String,
    },
    /// Nowhere to listen.
    #[error("{text:?}: bind {bind:?} (allowed: an IP address, IPv6 in [brackets]; localhost; *)")]
    Bind {
        /// What was given.
        text: String,
        /// The part that is wrong.
        bind: String,
    },
    /// No port to listen at.
    #[error("{text:?}: port {port:?} to listen at (allowed: 0 to 65535; 0 is any free one)")]
    Port {
        /// What was given.
        text: String,
        /// The part that is wrong.
        port: String,
    },
    /// A target, or a path to listen at, that is none.
    #[error("{text:?}: {source}")]
    Target {
        /// What was given.
        text: String,
        /// What is wrong with the part.
        source: TargetError,
    },
}

/// The addresses of this host at which connections are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// This one.
    Address(IpAddr),
    /// Those of the loopback, for this host alone.
    Localhost,
    /// All, whoever may reach them.
    All,
}

/// Where connections are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// At a TCP port.
    Tcp {
        /// Of these addresses; `None`: nothing was said, and means as much as
        /// [`Bind::Localhost`].
        bind: Option<Bind>,
        /// 0: any free one.
        port: u16,
    },
    /// At a Unix socket.
    Unix(PathBuf),
}

impl Listen {
    /// Where to bind TCP sockets, none for a Unix socket. Of two, one suffices where the host does
    /// not have the other's family (EADDRNOTAVAIL, EAFNOSUPPORT).
    ///
    /// To bind both: IPV6_V6ONLY (RFC 3493, section 5.3) must be set at the IPv6 socket, or on
    /// Linux `[::]` takes the port of IPv4 too, and 0.0.0.0 is in use already. With port 0, the
    /// second is bound to the port that the first one got; if that is taken, both are tried anew.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let Self::Tcp { bind, port } = self else { return Vec::new() };
        let of = |ips: &[IpAddr]| ips.iter().map(|&ip| SocketAddr::new(ip, *port)).collect();
        match bind {
            Some(Bind::Address(ip)) => of(&[*ip]),
            Some(Bind::All) => of(&[Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()]),
            Some(Bind::Localhost) | None => {
                of(&[Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
        }
    }

    /// Whether nobody but this host can connect; so it is with Unix sockets.
    pub fn is_loopback(&self) -> bool {
        self.addresses().iter().all(|address| address.ip().to_canonical().is_loopback())
    }
}

/// `-L` and `-R`: connections that are taken here, or there, go to a target at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardSpec {
    /// Where they are taken.
    pub listen: Listen,
    /// Where they go.
    pub target: Target,
}

/// `-D`: connections that are taken here go where each says (SOCKS).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicSpec {
    /// Where they are taken.
    pub listen: Listen,
}

impl FromStr for ForwardSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let fields = split_fields(text);
        let forward = || SpecError::Forward { text: text.to_owned() };
        let of_target = |source| SpecError::Target { text: text.to_owned(), source };
        let (listen, target) = match fields.as_slice() {
            [listen @ .., path] if path.starts_with('/') => (listen, Target::unix(*path)),
            [listen @ .., host, port] => (listen, parse_target(host, port)),
            _ => return Err(forward()),
        };
        let listen = parse_listen(text, listen)?.ok_or_else(forward)?;
        Ok(Self { listen, target: target.map_err(of_target)? })
    }
}

impl FromStr for DynamicSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let fields = if text.starts_with('/') { vec![text] } else { split_fields(text) };
        let dynamic = || SpecError::Dynamic { text: text.to_owned() };
        Ok(Self { listen: parse_listen(text, &fields)?.ok_or_else(dynamic)? })
    }
}

/// Cut at colons, but those in brackets, and those of a path behind the first field: a path to
/// listen at has none, one to connect to may.
fn split_fields(text: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut rest = text;
    while fields.is_empty() || !rest.starts_with('/') {
        let inside = if rest.starts_with('[') { rest.find(']').unwrap_or(0) } else { 0 };
        let colon = rest.get(inside..).and_then(|rest| rest.find(':')).map(|at| at + inside);
        let Some((field, more)) = colon.and_then(|at| rest.split_at_checked(at)) else { break };
        fields.push(field);
        rest = more.strip_prefix(':').unwrap_or(more);
    }
    fields.push(rest);
    fields
}

fn parse_target(host: &str, port: &str) -> Result<Target, TargetError> {
    let number = parse_port(port).ok_or_else(|| TargetError::Port { port: port.to_owned() })?;
    Target::from_host(host, number)
}

/// `None` if the number of fields is wrong.
fn parse_listen(text: &str, fields: &[&str]) -> Result<Option<Listen>, SpecError> {
    let (bind, port) = match *fields {
        [path] if path.starts_with('/') => {
            let of_path = |source| SpecError::Target { text: text.to_owned(), source };
            return Ok(Some(Listen::Unix(check_path(path.into()).map_err(of_path)?)));
        }
        [port] => (None, port),
        [bind, port] => (Some(parse_bind(text, bind)?), port),
        _ => return Ok(None),
    };
    let of_port = || SpecError::Port { text: text.to_owned(), port: port.to_owned() };
    Ok(Some(Listen::Tcp { bind, port: parse_port(port).ok_or_else(of_port)? }))
}

fn parse_bind(text: &str, bind: &str) -> Result<Bind, SpecError> {
    if matches!(bind, "" | "*") {
        return Ok(Bind::All);
    }
    if bind.eq_ignore_ascii_case("localhost") {
        return Ok(Bind::Localhost);
    }
    let of_bind = || SpecError::Bind { text: text.to_owned(), bind: bind.to_owned() };
    parse_ip(bind).map(Bind::Address).ok_or_else(of_bind)
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp { bind: None, port } => write!(f, "{port}"),
            Self::Tcp { bind: Some(Bind::All), port } => write!(f, "*:{port}"),
            Self::Tcp { bind: Some(Bind::Localhost), port } => write!(f, "localhost:{port}"),
            Self::Tcp { bind: Some(Bind::Address(ip)), port } => {
                write!(f, "{}", SocketAddr::new(*ip, *port))
            }
        }
    }
}

impl fmt::Display for ForwardSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Unix(path) => write!(f, "{}:{}", self.listen, path.display()),
            target => write!(f, "{}:{target}", self.listen),
        }
    }
}

impl fmt::Display for DynamicSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listen.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forward(text: &str) -> Result<(String, String), String> {
        let spec = text.parse::<ForwardSpec>();
        spec.map(|s| (s.listen.to_string(), s.target.to_string())).map_err(|e| e.to_string())
    }

    fn dynamic(text: &str) -> Result<String, String> {
        text.parse::<DynamicSpec>().map(|spec| spec.to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn forwards_are_read_as_by_ssh() {
        for (text, listen, target) in [
            ("8080:db:80", "8080", "db:80"),
            ("0:db:80", "0", "db:80"),
            ("8080:192.0.2.1:80", "8080", "192.0.2.1:80"),
            ("8080:[2001:db8::1]:80", "8080", "[2001:db8::1]:80"),
            ("*:8080:db:80", "*:8080", "db:80"),
            (":8080:db:80", "*:8080", "db:80"),
            ("localhost:8080:db:80", "localhost:8080", "db:80"),
            ("192.0.2.9:8080:db:80", "192.0.2.9:8080", "db:80"),
            ("[::1]:8080:[::1]:80", "[::1]:8080", "[::1]:80"),
            ("[::ffff:127.0.0.1]:1:db:80", "127.0.0.1:1", "db:80"),
            ("8080:/run/a", "8080", "unix:/run/a"),
            ("[::1]:8080:/run/a:b", "[::1]:8080", "unix:/run/a:b"),
            ("/run/a:db:80", "/run/a", "db:80"),
            ("/run/a:/run/b", "/run/a", "unix:/run/b"),
        ] {
            let want = (listen.to_owned(), target.to_owned());
            assert_eq!(forward(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_forward_is_told_in_one_line() {
        for (text, why) in [
            ("", "[BIND:]PORT:HOST:HOSTPORT"),
            ("8080", "[BIND:]PORT:HOST:HOSTPORT"),
            ("8080:db", "[BIND:]PORT:HOST:HOSTPORT"),
            ("/run/a", "[BIND:]PORT:HOST:HOSTPORT"),
            ("1:2:3:4:5", "[BIND:]PORT:HOST:HOSTPORT"),
            ("8080:2001:db8::1:80", "[BIND:]PORT:HOST:HOSTPORT"),
            ("a:b:/run/a:80", "bind \"a\""),
            ("host:8080:db:80", "bind \"host\""),
            ("[*]:8080:db:80", "bind \"[*]\""),
            ("127.1:8080:db:80", "bind \"127.1\""),
            ("65536:db:80", "0 to 65535"),
            ("+1:db:80", "0 to 65535"),
            ("http:db:80", "0 to 65535"),
            (":db:80", "0 to 65535"),
            ("8080:db:0", "1 to 65535"),
            ("8080:db:http", "1 to 65535"),
            ("8080:127.1:80", "is a number"),
            ("8080::80", "1 to 253"),
            ("8080:[::1:80", "brackets"),
            ("/:db:80", "absolute path"),
            ("8080:/", "absolute path"),
        ] {
            let error = forward(text).unwrap_err();
            let shows = error.contains(&format!("{text:?}")) && error.lines().count() == 1;
            assert!(shows && error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn dynamic_ones_are_read_as_by_ssh() {
        for (text, want) in [
            ("1080", "1080"),
            (":1080", "*:1080"),
            ("[::]:1080", "[::]:1080"),
            ("localhost:0", "localhost:0"),
            ("/run/a:b", "/run/a:b"),
        ] {
            assert_eq!(dynamic(text).as_deref(), Ok(want), "{text}");
        }
        for (text, why) in [
            ("", "0 to 65535"),
            ("::1:1080", "[BIND:]PORT"),
            ("1:2:3", "[BIND:]PORT"),
            ("1080:/run/a", "bind \"1080\""),
            ("db:1080", "bind \"db\""),
        ] {
            let error = dynamic(text).unwrap_err();
            assert!(error.contains(why) && error.lines().count() == 1, "{text}: {error}");
        }
    }

    #[test]
    fn nothing_said_is_loopback() {
        for (text, addresses, loopback) in [
            ("7", "127.0.0.1:7 [::1]:7", true),
            ("localhost:7", "127.0.0.1:7 [::1]:7", true),
            ("*:7", "[::]:7 0.0.0.0:7", false),
            (":7", "[::]:7 0.0.0.0:7", false),
            ("0.0.0.0:7", "0.0.0.0:7", false),
            ("127.0.0.2:7", "127.0.0.2:7", true),
            ("[::1]:7", "[::1]:7", true),
            ("192.0.2.1:7", "192.0.2.1:7", false),
            ("/run/a", "", true),
        ] {
            let listen = text.parse::<DynamicSpec>().unwrap().listen;
            let found: Vec<_> = listen.addresses().iter().map(SocketAddr::to_string).collect();
            assert_eq!((found.join(" ").as_str(), listen.is_loopback()), (addresses, loopback));
        }
    }

    fn listens() -> impl Strategy<Value = Listen> {
        let bind = prop_oneof![
            Just(None),
            Just(Some(Bind::All)),
            Just(Some(Bind::Localhost)),
            any::<IpAddr>().prop_map(|ip| Some(Bind::Address(ip.to_canonical()))),
        ];
        let tcp = (bind, any::<u16>()).prop_map(|(bind, port)| Listen::Tcp { bind, port });
        prop_oneof![tcp, "/[^:\0]{1,20}".prop_map(|path| Listen::Unix(path.into()))]
    }

    fn targets() -> impl Strategy<Value = Target> {
        let hosts = prop_oneof!["[a-z]{1,9}", any::<IpAddr>().prop_map(|ip| ip.to_string())];
        prop_oneof![
            (hosts, 1_u16..).prop_map(|(host, port)| Target::from_host(&host, port).unwrap()),
            "/[^\0]{1,20}".prop_map(|path| Target::unix(path).unwrap()),
        ]
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(listen in listens(), target in targets()) {
            let spec = ForwardSpec { listen: listen.clone(), target };
            prop_assert_eq!(spec.to_string().parse(), Ok(spec));
            let spec = DynamicSpec { listen };
            prop_assert_eq!(spec.to_string().parse(), Ok(spec));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}|[a-z0-9:/*\\[\\]]{0,20}") {
            let _ = text.parse::<ForwardSpec>();
            let _ = text.parse::<DynamicSpec>();
        }
    }
}
