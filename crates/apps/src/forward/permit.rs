//! Which targets a server connects to, judged so that nothing that was not permitted can be probed:
//! of a target that is not, nothing is looked up and nothing is connected.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use super::pattern::{Permit, PermitError, Reach};
use super::target::{HostName, Target};

/// All that is permitted: what one of the patterns permits. By default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permits {
    patterns: Vec<Permit>,
    /// Whatever the patterns are.
    everything: bool,
}

/// What becomes of a target, before anything is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is not permitted.
    Refused,
    /// This address is connected to.
    Address(SocketAddr),
    /// This address is, unless it is one of this host: `internet` alone permits it, and what this
    /// host has for itself may listen at its public addresses, too.
    Public(SocketAddr),
    /// This socket is.
    Unix(PathBuf),
    /// The name is looked up, and one of the addresses that it may lead to is connected to.
    Lookup {
        /// The name.
        host: HostName,
        /// TCP's.
        port: u16,
        /// Which addresses it may lead to.
        reach: Reach,
    },
}

impl Permits {
    /// Everything, Unix sockets too, which no pattern says: for who dials what its own user named.
    pub fn anywhere() -> Self {
        Self { patterns: Vec::new(), everything: true }
    }

    /// Whether a listener may be at this address, where patterns say where listeners may be. Of
    /// port 0, any free one, if all from 1024 are permitted; of 0.0.0.0 and ::, all addresses, if
    /// they are by themselves or by `anywhere`.
    pub fn allows_listen(&self, at: SocketAddr) -> bool {
        let at = make_canonical(at);
        self.everything || self.patterns.iter().any(|permit| permit.permits_listen(at))
    }

    /// Whether this Unix socket is permitted.
    pub fn allows_unix(&self, path: &Path) -> bool {
        self.everything || self.patterns.iter().any(|permit| permit.permits_unix(path))
    }

    /// What becomes of a target.
    pub fn judge(&self, target: &Target) -> Verdict {
        match target {
            Target::Address(to) => self.judge_address(make_canonical(*to)),
            Target::Name { host, port } => self.judge_name(host, *port),
            Target::Unix(path) if self.allows_unix(path) => Verdict::Unix(path.clone()),
            Target::Unix(_) => Verdict::Refused,
        }
    }

    /// Whether nothing is permitted.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty() && !self.everything
    }

    fn judge_address(&self, to: SocketAddr) -> Verdict {
        let permitting = || self.patterns.iter().filter(|permit| permit.permits_address(to));
        let named = self.everything || permitting().any(|permit| !permit.is_internet());
        match permitting().next() {
            _ if named => Verdict::Address(to),
            Some(_) => Verdict::Public(to),
            None => Verdict::Refused,
        }
    }

    fn judge_name(&self, host: &HostName, port: u16) -> Verdict {
        let everything = self.everything.then_some(Reach::All);
        let patterns = self.patterns.iter().filter_map(|permit| permit.name_reach(host, port));
        match patterns.chain(everything).max() {
            Some(reach) => Verdict::Lookup { host: host.clone(), port, reach },
            None => Verdict::Refused,
        }
    }
}

/// IPv4-mapped IPv6 (RFC 4291, section 2.5.5.2) reaches the IPv4 address, so it is that. The scope
/// of link-local ones stays.
pub(super) fn make_canonical(address: SocketAddr) -> SocketAddr {
    let ip = address.ip().to_canonical();
    if ip == address.ip() { address } else { SocketAddr::new(ip, address.port()) }
}

impl FromIterator<Permit> for Permits {
    fn from_iter<I: IntoIterator<Item = Permit>>(permits: I) -> Self {
        Self { patterns: permits.into_iter().collect(), everything: false }
    }
}

/// Patterns with commas between them.
impl FromStr for Permits {
    type Err = PermitError;

    fn from_str(text: &str) -> Result<Self, PermitError> {
        text.split(',').map(|permit| permit.trim().parse()).collect()
    }
}

/// As it is read, but for [everything](Permits::anywhere), and paths with commas.
impl fmt::Display for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.everything {
            return f.write_str("everything");
        }
        for (i, permit) in self.patterns.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{permit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::{select, subsequence};

    use super::*;
    use crate::forward::global::is_global;

    fn judge(permits: &str, target: &str) -> Verdict {
        permits.parse::<Permits>().unwrap().judge(&target.parse().unwrap())
    }

    fn refused(permits: &str, target: &str) -> bool {
        judge(permits, target) == Verdict::Refused
    }

    fn reach(permits: &str, target: &str) -> Option<Reach> {
        let Verdict::Lookup { reach, .. } = judge(permits, target) else { return None };
        Some(reach)
    }

    #[test]
    fn patterns_come_as_a_list() {
        let permits: Permits = "db:1, *.example.com:2,unix:/run/a".parse().unwrap();
        assert_eq!(permits.to_string(), "db:1,*.example.com:2,unix:/run/a");
        assert!("db:1,".parse::<Permits>().is_err() && "".parse::<Permits>().is_err());
        assert!(Permits::default().is_empty());
        let nothing = Permits::default();
        assert_eq!(nothing.judge(&"192.0.2.1:1".parse().unwrap()), Verdict::Refused);
    }

    #[test]
    fn names_lead_where_their_pattern_says() {
        let permits = "db:1,*.example.com:2,internet:2-3,192.0.2.0/24:*,anywhere:9";
        assert_eq!(reach(permits, "DB.:1"), Some(Reach::All));
        assert_eq!(reach(permits, "db:2"), Some(Reach::Global));
        assert_eq!(reach(permits, "a.b.example.com:2"), Some(Reach::All));
        assert_eq!(reach(permits, "a.example.com:3"), Some(Reach::Global));
        assert_eq!(reach(permits, "example.com:2"), Some(Reach::Global));
        assert_eq!(reach(permits, "localhost.:9"), Some(Reach::All));
        assert!(refused(permits, "db:4") && refused(permits, "a.example.com:1"));
        assert!(refused("192.0.2.0/24:*,0.0.0.0/0:*,[::/0]:*", "db:1"));
    }

    #[test]
    fn sockets_are_permitted_to_the_byte() {
        assert_eq!(judge("unix:/run/a", "/run/a"), Verdict::Unix("/run/a".into()));
        for other in ["/run/a/", "/run//a", "/run/./a", "/run/b/../a", "/run", "/run/aa"] {
            assert!(refused("unix:/run/a,anywhere:*,internet:*", other), "{other}");
        }
    }

    #[test]
    fn the_internet_is_nothing_behind_the_server() {
        for local in [
            "127.0.0.1:80",
            "[::ffff:127.0.0.1]:80",
            "[::ffff:7f00:1]:80",
            "[::1]:80",
            "[::127.0.0.1]:80",
            "0.0.0.0:80",
            "[::]:80",
            "[::ffff:0.0.0.0]:80",
            "169.254.169.254:80",
            "[fd00:ec2::254]:80",
            "[fe80::1]:80",
            "10.0.0.1:80",
            "100.64.0.1:80",
            "[64:ff9b::7f00:1]:80",
            "[64:ff9b::10.0.0.1]:80",
            "[64:ff9b:1::8.8.8.8]:80",
            "[2002:7f00:1::1]:80",
            "[2002:a00:1::1]:80",
            "unix:/run/a",
        ] {
            assert!(refused("internet:*", local), "{local}");
        }
        for global in ["8.8.8.8:80", "[2001:4860:4860::8888]:80", "[64:ff9b::8.8.8.8]:80"] {
            assert_eq!(judge("internet:*", global), Verdict::Public(global.parse().unwrap()));
            let address = Verdict::Address(global.parse().unwrap());
            assert_eq!(judge("internet:*,anywhere:80", global), address);
        }
        assert_eq!(
            judge("internet:*", "[::ffff:8.8.8.8]:80"),
            Verdict::Public("8.8.8.8:80".parse().unwrap())
        );
        for name in ["localhost.:80", "metadata.google.internal:80"] {
            assert_eq!(reach("internet:*", name), Some(Reach::Global));
        }
    }

    #[test]
    fn unspecified_addresses_are_this_host_and_not_a_network() {
        let wide = "0.0.0.0/0:*,0.0.0.0/8:*,127.0.0.0/8:*,[::/0]:*,[::/64]:*,[::1]:*,internet:*";
        assert!(refused(wide, "0.0.0.0:1") && refused(wide, "[::]:1"));
        assert!(!refused(wide, "0.0.0.1:1") && !refused(wide, "[::2]:1"));
        assert!(!refused("0.0.0.0:1", "0.0.0.0:1") && !refused("[::]:1", "[::]:1"));
        assert!(refused("0.0.0.0:1", "[::]:1") && refused("[::]:1", "0.0.0.0:1"));
        assert!(!refused("anywhere:1", "0.0.0.0:1") && !refused("anywhere:1", "[::]:1"));
    }

    /// Targets need not have come from text.
    #[test]
    fn what_was_built_by_hand_is_judged_alike() {
        let permits: Permits = "internet:*,[::/0]:*".parse().unwrap();
        let by_hand = |text: &str| permits.judge(&Target::Address(text.parse().unwrap()));
        assert_eq!(by_hand("[::ffff:127.0.0.1]:80"), Verdict::Refused);
        assert_eq!(by_hand("8.8.8.8:0"), Verdict::Refused);
        let scoped = "[fe80::1%3]:80".parse().unwrap();
        assert_eq!(by_hand("[fe80::1%3]:80"), Verdict::Address(scoped));
    }

    #[test]
    fn everything_is_more_than_any_pattern() {
        let permits = Permits::anywhere();
        let judge = |text: &str| permits.judge(&text.parse().unwrap());
        assert_eq!(judge("/run/a"), Verdict::Unix("/run/a".into()));
        assert_eq!(judge("0.0.0.0:1"), Verdict::Address("0.0.0.0:1".parse().unwrap()));
        assert!(matches!(judge("a:1"), Verdict::Lookup { reach: Reach::All, .. }));
        assert!(!permits.is_empty() && permits.to_string().parse::<Permits>().is_err());
    }

    #[test]
    fn listeners_are_where_patterns_say() {
        let permits: Permits =
            "192.0.2.0/24:1024-65535,127.0.0.1:1-80,0.0.0.0:80,unix:/run/a".parse().unwrap();
        for (at, allowed) in [
            ("192.0.2.1:0", true),
            ("192.0.2.1:8080", true),
            ("[::ffff:192.0.2.1]:8080", true),
            ("192.0.2.1:80", false),
            ("127.0.0.1:0", false),
            ("127.0.0.1:80", true),
            ("0.0.0.0:80", true),
            ("[::]:80", false),
            ("0.0.0.0:8080", false),
        ] {
            assert_eq!(permits.allows_listen(at.parse().unwrap()), allowed, "{at}");
        }
        assert!(permits.allows_unix("/run/a".as_ref()) && !permits.allows_unix("/run/b".as_ref()));
        assert!(Permits::anywhere().allows_listen("[::]:1".parse().unwrap()));
        assert!(!"internet:*".parse::<Permits>().unwrap().allows_listen("[::]:1".parse().unwrap()));
    }

    const PATTERNS: &[&str] = &[
        "a:1",
        "*.a:1-2",
        "a.a:2",
        "10.0.0.0/8:1",
        "10.0.0.1:2",
        "[2001:db8::/32]:*",
        "0.0.0.0:1",
        "internet:2",
        "anywhere:3",
        "unix:/a",
    ];

    /// What each pattern means, spelt out for the few targets that are tried.
    fn one_permits(pattern: &str, target: &str) -> Option<Reach> {
        let global = |ip: &str| is_global(ip.trim_matches(['[', ']']).parse().unwrap());
        let (host, port) = target.rsplit_once(':').unwrap();
        let name = host.starts_with('a');
        let all = match pattern {
            "a:1" => target == "a:1",
            "*.a:1-2" => host.ends_with(".a") && "12".contains(port),
            "a.a:2" => target == "a.a:2",
            "10.0.0.0/8:1" => host.starts_with("10.") && port == "1",
            "10.0.0.1:2" => target == "10.0.0.1:2",
            "[2001:db8::/32]:*" => host == "[2001:db8::1]",
            "0.0.0.0:1" => target == "0.0.0.0:1",
            "internet:2" => {
                let public = port == "2" && host != "unix" && (name || global(host));
                return public.then_some(Reach::Global);
            }
            "anywhere:3" => port == "3",
            _ => target == "unix:/a",
        };
        all.then_some(Reach::All)
    }

    proptest! {
        #[test]
        fn permits_are_the_sum_of_their_patterns(
            patterns in subsequence(PATTERNS, 1..PATTERNS.len()),
            host in select(vec!["a", "a.a", "a.a.a", "aa", "10.0.0.1", "10.9.9.9", "11.0.0.1",
                "[2001:db8::1]", "[2001:db7::1]", "0.0.0.0", "8.8.8.8"]),
            port in 1_u16..=4,
        ) {
            for target in [format!("{host}:{port}"), "unix:/a".to_owned(), "unix:/b".to_owned()] {
                let model = patterns.iter().filter_map(|p| one_permits(p, &target)).max();
                let found = match judge(&patterns.join(","), &target) {
                    Verdict::Refused => None,
                    Verdict::Lookup { reach, .. } => Some(reach),
                    Verdict::Public(_) => Some(Reach::Global),
                    Verdict::Address(_) | Verdict::Unix(_) => Some(Reach::All),
                };
                prop_assert_eq!(found, model, "{}", target);
            }
        }
    }
}
