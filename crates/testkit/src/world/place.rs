//! The hosts, and who has which address.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use polypath_proto::FourTuple;

/// A host's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(pub usize);

impl HostId {
    /// Host 0: by custom the one that connects.
    pub const CLIENT: Self = Self(0);
    /// Host 1.
    pub const SERVER: Self = Self(1);

    /// Host 2, where there is one: another one that connects.
    pub const GUEST: Self = Self(2);

    /// The one it talks to; for the server, the first of those that connect.
    #[must_use]
    pub const fn peer(self) -> Self {
        if self.0 == Self::SERVER.0 { Self::CLIENT } else { Self::SERVER }
    }

    /// Which direction of a link it sends in.
    pub(super) const fn direction(self) -> usize {
        (self.0 == Self::SERVER.0) as usize
    }
}

/// The address of `host` in the network of link `link`.
pub fn address(host: HostId, link: usize) -> IpAddr {
    // Tests have a handful of hosts and links.
    Ipv4Addr::new(10, 0, link as u8, host.0 as u8 + 1).into()
}

/// The path over `link` as `host` sees it.
pub fn tuple(host: HostId, link: usize) -> FourTuple {
    FourTuple {
        local: SocketAddr::new(address(host, link), 0),
        remote: SocketAddr::new(address(host.peer(), link), 0),
    }
}

/// An address that a NAT gives to the client of link `link`; 0 is the client's own.
pub fn translated_address(link: usize, number: u8, port: u16) -> SocketAddr {
    let ip = match number {
        0 => address(HostId::CLIENT, link),
        _ => Ipv4Addr::new(10, 1, link as u8, number).into(),
    };
    SocketAddr::new(ip, port)
}

/// Whose address this is, in which link's network. What a NAT gave to the client is the client's.
pub(super) fn find_place(ip: IpAddr) -> Option<(HostId, usize)> {
    match ip {
        IpAddr::V4(v4) => match v4.octets() {
            [10, 0, link, host @ 1..=3] => Some((HostId(usize::from(host) - 1), link.into())),
            [10, 1, link, _] => Some((HostId::CLIENT, link.into())),
            _ => None,
        },
        IpAddr::V6(_) => None,
    }
}
