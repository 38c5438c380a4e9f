//! IP headers, and UDP headers on request (RFC 6951), in front of SCTP packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_SCTP: u8 = 132;
const UDP_HEADER: usize = 8;
const IPV4_HEADER: usize = 20;
/// SCTP relies on path MTU discovery (RFC 9260 section 7.3): routers are not to fragment packets.
const DONT_FRAGMENT: u16 = 0x4000;
const HOP_LIMIT: u8 = 64;

/// Where a packet comes from and goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Source address.
    pub source: IpAddr,
    /// Destination address, of the same family.
    pub destination: IpAddr,
    /// Ports when SCTP travels inside UDP.
    pub udp: Option<UdpPorts>,
}

/// UDP ports of encapsulated SCTP (RFC 6951; the registered one is 9899).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpPorts {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
}

/// Why a packet cannot be framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// One address is IPv4 and the other IPv6.
    #[error("destination: {destination} from {from} (allowed: two addresses of one family)")]
    MixedFamilies {
        /// Source address.
        from: IpAddr,
        /// Destination address.
        destination: IpAddr,
    },
    /// The packet exceeds the 16-bit length of its IP or UDP header.
    #[error("packet: {len} bytes with headers (allowed: up to 65535)")]
    TooLong {
        /// Length in bytes, as the header in question counts it.
        len: usize,
    },
}

impl Route {
    /// A route of plain SCTP over IP.
    #[must_use]
    pub fn new(source: IpAddr, destination: IpAddr) -> Self {
        Self { source, destination, udp: None }
    }
}

/// Puts IP headers in front of SCTP packets and numbers the IPv4 ones.
#[derive(Clone, Debug, Default)]
pub struct IpFramer {
    next_identification: u16,
}

impl IpFramer {
    /// Replaces what `out` holds by the IP packet that carries `sctp` along the route. All
    /// checksums of the headers made here are right; the one inside `sctp` is left as it is.
    ///
    /// # Errors
    /// When the addresses are of two families or the packet is too long; `out` is then empty.
    pub fn frame_packet(
        &mut self,
        route: &Route,
        sctp: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), FrameError> {
        out.clear();
        let udp_header = if route.udp.is_some() { UDP_HEADER } else { 0 };
        let payload = sctp.len() + udp_header;
        match (route.source, route.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let total = checked_len(IPV4_HEADER + payload)?;
                let identification = self.next_identification();
                put_ipv4(out, (source, destination), protocol_number(route), total, identification);
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                put_ipv6(out, (source, destination), protocol_number(route), checked_len(payload)?);
            }
            (from, destination) => {
                return Err(FrameError::MixedFamilies { from, destination });
            }
        }
        if let Some(ports) = route.udp {
            // The IP length, which counts this and more, has been checked.
            put_udp(out, route, ports, payload as u16, sctp);
        }
        out.extend_from_slice(sctp);
        Ok(())
    }

    fn next_identification(&mut self) -> u16 {
        let identification = self.next_identification;
        self.next_identification = identification.wrapping_add(1);
        identification
    }
}

fn protocol_number(route: &Route) -> u8 {
    if route.udp.is_some() { PROTOCOL_UDP } else { PROTOCOL_SCTP }
}

fn checked_len(len: usize) -> Result<u16, FrameError> {
    u16::try_from(len).map_err(|_| FrameError::TooLong { len })
}

/// RFC 791 section 3.1.
fn put_ipv4(
    out: &mut Vec<u8>,
    (source, destination): (Ipv4Addr, Ipv4Addr),
    protocol: u8,
    total: u16,
    identification: u16,
) {
    let mut header = [0; IPV4_HEADER];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[4..6].copy_from_slice(&identification.to_be_bytes());
    header[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
    header[8] = HOP_LIMIT;
    header[9] = protocol;
    header[12..16].copy_from_slice(&source.octets());
    header[16..20].copy_from_slice(&destination.octets());
    let checksum = InternetChecksum::default().add_bytes(&header).finish();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    out.extend_from_slice(&header);
}

/// RFC 8200 section 3, with traffic class and flow label 0.
fn put_ipv6(
    out: &mut Vec<u8>,
    (source, destination): (Ipv6Addr, Ipv6Addr),
    next_header: u8,
    payload: u16,
) {
    out.extend_from_slice(&[0x60, 0, 0, 0]);
    out.extend_from_slice(&payload.to_be_bytes());
    out.extend_from_slice(&[next_header, HOP_LIMIT]);
    out.extend_from_slice(&source.octets());
    out.extend_from_slice(&destination.octets());
}

/// RFC 768. The checksum is always computed: IPv6 demands it and RFC 6951 section 5.3 advises it.
fn put_udp(out: &mut Vec<u8>, route: &Route, ports: UdpPorts, len: u16, sctp: &[u8]) {
    let mut header = [0; UDP_HEADER];
    header[0..2].copy_from_slice(&ports.source.to_be_bytes());
    header[2..4].copy_from_slice(&ports.destination.to_be_bytes());
    header[4..6].copy_from_slice(&len.to_be_bytes());
    let sum = pseudo_header(route, len).add_bytes(&header).add_bytes(sctp);
    // 0 would mean "not computed" and is sent as its other form.
    let checksum = match sum.finish() {
        0 => u16::MAX,
        checksum => checksum,
    };
    header[6..8].copy_from_slice(&checksum.to_be_bytes());
    out.extend_from_slice(&header);
}

/// The sum over addresses, protocol and length; the layouts of RFC 768 and RFC 8200 section 8.1 sum
/// alike.
fn pseudo_header(route: &Route, len: u16) -> InternetChecksum {
    let sum =
        InternetChecksum::default().add_bytes(&len.to_be_bytes()).add_bytes(&[0, PROTOCOL_UDP]);
    [route.source, route.destination].into_iter().fold(sum, |sum, address| match address {
        IpAddr::V4(address) => sum.add_bytes(&address.octets()),
        IpAddr::V6(address) => sum.add_bytes(&address.octets()),
    })
}

/// The ones' complement sum of RFC 1071. Only the last piece added may have an odd length.
#[derive(Clone, Copy, Debug, Default)]
struct InternetChecksum(u64);

impl InternetChecksum {
    fn add_bytes(self, bytes: &[u8]) -> Self {
        let word = |pair: &[u8]| match *pair {
            [high, low] => u64::from(u16::from_be_bytes([high, low])),
            [high] => u64::from(high) << 8,
            _ => 0,
        };
        Self(self.0 + bytes.chunks(2).map(word).sum::<u64>())
    }

    fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16)
    }
}
