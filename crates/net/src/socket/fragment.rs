//! May IP take packets apart? The Don't Fragment bit, and fragments made here over IPv6.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery as V4, Ipv6PathMtuDiscovery as V6, ip_mtu_discover, ipv6_mtu_discover,
    set_ip_mtu_discover, set_ipv6_mtu_discover,
};

/// Packets stay whole, and may be as large as the interface takes, whatever the system believes of
/// the path (RFC 8899 section 3).
pub(super) fn keep_whole(fd: BorrowedFd<'_>, local: IpAddr) {
    // A system that refuses would make probes prove nothing; Linux does not.
    let _ = match local {
        IpAddr::V4(_) => set_ip_mtu_discover(fd, V4::PROBE),
        IpAddr::V6(_) => set_ipv6_mtu_discover(fd, V6::PROBE),
    };
}

/// Lets packets be fragmented until it is dropped.
pub(super) struct Restore<'a> {
    fd: BorrowedFd<'a>,
    before: Before,
}

enum Before {
    V4(V4),
    V6(V6),
    Unknown,
}

impl<'a> Restore<'a> {
    pub(super) fn allow_fragments(fd: BorrowedFd<'a>, local: IpAddr) -> Self {
        let before = match local {
            IpAddr::V4(_) => ip_mtu_discover(fd).map_or(Before::Unknown, Before::V4),
            IpAddr::V6(_) => ipv6_mtu_discover(fd).map_or(Before::Unknown, Before::V6),
        };
        // Where it fails the packet is lost, and sent again.
        let _ = match before {
            Before::V4(_) => set_ip_mtu_discover(fd, V4::DONT),
            Before::V6(_) => set_ipv6_mtu_discover(fd, V6::DONT),
            Before::Unknown => Ok(()),
        };
        Self { fd, before }
    }
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        let _ = match self.before {
            Before::V4(before) => set_ip_mtu_discover(self.fd, before),
            Before::V6(before) => set_ipv6_mtu_discover(self.fd, before),
            Before::Unknown => Ok(()),
        };
    }
}
