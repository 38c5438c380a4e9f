//! Which addresses a host may name as its own.

use core::net::{IpAddr, Ipv4Addr};

/// Addresses of a peer, at most, its packet's source among them: each one costs us heartbeats (RFC 5062 section 4).
pub(crate) const MAX_PEER_ADDRESSES: usize = 16;

/// Whether `address` can be one host's: no packet of another kind is sent or answered (RFC 9260 section 8.4).
pub(crate) const fn is_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !(v4.is_unspecified() || v4.is_multicast() || v4.is_broadcast()),
        IpAddr::V6(v6) => {
            !(v6.is_unspecified() || v6.is_multicast() || v6.to_ipv4_mapped().is_some())
        }
    }
}

/// Whether a peer at `source` may name `address` as its own. Loopback means nothing on another host.
pub(crate) fn is_peer_address(address: IpAddr, source: IpAddr) -> bool {
    // 0.0.0.0/8 is "this network": no destination either (RFC 1122 section 3.2.1.3).
    let this_network = matches!(address, IpAddr::V4(v4) if Ipv4Addr::octets(&v4).starts_with(&[0]));
    is_unicast(address) && !this_network && (!address.is_loopback() || source.is_loopback())
}
