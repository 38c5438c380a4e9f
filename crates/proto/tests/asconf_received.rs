//! Addresses that come and go during an association (RFC 5061): what a received ASCONF may do, and
//! what not.

use polypath_proto::CloseReason;
use polypath_proto::config::AssocConfig;
use polypath_proto::event::AddressChange;
use polypath_testkit::pair::authentic::*;
use polypath_testkit::pair::changing::*;
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::{self, *};
use polypath_wire::param::AsconfRequest;
use polypath_wire::{AsconfAckChunk, AsconfChunk, Parameter, ParamsBuf};

#[test]
fn a_replayed_asconf_changes_nothing_and_is_answered_as_before() {
    let mut pair = connected();
    let packet =
        forge_asconf(&pair, 0, "10.0.0.1", &[Ask::Add("10.6.0.1"), Ask::Delete("10.0.1.1")]);
    let first = inject_at_server(&mut pair, at_server(), &packet);
    assert_eq!(asconf_verdicts(last_ack(&first)), (vec![], vec![]));
    let after = vec![ip("10.0.0.1"), ip("10.6.0.1")];
    assert_eq!(peers_of(&pair.server), after);
    let again = inject_at_server(&mut pair, at_server(), &packet);
    assert_eq!(split_chunks(last_ack(&again))[1], split_chunks(last_ack(&first))[1]);
    assert_eq!(peers_of(&pair.server), after);
    let next = forge_asconf(&pair, 1, "10.0.0.1", &[Ask::Add("10.0.1.1")]);
    inject_at_server(&mut pair, at_server(), &next);
    let now = peers_of(&pair.server);
    assert_eq!(now.len(), 3);
    // The old one is forgotten, one from the future was never asked for: neither is answered,
    // neither does anything.
    let future = forge_asconf(&pair, 3, "10.0.0.1", &[Ask::Delete("10.0.1.1")]);
    for late in [packet, future] {
        let answers = inject_at_server(&mut pair, at_server(), &late);
        assert!(answers.iter().all(|p| !p.kinds().contains(&ASCONF_ACK)));
        assert_eq!(peers_of(&pair.server), now);
    }
}

#[test]
fn an_asconf_without_proof_is_dropped_in_silence() {
    let mut pair = connected();
    let good = forge_asconf(&pair, 0, "10.0.0.1", &[Ask::Add("10.6.0.1")]);
    let bare = tamper_with(&good, |bytes| {
        bytes.drain(12..52);
    });
    let forged = tamper_with(&good, |bytes| *bytes.last_mut().unwrap() ^= 1);
    let unknown_key = tamper_with(&good, |bytes| bytes[17] = 9);
    let short = tamper_with(&good, |bytes| {
        bytes.drain(48..52);
        bytes[15] -= 4;
    });
    for packet in [bare, forged, unknown_key, short] {
        assert_eq!(inject_at_server(&mut pair, at_server(), &packet).len(), 0);
        // Nor from an address that the association does not have.
        let elsewhere = reverse_tuple(tuple("10.6.0.1", "10.0.0.2"));
        assert_eq!(inject_at_server(&mut pair, elsewhere, &packet).len(), 0);
    }
    assert_eq!(peers_of(&pair.server), client_addresses());
}

#[test]
fn a_victim_gets_no_data_before_it_proves_itself() {
    let mut pair = connected();
    let victim = ip("192.0.2.66");
    // A client that lies: nothing comes from there, and the victim answers nothing.
    pair.lose_packets(move |p| {
        let there = p.tuple.local.ip() == victim || p.tuple.remote.ip() == victim;
        if there { Verdict::Lose } else { Verdict::Deliver }
    });
    add_address(&mut pair, "192.0.2.66");
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    client.set_peer_primary(now, victim).unwrap();
    pair.run_for(100 * MS);
    assert!(was_told(&pair.client, "192.0.2.66", AddressChange::Primary));
    submit_numbered(&mut pair, false, 200);
    pair.run_for(600 * SECOND);
    assert_eq!(read_numbers(&pair.client).len(), 200);
    let to_victim: Vec<&Packet> = pair
        .log
        .iter()
        .filter(|p| p.way == Way::ToClient && p.tuple.local.ip() == victim)
        .collect();
    assert!((1..=6).contains(&to_victim.len()), "{} heartbeats", to_victim.len());
    for packet in to_victim {
        assert_eq!(packet.kinds(), [AUTH, HEARTBEAT]);
        assert!(packet.data.len() <= 100);
    }
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
        let packet = forge_asconf(&pair, 0, "10.0.0.1", asked);
        let answers = inject_at_server(&mut pair, at_server(), &packet);
        assert_eq!(asconf_verdicts(last_ack(&answers)), (errors.to_vec(), good.to_vec()));
        // The refused request is quoted.
        if let Some((_, 0xa0..=0xa4)) = errors.first() {
            let ack = split_chunks(last_ack(&answers)).pop().unwrap();
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
    let packet = forge_asconf(&pair, 0, "10.0.0.1", &asked);
    let answers = inject_at_server(&mut pair, at_server(), &packet);
    let (errors, good) = asconf_verdicts(last_ack(&answers));
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
        let answers = inject_at_server(&mut pair, at_server(), &packet);
        let (errors, good) = asconf_verdicts(last_ack(&answers));
        assert_eq!(errors, if reported { vec![(55, 8)] } else { vec![] });
        assert_eq!(good, if reported && goes_on { vec![2] } else { vec![] });
        assert_eq!(peers_of(&pair.server).len(), if goes_on { 4 } else { 3 });
    }
}

#[test]
fn wildcards_stand_for_the_source_or_for_all_others() {
    let mut pair = connected();
    // From an address that the association has not: found by the address parameter.
    let elsewhere = reverse_tuple(tuple("10.6.0.1", "10.0.0.2"));
    let asked = [Ask::Add("0.0.0.0"), Ask::Primary("0.0.0.0")];
    let packet = forge_asconf(&pair, 0, "10.0.0.1", &asked);
    let answers = inject_at_server(&mut pair, elsewhere, &packet);
    assert_eq!(last_ack(&answers).tuple, reverse_tuple(elsewhere), "answered where it came from");
    let all = vec![ip("10.0.0.1"), ip("10.0.1.1"), ip("10.6.0.1")];
    assert_eq!(peers_of(&pair.server), all);
    let packet = forge_asconf(&pair, 1, "0.0.0.0", &[Ask::Delete("0.0.0.0")]);
    let answers = inject_at_server(&mut pair, elsewhere, &packet);
    assert_eq!(asconf_verdicts(last_ack(&answers)), (vec![], vec![]));
    assert_eq!(peers_of(&pair.server), [ip("10.6.0.1")]);
    // From the old addresses the server hears nothing any more: out of the blue (F13).
    let tag = server_tag(&pair);
    let cookie_ack = to_server(tag, &[&chunk(polypath_wire::Chunk::ShutdownAck)]);
    let answers = inject_at_server(&mut pair, at_server(), &cookie_ack);
    assert_eq!(answers[0].first_kind(), SHUTDOWN_COMPLETE);
    assert_eq!(answers[0].first_flags(), 1, "reflected: belongs to no association");
}

#[test]
fn a_wildcard_finds_its_association_by_the_tag() {
    let mut pair = connected();
    let elsewhere = reverse_tuple(tuple("10.6.0.1", "10.0.0.2"));
    let packet = forge_asconf(&pair, 0, "0.0.0.0", &[Ask::Add("0.0.0.0")]);
    // With a wrong tag there is none, and with a wrong proof nothing happens.
    let wrong_tag = tamper_with(&packet, |bytes| bytes[4] ^= 1);
    let answers = inject_at_server(&mut pair, elsewhere, &wrong_tag);
    assert!(answers.iter().all(|p| p.first_kind() == ABORT));
    let forged = tamper_with(&packet, |bytes| bytes[30] ^= 1);
    assert!(inject_at_server(&mut pair, elsewhere, &forged).is_empty());
    assert_eq!(peers_of(&pair.server), client_addresses());
    inject_at_server(&mut pair, elsewhere, &packet);
    assert_eq!(peers_of(&pair.server).len(), 3);
}

#[test]
fn an_answer_to_nothing_ends_the_association() {
    for (ahead, ends) in [(0_u32, true), (1000, true), (0x7fff_ffff, true), (u32::MAX, false)] {
        let mut pair = connected();
        // From client to server: the server never sent an ASCONF.
        let ack = split_chunks(&pair.last_with(INIT_ACK)).remove(0);
        let serial = u32::from_be_bytes(ack[16..20].try_into().unwrap()).wrapping_add(ahead);
        let push = move |w: &mut polypath_wire::PacketWriter<'_>| {
            let params = ParamsBuf::new();
            w.push(&AsconfAckChunk { serial, params: params.as_params() }).unwrap();
        };
        let packet = overhear_handshake(&pair).authenticated_packet(
            PORTS,
            server_tag(&pair),
            EMPTY,
            &[&push],
        );
        let answers = inject_at_server(&mut pair, at_server(), &packet);
        assert_eq!(pair.server.closed().is_some(), ends, "{ahead}");
        if ends {
            assert_eq!(read_causes(&answers[0]).1, [0xa3]);
        }
    }
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
        w.insert(end, &pair::authentic::Bytes(&all));
    };
    let packet =
        overhear_handshake(&pair).authenticated_packet(PORTS, server_tag(&pair), EMPTY, &[&push]);
    let answers = inject_at_server(&mut pair, at_server(), &packet);
    assert_eq!(peers_of(&pair.server).len(), 3, "the last was performed, too");
    let acks: Vec<&Packet> = answers.iter().filter(|p| p.kinds().contains(&ASCONF_ACK)).collect();
    assert_eq!(acks.len(), 1);
    let kinds = acks[0].kinds();
    let told = kinds.iter().filter(|kind| **kind == ASCONF_ACK).count();
    assert!((30..50).contains(&told) && acks[0].data.len() <= 1480, "{told} answers");
    // The peer asks again for what it misses.
    let last = forge_asconf(&pair, 50, "10.0.0.1", &[Ask::Add("10.6.0.1")]);
    let again = inject_at_server(&mut pair, at_server(), &last);
    assert_eq!(asconf_verdicts(last_ack(&again)), (vec![], vec![]));
    assert_eq!(peers_of(&pair.server).len(), 3);
}

/// The client names an address and takes the only proven one back: what the server then has was
/// never answered from.
fn move_to_unproven(pair: &mut Pair, asked: &[Ask], ahead: u32) {
    let packet = forge_asconf(pair, ahead, "10.0.0.1", asked);
    inject_at_server(pair, reverse_tuple(tuple("10.6.0.1", "10.0.0.2")), &packet);
    assert_eq!(peers_of(&pair.server), [ip("10.6.0.1")]);
}

fn heartbeats_to(pair: &Pair, client: &str) -> usize {
    let there = |p: &&Packet| p.way == Way::ToClient && p.tuple.local.ip() == ip(client);
    pair.log.iter().filter(there).filter(|p| p.kinds().contains(&HEARTBEAT)).count()
}

#[test]
fn left_with_nothing_proven_an_association_gives_up_in_the_end() {
    for (waiting, heartbeats) in [(0, true), (50, true), (50, false)] {
        let interval = config().heartbeat_interval.filter(|_| heartbeats);
        let server = AssocConfig { heartbeat_interval: interval, path_max_retrans: 1, ..config() };
        let mut pair = single_with(server);
        pair.lose_packets(|_| Verdict::Lose);
        submit_numbered(&mut pair, false, waiting);
        move_to_unproven(&mut pair, &[Ask::Add("10.6.0.1"), Ask::Delete("10.0.0.1")], 0);
        pair.run_for(7200 * SECOND);
        assert_eq!(pair.server.closed(), Some(CloseReason::Unreachable));
        // What a stranger at that address could be made to get is bounded by
        // Association.Max.Retrans.
        let heartbeats = heartbeats_to(&pair, "10.6.0.1");
        assert!((2..=12).contains(&heartbeats), "{heartbeats} heartbeats");
    }
}

#[test]
fn probing_begins_anew_once_nothing_else_is_left() {
    let mut pair = single_with(config());
    // Nor may the client hear of an ASCONF that it never sent.
    let lost = |p: &Packet| p.tuple.local.ip() == ip("10.6.0.1") || p.kinds().contains(&ASCONF_ACK);
    pair.lose_packets(move |p| if lost(p) { Verdict::Lose } else { Verdict::Deliver });
    let add = forge_asconf(&pair, 0, "10.0.0.1", &[Ask::Add("10.6.0.1")]);
    inject_at_server(&mut pair, at_server(), &add);
    pair.run_for(600 * SECOND);
    assert_eq!(heartbeats_to(&pair, "10.6.0.1"), 6);
    pair.lose_packets(|_| Verdict::Lose);
    move_to_unproven(&mut pair, &[Ask::Delete("10.0.0.1")], 1);
    pair.run_for(7200 * SECOND);
    assert_eq!(pair.server.closed(), Some(CloseReason::Unreachable));
    let heartbeats = heartbeats_to(&pair, "10.6.0.1");
    assert!((8..=18).contains(&heartbeats), "{heartbeats} heartbeats");
}
