//! Who shares an address with a peer, because both are behind one box, is a stranger all the same.

use core::net::SocketAddr;

use polypath_link::NatConfig;
use polypath_proto::config::AssocConfig;
use polypath_proto::{Event, State};
use polypath_testkit::packet::{PacketBuilder, raw_chunks, reseal_checksum};
use polypath_testkit::scripted_peer::{count_chunks, read_init_ack, show_packets};
use polypath_wire::chunk::kind;
use polypath_wire::{CookieEchoChunk, InitFixed, InitRepr, Parameter, ParamsBuf, Tsn};

use super::world::*;

fn home() -> NatConfig {
    NatConfig::new(outside(0))
}

/// Two clients behind one box, with one SCTP port and one UDP port inside.
fn two_clients(assoc: &AssocConfig) -> Net {
    let mut net = Net::new(1, &[home()], assoc);
    for client in 0..2 {
        let at = inside(0, client + 1);
        net.add_client(&[at], assoc);
    }
    net
}

/// One of them has an association; gives where the server sees it.
fn victim() -> (Net, SocketAddr) {
    let assoc = AssocConfig::default();
    let mut net = two_clients(&assoc);
    let h = net.connect(0, &[(inside(0, 1), server(1))], &assoc);
    net.run(SECOND);
    net.clients[0].send_without_end(h);
    net.run(100 * MS);
    let seen = net.server.paths(net.server.only())[0].0.remote;
    (net, seen)
}

/// An INIT from the victim's SCTP port that names these addresses.
fn init(tag: u32, addresses: &[&str]) -> Vec<u8> {
    let params: ParamsBuf = addresses
        .iter()
        .map(|address| Parameter::Ipv4(address.parse().expect("an address")))
        .collect();
    let fixed = InitFixed {
        initiate_tag: tag,
        a_rwnd: 1 << 20,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(1),
    };
    PacketBuilder::new(CLIENT_PORT, SERVER_PORT, 0).push_chunk(&InitRepr { fixed, params }).build()
}

/// What an answer tells beside random numbers: its chunks' types, flags and lengths.
fn outline(packets: &[Vec<u8>]) -> Vec<(u8, u8, usize)> {
    let chunks = packets.iter().flat_map(|packet| raw_chunks(packet));
    chunks.map(|raw| (raw.kind, raw.flags, raw.bytes().len())).collect()
}

#[test]
fn two_clients_with_one_sctp_port_both_work() {
    for assoc in [AssocConfig::default(), dynamic(AssocConfig::default())] {
        let mut net = two_clients(&assoc);
        for client in 0..2 {
            let h = net.connect(client, &[(inside(0, client as u8 + 1), server(1))], &assoc);
            net.clients[client].send_without_end(h);
            net.run(SECOND);
        }
        net.run(5 * SECOND);
        assert_eq!(net.server.living().len(), 2);
        for client in &net.clients {
            let h = client.only();
            assert_eq!(client.assoc(h).state(), State::Established);
            assert!(client.carried(h)[0] > 1_000_000);
        }
        assert!(!net.server.saw(|event| matches!(event, Event::Restarted)));
    }
}

#[test]
fn one_init_of_a_neighbour_betrays_nothing() {
    let stranger = SocketAddr::new("192.0.2.77".parse().expect("an address"), 40_000);
    for named in [&[][..], &["192.168.0.1", "10.1.1.1"], &["198.51.100.0", "10.1.1.1"]] {
        let (mut net, seen) = victim();
        let neighbour = SocketAddr::new(seen.ip(), seen.port() + 1);
        for from in [neighbour, stranger] {
            // Nobody has an association with the other SCTP port.
            let alive = net.hit(server(1), from, &init(77, named));
            let mut other = init(77, named);
            other[0] ^= 1;
            reseal_checksum(&mut other);
            let dead = net.hit(server(1), from, &other);
            assert_eq!(
                outline(&alive),
                outline(&dead),
                "{from} {named:?}: {}",
                show_packets(&alive)
            );
            assert_eq!(count_chunks(&alive, kind::INIT_ACK), 1, "{}", show_packets(&alive));
        }
    }
}

#[test]
fn a_neighbour_takes_nothing_over() {
    let (mut net, seen) = victim();
    let victims = net.server.only();
    let neighbour = SocketAddr::new(seen.ip(), seen.port() + 1);
    let answer = net.hit(server(1), neighbour, &init(77, &[]));
    let ack = read_init_ack(&answer[0]).expect("an INIT ACK");
    let echo = PacketBuilder::new(CLIENT_PORT, SERVER_PORT, ack.tag)
        .push_chunk(&CookieEchoChunk { cookie: &ack.cookie })
        .build();
    // From its own port, and from that of the victim, which it can only pretend to have.
    net.hit(server(1), seen, &echo);
    let answer = net.hit(server(1), neighbour, &echo);
    assert_eq!(count_chunks(&answer, kind::COOKIE_ACK), 1, "{}", show_packets(&answer));
    assert!(!net.server.saw(|event| matches!(event, Event::Restarted)));
    let before = net.server.deliveries.len();
    net.run(2 * SECOND);
    assert!(net.server.deliveries.len() > before + 100, "the victim goes on");
    assert_eq!(net.server.paths(victims)[0].0.remote, seen);
    assert_eq!(net.server.living().len(), 2);
}

#[test]
fn who_restarts_at_the_same_port_is_known_again() {
    let (mut net, _) = victim();
    // The process behind the box begins anew, at the same ports.
    let assoc = AssocConfig::default();
    net.clients.clear();
    net.add_client(&[inside(0, 1)], &assoc);
    net.connect(0, &[(inside(0, 1), server(1))], &assoc);
    net.run(SECOND);
    assert!(net.server.saw(|event| matches!(event, Event::Restarted)));
    assert_eq!(net.server.living().len(), 1);
}

#[test]
fn who_restarts_at_another_port_is_a_stranger_and_served() {
    let (mut net, seen) = victim();
    let assoc = AssocConfig::default();
    net.clients.clear();
    net.add_client(&[inside(0, 1)], &assoc);
    net.boxes[0].rebind_ports();
    net.connect(0, &[(inside(0, 1), server(1))], &assoc);
    net.run(SECOND);
    assert!(!net.server.saw(|event| matches!(event, Event::Restarted)));
    assert_eq!(net.clients[0].assoc(net.clients[0].only()).state(), State::Established);
    let remotes: Vec<SocketAddr> =
        net.server.living().into_iter().map(|h| net.server.paths(h)[0].0.remote).collect();
    assert_eq!(remotes[0], seen);
    assert_ne!(remotes[1], seen);
}

#[test]
fn one_port_outside_may_be_two_peers_at_two_addresses() {
    // Linux keeps the port of two hosts inside that talk to two addresses outside.
    let assoc = AssocConfig::default();
    let mut net = Net::new(2, &[home()], &assoc);
    net.add_client(&[inside(0, 1)], &assoc);
    let h = net.connect(0, &[(inside(0, 1), server(1))], &assoc);
    net.clients[0].send_without_end(h);
    net.run(SECOND);
    let seen = net.server.paths(net.server.only())[0].0.remote;
    let answer = net.hit(server(2), seen, &init(77, &[]));
    let ack = read_init_ack(&answer[0]).expect("an INIT ACK");
    let echo = PacketBuilder::new(CLIENT_PORT, SERVER_PORT, ack.tag)
        .push_chunk(&CookieEchoChunk { cookie: &ack.cookie })
        .build();
    let answer = net.hit(server(2), seen, &echo);
    assert_eq!(count_chunks(&answer, kind::COOKIE_ACK), 1, "{}", show_packets(&answer));
    let before = net.server.deliveries.len();
    net.run(2 * SECOND);
    assert!(net.server.deliveries.len() > before + 100, "the first goes on");
    assert_eq!(net.server.living().len(), 2);
    assert!(!net.server.saw(|event| matches!(event, Event::Restarted)));
}
