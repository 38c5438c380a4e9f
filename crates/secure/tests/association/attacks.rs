//! What an observer who knows tags and TSNs may write, and what becomes of it.

use core::net::SocketAddr;
use std::collections::BTreeSet;

use polypath_proto::endpoint::IcmpReport;
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, FourTuple, State};
use polypath_testkit::packet::reseal_checksum;
use polypath_testkit::pair::{CLIENT_PORT, Packet, Pair, SERVER_PORT, Verdict, Way};
use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumMode, EncodeChunk, PacketWriter};

use crate::common::*;

/// A chunk of any type and content.
struct Raw(u8, u8, Vec<u8>);

impl EncodeChunk for Raw {
    fn encoded_len(&self) -> usize {
        4 + self.2.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let len = self.encoded_len() as u16;
        out.extend_from_slice(&[self.0, self.1]);
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(&self.2);
    }
}

/// A packet with the tag that `way`'s receiver expects.
fn forge(pair: &Pair, way: Way, chunk: &Raw) -> Vec<u8> {
    let tag =
        pair.log.iter().rev().find(|p| p.way == way && p.first_kind() == kind::DTLS).unwrap().tag();
    let (from, to) = match way {
        Way::ToServer => (CLIENT_PORT, SERVER_PORT),
        Way::ToClient => (SERVER_PORT, CLIENT_PORT),
    };
    let mut out = Vec::new();
    let mut writer = PacketWriter::new(&mut out, 60_000, from, to, tag);
    writer.push(chunk).unwrap();
    writer.finish(ChecksumMode::Crc32c);
    out
}

/// Chunks that would matter if they were believed: each type with contents of many sizes.
fn chunks() -> Vec<Raw> {
    let mut all = Vec::new();
    for kind in 0..=255u8 {
        for len in [0usize, 4, 8, 12, 16, 20, 32] {
            for flags in [0u8, 1, 3] {
                all.push(Raw(kind, flags, vec![0; len]));
            }
        }
    }
    all
}

#[test]
fn no_chunk_in_plain_does_anything() {
    let mut pair = quiet();
    for chunk in chunks() {
        for way in [Way::ToServer, Way::ToClient] {
            let packet = forge(&pair, way, &chunk);
            let tuple = first_tuple(&pair, way);
            pair.inject_packet(way, tuple, &packet);
        }
    }
    pair.run_for(SECOND);
    for end in [&pair.client, &pair.server] {
        assert_eq!(end.state(), State::Established);
        assert!(end.association().protection_stats().unwrap().1 > 4000);
        assert_eq!(end.count(), 1);
    }
    assert_well(&mut pair);
}

#[test]
fn from_elsewhere_it_does_nothing_either() {
    let mut pair = quiet();
    let paths = pair.server.association().view(pair.now).paths.len();
    for chunk in chunks() {
        let packet = forge(&pair, Way::ToServer, &chunk);
        let mut tuple = first_tuple(&pair, Way::ToServer);
        tuple.remote = SocketAddr::new([192, 0, 2, 9].into(), tuple.remote.port());
        pair.inject_packet(Way::ToServer, tuple, &packet);
    }
    assert_eq!(pair.server.association().view(pair.now).paths.len(), paths);
    assert_well(&mut pair);
}

#[test]
fn an_abort_is_a_hint_and_a_flood_of_them_costs_one_probe() {
    let mut pair = quiet();
    let since = pair.log.len();
    for _ in 0..1000 {
        let packet = forge(&pair, Way::ToServer, &Raw(kind::ABORT, 0, Vec::new()));
        let tuple = first_tuple(&pair, Way::ToServer);
        pair.inject_packet(Way::ToServer, tuple, &packet);
    }
    let probes = pair.sent_since(since).iter().filter(|p| p.way == Way::ToClient).count();
    assert_eq!(probes, pair.server.association().view(pair.now).paths.len(), "one per path");
    pair.run_for(SECOND.saturating_mul(10));
    assert_well(&mut pair);
}

#[test]
fn a_peer_that_is_gone_is_known_within_two_rtos_of_its_hosts_abort() {
    let mut pair = quiet();
    let rto = pair.client.association().view(pair.now).paths.iter().map(|p| p.rto).max().unwrap();
    // The server's process is gone: another one has its ports.
    let gone = as_server(&protected());
    pair.server = polypath_testkit::pair::End::new(gone, 99);
    let now = pair.now;
    pair.client.send(now, b"anybody there?");
    pair.run_for(Duration::from_millis(20));
    assert_eq!(pair.client.state(), State::Established);
    pair.run_for(rto.saturating_mul(2) + Duration::from_millis(1));
    assert_eq!(pair.client.closed(), Some(CloseReason::PeerGone));
}

#[test]
fn icmp_is_a_hint_too() {
    let mut pair = quiet();
    let quoted = pair.log.iter().rev().find(|p| p.way == Way::ToServer).unwrap().clone();
    let tuple = FourTuple { local: quoted.tuple.remote, remote: quoted.tuple.local };
    let now = pair.now;
    for report in
        [IcmpReport::ProtocolUnreachable, IcmpReport::PortUnreachable, IcmpReport::Unreachable]
    {
        pair.client.endpoint.handle_icmp(now, tuple, &quoted.data, report);
    }
    let mtu = pair.client.association().view(now).paths[0].mtu;
    let too_big = IcmpReport::PacketTooBig { mtu: 576 };
    pair.client.endpoint.handle_icmp(now, tuple, &quoted.data, too_big);
    assert_eq!(pair.client.association().view(now).paths[0].mtu, mtu);
    pair.run_for(SECOND);
    assert_well(&mut pair);
}

#[test]
fn a_restart_in_plain_is_none() {
    let mut pair = quiet();
    for kind in [kind::INIT, kind::COOKIE_ECHO] {
        let of_set_up = pair.log.iter().find(|p| p.first_kind() == kind).unwrap().clone();
        pair.inject_packet(of_set_up.way, of_set_up.tuple, &of_set_up.data);
    }
    pair.run_for(SECOND);
    // And one that would be good without protection: the client's host begins anew.
    let old = core::mem::replace(
        &mut pair.client,
        polypath_testkit::pair::End::new(
            polypath_testkit::pair::endpoint(
                CLIENT_PORT,
                &polypath_testkit::pair::client_addresses(),
            ),
            77,
        ),
    );
    pair.connect_with(protected());
    pair.run_for(Duration::from_millis(100));
    pair.client = old;
    pair.run_for(SECOND.saturating_mul(5));
    assert_well(&mut pair);
}

/// Changes packets of one kind on their way.
fn tampering(kind: u8, change: impl Fn(&mut Vec<u8>) + 'static) -> Pair {
    let mut pair = connecting(&protected());
    let now = pair.now;
    pair.client.send(now, b"never in plain");
    let mut changed = BTreeSet::new();
    for _ in 0..6000 {
        pair.run_for(Duration::from_millis(5));
        let flying = pair.flying.iter_mut().filter(|p| p.first_kind() == kind);
        for packet in flying.filter(|p| changed.insert(p.at)) {
            change(&mut packet.data);
            reseal_checksum(&mut packet.data);
        }
    }
    pair
}

/// Where the DTLS Key Management parameter begins.
fn parameter(packet: &[u8]) -> Option<usize> {
    packet.windows(2).rposition(|two| two == [0x80, 0x06])
}

#[test]
fn no_field_of_the_negotiation_can_be_changed() {
    for kind in [kind::INIT, kind::INIT_ACK] {
        // Type, length, tie breaker, flags (reserved bits, too), method.
        for (byte, bit) in (0..10).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            let pair = tampering(kind, move |packet| {
                if let Some(at) = parameter(packet) {
                    packet[at + byte] ^= 1 << bit;
                }
            });
            let which = format!("kind {kind} byte {byte} bit {bit}");
            assert_eq!(pair.client.established(), 0, "{which}");
            assert!(pair.client.closed().is_some(), "{which}");
            // The client has proved its key to a server that may know its own from then on.
            assert_eq!(
                pair.server.established(),
                usize::from(pair.server.closed().is_some()),
                "{which}"
            );
            assert!(pair.server.received.is_empty(), "{which}");
            no_plain_data(&pair);
        }
    }
}

#[test]
fn forged_and_changed_records_change_nothing() {
    let mut pair = quiet();
    let record = pair.log.iter().rev().find(|p| p.first_kind() == kind::DTLS).unwrap().clone();
    for at in 12..record.data.len() {
        for bit in 0..8 {
            let mut changed = record.data.clone();
            changed[at] ^= 1 << bit;
            reseal_checksum(&mut changed);
            pair.inject_packet(record.way, record.tuple, &changed);
        }
    }
    assert_well(&mut pair);
}

/// The client's first packet with a key message, and the TSN of that.
fn first_message(pair: &Pair) -> (Packet, u32) {
    let echo = pair.log.iter().find(|p| p.first_kind() == kind::COOKIE_ECHO).unwrap().clone();
    let data = echo.data.windows(4).position(|w| w == 4242u32.to_be_bytes()).unwrap() - 12;
    let tsn = u32::from_be_bytes(echo.data[data + 4..data + 8].try_into().unwrap());
    (echo, tsn)
}

/// A DATA chunk of stream 0, the next in order, from where `like` came, in plain. `what`: its
/// flags, TSN and PPID.
fn in_plain(like: &Packet, what: (u8, u32, u32), payload: &[u8]) -> Vec<u8> {
    let (flags, tsn, ppid) = what;
    let mut content = tsn.to_be_bytes().to_vec();
    content.extend_from_slice(&[0, 0, 0, 1]);
    content.extend_from_slice(&ppid.to_be_bytes());
    content.extend_from_slice(payload);
    let mut out = Vec::new();
    let mut writer = PacketWriter::new(&mut out, 60_000, CLIENT_PORT, SERVER_PORT, like.tag());
    writer.push(&Raw(kind::DATA, flags, content)).unwrap();
    writer.finish(ChecksumMode::Crc32c);
    out
}

#[test]
fn data_that_is_slipped_in_before_there_are_keys_takes_no_place() {
    // Just before the client's last message: TSNs beyond the next would be taken for data later.
    let mut pair = connecting(&protected());
    pair.lose_packets(|_: &Packet| Verdict::Deliver);
    pair.run_for(Duration::from_millis(45));
    let (echo, tsn) = first_message(&pair);
    for ahead in 2..20u32 {
        for ppid in [0u32, 4242] {
            let data = in_plain(&echo, (3, tsn.wrapping_add(ahead), ppid), b"slipped in");
            pair.inject_packet(Way::ToServer, echo.tuple, &data);
        }
    }
    pair.run_for(SECOND);
    assert_protected(&pair);
    for _ in 0..20 {
        let now = pair.now;
        pair.client.send(now, b"real");
    }
    pair.run_for(SECOND.saturating_mul(5));
    assert_eq!(pair.server.texts(), [b"real"; 20]);
}

#[test]
fn before_there_are_keys_no_more_is_held_than_a_key_message_has() {
    let mut pair = connecting(&protected());
    pair.run_for(Duration::from_millis(45));
    let (echo, tsn) = first_message(&pair);
    // A message that begins and never ends, in order.
    for next in 1..200u32 {
        let flags = if next == 1 { 2 } else { 0 };
        let data = in_plain(&echo, (flags, tsn.wrapping_add(next), 4242), &[0; 1200]);
        pair.inject_packet(Way::ToServer, echo.tuple, &data);
    }
    let (held, _) = pair.server.association().receive_buffer();
    assert!((60_000..=65_536).contains(&held), "{held}");
}
