//! Bytes around the chunks of a packet.

use core::net::IpAddr;

use crate::config::Encapsulation;

/// Bytes of the path MTU that are not DATA chunks: IP header, UDP header if encapsulated, SCTP common header.
pub(super) fn header_bytes(remote: IpAddr, encapsulation: Encapsulation) -> u32 {
    let ip = if remote.is_ipv4() { 20 } else { 40 };
    let udp = if encapsulation == Encapsulation::Udp { 8 } else { 0 };
    ip + udp + polypath_wire::COMMON_HEADER_LEN as u32
}
