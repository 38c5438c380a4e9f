//! Who has the tag, but not the keys, draws nothing to where it is.

use core::net::SocketAddr;

use polypath_link::NatConfig;
use polypath_proto::config::{AssocConfig, ExtensionConfig};
use polypath_testkit::packet::{PacketBuilder, has_chunk, raw_chunks, read_header};
use polypath_testkit::scripted_peer::show_packets;
use polypath_wire::chunk::kind;
use polypath_wire::{Chunk, EncodeChunk as _, HeartbeatRepr, ShutdownChunk, Tsn};

use super::world::*;

/// A server that sends to a client behind a box, what the client's tag is, and where the server
/// sees it.
fn victim(assoc: &AssocConfig) -> (Net, u32, SocketAddr) {
    let mut net = Net::new(1, &[NatConfig::new(outside(0))], assoc);
    net.add_client(&[inside(0, 1)], assoc);
    net.connect(0, &[(inside(0, 1), server(1))], assoc);
    net.run(SECOND);
    let h = net.server.only();
    net.server.send_without_end(h);
    net.run(SECOND);
    let tag = read_header(&net.overheard[0]).expect("a header").verification_tag;
    let seen = net.server.paths(h)[0].0.remote;
    (net, tag, seen)
}

fn packet(tag: u32) -> PacketBuilder {
    PacketBuilder::new(CLIENT_PORT, SERVER_PORT, tag)
}

/// The Heartbeat Info parameter, as it comes back.
fn answer_to(info: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    HeartbeatRepr { info }.encode(&mut bytes);
    bytes.split_off(4)
}

#[test]
fn a_guessed_tag_is_met_with_silence() {
    let (mut net, tag, seen) = victim(&fast());
    let stranger = SocketAddr::new("192.0.2.77".parse().expect("an address"), 9899);
    let neighbour = SocketAddr::new(seen.ip(), 40_000);
    net.watched = |to| to != SocketAddr::new(outside(0), 9899);
    for from in [stranger, neighbour] {
        for round in 0..20 {
            let answers = [
                net.hit(
                    server(1),
                    from,
                    &packet(tag).push_chunk(&HeartbeatRepr { info: b"x" }).build(),
                ),
                net.hit(
                    server(1),
                    from,
                    &packet(tag).push_raw(kind::HEARTBEAT_ACK, 0, &answer_to(b"x")).build(),
                ),
                net.hit(
                    server(1),
                    from,
                    &packet(tag).push_chunk(&ShutdownChunk { cumulative_tsn: Tsn(1) }).build(),
                ),
                net.hit(server(1), from, &packet(tag).push_chunk(&Chunk::CookieAck).build()),
            ];
            assert!(answers.iter().all(Vec::is_empty), "{from} {round}");
            net.run(100 * MS);
        }
        assert!(net.caught.is_empty(), "nor later: {}", show_packets(&net.caught));
        assert_eq!(net.server.paths(net.server.only()).len(), 1);
    }
    let before = net.clients[0].deliveries.len();
    net.run(SECOND);
    assert!(net.clients[0].deliveries.len() > before + 500, "the victim goes on");
}

#[test]
fn an_overheard_heartbeat_draws_a_few_heartbeats_and_nothing_else() {
    let (mut net, _, seen) = victim(&fast());
    net.run(SECOND);
    let overheard = net.overheard.clone();
    let stranger = SocketAddr::new("192.0.2.77".parse().expect("an address"), 9899);
    net.watched = |to| to != SocketAddr::new(outside(0), 9899);
    for from in [stranger, SocketAddr::new(seen.ip(), 40_000)] {
        let mut drawn: Vec<Vec<u8>> = Vec::new();
        for round in 0..600 {
            let copy = &overheard[round % overheard.len()];
            drawn.extend(net.hit(server(1), from, copy));
            // It answers what it gets, as well as one can without the keys.
            let infos: Vec<Vec<u8>> = drawn
                .iter()
                .flat_map(|packet| raw_chunks(packet))
                .filter(|raw| raw.kind == kind::HEARTBEAT)
                .map(|raw| raw.value.to_vec())
                .collect();
            let tag = read_header(copy).expect("a header").verification_tag;
            if let Some(info) = infos.last() {
                let forged = packet(tag).push_raw(kind::HEARTBEAT_ACK, 0, info).build();
                drawn.extend(net.hit(server(1), from, &forged));
            }
            net.run(50 * MS);
            drawn.append(&mut net.caught);
        }
        let kinds: Vec<u8> =
            drawn.iter().flat_map(|packet| raw_chunks(packet)).map(|raw| raw.kind).collect();
        let heartbeats = [kind::AUTH, kind::HEARTBEAT, kind::HEARTBEAT_ACK];
        assert!(kinds.iter().all(|kind| heartbeats.contains(kind)), "{}", show_packets(&drawn));
        assert!(drawn.len() <= 600 + 100, "{} packets for 600", drawn.len());
    }
    let before = net.clients[0].deliveries.len();
    net.run(SECOND);
    assert!(net.clients[0].deliveries.len() > before + 500, "the victim goes on");
}

/// As a host does that knows nothing of the association: RFC 9260 section 8.4, rule 3.
#[test]
fn an_abort_from_a_place_that_never_answered_ends_nothing() {
    let (mut net, _, seen) = victim(&fast());
    net.run(SECOND);
    let overheard = net.overheard.clone();
    let from = SocketAddr::new(seen.ip(), 40_000);
    net.watched = |to| to != SocketAddr::new(outside(0), 9899);
    for copy in &overheard {
        net.hit(server(1), from, copy);
        net.run(50 * MS);
    }
    let drawn = core::mem::take(&mut net.caught);
    let question = drawn.iter().find(|packet| has_chunk(packet, kind::HEARTBEAT));
    let tag = read_header(question.expect("it is asked")).expect("a header").verification_tag;
    const T_BIT: u8 = 1;
    net.hit(server(1), from, &packet(tag).push_raw(kind::ABORT, T_BIT, &[]).build());
    let before = net.clients[0].deliveries.len();
    net.run(SECOND);
    assert!(net.clients[0].deliveries.len() > before + 500, "the victim goes on");
}

#[test]
fn without_authentication_a_tag_without_the_nonce_draws_a_few_heartbeats() {
    let plain = AssocConfig { extensions: ExtensionConfig::NONE, ..fast() };
    let (mut net, tag, seen) = victim(&plain);
    let mut drawn = Vec::new();
    net.watched = |to| to != SocketAddr::new(outside(0), 9899);
    for round in 0..1000_u16 {
        let from = SocketAddr::new(seen.ip(), 40_000 + round);
        drawn.extend(net.hit(
            server(1),
            from,
            &packet(tag).push_chunk(&HeartbeatRepr { info: b"x" }).build(),
        ));
        net.run(10 * MS);
        drawn.append(&mut net.caught);
    }
    let kinds: Vec<u8> =
        drawn.iter().flat_map(|packet| raw_chunks(packet)).map(|raw| raw.kind).collect();
    let heartbeats = [kind::HEARTBEAT, kind::HEARTBEAT_ACK];
    assert!(kinds.iter().all(|kind| heartbeats.contains(kind)), "{}", show_packets(&drawn));
    assert!(drawn.len() < 150, "{} packets for 1000", drawn.len());
    // From a strange address not even that.
    let stranger = SocketAddr::new("192.0.2.77".parse().expect("an address"), 9899);
    let forged = packet(tag).push_chunk(&HeartbeatRepr { info: b"x" }).build();
    assert!(net.hit(server(1), stranger, &forged).is_empty());
}
