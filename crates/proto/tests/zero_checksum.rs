//! Packets without a checksum (RFC 9653).

use polypath_proto::config::{AssocConfig, Edmid, EndpointConfig};
use polypath_proto::time::Duration;
use polypath_proto::{Event, State};
use polypath_testkit::pair::{self, Packet, Pair, Way, at_server};
use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumCheck, PacketView};
use std::sync::Arc;

/// Whether an end wants it, and whether its lower layer allows it.
#[derive(Clone, Copy)]
struct End {
    wants: bool,
    allowed: bool,
}

const YES: End = End { wants: true, allowed: true };
const NO: End = End { wants: false, allowed: true };

fn settings(end: End) -> AssocConfig {
    AssocConfig { zero_checksum: end.wants.then_some(Edmid::Dtls), ..AssocConfig::default() }
}

fn endpoint(end: End, port: u16, addresses: &[core::net::IpAddr]) -> EndpointConfig {
    EndpointConfig {
        error_detection: end.allowed.then_some(Edmid::Dtls),
        assoc: Arc::new(settings(end)),
        ..pair::endpoint(port, addresses)
    }
}

fn talked(client: End, server: End) -> Pair {
    let mut pair = Pair::with(
        endpoint(client, pair::CLIENT_PORT, &pair::client_addresses()),
        endpoint(server, pair::SERVER_PORT, &pair::server_addresses()),
    );
    pair.connect_with(settings(client));
    pair.run_for(Duration::from_secs(1));
    let now = pair.now;
    pair.client.send(now, b"there");
    pair.server.send(now, b"back");
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.server.texts(), [b"there"]);
    assert_eq!(pair.client.texts(), [b"back"]);
    pair
}

fn kinds(packet: &Packet) -> Vec<u8> {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Skip).expect("a packet");
    view.chunks().map(|chunk| chunk.expect("a chunk").kind).collect()
}

fn is_zero(packet: &Packet) -> bool {
    packet.data[8..12] == [0; 4]
}

fn zeros(pair: &Pair, way: Way) -> usize {
    pair.log.iter().filter(|p| p.way == way && is_zero(p)).count()
}

#[test]
fn both_ends_spare_the_checksum_where_both_said_so_but_not_for_init_and_cookie_echo() {
    let pair = talked(YES, YES);
    for way in [Way::ToServer, Way::ToClient] {
        assert!(zeros(&pair, way) > 0);
    }
    for packet in &pair.log {
        let setup = [kind::INIT, kind::COOKIE_ECHO];
        let needs = kinds(packet).iter().any(|kind| setup.contains(kind));
        assert_eq!(is_zero(packet), !needs, "{:?}", kinds(packet));
    }
}

#[test]
fn one_willing_end_is_not_enough_and_the_lower_layer_must_allow_it() {
    let unsafe_layer = End { wants: true, allowed: false };
    for (client, server) in
        [(YES, NO), (NO, YES), (NO, NO), (unsafe_layer, YES), (YES, unsafe_layer)]
    {
        let pair = talked(client, server);
        assert_eq!(zeros(&pair, Way::ToServer) + zeros(&pair, Way::ToClient), 0);
    }
    // An end whose lower layer lets errors through does not even offer it.
    let pair = talked(unsafe_layer, YES);
    let init = pair.log.iter().find(|p| kinds(p) == [kind::INIT]).expect("an INIT");
    assert!(!init.data.windows(4).any(|w| w == [0x80, 0x01, 0, 8]));
    let pair = talked(YES, NO);
    let init = pair.log.iter().find(|p| kinds(p) == [kind::INIT]).expect("an INIT");
    assert!(init.data.windows(8).any(|w| w == [0x80, 0x01, 0, 8, 0, 0, 0, 1]));
}

#[test]
fn an_init_ack_without_checksum_is_the_answer_to_who_said_that_it_may_lack_one() {
    for (client, taken) in [(YES, true), (NO, false)] {
        // Where the INIT went; another address of the server; one that nobody has named (RFC 9260
        // section 5.1.2 D).
        for source in ["10.0.0.2", "10.0.1.2", "10.0.7.7"] {
            let mut pair = Pair::with(
                endpoint(client, pair::CLIENT_PORT, &pair::client_addresses()),
                endpoint(NO, pair::SERVER_PORT, &pair::server_addresses()),
            );
            pair.lose_packets(|_| pair::Verdict::Lose);
            pair.connect_with(settings(client));
            pair.exchange_packets();
            let init = pair.log[0].clone();
            pair.inject_packet(Way::ToServer, at_server(), &init.data);
            let ack = pair.log.iter().find(|p| kinds(p) == [kind::INIT_ACK]).expect("an answer");
            let (mut from, ack) = (pair::client_paths()[0], cleared(ack));
            from.remote.set_ip(pair::ip(source));
            pair.inject_packet(Way::ToClient, from, &ack);
            let echoed = pair.log.iter().filter(|p| kinds(p)[0] == kind::COOKIE_ECHO).count();
            assert_eq!(echoed, usize::from(taken), "{source}");
            let state = if taken { State::CookieEchoed } else { State::CookieWait };
            assert_eq!(pair.client.state(), state);
        }
    }
}

#[test]
fn the_checksum_of_an_init_ack_is_spared_where_the_client_said_so() {
    for (client, server, spared) in [(YES, YES, true), (YES, NO, false), (NO, YES, false)] {
        let pair = talked(client, server);
        let ack = pair.log.iter().find(|p| kinds(p) == [kind::INIT_ACK]).expect("an INIT ACK");
        assert_eq!(is_zero(ack), spared);
    }
}

/// The packet with its checksum cleared.
fn cleared(packet: &Packet) -> Vec<u8> {
    let mut data = packet.data.clone();
    data[8..12].fill(0);
    data
}

#[test]
fn a_missing_checksum_is_refused_from_whoever_was_not_told() {
    for (client, server) in [(NO, NO), (YES, NO)] {
        let mut pair = talked(client, server);
        let heartbeat = pair.log.iter().find(|p| p.way == Way::ToServer && kinds(p) == [3]);
        let sack = cleared(heartbeat.expect("a SACK to the server"));
        let before = pair.server.endpoint.stats().bad_checksum;
        pair.inject_packet(Way::ToServer, at_server(), &sack);
        assert_eq!(pair.server.endpoint.stats().bad_checksum, before + 1);
    }
}

#[test]
fn set_up_packets_and_strangers_need_their_checksum_whatever_was_agreed() {
    let mut pair = talked(YES, YES);
    let bad = |pair: &Pair| pair.server.endpoint.stats().bad_checksum;
    let find = |kind: u8| pair.log.iter().find(|p| kinds(p)[0] == kind).expect("sent").clone();
    let (init, echo) = (find(kind::INIT), find(kind::COOKIE_ECHO));
    let data = pair.log.iter().find(|p| p.way == Way::ToServer && kinds(p).contains(&kind::DATA));
    let data = data.expect("sent").clone();
    for packet in [&init, &echo] {
        let before = bad(&pair);
        pair.inject_packet(Way::ToServer, at_server(), &cleared(packet));
        assert_eq!(bad(&pair), before + 1, "{:?}", kinds(packet));
    }
    // From an address that belongs to no association.
    let stranger = pair::tuple("10.0.0.2", "10.9.9.9");
    let (before, sent) = (bad(&pair), pair.log.len());
    pair.inject_packet(Way::ToServer, stranger, &cleared(&data));
    assert_eq!((bad(&pair), pair.log.len()), (before + 1, sent), "no answer either");
    // With a wrong tag.
    let mut wrong = cleared(&data);
    wrong[7] ^= 1;
    pair.inject_packet(Way::ToServer, at_server(), &wrong);
    assert_eq!(bad(&pair), before + 2);
    // A wrong checksum that is not zero is wrong.
    let mut flipped = data.data.clone();
    flipped[8..12].copy_from_slice(&[1, 2, 3, 4]);
    pair.inject_packet(Way::ToServer, at_server(), &flipped);
    assert_eq!(bad(&pair), before + 3);
    assert_eq!(pair.server.state(), State::Established);
    assert!(!pair.server.has_seen(&Event::Restarted));
}
