//! Addresses that come and go during an association (RFC 5061): what the side that changes its own
//! does.

use core::net::IpAddr;
use std::sync::Arc;

use polypath_proto::config::{AssocConfig, EndpointConfig, PathPairing};
use polypath_proto::event::AddressChange;
use polypath_proto::ids::Tsn;
use polypath_proto::trace::{TraceEvent, TraceRecord};
use polypath_proto::view::PathState;
use polypath_proto::{AddressError, CloseReason, Event, PathId};
use polypath_testkit::pair::authentic::*;
use polypath_testkit::pair::changing::*;
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::{CausesBuf, ErrorCause, ErrorChunk, ParamsBuf};

#[test]
fn an_added_address_becomes_a_path_once_it_is_verified() {
    let mut pair = connected();
    let before = pair.log.len();
    add_address(&mut pair, "10.0.2.1");
    assert_eq!(ours_of(&pair.client), client_addresses());
    pair.run_for(2 * SECOND);
    assert!(was_told(&pair.client, "10.0.2.1", AddressChange::Added));
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
    assert_eq!(first.kinds(), [AUTH, HEARTBEAT]);
}

#[test]
fn an_added_path_carries_data_during_the_transfer() {
    let mut pair = connected();
    submit_numbered(&mut pair, true, 400);
    submit_numbered(&mut pair, false, 400);
    pair.run_for(100 * MS);
    add_address(&mut pair, "10.0.2.1");
    pair.run_for(SECOND);
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
    submit_numbered(&mut pair, true, 100);
    submit_numbered(&mut pair, false, 100);
    let before = pair.log.len();
    pair.run_for(60 * SECOND);
    let carried = with_kinds(&pair.log[before..], "10.0.2.1", &[DATA]);
    let ways = [Way::ToServer, Way::ToClient];
    assert!(ways.iter().all(|way| carried.iter().any(|p| p.way == *way)));
    for host in [&pair.client, &pair.server] {
        let got = read_numbers(host);
        assert_eq!(got.len(), 500);
    }
    assert!(was_told(&pair.client, "10.0.2.1", AddressChange::Primary));
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
        pair.run_for(SECOND);
        // One packet in 40 is lost all the time, so that something is missing whenever a path goes.
        let mut n = 0;
        pair.lose_packets(move |_| {
            n += 1;
            if n % 40 == 0 { Verdict::Lose } else { Verdict::Deliver }
        });
        submit_numbered(&mut pair, true, 3000);
        submit_numbered(&mut pair, false, 3000);
        let steps = [
            (Way::ToServer, "10.9.0.1", "10.0.0.1"),
            (Way::ToClient, "10.9.0.2", "10.0.0.2"),
            (Way::ToServer, "10.9.1.1", "10.0.1.1"),
            (Way::ToClient, "10.9.1.2", "10.0.1.2"),
        ];
        for (way, new, old) in steps {
            pair.run_for(200 * MS);
            let now = pair.now;
            let host = if way == Way::ToServer { &mut pair.client } else { &mut pair.server };
            host.endpoint.add_address(now, socket(new));
            pair.run_for(600 * MS);
            let now = pair.now;
            let host = if way == Way::ToServer { &mut pair.client } else { &mut pair.server };
            host.endpoint.remove_address(now, ip(old));
        }
        assert!(pair.server.received.len() < 3000, "the transfer goes on meanwhile");
        pair.run_for(300 * SECOND);
        assert_eq!((pair.client.closed(), pair.server.closed()), (None, None), "{pairing:?}");
        let wanted: Vec<u32> = (0..3000).collect();
        assert!(
            read_numbers(&pair.server) == wanted && read_numbers(&pair.client) == wanted,
            "{pairing:?}"
        );
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
    submit_numbered(&mut pair, true, 100);
    // The device is gone: what leaves on the first path is lost.
    let gone = ip("10.0.0.1");
    pair.lose_packets(move |p| {
        let there = p.tuple.remote.ip() == gone || p.tuple.local.ip() == gone;
        if there { Verdict::Lose } else { Verdict::Deliver }
    });
    pair.run_for(50 * MS);
    let before = pair.log.len();
    remove_address(&mut pair, "10.0.0.1");
    pair.run_for(500 * MS);
    // Well before any timeout of a second: the other path took over at once.
    assert_eq!(read_numbers(&pair.server), (0..100).collect::<Vec<u32>>());
    assert!(with_kinds(&pair.log[before..], "10.0.0.1", &[DATA, ASCONF, SACK]).is_empty());
    assert!(pair.client.has_seen(&Event::PathRemoved(PathId(0))));
    assert!(pair.server.has_seen(&Event::PathRemoved(PathId(0))));
    assert_eq!(peers_of(&pair.server), [ip("10.0.1.1")]);
    let h = pair.client.handle();
    let stats = pair.client.endpoint.association(h).unwrap().stats();
    assert_eq!((stats.paths[0].state, stats.timeouts), (PathState::Removed, 0));
}

#[test]
fn what_a_removed_path_carried_is_traced_as_lost_then() {
    let mut pair = connected_with(AssocConfig { trace: true, ..config() }, config());
    submit_numbered(&mut pair, true, 100);
    // Nothing is acknowledged yet: no other path has room.
    pair.run_for(5 * MS);
    pair.client.association_mut().take_trace();
    remove_address(&mut pair, "10.0.0.1");
    let records = pair.client.association_mut().take_trace();
    let removed = |record: &TraceRecord| {
        matches!(record.event, TraceEvent::PathState { state: PathState::Removed, .. })
    };
    let lost = |record: &&TraceRecord| matches!(record.event, TraceEvent::ChunkLost { .. });
    assert!(records.iter().any(removed) && records.iter().filter(lost).count() > 2);
}

#[test]
fn the_only_address_is_replaced_gently() {
    let mut pair = single_homed();
    submit_numbered(&mut pair, true, 300);
    pair.run_for(30 * MS);
    add_address(&mut pair, "10.7.0.1");
    pair.run_for(200 * MS);
    remove_address(&mut pair, "10.0.0.1");
    pair.run_for(60 * SECOND);
    assert_eq!(read_numbers(&pair.server), (0..300).collect::<Vec<u32>>());
    assert_eq!(
        (ours_of(&pair.client), peers_of(&pair.server)),
        (vec![ip("10.7.0.1")], vec![ip("10.7.0.1")])
    );
}

#[test]
fn the_only_address_vanishes_and_another_takes_its_place() {
    // The new one comes first, or last.
    for add_first in [true, false] {
        let mut pair = single_homed();
        submit_numbered(&mut pair, true, 300);
        submit_numbered(&mut pair, false, 300);
        pair.run_for(30 * MS);
        let gone = ip("10.0.0.1");
        pair.lose_packets(move |p| {
            let there = p.tuple.remote.ip() == gone || p.tuple.local.ip() == gone;
            if there { Verdict::Lose } else { Verdict::Deliver }
        });
        let before = pair.log.len();
        if add_first {
            add_address(&mut pair, "10.7.0.1");
            remove_address(&mut pair, "10.0.0.1");
        } else {
            remove_address(&mut pair, "10.0.0.1");
            pair.run_for(3 * SECOND);
            add_address(&mut pair, "10.7.0.1");
        }
        pair.run_for(120 * SECOND);
        let wanted: Vec<u32> = (0..300).collect();
        assert!(
            read_numbers(&pair.server) == wanted && read_numbers(&pair.client) == wanted,
            "{add_first}"
        );
        assert_eq!(peers_of(&pair.server), [ip("10.7.0.1")]);
        // Found by the address parameter: the source was unknown to the server (5.3.2).
        let asconfs = with_kinds(&pair.log[before..], "10.7.0.1", &[ASCONF]);
        let chunk = split_chunks(asconfs[0]).into_iter().find(|c| c[0] == ASCONF).unwrap();
        assert_eq!(chunk[12..16], [10, 0, 0, 1]);
    }
}

#[test]
fn one_asconf_is_outstanding_and_goes_out_again_unchanged_on_another_path() {
    let mut pair = connected();
    let mut lost = 0;
    pair.lose_packets(move |p| {
        let hit = p.kinds().contains(&ASCONF) && lost < 2;
        lost += u32::from(hit);
        if hit { Verdict::Lose } else { Verdict::Deliver }
    });
    let before = pair.log.len();
    add_address(&mut pair, "10.0.2.1");
    pair.run_for(100 * MS);
    add_address(&mut pair, "10.0.3.1");
    add_address(&mut pair, "10.0.4.1");
    pair.run_for(20 * SECOND);
    let sent: Vec<Packet> =
        pair.log[before..].iter().filter(|p| p.kinds().contains(&ASCONF)).cloned().collect();
    let only = |p: &Packet| split_chunks(p).into_iter().find(|c| c[0] == ASCONF).unwrap();
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
    pair.lose_packets(
        |p| if p.kinds().contains(&ASCONF) { Verdict::Lose } else { Verdict::Deliver },
    );
    add_address(&mut pair, "10.0.2.1");
    pair.run_for(3600 * SECOND);
    // Heartbeats are answered and clear the count between the expiries: the association lives on,
    // and goes on trying.
    assert!(pair.sent(Way::ToServer, ASCONF) > 10);
    pair.lose_packets(|_| Verdict::Lose);
    pair.run_for(7200 * SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
}

#[test]
fn the_wish_for_a_primary_is_heeded_once_the_address_is_proven() {
    let mut pair = connected();
    add_address(&mut pair, "10.0.2.1");
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    assert_eq!(client.set_peer_primary(now, ip("10.0.2.1")), Ok(()));
    let unknown = AddressError::Unknown { address: ip("10.8.8.8") };
    assert_eq!(client.set_peer_primary(now, ip("10.8.8.8")), Err(unknown));
    pair.run_for(2 * SECOND);
    let h = pair.server.handle();
    let server = pair.server.endpoint.association(h).unwrap();
    let primary = server.view(pair.now).primary;
    assert_eq!(server.path_tuple(primary).unwrap().remote.ip(), ip("10.0.2.1"));
    assert!(pair.server.has_seen(&Event::PrimaryChanged(primary)));
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
    pair.run_for(SECOND);
    submit_numbered(&mut pair, true, 200);
    submit_numbered(&mut pair, false, 200);
    pair.run_for(20 * MS);
    add_address(&mut pair, "192.168.1.1");
    pair.run_for(SECOND);
    assert_eq!(peers_of(&pair.server), [ip("10.50.0.1"), ip("10.50.1.1")]);
    assert!(is_active(&pair.server, "10.0.0.2", "10.50.1.1"));
    remove_address(&mut pair, "192.168.0.1");
    pair.run_for(60 * SECOND);
    assert_eq!(peers_of(&pair.server), [ip("10.50.1.1")]);
    let wanted: Vec<u32> = (0..200).collect();
    assert!(read_numbers(&pair.server) == wanted && read_numbers(&pair.client) == wanted);
    // No address of ours was ever told.
    for packet in pair.log.iter().filter(|p| p.way == Way::ToServer) {
        assert!(packet.data.windows(2).all(|bytes| bytes != [192, 168]));
    }
}

#[test]
fn serial_numbers_wrap() {
    let near = AssocConfig { reproduction: begin_at(Tsn(u32::MAX - 1)), ..config() };
    let mut pair = connected_with(near.clone(), near);
    for i in 0..5 {
        let address = format!("10.6.0.{}", i + 1);
        add_address(&mut pair, &address);
        pair.run_for(SECOND);
        assert!(was_told(&pair.client, &address, AddressChange::Added), "{i}");
    }
    assert_eq!(peers_of(&pair.server).len(), 7);
    let serials: Vec<u32> = pair
        .log
        .iter()
        .filter(|p| p.kinds().contains(&ASCONF))
        .map(|p| {
            let chunk = split_chunks(p).into_iter().find(|c| c[0] == ASCONF).unwrap();
            u32::from_be_bytes(chunk[4..8].try_into().unwrap())
        })
        .collect();
    assert_eq!(serials, [u32::MAX - 1, u32::MAX, 0, 1, 2]);
}

#[test]
fn a_peer_that_does_not_know_asconf_is_never_asked_again() {
    let mut pair = connected();
    pair.lose_packets(
        |p| if p.kinds().contains(&ASCONF) { Verdict::Lose } else { Verdict::Deliver },
    );
    add_address(&mut pair, "10.0.2.1");
    pair.run_for(100 * MS);
    let sent = pair.log.iter().find(|p| p.kinds().contains(&ASCONF)).unwrap();
    let quoted = split_chunks(sent).into_iter().find(|c| c[0] == ASCONF).unwrap();
    let causes: CausesBuf = [ErrorCause::UnrecognizedChunk(&quoted)].into_iter().collect();
    let tag = read_init(&pair.log[0]);
    let error = to_client(tag, &[&chunk(ErrorChunk { causes: causes.as_causes() })]);
    pair.inject_packet(Way::ToClient, client_paths()[0], &error);
    let before = pair.sent(Way::ToServer, ASCONF);
    pair.run_for(60 * SECOND);
    assert_eq!(pair.sent(Way::ToServer, ASCONF), before);
    assert!(was_told(&pair.client, "10.0.2.1", AddressChange::AddRefused { cause: None }));
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    assert_eq!(client.add_local_address(now, socket("10.0.3.1")), Err(AddressError::Unsupported));
}

#[test]
fn the_only_address_comes_back_when_its_successor_is_refused() {
    let mut pair = single_homed();
    submit_numbered(&mut pair, true, 100);
    pair.lose_packets(
        |p| if p.kinds().contains(&ASCONF) { Verdict::Lose } else { Verdict::Deliver },
    );
    add_address(&mut pair, "10.7.0.1");
    remove_address(&mut pair, "10.0.0.1");
    pair.run_for(100 * MS);
    let sent = pair.log.iter().find(|p| p.kinds().contains(&ASCONF)).unwrap();
    let quoted = split_chunks(sent).into_iter().find(|c| c[0] == ASCONF).unwrap();
    let causes: CausesBuf = [ErrorCause::UnrecognizedChunk(&quoted)].into_iter().collect();
    let error =
        to_client(read_init(&pair.log[0]), &[&chunk(ErrorChunk { causes: causes.as_causes() })]);
    pair.inject_packet(Way::ToClient, client_paths()[0], &error);
    assert!(was_told(&pair.client, "10.7.0.1", AddressChange::AddRefused { cause: None }));
    assert!(was_told(&pair.client, "10.0.0.1", AddressChange::RemoveRefused { cause: 0 }));
    pair.run_for(60 * SECOND);
    assert_eq!(ours_of(&pair.client), [ip("10.0.0.1")]);
    assert_eq!(read_numbers(&pair.server), (0..100).collect::<Vec<u32>>());
}

#[test]
fn requests_that_the_peer_does_not_know_are_never_made_again() {
    for primary in [false, true] {
        let mut pair = connected();
        pair.lose_packets(|p| {
            if p.kinds().contains(&ASCONF) { Verdict::Lose } else { Verdict::Deliver }
        });
        if primary {
            let (now, h) = (pair.now, pair.client.handle());
            let client = pair.client.endpoint.association_mut(h).unwrap();
            client.set_peer_primary(now, ip("10.0.1.1")).unwrap();
        } else {
            add_address(&mut pair, "10.0.2.1");
        }
        pair.run_for(10 * MS);
        if !primary {
            remove_address(&mut pair, "10.0.1.1");
        }
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
        pair.run_for(SECOND);
        let more = pair.sent(Way::ToServer, ASCONF) - asked;
        assert_eq!(more > 0, primary, "the other kind of request is not meant");
        let change = if primary {
            AddressChange::PrimaryRefused { cause: 8 }
        } else {
            AddressChange::AddRefused { cause: Some(8) }
        };
        assert!(was_told(&pair.client, if primary { "10.0.1.1" } else { "10.0.2.1" }, change));
        // What waited for its turn is refused with it.
        let kept = AddressChange::RemoveRefused { cause: 0 };
        assert_eq!(was_told(&pair.client, "10.0.1.1", kept), !primary);
        assert!(ours_of(&pair.client).contains(&ip("10.0.1.1")));
    }
}

#[test]
fn an_abort_for_an_address_that_goes_is_ignored() {
    let mut pair = connected();
    pair.lose_packets(
        |p| if p.kinds().contains(&ASCONF) { Verdict::Lose } else { Verdict::Deliver },
    );
    remove_address(&mut pair, "10.0.1.1");
    pair.run_for(50 * MS);
    let tag = read_init(&pair.log[0]);
    let abort = to_client(tag, &[&abort(false)]);
    pair.inject_packet(Way::ToClient, client_paths()[1], &abort);
    assert_eq!(pair.client.closed(), None);
    // DATA that arrives there counts (F4).
    let before = pair.client.received.len();
    pair.server.endpoint.association_mut(pair.server.handle()).unwrap();
    let h = pair.server.handle();
    let now = pair.now;
    assert!(pair.server.endpoint.association_mut(h).unwrap().set_primary(now, PathId(1)));
    submit_numbered(&mut pair, false, 3);
    pair.run_for(100 * MS);
    assert_eq!(pair.client.received.len(), before + 3);
    pair.inject_packet(Way::ToClient, client_paths()[0], &abort);
    assert!(pair.client.closed().is_some(), "elsewhere it counts");
}

#[test]
fn what_was_refused_is_undone() {
    // The server has no room for another address: the client asks for one too many.
    let mut pair = connected();
    for i in 1..=14 {
        add_address(&mut pair, &format!("10.6.0.{i}"));
    }
    pair.run_for(5 * SECOND);
    assert_eq!(peers_of(&pair.server).len(), 16);
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    assert_eq!(client.add_local_address(now, socket("10.6.0.99")), Err(AddressError::TooMany));
    // A deletion that the server refuses: it is asked from another address than it is about, so
    // only a lie makes it refuse.
    pair.lose_packets(
        |p| if p.kinds().contains(&ASCONF) { Verdict::Lose } else { Verdict::Deliver },
    );
    remove_address(&mut pair, "10.0.1.1");
    pair.run_for(10 * MS);
    let none = ParamsBuf::new();
    answer_with(&mut pair, &ErrorCause::NoAuthorization(none.as_params()));
    pair.deliver_all();
    pair.run_for(2 * SECOND);
    assert!(was_told(&pair.client, "10.0.1.1", AddressChange::RemoveRefused { cause: 0xa4 }));
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
    submit_numbered(&mut pair, true, 20);
    pair.run_for(10 * SECOND);
    assert_eq!(pair.sent(Way::ToServer, ASCONF), 0);
    assert_eq!(read_numbers(&pair.server).len(), 20);
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
    pair.run_for(15 * MS);
    // The INIT ACK is on its way, with the server's addresses of now.
    let now = pair.now;
    pair.server.endpoint.add_address(now, socket("10.0.2.2"));
    pair.server.endpoint.remove_address(now, ip("10.0.1.2"));
    pair.run_for(3 * SECOND);
    assert_eq!(peers_of(&pair.server), [ip("10.0.0.1"), ip("10.0.1.1"), ip("10.0.2.1")]);
    assert_eq!(peers_of(&pair.client), [ip("10.0.0.2"), ip("10.0.2.2")]);
    let asked = |way| pair.log.iter().any(|p| p.way == way && p.kinds().contains(&ASCONF));
    assert!(asked(Way::ToServer) && asked(Way::ToClient));
}

#[test]
fn numbers_of_paths_are_used_again_only_when_there_are_no_others() {
    let mut pair = single_homed();
    for i in 1..=40_u32 {
        add_address(&mut pair, &format!("10.6.0.{i}"));
        pair.run_for(SECOND);
        let old = if i == 1 { "10.0.0.1".to_owned() } else { format!("10.6.0.{}", i - 1) };
        remove_address(&mut pair, &old);
        submit_numbered(&mut pair, true, 5);
        submit_numbered(&mut pair, false, 5);
        pair.run_for(SECOND);
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
    submit_numbered(&mut pair, true, 300);
    submit_numbered(&mut pair, false, 300);
    pair.run_for(50 * MS);
    for (i, address) in [(0, "10.0.5.1"), (1, "10.0.5.2")] {
        let now = pair.now;
        let host = if i == 0 { &mut pair.client } else { &mut pair.server };
        host.endpoint.add_address(now, socket(address));
        host.endpoint.remove_address(now, ip(["10.0.0.1", "10.0.1.2"][i]));
    }
    pair.run_for(60 * SECOND);
    let wanted: Vec<u32> = (0..300).collect();
    assert!(read_numbers(&pair.server) == wanted && read_numbers(&pair.client) == wanted);
    assert_eq!(peers_of(&pair.server), [ip("10.0.1.1"), ip("10.0.5.1")]);
    assert_eq!(peers_of(&pair.client), [ip("10.0.0.2"), ip("10.0.5.2")]);
}

#[test]
fn addresses_change_while_the_association_shuts_down() {
    let mut pair = connected();
    submit_numbered(&mut pair, true, 200);
    pair.run_for(30 * MS);
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(10 * MS);
    add_address(&mut pair, "10.0.2.1");
    remove_address(&mut pair, "10.0.0.1");
    pair.run_for(60 * SECOND);
    assert_eq!(read_numbers(&pair.server), (0..200).collect::<Vec<u32>>());
    assert_eq!(pair.server.closed(), Some(CloseReason::Shutdown));
    assert_eq!(pair.client.closed(), Some(CloseReason::Shutdown));
}

#[test]
fn a_restart_forgets_what_was_changed() {
    let mut pair = connected();
    add_address(&mut pair, "10.0.2.1");
    pair.run_for(SECOND);
    remove_address(&mut pair, "10.0.1.1");
    pair.run_for(SECOND);
    // The client has lost everything and comes back with one address that the server knows.
    pair.client = End::new(at(CLIENT_PORT, &[ip("10.0.0.1")], config()), 99);
    let path = [client_paths()[0]];
    pair.client.endpoint.connect(pair.now, &path, SERVER_PORT, Arc::new(config())).unwrap();
    pair.run_for(3 * SECOND);
    assert!(pair.server.has_seen(&Event::Restarted));
    // What was taken back is not known any more.
    assert_eq!(peers_of(&pair.server), [ip("10.0.0.1"), ip("10.0.2.1")]);
    add_address(&mut pair, "10.0.3.1");
    pair.run_for(2 * SECOND);
    let known = [ip("10.0.0.1"), ip("10.0.2.1"), ip("10.0.3.1")];
    assert_eq!(peers_of(&pair.server), known);
    let (now, before) = (pair.now, pair.server.received.len());
    pair.client.send(now, b"new life");
    pair.run_for(SECOND);
    assert_eq!(pair.server.received.len(), before + 1);
}
