//! Packets that belong to no association, or claim to belong to one (RFC 9260 sections 5.1, 8.4 and
//! 8.5; RFC 5062).

use core::net::Ipv4Addr;
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::{
    CausesBuf, Chunk, ErrorCause, ErrorChunk, HeartbeatRepr, InitFixed, Parameter, ShutdownChunk,
    Tsn,
};

fn complete(reflected: bool) -> Chunk<'static> {
    Chunk::ShutdownComplete { reflected }
}

/// What the server answers to `data` out of the blue.
fn answer(data: &[u8]) -> Vec<Packet> {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.inject_packet(Way::ToServer, at_server(), data);
    assert_eq!(pair.server.count(), 0);
    pair.log
}

#[test]
fn the_table_of_packets_out_of_the_blue() {
    let heartbeat = chunk(HeartbeatRepr { info: b"x" });
    let stale = |w: &mut polypath_wire::PacketWriter<'_>| {
        let causes: CausesBuf = [ErrorCause::StaleCookie(1)].into_iter().collect();
        w.push(&ErrorChunk { causes: causes.as_causes() }).unwrap();
    };
    let shutdown = chunk(ShutdownChunk { cumulative_tsn: Tsn(1) });
    let (shutdown_ack, cookie_ack) = (chunk(Chunk::ShutdownAck), chunk(Chunk::CookieAck));
    let (abort_t, init, complete) = (abort(true), chunk(init(5)), chunk(complete(false)));
    type Push<'a> = &'a dyn Fn(&mut polypath_wire::PacketWriter<'_>);
    let table: &[(&[Push<'_>], Option<u8>)] = &[
        (&[&abort_t], None),
        (&[&heartbeat, &abort_t], None),
        (&[&heartbeat, &init], None),
        (&[&shutdown_ack], Some(SHUTDOWN_COMPLETE)),
        (&[&heartbeat, &shutdown_ack], Some(SHUTDOWN_COMPLETE)),
        (&[&complete], None),
        (&[&cookie_ack], None),
        (&[&stale], None),
        (&[&heartbeat], Some(ABORT)),
        (&[&shutdown], Some(ABORT)),
    ];
    for (i, (chunks, expected)) in table.iter().enumerate() {
        let log = answer(&to_server(0x1234, chunks));
        assert_eq!(log.first().map(Packet::first_kind), *expected, "row {i}");
        for reply in &log {
            let reflected = reply.data[13] & 1 == 1;
            assert_eq!((reply.tag(), reflected, reply.kinds().len()), (0x1234, true, 1), "row {i}");
        }
        assert_eq!(answer(&to_server(0, chunks)).len(), 0, "tag 0, row {i}");
    }
}

#[test]
fn nothing_is_sent_to_addresses_that_are_no_hosts() {
    let data = to_server(9, &[&chunk(Chunk::ShutdownAck)]);
    let init = to_server(0, &[&chunk(init(5))]);
    for source in ["224.0.0.1", "255.255.255.255", "0.0.0.0"] {
        let mut pair = Pair::new();
        pair.inject_packet(Way::ToServer, tuple("10.0.0.2", source), &data);
        pair.inject_packet(Way::ToServer, tuple("10.0.0.2", source), &init);
        pair.inject_packet(Way::ToServer, tuple("224.0.0.1", "10.0.0.1"), &data);
        assert_eq!(pair.log.len(), 0, "{source}");
    }
}

#[test]
fn a_hundred_thousand_inits_leave_nothing_behind() {
    let mut pair = Pair::new();
    for i in 0..100_000u32 {
        let [_, a, b, c] = i.to_be_bytes();
        let mut from = at_server();
        from.remote.set_ip(Ipv4Addr::new(172, a, b, c).into());
        pair.server.endpoint.handle_datagram(pair.now, from, &to_server(0, &[&chunk(init(i + 1))]));
    }
    assert_eq!(pair.server.count(), 0);
    let stats = pair.server.endpoint.stats();
    // What waits to be fetched is bounded, too.
    assert_eq!(stats.stateless_replies, 1024);
    assert_eq!(stats.stateless_replies + stats.replies_suppressed, 100_000);
    pair.exchange_packets();
    assert!(pair.log.len() <= 1024);
}

#[test]
fn stateless_replies_are_limited_per_second() {
    let mut config = endpoint(SERVER_PORT, &server_addresses());
    config.replies.out_of_the_blue = 5;
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), config);
    pair.lose_packets(|_| Verdict::Lose);
    for _ in 0..50 {
        pair.inject_packet(
            Way::ToServer,
            at_server(),
            &to_server(7, &[&chunk(Chunk::ShutdownAck)]),
        );
    }
    assert_eq!(pair.log.len(), 5);
    pair.run_for(Duration::from_secs(1));
    pair.inject_packet(Way::ToServer, at_server(), &to_server(7, &[&chunk(Chunk::ShutdownAck)]));
    assert_eq!(pair.log.len(), 6);
}

#[test]
fn bundled_or_tagged_inits_are_dropped_in_silence() {
    let (init, ack) = (chunk(init(5)), chunk(Chunk::CookieAck));
    assert_eq!(answer(&to_server(0, &[&init, &ack])).len(), 0);
    assert_eq!(answer(&to_server(0, &[&init, &init])).len(), 0);
    assert_eq!(answer(&to_server(9, &[&init])).len(), 0);
    let mut pair = Pair::connected();
    let (tag, before) = (read_init_ack(&pair.last_with(INIT_ACK)).0, pair.log.len());
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&ack, &init]));
    assert_eq!(pair.log.len(), before);
}

#[test]
fn invalid_inits_are_refused_with_their_own_tag() {
    let good = fixed(5);
    let host = [Parameter::HostName(b"host")];
    let cases = [
        (init_with(InitFixed { a_rwnd: 1499, ..good }, &[]), 7),
        (init_with(InitFixed { outbound_streams: 0, ..good }, &[]), 7),
        (init_with(InitFixed { inbound_streams: 0, ..good }, &[]), 7),
        (init_with(good, &host), 5),
    ];
    for (init, cause) in cases {
        let log = answer(&to_server(0, &[&chunk(init)]));
        assert_eq!(log.len(), 1);
        assert_eq!((log[0].tag(), read_causes(&log[0])), (5, (false, vec![cause])));
    }
    assert_eq!(answer(&to_server(0, &[&chunk(init(0))])).len(), 0);
}

#[test]
fn endpoints_that_do_not_accept_or_are_full_say_so() {
    let mut config = endpoint(SERVER_PORT, &server_addresses());
    config.accept = false;
    let client = || endpoint(CLIENT_PORT, &client_addresses());
    let mut pair = Pair::with(client(), config.clone());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.client.closed(), Some(CloseReason::PeerAbort { cause: None }));
    config.accept = true;
    config.max_associations = 0;
    let mut pair = Pair::with(client(), config);
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.client.closed(), Some(CloseReason::PeerAbort { cause: Some(4) }));
}

#[test]
fn an_init_ack_is_at_most_three_times_the_init() {
    for count in 0..20 {
        let params: Vec<Parameter<'_>> =
            (0..count).map(|_| Parameter::ForwardTsnSupported).collect();
        let data = to_server(0, &[&chunk(init_with(fixed(5), &params))]);
        let mut config = endpoint(SERVER_PORT, &server_addresses()[..1]);
        config.replies.init_acks = 1;
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), config);
        pair.inject_packet(Way::ToServer, at_server(), &data);
        let reply = pair.log[0].data.len();
        assert!(reply <= 3 * data.len(), "{} bytes for {}", reply, data.len());
    }
}

#[test]
fn a_thousand_addresses_get_a_bounded_number_of_heartbeats_and_nothing_else() {
    let addresses: Vec<Parameter<'_>> = (0..1000u16)
        .map(|i| Parameter::Ipv4(Ipv4Addr::new(192, 0, (i >> 8) as u8, i as u8)))
        .collect();
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.inject_packet(
        Way::ToServer,
        at_server(),
        &to_server(0, &[&chunk(init_with(fixed(77), &addresses))]),
    );
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&cookie_echo(cookie)]));
    let now = pair.now;
    pair.server.send(now, b"for the proven address only");
    pair.run_for(Duration::from_secs(20));
    let h = pair.server.handle();
    let assoc = pair.server.endpoint.association(h).unwrap();
    assert!(assoc.view(pair.now).paths.len() <= 16);
    for packet in pair.sent_since(before) {
        if packet.tuple.local.ip() != ip("10.0.0.1") {
            assert_eq!(packet.kinds(), [4], "only heartbeats to {}", packet.tuple.local);
        }
    }
}

#[test]
fn whoever_has_our_tag_is_no_stranger_and_ends_nothing() {
    let mut pair = Pair::connected();
    let tag = read_init_ack(&pair.last_with(INIT_ACK)).0;
    // The peer's packet is ahead of the ASCONF that adds its address, or a NAT has a new one.
    let elsewhere = tuple("10.0.0.2", "192.168.7.7");
    let heartbeat = chunk(HeartbeatRepr { info: b"x" });
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, elsewhere, &to_server(tag, &[&heartbeat]));
    assert_eq!((pair.log.len(), pair.server.state()), (before, State::Established));
    pair.inject_packet(Way::ToServer, elsewhere, &to_server(tag ^ 1, &[&heartbeat]));
    assert_eq!(pair.log.len(), before + 1, "any other tag is refused");
    assert_eq!(pair.server.endpoint.stats().out_of_the_blue, 2);
    // Once the association is over, its tag is nobody's.
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&abort(false)]));
    assert!(pair.server.closed().is_some());
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, elsewhere, &to_server(tag, &[&heartbeat]));
    assert_eq!(pair.log.len(), before + 1);
}

#[test]
fn packets_with_a_wrong_tag_do_nothing() {
    let mut pair = Pair::connected();
    let tag = read_init_ack(&pair.last_with(INIT_ACK)).0;
    let before = pair.log.len();
    let shutdown = chunk(ShutdownChunk { cumulative_tsn: Tsn(1) });
    let data = chunk(polypath_wire::DataChunk {
        tsn: Tsn(1),
        stream: polypath_wire::StreamId(0),
        ssn: polypath_wire::Ssn(0),
        ppid: 0,
        flags: polypath_wire::DataFlags::default(),
        payload: b"x",
    });
    for wrong in [0, tag ^ 1] {
        pair.inject_packet(Way::ToServer, at_server(), &to_server(wrong, &[&shutdown]));
        pair.inject_packet(Way::ToServer, at_server(), &to_server(wrong, &[&data]));
        pair.inject_packet(Way::ToServer, at_server(), &to_server(wrong, &[&abort(false)]));
    }
    assert_eq!((pair.log.len(), pair.server.state()), (before, State::Established));
    assert_eq!(pair.server.endpoint.stats().bad_tag, 6);
}

#[test]
fn the_t_bit_of_an_abort_says_whose_tag_it_carries() {
    let tags = |pair: &Pair| (read_init(&pair.log[0]), read_init_ack(&pair.last_with(INIT_ACK)).0);
    for (reflected, own_tag, accepted) in
        [(false, true, true), (true, true, false), (false, false, false), (true, false, true)]
    {
        let mut pair = Pair::connected();
        let (client_tag, server_tag) = tags(&pair);
        let tag = if own_tag { server_tag } else { client_tag };
        let before = pair.log.len();
        pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&abort(reflected)]));
        assert_eq!(pair.server.closed().is_some(), accepted, "T {reflected}, own {own_tag}");
        assert_eq!(pair.log.len(), before, "an ABORT is never answered");
    }
}

#[test]
fn who_knows_nothing_of_us_where_nobody_ever_answered_ends_nothing() {
    let mut pair = Pair::new();
    // Nothing of the second path is ever answered.
    pair.lose_packets(|packet| {
        let second = packet.tuple.local == client_paths()[1].remote;
        if second && packet.way == Way::ToServer { Verdict::Lose } else { Verdict::Deliver }
    });
    pair.connect();
    // Until a heartbeat was answered on the first.
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.client.state(), State::Established);
    let server_tag = read_init_ack(&pair.last_with(INIT_ACK)).0;
    let reflected = to_client(server_tag, &[&abort(true)]);
    pair.inject_packet(Way::ToClient, client_paths()[1], &reflected);
    assert_eq!(pair.client.state(), State::Established, "the other path answers");
    pair.inject_packet(Way::ToClient, client_paths()[0], &reflected);
    assert_eq!(pair.client.closed(), Some(CloseReason::PeerAbort { cause: None }));
}

#[test]
fn a_blind_abort_with_tag_zero_does_not_stop_a_handshake() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    for reflected in [false, true] {
        pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(0, &[&abort(reflected)]));
    }
    assert_eq!(pair.client.state(), State::CookieWait);
}

#[test]
fn a_shutdown_ack_during_set_up_is_out_of_the_blue() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    let data = to_client(0x77, &[&chunk(Chunk::ShutdownAck)]);
    pair.inject_packet(Way::ToClient, client_paths()[0], &data);
    let reply = pair.log.last().unwrap();
    assert_eq!((reply.first_kind(), reply.tag(), reply.data[13] & 1), (SHUTDOWN_COMPLETE, 0x77, 1));
    assert_eq!(pair.client.state(), State::CookieWait);
    pair.run_for(Duration::from_millis(1100));
    assert_eq!(pair.log.last().unwrap().first_kind(), INIT);
}

#[test]
fn shutdown_complete_counts_in_shutdown_ack_sent_only() {
    let mut pair = Pair::connected();
    let (client_tag, server_tag) =
        (read_init(&pair.log[0]), read_init_ack(&pair.last_with(INIT_ACK)).0);
    let before = pair.log.len();
    for (tag, reflected) in [(server_tag, false), (client_tag, true)] {
        let data = to_server(tag, &[&chunk(complete(reflected))]);
        pair.inject_packet(Way::ToServer, at_server(), &data);
    }
    assert_eq!((pair.log.len(), pair.server.state()), (before, State::Established));
}

#[test]
fn packets_for_another_port_are_not_ours() {
    let mut pair = Pair::new();
    let data = packet(CLIENT_PORT, SERVER_PORT + 1, 9, &[&chunk(Chunk::ShutdownAck)]);
    pair.inject_packet(Way::ToServer, at_server(), &data);
    assert_eq!(pair.log.len(), 0);
    assert_eq!(pair.server.endpoint.stats().out_of_the_blue, 1);
}

#[test]
fn removed_associations_are_strangers_and_their_handles_start_afresh() {
    let mut pair = Pair::connected();
    let h = pair.server.handle();
    pair.server.endpoint.remove(h);
    assert_eq!(pair.server.count(), 0);
    let now = pair.now;
    pair.client.send(now, b"hello?");
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.client.closed(), Some(CloseReason::PeerAbort { cause: None }));
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300), tag in 0u32..2, fix in proptest::prelude::any::<bool>()) {
        let mut pair = Pair::connected();
        let server_tag = read_init_ack(&pair.last_with(INIT_ACK)).0;
        if fix && bytes.len() >= 16 {
            let header = to_server(if tag == 0 { 0 } else { server_tag }, &[]);
            bytes[..12].copy_from_slice(&header);
            bytes[8..12].fill(0);
            let crc = polypath_wire::checksum::crc32c(&bytes);
            bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        }
        pair.inject_packet(Way::ToServer, at_server(), &bytes);
        pair.run_for(Duration::from_millis(100));
        proptest::prop_assert!(pair.server.count() <= 2);
    }
}
