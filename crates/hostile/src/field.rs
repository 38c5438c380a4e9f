//! Where attacks take place.

use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use polypath_emu::for_tests::or_skip;
use polypath_emu::{Error, Namespace};
use polypath_net::{Config, DEFAULT_PORT, Encapsulation};

use crate::source::Source;
use crate::wires::{self, End};

/// A network device's name at a host, the victim's addresses there and the other host's.
type Wire = (&'static str, [IpAddr; 2], [IpAddr; 2]);

const fn ipv4_in(net: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, net, host))
}

const fn ipv6_in(net: u16, host: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, net, 0, 0, 0, host))
}

const CLIENT_WIRE: Wire =
    ("honest", [ipv4_in(1, 2), ipv6_in(1, 2)], [ipv4_in(1, 1), ipv6_in(1, 1)]);
const SECOND_WIRE: Wire =
    ("second", [ipv4_in(3, 2), ipv6_in(3, 2)], [ipv4_in(3, 1), ipv6_in(3, 1)]);
const ATTACKER_WIRE: Wire =
    ("hostile", [ipv4_in(2, 2), ipv6_in(2, 2)], [ipv4_in(2, 1), ipv6_in(2, 1)]);

/// How SCTP travels, and over which IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// In UDP; otherwise directly over IP.
    pub udp: bool,
    /// IPv4; otherwise IPv6.
    pub ipv4: bool,
}

impl Kind {
    /// Every kind of server.
    pub const ALL: [Self; 4] = [
        Self { udp: true, ipv4: true },
        Self { udp: true, ipv4: false },
        Self { udp: false, ipv4: true },
        Self { udp: false, ipv4: false },
    ];

    /// SCTP in UDP over IPv4.
    pub const COMMON: Self = Self::ALL[0];

    /// Where the victim listens; the port is 0 without UDP.
    pub fn victim(self) -> SocketAddr {
        self.address_at(CLIENT_WIRE.1)
    }

    /// The honest client's address.
    pub fn client(self) -> SocketAddr {
        self.address_at(CLIENT_WIRE.2)
    }

    /// The address of stranger `n`, who does not exist.
    pub fn stranger(self, n: u32) -> SocketAddr {
        let [_, a, b, c] = n.to_be_bytes();
        let [net, host] = [b, c].map(u16::from);
        // 256 of them share a /24, or a /48, which are what replies are limited by.
        let ip = match self.ipv4 {
            true => IpAddr::V4(Ipv4Addr::new(100, 64 | (a & 63), b, c)),
            false => IpAddr::V6(Ipv6Addr::new(0xfd66, a.into(), net, 0, 0, 0, 0, host)),
        };
        SocketAddr::new(ip, self.port())
    }

    /// The settings of an endpoint of this kind.
    pub fn configure_endpoint(self, config: Config) -> Config {
        let encapsulation = match (self.udp, config.accept) {
            (false, _) => Encapsulation::Raw,
            (true, true) => Encapsulation::Udp(DEFAULT_PORT),
            (true, false) => Encapsulation::Udp(0),
        };
        config.encapsulation(encapsulation)
    }

    /// The UDP port of everybody; 0 without UDP.
    pub fn port(self) -> u16 {
        if self.udp { DEFAULT_PORT } else { 0 }
    }

    fn address_at(self, [v4, v6]: [IpAddr; 2]) -> SocketAddr {
        SocketAddr::new(if self.ipv4 { v4 } else { v6 }, self.port())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.udp { "UDP" } else { "raw" };
        write!(f, "{how}, IPv{}", if self.ipv4 { 4 } else { 6 })
    }
}

/// A victim, an honest client and an attacker. The victim is connected to each of them, to the
/// client twice.
#[derive(Debug)]
pub struct Field {
    /// The honest client's namespace.
    pub client: Namespace,
    /// The victim's.
    pub victim: Namespace,
    attacker: Namespace,
}

impl Field {
    /// Makes the namespaces. `None`: it takes root, or a program that is missing, and may be
    /// skipped.
    ///
    /// # Panics
    /// When POLYPATH_REQUIRE_ROOT=1 says that it must not be skipped, or the kernel refuses.
    pub fn build() -> Option<Self> {
        or_skip(Self::try_build())
    }

    fn try_build() -> Result<Self, Error> {
        let field = Self {
            client: Namespace::new()?,
            victim: Namespace::new()?,
            attacker: Namespace::new()?,
        };
        let Self { client, victim, attacker } = &field;
        [client, victim, attacker].into_iter().try_for_each(wires::set_up)?;
        let wires = [(CLIENT_WIRE, client), (SECOND_WIRE, client), (ATTACKER_WIRE, attacker)];
        for ((device, here, there), host) in wires {
            let here = End { host: victim, device, addresses: &here };
            wires::connect_hosts(&here, &End { host, device, addresses: &there })?;
        }
        // What the victim answers strangers goes to the attacker, who drops it.
        wires::default_route(victim, &ATTACKER_WIRE.2)?;
        wires::default_route(attacker, &ATTACKER_WIRE.1)?;
        Ok(field)
    }

    /// The victim's and the client's addresses on both wires between them, IPv4.
    pub fn two_paths() -> ([IpAddr; 2], [IpAddr; 2]) {
        ([CLIENT_WIRE.1[0], SECOND_WIRE.1[0]], [CLIENT_WIRE.2[0], SECOND_WIRE.2[0]])
    }

    /// The devices of both wires between victim and client, at either host.
    pub const DEVICES: [&'static str; 2] = [CLIENT_WIRE.0, SECOND_WIRE.0];

    /// Bytes that the victim received from the attacker's wire, and sent there, with 14 bytes of
    /// Ethernet header for each packet.
    ///
    /// # Panics
    /// When /proc is not Linux's.
    pub fn hostile_bytes(&self) -> (u64, u64) {
        let read = || fs::read_to_string("/proc/thread-self/net/dev");
        let text = self.victim.run(read).and_then(|read| read).expect("/proc/net/dev");
        let line = text.lines().find_map(|line| line.trim().strip_prefix(ATTACKER_WIRE.0));
        let numbers = line.and_then(|line| line.strip_prefix(':')).unwrap_or_default();
        let numbers: Vec<u64> = numbers.split_whitespace().flat_map(str::parse).collect();
        (numbers.first().copied().unwrap_or(0), numbers.get(8).copied().unwrap_or(0))
    }

    /// What sends the attacker's packets to the victim.
    ///
    /// # Panics
    /// When the system refuses raw sockets.
    pub fn source(&self, kind: Kind) -> Source {
        Source::open(&self.attacker, kind.victim())
    }
}
