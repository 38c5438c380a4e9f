//! What a box looks at in an IP packet, and what it writes there.

use std::net::{IpAddr, SocketAddr};

use super::checksum;

/// Protocols whose packets have something to translate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Udp,
    Tcp,
    /// ICMP echo requests and replies; their identifier does what ports do (RFC 5508 section 3).
    Echo,
}

/// Where the parts of a packet are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    v4: bool,
    pub(super) protocol: Protocol,
    /// Offsets of ports, as far as they belong to this side.
    source_port: Option<usize>,
    destination_port: Option<usize>,
    checksum: usize,
    /// Whether the checksum covers the addresses.
    pseudo: bool,
}

/// The IP header, read: where what is behind it begins, and what that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) v4: bool,
    pub(super) next: u8,
    pub(super) end: usize,
}

pub(super) const ICMP: u8 = 1;
pub(super) const ICMP_V6: u8 = 58;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// More-fragments and the offset of an IPv4 fragment.
const FRAGMENT: u16 = 0x3fff;

impl Header {
    /// `None`: no IP packet, cut short, a fragment, or with IPv6 extension headers. Fragments have
    /// no ports but the first, and boxes here do not put them together.
    pub(super) fn read_header(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => {
                let end = usize::from(packet.first()? & 0x0f) * 4;
                let fragment = read_word(packet, 6)? & FRAGMENT != 0;
                let next = *packet.get(9)?;
                (end >= 20 && packet.len() >= end && !fragment).then_some(Self {
                    v4: true,
                    next,
                    end,
                })
            }
            6 => (packet.len() >= 40).then(|| Self { v4: false, next: packet[6], end: 40 }),
            _ => None,
        }
    }
}

impl Layout {
    /// `None` if there is nothing to translate. What is behind the ports may be missing, as it is
    /// in packets that ICMP errors quote.
    pub(super) fn read_layout(packet: &[u8]) -> Option<Self> {
        let Header { v4, next, end } = Header::read_header(packet)?;
        let of = |protocol, source_port, destination_port, checksum, pseudo| {
            let checksum = end + checksum;
            Some(Self { v4, protocol, source_port, destination_port, checksum, pseudo })
        };
        let _ports = packet.get(end..end + 8)?;
        let id = Some(end + 4);
        match (next, packet[end]) {
            (UDP, _) => of(Protocol::Udp, Some(end), Some(end + 2), 6, true),
            (TCP, _) => of(Protocol::Tcp, Some(end), Some(end + 2), 16, true),
            (ICMP, 8) if v4 => of(Protocol::Echo, id, None, 2, false),
            (ICMP, 0) if v4 => of(Protocol::Echo, None, id, 2, false),
            (ICMP_V6, 128) if !v4 => of(Protocol::Echo, id, None, 2, true),
            (ICMP_V6, 129) if !v4 => of(Protocol::Echo, None, id, 2, true),
            _ => None,
        }
    }

    /// Source and destination; where there is no port it is 0.
    pub(super) fn endpoints(&self, packet: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
        let (source, destination) = addresses(packet)?;
        let port = |at: Option<usize>| at.and_then(|at| read_word(packet, at)).unwrap_or(0);
        let source = SocketAddr::new(source, port(self.source_port));
        Some((source, SocketAddr::new(destination, port(self.destination_port))))
    }

    pub(super) fn set_source(&self, packet: &mut [u8], source: SocketAddr) {
        self.set_endpoint(packet, if self.v4 { 12 } else { 8 }, self.source_port, source);
    }

    pub(super) fn set_destination(&self, packet: &mut [u8], destination: SocketAddr) {
        self.set_endpoint(
            packet,
            if self.v4 { 16 } else { 24 },
            self.destination_port,
            destination,
        );
    }

    fn set_endpoint(
        &self,
        packet: &mut [u8],
        at: usize,
        port_at: Option<usize>,
        endpoint: SocketAddr,
    ) {
        match endpoint.ip() {
            IpAddr::V4(address) => self.put_address(packet, at, &address.octets()),
            IpAddr::V6(address) => self.put_address(packet, at, &address.octets()),
        }
        if let Some(port_at) = port_at {
            let old = replace_bytes(packet, port_at, &endpoint.port().to_be_bytes());
            self.adjust_checksum(packet, &old, &endpoint.port().to_be_bytes());
        }
    }

    fn put_address(&self, packet: &mut [u8], at: usize, address: &[u8]) {
        let old = replace_bytes(packet, at, address);
        if self.v4 {
            adjust_word(packet, 10, &old, address);
        }
        if self.pseudo {
            self.adjust_checksum(packet, &old, address);
        }
    }

    /// The transport's checksum. UDP's may be absent, which is 0, and is never 0 otherwise (RFC
    /// 768).
    fn adjust_checksum(&self, packet: &mut [u8], old: &[u8], new: &[u8]) {
        let udp = self.protocol == Protocol::Udp;
        if udp && read_word(packet, self.checksum) == Some(0) {
            return;
        }
        adjust_word(packet, self.checksum, old, new);
        if udp && read_word(packet, self.checksum) == Some(0) {
            replace_bytes(packet, self.checksum, &[0xff; 2]);
        }
    }
}

/// Source and destination of an IP packet.
pub(super) fn addresses(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    fn array<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
        packet.get(at..)?.first_chunk().copied()
    }
    if packet.first()? >> 4 == 4 {
        return Some((array::<4>(packet, 12)?.into(), array::<4>(packet, 16)?.into()));
    }
    Some((array::<16>(packet, 8)?.into(), array::<16>(packet, 24)?.into()))
}

/// Writes bytes and returns what was there; nothing happens beyond the end.
pub(super) fn replace_bytes(packet: &mut [u8], at: usize, new: &[u8]) -> Vec<u8> {
    let Some(place) = packet.get_mut(at..at + new.len()) else { return Vec::new() };
    let old = place.to_vec();
    place.copy_from_slice(new);
    old
}

pub(super) fn read_word(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

fn adjust_word(packet: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
    if let Some(sum) = read_word(packet, at).filter(|_| old.len() == new.len()) {
        replace_bytes(packet, at, &checksum::adjust_checksum(sum, old, new).to_be_bytes());
    }
}
