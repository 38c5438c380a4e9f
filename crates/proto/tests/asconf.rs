//! Addresses that come and go during an association (RFC 5061).

mod common;

use core::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use common::authentic::*;
use common::craft::*;
use common::*;
use polypath_proto::config::{AssocConfig, EndpointConfig, ExtensionConfig, PathPairing};
use polypath_proto::event::AddressChange;
use polypath_proto::ids::{StreamId, Tsn};
use polypath_proto::time::Duration;
use polypath_proto::view::PathState;
use polypath_proto::{AddressError, CloseReason, Event, FourTuple, PathId, SendOptions, State};
use polypath_wire::param::AsconfRequest;
use polypath_wire::{
    AsconfAckChunk, AsconfChunk, CausesBuf, ChecksumCheck, Chunk, ErrorCause, ErrorChunk,
    PacketView, Parameter, ParamsBuf,
};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const EMPTY: (u16, &[u8]) = (0, b"");
const PORTS: (u16, u16) = (CLIENT_PORT, SERVER_PORT);

fn config() -> AssocConfig {
    AssocConfig {
        extensions: ExtensionConfig {
            authentication: true,
            dynamic_addresses: true,
            ..ExtensionConfig::NONE
        },
        ..AssocConfig::default()
    }
}

fn at(port: u16, addresses: &[IpAddr], assoc: AssocConfig) -> EndpointConfig {
    EndpointConfig { assoc: Arc::new(assoc), ..endpoint(port, addresses) }
}

fn connected_with(client: AssocConfig, server: AssocConfig) -> Pair {
    let mut pair = Pair::with(
        at(CLIENT_PORT, &client_addresses(), client.clone()),
        at(SERVER_PORT, &server_addresses(), server),
    );
    pair.connect_with(client);
    pair.run(SECOND);
    assert_eq!(
        (pair.client.state(), pair.server.state()),
        (State::Established, State::Established)
    );
    pair
}

fn connected() -> Pair {
    connected_with(config(), config())
}

/// One address on either side.
fn single() -> Pair {
    let mut pair = Pair::with(
        at(CLIENT_PORT, &[ip("10.0.0.1")], config()),
        at(SERVER_PORT, &[ip("10.0.0.2")], config()),
    );
    let path = [client_paths()[0]];
    pair.client.endpoint.connect(pair.now, &path, SERVER_PORT, Arc::new(config())).unwrap();
    pair.run(SECOND);
    pair
}

fn overheard(pair: &Pair) -> Overheard {
    Overheard::new(&pair.log[0], &pair.last_with(INIT_ACK))
}

fn server_tag(pair: &Pair) -> u32 {
    read_init_ack(&pair.last_with(INIT_ACK)).0
}

/// The client's initial TSN, its first serial number.
fn client_tsn(pair: &Pair) -> u32 {
    let init = &chunks(&pair.log[0])[0];
    u32::from_be_bytes([init[16], init[17], init[18], init[19]])
}

fn socket(address: &str) -> core::net::SocketAddr {
    core::net::SocketAddr::new(ip(address), 0)
}

fn add(pair: &mut Pair, address: &str) {
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc.add_local_address(now, socket(address)).unwrap();
}

fn remove(pair: &mut Pair, address: &str) {
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc.remove_local_address(now, ip(address)).unwrap();
}

fn peers_of(host: &Host) -> Vec<IpAddr> {
    let mut all = host.endpoint.association(host.handle()).unwrap().peer_addresses().to_vec();
    all.sort();
    all
}

fn ours_of(host: &Host) -> Vec<IpAddr> {
    let mut all = host.endpoint.association(host.handle()).unwrap().local_addresses();
    all.sort();
    all
}

/// The live paths and their states.
fn paths_of(host: &Host) -> Vec<(FourTuple, PathState)> {
    let assoc = host.endpoint.association(host.handle()).unwrap();
    let view = assoc.view(polypath_proto::time::Time::from_secs(1));
    let live = view.paths.iter().filter(|p| p.state != PathState::Removed);
    live.map(|p| (assoc.path_tuple(p.id).unwrap(), p.state)).collect()
}

fn is_active(host: &Host, local: &str, remote: &str) -> bool {
    paths_of(host).contains(&(tuple(local, remote), PathState::Active))
}

fn said(host: &Host, address: &str, change: AddressChange) -> bool {
    host.saw(&Event::LocalAddress { address: ip(address), change })
}

fn submit(pair: &mut Pair, from_client: bool, count: u32) {
    let now = pair.now;
    let host = if from_client { &mut pair.client } else { &mut pair.server };
    let h = host.handle();
    let assoc = host.endpoint.association_mut(h).unwrap();
    for i in 0..count {
        let data = Bytes::from([i.to_be_bytes().as_slice(), &[7; 996]].concat());
        assoc.send(now, StreamId(0), data, SendOptions::default()).unwrap();
    }
}

fn numbers(host: &Host) -> Vec<u32> {
    let number = |m: &polypath_proto::Message| u32::from_be_bytes(m.data[..4].try_into().unwrap());
    host.received.iter().map(number).collect()
}

/// Packets with any of `kinds` that went from or to `address`.
fn with_kinds<'p>(packets: &'p [Packet], address: &str, kinds: &[u8]) -> Vec<&'p Packet> {
    let address = ip(address);
    let there = |p: &&Packet| p.tuple.remote.ip() == address || p.tuple.local.ip() == address;
    let has = |p: &&Packet| p.kinds().iter().any(|kind| kinds.contains(kind));
    packets.iter().filter(there).filter(has).collect()
}

#[derive(Clone, Copy)]
enum Ask {
    Add(&'static str),
    Delete(&'static str),
    Primary(&'static str),
}

fn request_params(asked: &[Ask]) -> ParamsBuf {
    let request = |(i, ask): (usize, &Ask)| {
        let of = |a| AsconfRequest { correlation: 100 + i as u32, address: ip(a) };
        match ask {
            Ask::Add(a) => Parameter::AddIp(of(a)),
            Ask::Delete(a) => Parameter::DeleteIp(of(a)),
            Ask::Primary(a) => Parameter::SetPrimary(of(a)),
        }
    };
    asked.iter().enumerate().map(request).collect()
}

/// An authenticated ASCONF of the client, with `ahead` counted from its first serial number.
fn asconf(pair: &Pair, ahead: u32, lookup: &str, asked: &[Ask]) -> Vec<u8> {
    raw_asconf(pair, ahead, lookup, request_params(asked))
}

fn raw_asconf(pair: &Pair, ahead: u32, lookup: &str, params: ParamsBuf) -> Vec<u8> {
    let (serial, address) = (client_tsn(pair).wrapping_add(ahead), ip(lookup));
    let push = move |w: &mut polypath_wire::PacketWriter<'_>| {
        let chunk = AsconfChunk { serial, address, params: params.as_params() };
        w.push(&chunk).expect("fits");
    };
    overheard(pair).packet(PORTS, server_tag(pair), EMPTY, &[&push])
}

/// (correlation, cause code) of each error in an ASCONF-ACK, and the correlation ids reported as successful.
fn verdicts(packet: &Packet) -> (Vec<(u32, u16)>, Vec<u32>) {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
    let (mut errors, mut good) = (Vec::new(), Vec::new());
    for raw in view.chunks().map(Result::unwrap) {
        let Ok(Chunk::AsconfAck(ack)) = raw.decode() else { continue };
        for param in ack.params.iter().map(Result::unwrap) {
            match param.decode().unwrap() {
                Parameter::ErrorCauseIndication(e) => {
                    let code = e.causes.iter().next().unwrap().unwrap().code;
                    errors.push((e.correlation, code));
                }
                Parameter::SuccessIndication(id) => good.push(id),
                other => panic!("{other:?}"),
            }
        }
    }
    (errors, good)
}

/// Injects `data` at the server as if it came along `way`; gives the packets sent in answer at once.
fn inject(pair: &mut Pair, at_server: FourTuple, data: &[u8]) -> Vec<Packet> {
    let before = pair.log.len();
    pair.inject(Way::ToServer, at_server, data);
    let answers = pair.log[before..].iter().filter(|p| p.way == Way::ToClient);
    answers.cloned().collect()
}

fn last_ack(answers: &[Packet]) -> &Packet {
    answers.iter().rfind(|p| p.kinds().contains(&ASCONF_ACK)).expect("an ASCONF-ACK")
}

#[test]
fn an_added_address_becomes_a_path_once_it_is_verified() {
    let mut pair = connected();
    let before = pair.log.len();
    add(&mut pair, "10.0.2.1");
    assert_eq!(ours_of(&pair.client), client_addresses());
    pair.run(2 * SECOND);
    assert!(said(&pair.client, "10.0.2.1", AddressChange::Added));
    let all = [ip("10.0.0.1"), ip("10.0.1.1"), ip("10.0.2.1")];
    assert_eq!((ours_of(&pair.client), peers_of(&pair.server)), (all.to_vec(), all.to_vec()));
    assert!(is_active(&pair.client, "10.0.2.1", "10.0.0.2"));
    assert!(is_active(&pair.server, "10.0.0.2", "10.0.2.1"));
    // Authenticated both ways; from the new address nothing but ASCONF before the answer came (F1).
    let packets = &pair.log[before..];
    let acked = packets.iter().position(|p| p.kinds().contains(&ASCONF_ACK)).unwrap();
    for packet in packets {
        let kinds = packet.kinds();
        let about = kinds.iter().position(|k| [ASCONF, ASCONF_ACK].contains(k));
        assert!(about.is_none_or(|at| kinds[..at].contains(&AUTH)), "{kinds:?}");
    }
    let arrival = packets[acked].at;
    let from_new = |p: &&Packet| p.way == Way::ToServer && p.tuple.remote.ip() == all[2];
    for packet in packets.iter().filter(from_new) {
        // `at` is when it arrives: it was sent 10 ms before.
        assert!(packet.at >= arrival + 10 * MS, "{:?} before the answer", packet.kinds());
    }
    // The server sends heartbeats there and nothing else until one is answered (F14).
    let to_new = |p: &&Packet| p.way == Way::ToClient && p.tuple.local.ip() == all[2];
    let first = packets.iter().find(to_new).unwrap();
    assert_eq!(first.kinds(), [HEARTBEAT]);
}

#[test]
fn an_added_path_carries_data_during_the_transfer() {
    let mut pair = connected();
    submit(&mut pair, true, 400);
    submit(&mut pair, false, 400);
    pair.run(100 * MS);
    add(&mut pair, "10.0.2.1");
    pair.run(SECOND);
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    client.set_peer_primary(now, ip("10.0.2.1")).unwrap();
    let new = client
        .view(now)
        .paths
        .iter()
        .find(|p| client.path_tuple(p.id) == Some(tuple("10.0.2.1", "10.0.0.2")));
    let new = new.unwrap().id;
    assert!(client.set_primary(now, new));
    submit(&mut pair, true, 100);
    submit(&mut pair, false, 100);
    let before = pair.log.len();
    pair.run(60 * SECOND);
    let carried = with_kinds(&pair.log[before..], "10.0.2.1", &[DATA]);
    let ways = [Way::ToServer, Way::ToClient];
    assert!(ways.iter().all(|way| carried.iter().any(|p| p.way == *way)));
    for host in [&pair.client, &pair.server] {
        let got = numbers(host);
        assert_eq!(got.len(), 500);
    }
    assert!(said(&pair.client, "10.0.2.1", AddressChange::Primary));
}

#[test]
fn all_addresses_are_replaced_one_after_the_other_during_a_transfer() {
    for pairing in [PathPairing::Mesh, PathPairing::Index, PathPairing::Learned] {
        let ends = [
            (CLIENT_PORT, client_addresses().to_vec()),
            (SERVER_PORT, server_addresses().to_vec()),
        ];
        let [client, server] = ends.map(|(port, addresses)| EndpointConfig {
            pairing,
            ..at(port, &addresses, AssocConfig { send_buffer: 8 << 20, ..config() })
        });
        let assoc = client.assoc.clone();
        let mut pair = Pair::with(client, server);
        pair.client.endpoint.connect(pair.now, &client_paths(), SERVER_PORT, assoc).unwrap();
        pair.run(SECOND);
        // One packet in 40 is lost all the time, so that something is missing whenever a path goes.
        let mut n = 0;
        pair.lose(move |_| {
            n += 1;
            if n % 40 == 0 { Fate::Lose } else { Fate::Deliver }
        });
        submit(&mut pair, true, 3000);
        submit(&mut pair, false, 3000);
        let steps = [
            (Way::ToServer, "10.9.0.1", "10.0.0.1"),
            (Way::ToClient, "10.9.0.2", "10.0.0.2"),
            (Way::ToServer, "10.9.1.1", "10.0.1.1"),
            (Way::ToClient, "10.9.1.2", "10.0.1.2"),
        ];
        for (way, new, old) in steps {
            pair.run(200 * MS);
            let now = pair.now;
            let host = if way == Way::ToServer { &mut pair.client } else { &mut pair.server };
            host.endpoint.add_address(now, socket(new));
            pair.run(600 * MS);
            let now = pair.now;
            let host = if way == Way::ToServer { &mut pair.client } else { &mut pair.server };
            host.endpoint.remove_address(now, ip(old));
        }
        assert!(pair.server.received.len() < 3000, "the transfer goes on meanwhile");
        pair.run(300 * SECOND);
        assert_eq!((pair.client.closed(), pair.server.closed()), (None, None), "{pairing:?}");
        let wanted: Vec<u32> = (0..3000).collect();
        assert!(numbers(&pair.server) == wanted && numbers(&pair.client) == wanted, "{pairing:?}");
        let new = ["10.9.0.1", "10.9.1.1"].map(ip).to_vec();
        assert_eq!((ours_of(&pair.client), peers_of(&pair.server)), (new.clone(), new));
        let new = ["10.9.0.2", "10.9.1.2"].map(ip).to_vec();
        assert_eq!((ours_of(&pair.server), peers_of(&pair.client)), (new.clone(), new));
        // Nothing of the old addresses is left, on either side.
        for host in [&pair.client, &pair.server] {
            for (tuple, _) in paths_of(host) {
                assert!(tuple.to_string().matches("10.9.").count() == 2, "{pairing:?} {tuple}");
            }
        }
    }
}

#[test]
fn a_removed_path_loses_nothing_although_all_that_it_carried_was_lost() {
    let mut pair = connected();
    submit(&mut pair, true, 100);
    // The device is gone: what leaves on the first path is lost.
    let gone = ip("10.0.0.1");
    pair.lose(move |p| {
        let there = p.tuple.remote.ip() == gone || p.tuple.local.ip() == gone;
        if there { Fate::Lose } else { Fate::Deliver }
    });
    pair.run(50 * MS);
    let before = pair.log.len();
    remove(&mut pair, "10.0.0.1");
    pair.run(500 * MS);
    // Well before any timeout of a second: the other path took over at once.
    assert_eq!(numbers(&pair.server), (0..100).collect::<Vec<u32>>());
    assert!(with_kinds(&pair.log[before..], "10.0.0.1", &[DATA, ASCONF, SACK]).is_empty());
    assert!(pair.client.saw(&Event::PathRemoved(PathId(0))));
    assert!(pair.server.saw(&Event::PathRemoved(PathId(0))));
    assert_eq!(peers_of(&pair.server), [ip("10.0.1.1")]);
    let h = pair.client.handle();
    let stats = pair.client.endpoint.association(h).unwrap().stats();
    assert_eq!((stats.paths[0].state, stats.timeouts), (PathState::Removed, 0));
}

#[test]
fn the_only_address_is_replaced_gently() {
    let mut pair = single();
    submit(&mut pair, true, 300);
    pair.run(30 * MS);
    add(&mut pair, "10.7.0.1");
    pair.run(200 * MS);
    remove(&mut pair, "10.0.0.1");
    pair.run(60 * SECOND);
    assert_eq!(numbers(&pair.server), (0..300).collect::<Vec<u32>>());
    assert_eq!(
        (ours_of(&pair.client), peers_of(&pair.server)),
        (vec![ip("10.7.0.1")], vec![ip("10.7.0.1")])
    );
}

#[test]
fn the_only_address_vanishes_and_another_takes_its_place() {
    // The new one comes first, or last.
    for add_first in [true, false] {
        let mut pair = single();
        submit(&mut pair, true, 300);
        submit(&mut pair, false, 300);
        pair.run(30 * MS);
        let gone = ip("10.0.0.1");
        pair.lose(move |p| {
            let there = p.tuple.remote.ip() == gone || p.tuple.local.ip() == gone;
            if there { Fate::Lose } else { Fate::Deliver }
        });
        let before = pair.log.len();
        if add_first {
            add(&mut pair, "10.7.0.1");
            remove(&mut pair, "10.0.0.1");
        } else {
            remove(&mut pair, "10.0.0.1");
            pair.run(3 * SECOND);
            add(&mut pair, "10.7.0.1");
        }
        pair.run(120 * SECOND);
        let wanted: Vec<u32> = (0..300).collect();
        assert!(numbers(&pair.server) == wanted && numbers(&pair.client) == wanted, "{add_first}");
        assert_eq!(peers_of(&pair.server), [ip("10.7.0.1")]);
        // Found by the address parameter: the source was unknown to the server (5.3.2).
        let asconfs = with_kinds(&pair.log[before..], "10.7.0.1", &[ASCONF]);
        let chunk = chunks(asconfs[0]).into_iter().find(|c| c[0] == ASCONF).unwrap();
        assert_eq!(chunk[12..16], [10, 0, 0, 1]);
    }
}

#[test]
fn one_asconf_is_outstanding_and_goes_out_again_unchanged_on_another_path() {
    let mut pair = connected();
    let mut lost = 0;
    pair.lose(move |p| {
        let hit = p.kinds().contains(&ASCONF) && lost < 2;
        lost += u32::from(hit);
        if hit { Fate::Lose } else { Fate::Deliver }
    });
    let before = pair.log.len();
    add(&mut pair, "10.0.2.1");
    pair.run(100 * MS);
    add(&mut pair, "10.0.3.1");
    add(&mut pair, "10.0.4.1");
    pair.run(20 * SECOND);
    let sent: Vec<Packet> =
        pair.log[before..].iter().filter(|p| p.kinds().contains(&ASCONF)).cloned().collect();
    let only = |p: &Packet| chunks(p).into_iter().find(|c| c[0] == ASCONF).unwrap();
    assert_eq!(sent.len(), 4, "thrice the first, then the other two together");
    assert!(only(&sent[0]) == only(&sent[1]) && only(&sent[1]) == only(&sent[2]));
    assert_ne!(sent[0].tuple, sent[1].tuple);
    assert_eq!(sent[1].at.since(sent[0].at), SECOND, "T4 is the RTO");
    assert_eq!(only(&sent[3]).len(), 8 + 8 + 2 * 16);
    assert_eq!(peers_of(&pair.server).len(), 5);
    let h = pair.client.handle();
    let view = pair.client.endpoint.association(h).unwrap().view(pair.now);
    let errors: Vec<u32> = view.paths.iter().map(|p| p.errors).collect();
    assert_eq!(errors[..2], [0, 1], "the path of the answer is clear");
}

#[test]
fn an_association_whose_asconfs_are_never_answered_ends() {
    let mut pair = connected();
    pair.lose(|p| if p.kinds().contains(&ASCONF) { Fate::Lose } else { Fate::Deliver });
    add(&mut pair, "10.0.2.1");
    pair.run(3600 * SECOND);
    // Heartbeats are answered and clear the count between the expiries: the association lives on, and goes on trying.
    assert!(pair.sent(Way::ToServer, ASCONF) > 10);
    pair.lose(|_| Fate::Lose);
    pair.run(7200 * SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
}

#[test]
fn a_replayed_asconf_changes_nothing_and_is_answered_as_before() {
    let mut pair = connected();
    let packet = asconf(&pair, 0, "10.0.0.1", &[Ask::Add("10.6.0.1"), Ask::Delete("10.0.1.1")]);
    let first = inject(&mut pair, at_server(), &packet);
    assert_eq!(verdicts(last_ack(&first)), (vec![], vec![]));
    let after = vec![ip("10.0.0.1"), ip("10.6.0.1")];
    assert_eq!(peers_of(&pair.server), after);
    let again = inject(&mut pair, at_server(), &packet);
    assert_eq!(chunks(last_ack(&again))[1], chunks(last_ack(&first))[1]);
    assert_eq!(peers_of(&pair.server), after);
    let next = asconf(&pair, 1, "10.0.0.1", &[Ask::Add("10.0.1.1")]);
    inject(&mut pair, at_server(), &next);
    let now = peers_of(&pair.server);
    assert_eq!(now.len(), 3);
    // The old one is forgotten, one from the future was never asked for: neither is answered, neither does anything.
    let future = asconf(&pair, 3, "10.0.0.1", &[Ask::Delete("10.0.1.1")]);
    for late in [packet, future] {
        let answers = inject(&mut pair, at_server(), &late);
        assert!(answers.iter().all(|p| !p.kinds().contains(&ASCONF_ACK)));
        assert_eq!(peers_of(&pair.server), now);
    }
}

#[test]
fn an_asconf_without_proof_is_dropped_in_silence() {
    let mut pair = connected();
    let good = asconf(&pair, 0, "10.0.0.1", &[Ask::Add("10.6.0.1")]);
    let bare = tampered(&good, |bytes| {
        bytes.drain(12..52);
    });
    let forged = tampered(&good, |bytes| *bytes.last_mut().unwrap() ^= 1);
    let unknown_key = tampered(&good, |bytes| bytes[17] = 9);
    let short = tampered(&good, |bytes| {
        bytes.drain(48..52);
        bytes[15] -= 4;
    });
    for packet in [bare, forged, unknown_key, short] {
        assert_eq!(inject(&mut pair, at_server(), &packet).len(), 0);
        // Nor from an address that the association does not have.
        let elsewhere = reverse(tuple("10.6.0.1", "10.0.0.2"));
        assert_eq!(inject(&mut pair, elsewhere, &packet).len(), 0);
    }
    assert_eq!(peers_of(&pair.server), client_addresses());
}

#[test]
fn a_victim_gets_no_data_before_it_proves_itself() {
    let mut pair = connected();
    let victim = ip("192.0.2.66");
    // A client that lies: nothing comes from there, and the victim answers nothing.
    pair.lose(move |p| {
        let there = p.tuple.local.ip() == victim || p.tuple.remote.ip() == victim;
        if there { Fate::Lose } else { Fate::Deliver }
    });
    add(&mut pair, "192.0.2.66");
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    client.set_peer_primary(now, victim).unwrap();
    pair.run(100 * MS);
    assert!(said(&pair.client, "192.0.2.66", AddressChange::Primary));
    submit(&mut pair, false, 200);
    pair.run(600 * SECOND);
    assert_eq!(numbers(&pair.client).len(), 200);
    let to_victim: Vec<&Packet> = pair
        .log
        .iter()
        .filter(|p| p.way == Way::ToClient && p.tuple.local.ip() == victim)
        .collect();
    assert!((1..=6).contains(&to_victim.len()), "{} heartbeats", to_victim.len());
    for packet in to_victim {
        assert_eq!(packet.kinds(), [HEARTBEAT]);
        assert!(packet.data.len() <= 100);
    }
}

#[test]
fn the_wish_for_a_primary_is_heeded_once_the_address_is_proven() {
    let mut pair = connected();
    add(&mut pair, "10.0.2.1");
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    assert_eq!(client.set_peer_primary(now, ip("10.0.2.1")), Ok(()));
    let unknown = AddressError::Unknown { address: ip("10.8.8.8") };
    assert_eq!(client.set_peer_primary(now, ip("10.8.8.8")), Err(unknown));
    pair.run(2 * SECOND);
    let h = pair.server.handle();
    let server = pair.server.endpoint.association(h).unwrap();
    let primary = server.view(pair.now).primary;
    assert_eq!(server.path_tuple(primary).unwrap().remote.ip(), ip("10.0.2.1"));
    assert!(pair.server.saw(&Event::PrimaryChanged(primary)));
}

#[test]
fn what_cannot_be_done_is_refused_with_its_cause() {
    type Case<'a> = (&'a [Ask], &'a [(u32, u16)], &'a [u32]);
    let cases: [Case<'_>; 8] = [
        // The last address, the packet's source.
        (&[Ask::Delete("10.0.1.1"), Ask::Delete("10.0.0.1")], &[(101, 0xa0)], &[]),
        (&[Ask::Delete("10.0.0.1")], &[(100, 0xa2)], &[]),
        // Addresses of no host.
        (&[Ask::Add("224.0.0.1")], &[(100, 5)], &[]),
        (&[Ask::Add("255.255.255.255")], &[(100, 5)], &[]),
        (&[Ask::Add("127.0.0.1")], &[(100, 5)], &[]),
        // Behind a refusal all changes fail, and other requests are reported.
        (
            &[
                Ask::Add("224.0.0.1"),
                Ask::Add("10.6.0.1"),
                Ask::Delete("10.0.1.1"),
                Ask::Primary("10.0.1.1"),
            ],
            &[(100, 5), (101, 0xa1), (102, 0xa1)],
            &[103],
        ),
        // A primary that is none changes nothing, and nothing fails by it.
        (&[Ask::Primary("10.6.0.1"), Ask::Add("10.6.0.2")], &[(100, 5)], &[101]),
        // What is there already, or is not there any more, is done.
        (&[Ask::Add("10.0.1.1"), Ask::Delete("10.6.0.9")], &[], &[]),
    ];
    for (asked, errors, good) in cases {
        let mut pair = connected();
        let packet = asconf(&pair, 0, "10.0.0.1", asked);
        let answers = inject(&mut pair, at_server(), &packet);
        assert_eq!(verdicts(last_ack(&answers)), (errors.to_vec(), good.to_vec()));
        // The refused request is quoted.
        if let Some((_, 0xa0..=0xa4)) = errors.first() {
            let ack = chunks(last_ack(&answers)).pop().unwrap();
            assert_eq!(ack[8..16], [0xc0, 3, 0, 28, 0, 0, 0, errors[0].0 as u8]);
            assert_eq!(ack[20..24], [0xc0, 2, 0, 16]);
        }
    }
}

#[test]
fn more_addresses_than_there_is_room_for_are_refused() {
    let mut pair = connected();
    const NEW: [&str; 16] = [
        "10.6.0.1",
        "10.6.0.2",
        "10.6.0.3",
        "10.6.0.4",
        "10.6.0.5",
        "10.6.0.6",
        "10.6.0.7",
        "10.6.0.8",
        "10.6.0.9",
        "10.6.0.10",
        "10.6.0.11",
        "10.6.0.12",
        "10.6.0.13",
        "10.6.0.14",
        "10.6.0.15",
        "10.6.0.16",
    ];
    let asked = NEW.map(Ask::Add);
    let packet = asconf(&pair, 0, "10.0.0.1", &asked);
    let answers = inject(&mut pair, at_server(), &packet);
    let (errors, good) = verdicts(last_ack(&answers));
    assert_eq!((errors, good), (vec![(114, 0xa1), (115, 0xa1)], vec![]));
    assert_eq!(peers_of(&pair.server).len(), 16);
}

#[test]
fn unknown_requests_are_reported_by_their_top_bits() {
    // 0xC0FF: skip and report; 0x80FF: skip; 0x40FF: stop and report.
    let unknown = |kind: u16| {
        let [k0, k1] = kind.to_be_bytes();
        vec![k0, k1, 0, 8, 0, 0, 0, 55]
    };
    for (kind, reported, goes_on) in
        [(0xc0ff, true, true), (0x80ff, false, true), (0x40ff, true, false)]
    {
        let mut pair = connected();
        let wire = unknown(kind);
        let packet = raw_asconf(&pair, 0, "10.0.0.1", {
            // Read from bytes, since the writer knows no such type.
            let first = AsconfRequest { correlation: 1, address: ip("10.6.0.1") };
            let second = AsconfRequest { correlation: 2, address: ip("10.6.0.2") };
            let mut params: ParamsBuf = [Parameter::AddIp(first)].into_iter().collect();
            let quoted = ack_like(&wire);
            params.push(&Parameter::Unknown(first_param(&quoted)));
            params.push(&Parameter::AddIp(second));
            params
        });
        let answers = inject(&mut pair, at_server(), &packet);
        let (errors, good) = verdicts(last_ack(&answers));
        assert_eq!(errors, if reported { vec![(55, 8)] } else { vec![] });
        assert_eq!(good, if reported && goes_on { vec![2] } else { vec![] });
        assert_eq!(peers_of(&pair.server).len(), if goes_on { 4 } else { 3 });
    }
}

/// A packet whose first chunk is an ASCONF-ACK with `params`.
fn ack_like(params: &[u8]) -> Vec<u8> {
    let mut chunk = vec![ASCONF_ACK, 0, 0, (8 + params.len()) as u8, 0, 0, 0, 0];
    chunk.extend_from_slice(params);
    let mut packet = vec![0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
    packet.extend(chunk);
    packet
}

fn first_param(packet: &[u8]) -> polypath_wire::RawParam<'_> {
    let view = PacketView::parse(packet, ChecksumCheck::Skip).unwrap();
    let raw = view.chunks().next().unwrap().unwrap();
    let Chunk::AsconfAck(ack) = raw.decode().unwrap() else { panic!("ASCONF-ACK expected") };
    ack.params.iter().next().unwrap().unwrap()
}

#[test]
fn wildcards_stand_for_the_source_or_for_all_others() {
    let mut pair = connected();
    // From an address that the association has not: found by the address parameter.
    let elsewhere = reverse(tuple("10.6.0.1", "10.0.0.2"));
    let asked = [Ask::Add("0.0.0.0"), Ask::Primary("0.0.0.0")];
    let packet = asconf(&pair, 0, "10.0.0.1", &asked);
    let answers = inject(&mut pair, elsewhere, &packet);
    assert_eq!(last_ack(&answers).tuple, reverse(elsewhere), "answered where it came from");
    let all = vec![ip("10.0.0.1"), ip("10.0.1.1"), ip("10.6.0.1")];
    assert_eq!(peers_of(&pair.server), all);
    let packet = asconf(&pair, 1, "0.0.0.0", &[Ask::Delete("0.0.0.0")]);
    let answers = inject(&mut pair, elsewhere, &packet);
    assert_eq!(verdicts(last_ack(&answers)), (vec![], vec![]));
    assert_eq!(peers_of(&pair.server), [ip("10.6.0.1")]);
    // From the old addresses the server hears nothing any more: out of the blue (F13).
    let tag = server_tag(&pair);
    let cookie_ack = to_server(tag, &[&chunk(polypath_wire::Chunk::ShutdownAck)]);
    let answers = inject(&mut pair, at_server(), &cookie_ack);
    assert_eq!(answers[0].first_kind(), SHUTDOWN_COMPLETE);
    assert_eq!(answers[0].first_flags(), 1, "reflected: belongs to no association");
}

#[test]
fn a_wildcard_finds_its_association_by_the_tag() {
    let mut pair = connected();
    let elsewhere = reverse(tuple("10.6.0.1", "10.0.0.2"));
    let packet = asconf(&pair, 0, "0.0.0.0", &[Ask::Add("0.0.0.0")]);
    // With a wrong tag there is none, and with a wrong proof nothing happens.
    let wrong_tag = tampered(&packet, |bytes| bytes[4] ^= 1);
    let answers = inject(&mut pair, elsewhere, &wrong_tag);
    assert!(answers.iter().all(|p| p.first_kind() == ABORT));
    let forged = tampered(&packet, |bytes| bytes[30] ^= 1);
    assert!(inject(&mut pair, elsewhere, &forged).is_empty());
    assert_eq!(peers_of(&pair.server), client_addresses());
    inject(&mut pair, elsewhere, &packet);
    assert_eq!(peers_of(&pair.server).len(), 3);
}

#[test]
fn behind_a_nat_addresses_are_told_by_wildcards() {
    // The NAT: the client's addresses 192.168.x.1 appear as 10.50.x.1.
    let inside = [ip("192.168.0.1")];
    let mut nat = at(CLIENT_PORT, &inside, config());
    nat.behind_nat = true;
    let mut pair = Pair::with(nat, at(SERVER_PORT, &[ip("10.0.0.2")], config()));
    pair.translate = |address| match address {
        IpAddr::V4(v4) if v4.octets()[..2] == [192, 168] => {
            IpAddr::from([10, 50, v4.octets()[2], v4.octets()[3]])
        }
        IpAddr::V4(v4) if v4.octets()[..2] == [10, 50] => {
            IpAddr::from([192, 168, v4.octets()[2], v4.octets()[3]])
        }
        other => other,
    };
    let path = tuple("192.168.0.1", "10.0.0.2");
    pair.client.endpoint.connect(pair.now, &[path], SERVER_PORT, Arc::new(config())).unwrap();
    pair.run(SECOND);
    submit(&mut pair, true, 200);
    submit(&mut pair, false, 200);
    pair.run(20 * MS);
    add(&mut pair, "192.168.1.1");
    pair.run(SECOND);
    assert_eq!(peers_of(&pair.server), [ip("10.50.0.1"), ip("10.50.1.1")]);
    assert!(is_active(&pair.server, "10.0.0.2", "10.50.1.1"));
    remove(&mut pair, "192.168.0.1");
    pair.run(60 * SECOND);
    assert_eq!(peers_of(&pair.server), [ip("10.50.1.1")]);
    let wanted: Vec<u32> = (0..200).collect();
    assert!(numbers(&pair.server) == wanted && numbers(&pair.client) == wanted);
    // No address of ours was ever told.
    for packet in pair.log.iter().filter(|p| p.way == Way::ToServer) {
        assert!(packet.data.windows(2).all(|bytes| bytes != [192, 168]));
    }
}

#[test]
fn serial_numbers_wrap() {
    let near = AssocConfig { initial_tsn: Some(Tsn(u32::MAX - 1)), ..config() };
    let mut pair = connected_with(near.clone(), near);
    for i in 0..5 {
        let address = format!("10.6.0.{}", i + 1);
        add(&mut pair, &address);
        pair.run(SECOND);
        assert!(said(&pair.client, &address, AddressChange::Added), "{i}");
    }
    assert_eq!(peers_of(&pair.server).len(), 7);
    let serials: Vec<u32> = pair
        .log
        .iter()
        .filter(|p| p.kinds().contains(&ASCONF))
        .map(|p| {
            let chunk = chunks(p).into_iter().find(|c| c[0] == ASCONF).unwrap();
            u32::from_be_bytes(chunk[4..8].try_into().unwrap())
        })
        .collect();
    assert_eq!(serials, [u32::MAX - 1, u32::MAX, 0, 1, 2]);
}

#[test]
fn an_answer_to_nothing_ends_the_association() {
    for (ahead, ends) in [(0_u32, true), (1000, true), (0x7fff_ffff, true), (u32::MAX, false)] {
        let mut pair = connected();
        // From client to server: the server never sent an ASCONF.
        let ack = chunks(&pair.last_with(INIT_ACK)).remove(0);
        let serial = u32::from_be_bytes(ack[16..20].try_into().unwrap()).wrapping_add(ahead);
        let push = move |w: &mut polypath_wire::PacketWriter<'_>| {
            let params = ParamsBuf::new();
            w.push(&AsconfAckChunk { serial, params: params.as_params() }).unwrap();
        };
        let packet = overheard(&pair).packet(PORTS, server_tag(&pair), EMPTY, &[&push]);
        let answers = inject(&mut pair, at_server(), &packet);
        assert_eq!(pair.server.closed().is_some(), ends, "{ahead}");
        if ends {
            assert_eq!(read_causes(&answers[0]).1, [0xa3]);
        }
    }
}

#[test]
fn a_peer_that_does_not_know_asconf_is_never_asked_again() {
    let mut pair = connected();
    pair.lose(|p| if p.kinds().contains(&ASCONF) { Fate::Lose } else { Fate::Deliver });
    add(&mut pair, "10.0.2.1");
    pair.run(100 * MS);
    let sent = pair.log.iter().find(|p| p.kinds().contains(&ASCONF)).unwrap();
    let quoted = chunks(sent).into_iter().find(|c| c[0] == ASCONF).unwrap();
    let causes: CausesBuf = [ErrorCause::UnrecognizedChunk(&quoted)].into_iter().collect();
    let tag = read_init(&pair.log[0]);
    let error = to_client(tag, &[&chunk(ErrorChunk { causes: causes.as_causes() })]);
    pair.inject(Way::ToClient, client_paths()[0], &error);
    let before = pair.sent(Way::ToServer, ASCONF);
    pair.run(60 * SECOND);
    assert_eq!(pair.sent(Way::ToServer, ASCONF), before);
    assert!(said(&pair.client, "10.0.2.1", AddressChange::AddRefused { cause: None }));
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    assert_eq!(client.add_local_address(now, socket("10.0.3.1")), Err(AddressError::Unsupported));
}

#[test]
fn requests_that_the_peer_does_not_know_are_never_made_again() {
    for primary in [false, true] {
        let mut pair = connected();
        pair.lose(|p| if p.kinds().contains(&ASCONF) { Fate::Lose } else { Fate::Deliver });
        if primary {
            let (now, h) = (pair.now, pair.client.handle());
            let client = pair.client.endpoint.association_mut(h).unwrap();
            client.set_peer_primary(now, ip("10.0.1.1")).unwrap();
        } else {
            add(&mut pair, "10.0.2.1");
        }
        pair.run(10 * MS);
        let none = ParamsBuf::new();
        answer_with(&mut pair, &ErrorCause::UnrecognizedParameters(none.as_params()));
        pair.deliver_all();
        let asked = pair.sent(Way::ToServer, ASCONF);
        let (now, h) = (pair.now, pair.client.handle());
        let client = pair.client.endpoint.association_mut(h).unwrap();
        let refused = Err(AddressError::Unsupported);
        assert_eq!(client.set_peer_primary(now, ip("10.0.1.1")), refused);
        let other = client.add_local_address(now, socket("10.0.3.1"));
        assert_eq!(other, if primary { Ok(()) } else { refused });
        pair.run(SECOND);
        let more = pair.sent(Way::ToServer, ASCONF) - asked;
        assert_eq!(more > 0, primary, "the other kind of request is not meant");
        let change = if primary {
            AddressChange::PrimaryRefused { cause: 8 }
        } else {
            AddressChange::AddRefused { cause: Some(8) }
        };
        assert!(said(&pair.client, if primary { "10.0.1.1" } else { "10.0.2.1" }, change));
    }
}

/// The server, as it were, answers the client's latest ASCONF: its first request fails for this reason.
fn answer_with(pair: &mut Pair, cause: &ErrorCause<'_>) {
    let sent = pair.log.iter().rfind(|p| p.kinds().contains(&ASCONF)).unwrap();
    let asked = chunks(sent).into_iter().find(|c| c[0] == ASCONF).unwrap();
    let word = |at: usize| u32::from_be_bytes(asked[at..at + 4].try_into().unwrap());
    let (serial, correlation) = (word(4), word(20));
    let causes: CausesBuf = [*cause].into_iter().collect();
    let push = |w: &mut polypath_wire::PacketWriter<'_>| {
        let error = polypath_wire::param::AsconfError { correlation, causes: causes.as_causes() };
        let params: ParamsBuf = [Parameter::ErrorCauseIndication(error)].into_iter().collect();
        w.push(&AsconfAckChunk { serial, params: params.as_params() }).unwrap();
    };
    let (ports, tag) = ((SERVER_PORT, CLIENT_PORT), read_init(&pair.log[0]));
    let answer = overheard(pair).packet(ports, tag, EMPTY, &[&push]);
    pair.inject(Way::ToClient, client_paths()[0], &answer);
}

#[test]
fn bundled_asconfs_are_performed_in_turn_and_answered_in_one_packet() {
    let mut pair = connected();
    let first = client_tsn(&pair);
    let one = |i: u32, asked: &[Ask]| {
        let (serial, address) = (first.wrapping_add(i), ip("10.0.0.1"));
        let params = request_params(asked);
        let mut bytes = Vec::new();
        let chunk = AsconfChunk { serial, address, params: params.as_params() };
        polypath_wire::EncodeChunk::encode(&chunk, &mut bytes);
        bytes
    };
    // Fifty refusals of 36 bytes do not fit into one packet.
    let mut all: Vec<u8> = (0..50).flat_map(|i| one(i, &[Ask::Add("224.0.0.1")])).collect();
    all.extend(one(50, &[Ask::Add("10.6.0.1")]));
    let push = move |w: &mut polypath_wire::PacketWriter<'_>| {
        let end = w.chunk_area().len();
        w.insert(end, &common::authentic::Bytes(&all));
    };
    let packet = overheard(&pair).packet(PORTS, server_tag(&pair), EMPTY, &[&push]);
    let answers = inject(&mut pair, at_server(), &packet);
    assert_eq!(peers_of(&pair.server).len(), 3, "the last was performed, too");
    let acks: Vec<&Packet> = answers.iter().filter(|p| p.kinds().contains(&ASCONF_ACK)).collect();
    assert_eq!(acks.len(), 1);
    let kinds = acks[0].kinds();
    let told = kinds.iter().filter(|kind| **kind == ASCONF_ACK).count();
    assert!((30..50).contains(&told) && acks[0].data.len() <= 1480, "{told} answers");
    // The peer asks again for what it misses.
    let last = asconf(&pair, 50, "10.0.0.1", &[Ask::Add("10.6.0.1")]);
    let again = inject(&mut pair, at_server(), &last);
    assert_eq!(verdicts(last_ack(&again)), (vec![], vec![]));
    assert_eq!(peers_of(&pair.server).len(), 3);
}

#[test]
fn an_abort_for_an_address_that_goes_is_ignored() {
    let mut pair = connected();
    pair.lose(|p| if p.kinds().contains(&ASCONF) { Fate::Lose } else { Fate::Deliver });
    remove(&mut pair, "10.0.1.1");
    pair.run(50 * MS);
    let tag = read_init(&pair.log[0]);
    let abort = to_client(tag, &[&abort(false)]);
    pair.inject(Way::ToClient, client_paths()[1], &abort);
    assert_eq!(pair.client.closed(), None);
    // DATA that arrives there counts (F4).
    let before = pair.client.received.len();
    pair.server.endpoint.association_mut(pair.server.handle()).unwrap();
    let h = pair.server.handle();
    let now = pair.now;
    assert!(pair.server.endpoint.association_mut(h).unwrap().set_primary(now, PathId(1)));
    submit(&mut pair, false, 3);
    pair.run(100 * MS);
    assert_eq!(pair.client.received.len(), before + 3);
    pair.inject(Way::ToClient, client_paths()[0], &abort);
    assert!(pair.client.closed().is_some(), "elsewhere it counts");
}

#[test]
fn what_was_refused_is_undone() {
    // The server has no room for another address: the client asks for one too many.
    let mut pair = connected();
    for i in 1..=14 {
        add(&mut pair, &format!("10.6.0.{i}"));
    }
    pair.run(5 * SECOND);
    assert_eq!(peers_of(&pair.server).len(), 16);
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    assert_eq!(client.add_local_address(now, socket("10.6.0.99")), Err(AddressError::TooMany));
    // A deletion that the server refuses: it is asked from another address than it is about, so only a lie makes it refuse.
    pair.lose(|p| if p.kinds().contains(&ASCONF) { Fate::Lose } else { Fate::Deliver });
    remove(&mut pair, "10.0.1.1");
    pair.run(10 * MS);
    let none = ParamsBuf::new();
    answer_with(&mut pair, &ErrorCause::NoAuthorization(none.as_params()));
    pair.deliver_all();
    pair.run(2 * SECOND);
    assert!(said(&pair.client, "10.0.1.1", AddressChange::RemoveRefused { cause: 0xa4 }));
    assert!(ours_of(&pair.client).contains(&ip("10.0.1.1")));
    assert!(
        paths_of(&pair.client)
            .iter()
            .any(|(t, s)| { t.local.ip() == ip("10.0.1.1") && *s == PathState::Active })
    );
}

#[test]
fn without_agreement_nothing_changes() {
    let mut pair = connected_with(config(), AssocConfig::default());
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    assert!(!client.has_dynamic_addresses());
    assert_eq!(client.add_local_address(now, socket("10.0.2.1")), Err(AddressError::Unsupported));
    assert_eq!(
        client.add_local_address(now, socket("224.0.0.1")),
        Err(AddressError::NotUnicast { address: ip("224.0.0.1") })
    );
    pair.client.endpoint.add_address(now, socket("10.0.2.1"));
    pair.client.endpoint.remove_address(now, ip("10.0.1.1"));
    submit(&mut pair, true, 20);
    pair.run(10 * SECOND);
    assert_eq!(pair.sent(Way::ToServer, ASCONF), 0);
    assert_eq!(numbers(&pair.server).len(), 20);
}

#[test]
fn what_is_wished_for_during_set_up_is_done_afterwards() {
    let mut pair = Pair::with(
        at(CLIENT_PORT, &client_addresses(), config()),
        at(SERVER_PORT, &server_addresses(), config()),
    );
    pair.connect_with(config());
    let now = pair.now;
    pair.client.endpoint.add_address(now, socket("10.0.2.1"));
    pair.run(15 * MS);
    // The INIT ACK is on its way, with the server's addresses of now.
    let now = pair.now;
    pair.server.endpoint.add_address(now, socket("10.0.2.2"));
    pair.server.endpoint.remove_address(now, ip("10.0.1.2"));
    pair.run(3 * SECOND);
    assert_eq!(peers_of(&pair.server), [ip("10.0.0.1"), ip("10.0.1.1"), ip("10.0.2.1")]);
    assert_eq!(peers_of(&pair.client), [ip("10.0.0.2"), ip("10.0.2.2")]);
    let asked = |way| pair.log.iter().any(|p| p.way == way && p.kinds().contains(&ASCONF));
    assert!(asked(Way::ToServer) && asked(Way::ToClient));
}

#[test]
fn numbers_of_paths_are_used_again_only_when_there_are_no_others() {
    let mut pair = single();
    for i in 1..=40_u32 {
        add(&mut pair, &format!("10.6.0.{i}"));
        pair.run(SECOND);
        let old = if i == 1 { "10.0.0.1".to_owned() } else { format!("10.6.0.{}", i - 1) };
        remove(&mut pair, &old);
        submit(&mut pair, true, 5);
        submit(&mut pair, false, 5);
        pair.run(SECOND);
        assert_eq!(pair.server.received.len() as u32, 5 * i);
        assert_eq!(pair.client.received.len() as u32, 5 * i);
        let h = pair.client.handle();
        let paths = pair.client.endpoint.association(h).unwrap().stats().paths.len();
        assert_eq!(paths as u32, (i + 1).min(16));
    }
    assert_eq!(paths_of(&pair.client).len(), 1);
}

#[test]
fn both_sides_change_at_the_same_time() {
    let mut pair = connected();
    submit(&mut pair, true, 300);
    submit(&mut pair, false, 300);
    pair.run(50 * MS);
    for (i, address) in [(0, "10.0.5.1"), (1, "10.0.5.2")] {
        let now = pair.now;
        let host = if i == 0 { &mut pair.client } else { &mut pair.server };
        host.endpoint.add_address(now, socket(address));
        host.endpoint.remove_address(now, ip(["10.0.0.1", "10.0.1.2"][i]));
    }
    pair.run(60 * SECOND);
    let wanted: Vec<u32> = (0..300).collect();
    assert!(numbers(&pair.server) == wanted && numbers(&pair.client) == wanted);
    assert_eq!(peers_of(&pair.server), [ip("10.0.1.1"), ip("10.0.5.1")]);
    assert_eq!(peers_of(&pair.client), [ip("10.0.0.2"), ip("10.0.5.2")]);
}

#[test]
fn addresses_change_while_the_association_shuts_down() {
    let mut pair = connected();
    submit(&mut pair, true, 200);
    pair.run(30 * MS);
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run(10 * MS);
    add(&mut pair, "10.0.2.1");
    remove(&mut pair, "10.0.0.1");
    pair.run(60 * SECOND);
    assert_eq!(numbers(&pair.server), (0..200).collect::<Vec<u32>>());
    assert_eq!(pair.server.closed(), Some(CloseReason::Shutdown));
    assert_eq!(pair.client.closed(), Some(CloseReason::Shutdown));
}

#[test]
fn a_restart_forgets_what_was_changed() {
    let mut pair = connected();
    add(&mut pair, "10.0.2.1");
    pair.run(SECOND);
    remove(&mut pair, "10.0.1.1");
    pair.run(SECOND);
    // The client has lost everything and comes back with one address that the server knows.
    pair.client = Host::new(at(CLIENT_PORT, &[ip("10.0.0.1")], config()), 99);
    let path = [client_paths()[0]];
    pair.client.endpoint.connect(pair.now, &path, SERVER_PORT, Arc::new(config())).unwrap();
    pair.run(3 * SECOND);
    assert!(pair.server.saw(&Event::Restarted));
    // What was taken back is not known any more.
    assert_eq!(peers_of(&pair.server), [ip("10.0.0.1"), ip("10.0.2.1")]);
    add(&mut pair, "10.0.3.1");
    pair.run(2 * SECOND);
    let known = [ip("10.0.0.1"), ip("10.0.2.1"), ip("10.0.3.1")];
    assert_eq!(peers_of(&pair.server), known);
    let (now, before) = (pair.now, pair.server.received.len());
    pair.client.send(now, b"new life");
    pair.run(SECOND);
    assert_eq!(pair.server.received.len(), before + 1);
}
