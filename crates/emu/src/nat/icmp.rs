//! ICMP errors: the packets that they quote, and one that a box sends itself (RFC 792, RFC 4443,
//! RFC 5508 section 4).

use std::net::{IpAddr, SocketAddr};

use super::checksum;
use super::packet::{Header, ICMP, ICMP_V6, Layout, addresses, replace_bytes};

/// Bytes of the header in front of the quoted packet.
const HEADER: usize = 8;
/// An error is no larger than what every host takes (RFC 1812 section 4.3.2.3, RFC 4443 section
/// 2.4).
const MOST_V4: usize = 576;
const MOST_V6: usize = 1280;

/// An ICMP error, and the packet in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct IcmpError {
    header: Header,
    quoted: Layout,
}

impl IcmpError {
    /// `None` if it is none, or if it quotes nothing that can be translated.
    pub(super) fn read_error(packet: &[u8]) -> Option<Self> {
        let header = Header::read_header(packet)?;
        let kind = *packet.get(header.end)?;
        let is_error = match header.next {
            ICMP if header.v4 => matches!(kind, 3 | 11 | 12),
            ICMP_V6 if !header.v4 => (1..=4).contains(&kind),
            _ => false,
        };
        let quoted = packet.get(header.end + HEADER..).filter(|_| is_error)?;
        let layout = Layout::read_layout(quoted)?;
        let family = quoted.first()? >> 4 == if header.v4 { 4 } else { 6 };
        family.then_some(Self { header, quoted: layout })
    }

    /// How the packet that it quotes is laid out.
    pub(super) const fn quoted_layout(&self) -> &Layout {
        &self.quoted
    }

    /// Source and destination of the packet that it quotes.
    pub(super) fn quoted_endpoints(&self, packet: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
        self.quoted.endpoints(packet.get(self.header.end + HEADER..)?)
    }

    /// Leads an error from outside to whom it concerns, and quotes what that host has sent.
    pub(super) fn lead_in(&self, packet: &mut [u8], inside: SocketAddr) {
        if let Some(quoted) = packet.get_mut(self.header.end + HEADER..) {
            self.quoted.set_source(quoted, inside);
        }
        self.write_address(packet, false, inside.ip());
    }

    /// Lets an error from inside out, and quotes what had come from outside.
    pub(super) fn lead_out(&self, packet: &mut [u8], mapped: SocketAddr) {
        if let Some(quoted) = packet.get_mut(self.header.end + HEADER..) {
            self.quoted.set_destination(quoted, mapped);
        }
        self.write_address(packet, true, mapped.ip());
    }

    fn write_address(&self, packet: &mut [u8], source: bool, address: IpAddr) {
        let place = match (self.header.v4, source) {
            (true, true) => 12,
            (true, false) => 16,
            (false, true) => 8,
            (false, false) => 24,
        };
        match address {
            IpAddr::V4(address) => replace_bytes(packet, place, &address.octets()),
            IpAddr::V6(address) => replace_bytes(packet, place, &address.octets()),
        };
        seal_checksums(packet, self.header);
    }
}

/// The error that tells of an unreachable port: in the name of the address to which `packet` went.
/// `None` in answer to what is itself an ICMP message (RFC 1122 section 3.2.2), or is none of UDP
/// and TCP.
pub(super) fn port_unreachable(packet: &[u8]) -> Option<Vec<u8>> {
    let Header { v4, next, .. } = Header::read_header(packet)?;
    Layout::read_layout(packet).filter(|_| next != ICMP && next != ICMP_V6)?;
    let (source, destination) = addresses(packet)?;
    let (most, head) = if v4 { (MOST_V4, 20) } else { (MOST_V6, 40) };
    let quoted = packet.get(..packet.len().min(most - head - HEADER))?;
    let length = (HEADER + quoted.len()) as u16;
    let mut error = vec![0; head];
    match (destination, source) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            error[..2].copy_from_slice(&[0x45, 0xc0]);
            error[2..4].copy_from_slice(&(length + head as u16).to_be_bytes());
            (error[8], error[9]) = (64, ICMP);
            error[12..16].copy_from_slice(&from.octets());
            error[16..20].copy_from_slice(&to.octets());
            error.extend([3, 3, 0, 0, 0, 0, 0, 0]);
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            error[0] = 0x60;
            error[4..6].copy_from_slice(&length.to_be_bytes());
            (error[6], error[7]) = (ICMP_V6, 64);
            error[8..24].copy_from_slice(&from.octets());
            error[24..40].copy_from_slice(&to.octets());
            error.extend([1, 4, 0, 0, 0, 0, 0, 0]);
        }
        _ => return None,
    }
    error.extend_from_slice(quoted);
    seal_checksums(&mut error, Header { v4, next: if v4 { ICMP } else { ICMP_V6 }, end: head });
    Some(error)
}

/// Computes the checksums of an ICMP packet anew: it is whole, other than the packet in it.
fn seal_checksums(packet: &mut [u8], header: Header) {
    let Header { v4, end, .. } = header;
    replace_bytes(packet, end + 2, &[0; 2]);
    if v4 {
        replace_bytes(packet, 10, &[0; 2]);
        let sum = checksum::compute_checksum(&[&packet[..end]]);
        replace_bytes(packet, 10, &sum.to_be_bytes());
    }
    let (head, message) = packet.split_at(end);
    let sum = if v4 {
        checksum::compute_checksum(&[message])
    } else {
        let length = (message.len() as u32).to_be_bytes();
        checksum::compute_checksum(&[&head[8..40], &length, &[0, 0, 0, ICMP_V6], message])
    };
    replace_bytes(packet, end + 2, &sum.to_be_bytes());
}
