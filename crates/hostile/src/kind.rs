//! Kinds of servers, and the addresses of all hosts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use polypath_net::{Config, DEFAULT_PORT, Encapsulation};

/// A network device's name at a host, the victim's addresses there and the other host's.
pub(crate) type Wire = (&'static str, [IpAddr; 2], [IpAddr; 2]);

const fn ipv4_in(net: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, net, host))
}

const fn ipv6_in(net: u16, host: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, net, 0, 0, 0, host))
}

pub(crate) const CLIENT_WIRE: Wire =
    ("honest", [ipv4_in(1, 2), ipv6_in(1, 2)], [ipv4_in(1, 1), ipv6_in(1, 1)]);
pub(crate) const SECOND_WIRE: Wire =
    ("second", [ipv4_in(3, 2), ipv6_in(3, 2)], [ipv4_in(3, 1), ipv6_in(3, 1)]);
pub(crate) const ATTACKER_WIRE: Wire =
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
