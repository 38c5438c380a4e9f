//! What strangers send: whole IP packets to the victim, all checksums right. `n` numbers senders,
//! or packets.

use std::net::{IpAddr, SocketAddr};

use etherparse::{IpNumber, PacketBuilder as Headers, PacketBuilderStep, icmpv4, icmpv6};
use polypath_testkit::packet::PacketBuilder;
use polypath_wire::chunk::kind as chunk_kind;
use polypath_wire::{CookieEchoChunk, InitFixed, InitRepr, ParamsBuf, Tsn};

use crate::kind::Kind;
use crate::serve::PORT;

const PROTOCOL_SCTP: IpNumber = IpNumber(132);
const TTL: u8 = 64;

/// The SCTP port of strangers.
const STRANGERS_PORT: u16 = 40_000;

/// What makes the packet of stranger `n`.
pub type Packet = fn(Kind, u32) -> Vec<u8>;

/// What kinds of packets there are to flood a server with that has no association with their
/// senders.
pub const FLOODS: [(&str, Packet); 5] = [
    ("INIT", init),
    ("COOKIE ECHO, not ours", cookie_echo),
    ("DATA out of the blue", data),
    ("ICMP port unreachable", port_unreachable),
    ("junk", junk),
];

/// An INIT of stranger `n`.
pub fn init(kind: Kind, n: u32) -> Vec<u8> {
    forged_init(kind, kind.stranger(n), STRANGERS_PORT, n)
}

/// An INIT from the honest client's address and `port`.
pub fn forged_init(kind: Kind, client: SocketAddr, port: u16, n: u32) -> Vec<u8> {
    let fixed = InitFixed {
        initiate_tag: n | 1,
        a_rwnd: 1 << 20,
        outbound_streams: 16,
        inbound_streams: 16,
        initial_tsn: Tsn(n),
    };
    let chunk = InitRepr { fixed, params: ParamsBuf::new() };
    let packet = PacketBuilder::new(port, PORT, 0).push_chunk(&chunk).build();
    frame_sctp(kind, client, &packet)
}

/// A COOKIE ECHO with a cookie that nobody made.
pub fn cookie_echo(kind: Kind, n: u32) -> Vec<u8> {
    let cookie = n.to_be_bytes().repeat(40);
    let packet = PacketBuilder::new(STRANGERS_PORT, PORT, n | 1);
    let packet = packet.push_chunk(&CookieEchoChunk { cookie: &cookie }).build();
    frame_sctp(kind, kind.stranger(n), &packet)
}

/// DATA of an association that does not exist.
pub fn data(kind: Kind, n: u32) -> Vec<u8> {
    frame_sctp(kind, kind.stranger(n), &data_packet(STRANGERS_PORT, n))
}

/// DATA from the honest client's address and `port`, with a tag that is guessed.
pub fn forged_data(kind: Kind, client: SocketAddr, port: u16, n: u32) -> Vec<u8> {
    frame_sctp(kind, client, &data_packet(port, n | 1))
}

fn data_packet(port: u16, tag: u32) -> Vec<u8> {
    let value: Vec<u8> = tag.to_be_bytes().repeat(16);
    PacketBuilder::new(port, PORT, tag).push_raw(chunk_kind::DATA, 3, &value).build()
}

/// An ABORT from the honest client's address and `port`, with a tag that is guessed.
pub fn forged_abort(kind: Kind, client: SocketAddr, port: u16, n: u32) -> Vec<u8> {
    let packet = PacketBuilder::new(port, PORT, n | 1).push_raw(chunk_kind::ABORT, 0, &[]).build();
    frame_sctp(kind, client, &packet)
}

/// No SCTP at all.
pub fn junk(kind: Kind, n: u32) -> Vec<u8> {
    frame_sctp(kind, kind.stranger(n), &n.wrapping_mul(0x9e37_79b9).to_le_bytes().repeat(16))
}

/// ICMP "port unreachable", or "administratively prohibited" without UDP ports, for a packet of the
/// victim to stranger `n` that never was.
pub fn port_unreachable(kind: Kind, n: u32) -> Vec<u8> {
    forged_icmp(kind, kind.stranger(n), STRANGERS_PORT, n)
}

/// The same for a packet to the honest client's address and `port`.
pub fn forged_icmp(kind: Kind, client: SocketAddr, port: u16, n: u32) -> Vec<u8> {
    let quote = PacketBuilder::new(PORT, port, n | 1).push_raw(chunk_kind::SACK, 0, &[0; 12]);
    unreachable(kind, client, &quote.build())
}

/// The same for any SCTP packet of the victim to `to`.
pub fn unreachable(kind: Kind, to: SocketAddr, quoted: &[u8]) -> Vec<u8> {
    let quote = wrap_packet(kind, kind.victim(), to, quoted);
    let router = kind.stranger(0);
    match (kind.victim().ip(), router.ip()) {
        (IpAddr::V4(victim), IpAddr::V4(router)) => {
            let why = match kind.udp {
                true => icmpv4::DestUnreachableHeader::Port,
                false => icmpv4::DestUnreachableHeader::FilterProhibited,
            };
            let headers = Headers::ipv4(router.octets(), victim.octets(), TTL);
            let icmp = headers.icmpv4(etherparse::Icmpv4Type::DestinationUnreachable(why));
            build_packet(icmp.size(quote.len()), |out| icmp.write(out, &quote))
        }
        (IpAddr::V6(victim), IpAddr::V6(router)) => {
            let why = match kind.udp {
                true => icmpv6::DestUnreachableCode::Port,
                false => icmpv6::DestUnreachableCode::Prohibited,
            };
            let headers = Headers::ipv6(router.octets(), victim.octets(), TTL);
            let icmp = headers.icmpv6(etherparse::Icmpv6Type::DestinationUnreachable(why));
            build_packet(icmp.size(quote.len()), |out| icmp.write(out, &quote))
        }
        _ => Vec::new(),
    }
}

/// An SCTP packet to the victim.
pub fn frame_sctp(kind: Kind, from: SocketAddr, packet: &[u8]) -> Vec<u8> {
    wrap_packet(kind, from, kind.victim(), packet)
}

fn wrap_packet(kind: Kind, from: SocketAddr, to: SocketAddr, packet: &[u8]) -> Vec<u8> {
    let headers = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => Headers::ipv4(from.octets(), to.octets(), TTL),
        (IpAddr::V6(from), IpAddr::V6(to)) => Headers::ipv6(from.octets(), to.octets(), TTL),
        _ => return Vec::new(),
    };
    if kind.udp {
        let udp = headers.udp(from.port(), to.port());
        return build_packet(udp.size(packet.len()), |out| udp.write(out, packet));
    }
    over_ip(headers, packet)
}

fn over_ip(headers: PacketBuilderStep<etherparse::IpHeaders>, packet: &[u8]) -> Vec<u8> {
    let size = headers.size(packet.len());
    build_packet(size, |out| headers.write(out, PROTOCOL_SCTP, packet))
}

fn build_packet<E: std::fmt::Debug>(
    size: usize,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Vec<u8> {
    let mut packet = Vec::with_capacity(size);
    write(&mut packet).expect("packets are small, and memory does not fail");
    packet
}
