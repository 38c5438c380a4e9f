//! Set-up: the four-way handshake and everything that can go wrong with it (RFC 9260 section 5.1).

use polypath_proto::config::{AssocConfig, NrSack, PathPairing};
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, ConnectError, Event, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::{Parameter, ParamsBuf};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn four_packets_set_up_both_sides_and_data_flows_both_ways() {
    let mut pair = Pair::new();
    pair.connect();
    pair.run_for(Duration::from_millis(100));
    let kinds: Vec<u8> = pair.log.iter().take(4).map(Packet::first_kind).collect();
    assert_eq!(kinds, [INIT, INIT_ACK, COOKIE_ECHO, COOKIE_ACK]);
    assert_eq!((pair.client.established(), pair.server.established()), (1, 1));
    assert!(matches!(pair.server.events[0].1, Event::Established { .. }));
    let now = pair.now;
    pair.client.send(now, b"question");
    pair.server.send(now, b"answer");
    pair.run_for(SECOND);
    assert_eq!(pair.server.texts(), [b"question"]);
    assert_eq!(pair.client.texts(), [b"answer"]);
}

#[test]
fn messages_sent_before_set_up_arrive_after_it() {
    let mut pair = Pair::new();
    pair.connect();
    let now = pair.now;
    pair.client.send(now, b"early");
    pair.run_for(SECOND);
    assert_eq!(pair.server.texts(), [b"early"]);
}

#[test]
fn each_lost_handshake_packet_is_made_good() {
    for kind in [INIT, INIT_ACK, COOKIE_ECHO, COOKIE_ACK] {
        let mut pair = Pair::new();
        pair.lose_first(1, move |p| p.first_kind() == kind);
        pair.connect();
        let now = pair.now;
        pair.client.send(now, b"x");
        pair.run_for(3 * SECOND);
        assert_eq!((pair.client.established(), pair.server.established()), (1, 1), "lost {kind}");
        assert_eq!((pair.client.count(), pair.server.count()), (1, 1));
        assert_eq!(pair.server.texts(), [b"x"]);
    }
}

#[test]
fn a_dead_first_path_costs_one_timeout() {
    let mut pair = Pair::new();
    pair.lose_packets(|p| {
        if p.tuple.local.ip() == ip("10.0.0.2") { Verdict::Lose } else { Verdict::Deliver }
    });
    pair.connect();
    pair.run_for(Duration::from_millis(1100));
    assert_eq!(
        (pair.client.state(), pair.server.state()),
        (State::Established, State::Established)
    );
    assert!(pair.client.events.iter().any(|(_, e)| matches!(e, Event::PrimaryChanged(_))));
}

#[test]
fn without_an_answer_it_gives_up_after_max_init_retransmits() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.run_for(Duration::from_secs(600));
    assert_eq!(pair.log.len(), 1 + 8);
    assert_eq!(pair.client.closed(), Some(CloseReason::HandshakeTimeout));
    let tags: Vec<u32> = pair.log.iter().map(read_init).collect();
    assert!(tags.iter().all(|t| *t == tags[0]), "the same INIT each time");
}

#[test]
fn streams_are_the_smaller_of_offer_and_limit() {
    let mut pair = Pair::new();
    let config =
        AssocConfig { outbound_streams: 3000, inbound_streams: 4, ..AssocConfig::default() };
    pair.connect_with(config);
    pair.run_for(SECOND);
    let client = Event::Established { outbound_streams: 2048, inbound_streams: 4 };
    let server = Event::Established { outbound_streams: 4, inbound_streams: 2048 };
    assert!(pair.client.has_seen(&client) && pair.server.has_seen(&server));
}

#[test]
fn nr_sacks_need_both_sides() {
    for (ours, theirs, expected) in [(true, true, true), (true, false, false), (false, true, false)]
    {
        let with = |on| {
            let mut config = AssocConfig::default();
            config.cmt.nr_sack = if on { NrSack::Received } else { NrSack::Off };
            config
        };
        let mut server = endpoint(SERVER_PORT, &server_addresses());
        server.assoc = std::sync::Arc::new(with(theirs));
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
        pair.connect_with(with(ours));
        let now = pair.now;
        pair.client.send(now, b"x");
        pair.run_for(SECOND);
        assert_eq!(pair.sent(Way::ToClient, 16) > 0, expected, "{ours} {theirs}");
        assert_eq!(pair.sent(Way::ToClient, 3) > 0, !expected, "{ours} {theirs}");
    }
}

#[test]
fn dac_needs_both_sides_to_say_so_or_one_to_know() {
    // Announced by the client, announced by the server, assumed by the server: does it count
    // packets in its SACKs?
    let cases = [
        (true, true, false, true),
        (false, true, false, false),
        (false, true, true, true),
        (false, false, true, false),
    ];
    for (ours, theirs, assumed, expected) in cases {
        let with = |dac, assumed| {
            let mut config = AssocConfig::default();
            config.cmt.dac = dac;
            config.cmt.dac_unannounced = assumed;
            config
        };
        let mut server = endpoint(SERVER_PORT, &server_addresses());
        server.assoc = std::sync::Arc::new(with(theirs, assumed));
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
        pair.connect_with(with(ours, false));
        let now = pair.now;
        pair.client.send(now, b"x");
        pair.run_for(SECOND);
        let counts = pair.last_with(SACK).first_flags() != 0;
        assert_eq!(counts, expected, "{ours} {theirs} {assumed}");
    }
}

#[test]
fn paths_follow_the_pairing() {
    for (pairing, expected) in
        [(PathPairing::Index, 2), (PathPairing::Mesh, 4), (PathPairing::Learned, 1)]
    {
        let mut server = endpoint(SERVER_PORT, &server_addresses());
        server.pairing = pairing;
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
        pair.connect();
        pair.run_for(Duration::from_millis(35));
        let h = pair.server.handle();
        let now = pair.now;
        let assoc = pair.server.endpoint.association(h).unwrap();
        assert_eq!(assoc.view(now).paths.len(), expected, "{pairing:?}");
        let h = pair.client.handle();
        let assoc = pair.client.endpoint.association(h).unwrap();
        assert_eq!(assoc.view(now).paths.len(), 2, "the user named them all");
    }
}

#[test]
fn a_corrupt_packet_is_dropped_in_silence() {
    let mut pair = Pair::connected();
    let mut data = pair.last_with(COOKIE_ECHO).data;
    data[20] ^= 1;
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, at_server(), &data);
    assert_eq!(pair.log.len(), before);
    assert_eq!(pair.server.endpoint.stats().bad_checksum, 1);
}

#[test]
fn a_cookie_with_a_flipped_bit_is_dropped_in_silence() {
    let mut pair = Pair::new();
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(77))]));
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    let before = pair.log.len();
    for bit in 0..cookie.len() * 8 {
        let mut forged = cookie.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&cookie_echo(forged)]));
    }
    assert_eq!((pair.log.len(), pair.server.count()), (before, 0));
    assert_eq!(pair.server.endpoint.stats().bad_cookies, cookie.len() as u64 * 8);
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&cookie_echo(cookie)]));
    assert_eq!(pair.server.count(), 1);
}

#[test]
fn a_cookie_is_bound_to_its_ports_and_tag() {
    let mut pair = Pair::new();
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(77))]));
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    let before = pair.log.len();
    let echo = cookie_echo(cookie);
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag ^ 1, &[&echo]));
    pair.inject_packet(
        Way::ToServer,
        at_server(),
        &packet(CLIENT_PORT + 1, SERVER_PORT, tag, &[&echo]),
    );
    assert_eq!((pair.log.len(), pair.server.count()), (before, 0));
}

#[test]
fn a_replayed_cookie_makes_no_second_association() {
    let mut pair = Pair::connected();
    let echo = pair.last_with(COOKIE_ECHO);
    pair.inject_packet(Way::ToServer, echo.tuple, &echo.data);
    assert_eq!((pair.server.count(), pair.server.established()), (1, 1));
    assert_eq!(pair.log.last().unwrap().first_kind(), COOKIE_ACK);
    // Both tags match, so it counts however old it is.
    pair.run_for(Duration::from_secs(100));
    pair.inject_packet(Way::ToServer, echo.tuple, &echo.data);
    assert_eq!(pair.log.last().unwrap().first_kind(), COOKIE_ACK);
    assert_eq!(pair.server.endpoint.stats().bad_cookies, 0);
}

#[test]
fn a_stale_cookie_is_answered_with_its_staleness() {
    let mut pair = Pair::new();
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(77))]));
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    pair.run_for(Duration::from_secs(61));
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&cookie_echo(cookie)]));
    let error = pair.last_with(ERROR);
    assert_eq!((error.tag(), read_causes(&error).1), (77, vec![3]));
    assert_eq!(pair.server.count(), 0);
}

#[test]
fn a_client_with_a_stale_cookie_asks_for_a_longer_life_once() {
    let mut server = endpoint(SERVER_PORT, &server_addresses());
    server.cookie_life = Duration::from_millis(100);
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    // The first COOKIE ECHO comes 50 ms too late.
    let mut first = true;
    pair.lose_packets(move |p| {
        if first && p.first_kind() == COOKIE_ECHO {
            first = false;
            return Verdict::Delay(Duration::from_millis(120));
        }
        Verdict::Deliver
    });
    pair.connect();
    pair.run_for(SECOND);
    assert_eq!(
        (pair.client.state(), pair.server.state()),
        (State::Established, State::Established)
    );
    assert_eq!(pair.sent(Way::ToServer, INIT), 2);
}

#[test]
fn a_cookie_that_is_always_stale_ends_the_attempt() {
    let mut server = endpoint(SERVER_PORT, &server_addresses());
    server.cookie_life = Duration::from_millis(1);
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    pair.connect();
    pair.run_for(5 * SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::StaleCookie));
    assert_eq!((pair.sent(Way::ToServer, INIT), pair.server.count()), (2, 0));
}

#[test]
fn bad_init_acks_end_the_attempt_with_the_right_cause() {
    let good = fixed(55);
    let cookie = || [Parameter::StateCookie(b"c")].into_iter().collect::<ParamsBuf>();
    let host: ParamsBuf =
        [Parameter::HostName(b"h"), Parameter::StateCookie(b"c")].into_iter().collect();
    let cases = [
        (init_ack(good, ParamsBuf::new()), 2),
        (init_ack(good, host), 5),
        (init_ack(polypath_wire::InitFixed { outbound_streams: 0, ..good }, cookie()), 7),
    ];
    for (ack, cause) in cases {
        let mut pair = Pair::new();
        pair.lose_packets(|_| Verdict::Lose);
        pair.connect();
        pair.exchange_packets();
        let tag = read_init(&pair.log[0]);
        pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&chunk(ack)]));
        let abort = pair.last_with(ABORT);
        assert_eq!((abort.tag(), read_causes(&abort)), (55, (false, vec![cause])));
        assert_eq!(pair.client.closed(), Some(CloseReason::ProtocolViolation { cause }));
    }
}

#[test]
fn an_init_ack_with_tag_zero_ends_the_attempt_with_our_tag_reflected() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    let tag = read_init(&pair.log[0]);
    let ack = init_ack(fixed(0), ParamsBuf::new());
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&chunk(ack)]));
    let abort = pair.last_with(ABORT);
    assert_eq!((abort.tag(), read_causes(&abort).0), (tag, true));
    assert!(pair.client.closed().is_some());
}

#[test]
fn an_init_ack_with_a_tiny_window_is_refused_and_the_attempt_goes_on() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    let tag = read_init(&pair.log[0]);
    let ack = init_ack(polypath_wire::InitFixed { a_rwnd: 1499, ..fixed(55) }, ParamsBuf::new());
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&chunk(ack)]));
    assert_eq!(pair.last_with(ABORT).tag(), 55);
    assert_eq!(pair.client.state(), State::CookieWait);
}

#[test]
fn an_init_ack_in_another_state_is_ignored() {
    let mut pair = Pair::connected();
    let ack = pair.last_with(INIT_ACK);
    let before = pair.log.len();
    pair.inject_packet(Way::ToClient, ack.tuple, &ack.data);
    assert_eq!((pair.log.len(), pair.client.state()), (before, State::Established));
}

#[test]
fn connect_refuses_what_cannot_work() {
    let mut pair = Pair::connected();
    let now = pair.now;
    let config = std::sync::Arc::new(AssocConfig::default());
    let mut connect = |tuples: &[_], port| {
        pair.client.endpoint.connect(now, tuples, port, config.clone()).unwrap_err()
    };
    let good = client_paths()[0];
    assert_eq!(connect(&[], 1), ConnectError::PathCount { count: 0 });
    assert_eq!(connect(&[good; 17], 1), ConnectError::PathCount { count: 17 });
    assert_eq!(connect(&[good], 0), ConnectError::PortZero);
    assert_eq!(connect(&[good], SERVER_PORT), ConnectError::Exists { tuple: good });
    for (local, remote) in
        [("10.0.0.1", "224.0.0.1"), ("10.0.0.1", "fd00::1"), ("10.0.0.1", "0.0.0.0")]
    {
        let tuple = tuple(local, remote);
        assert_eq!(connect(&[tuple], 1), ConnectError::BadPath { tuple });
    }
    let foreign = tuple("10.0.9.1", "10.0.0.3");
    assert_eq!(connect(&[foreign], 1), ConnectError::ForeignAddress { tuple: foreign });
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let run = || {
        let mut pair = Pair::connected();
        let now = pair.now;
        pair.client.send(now, b"x");
        pair.run_for(Duration::from_secs(40));
        pair.log.into_iter().map(|p| (p.at, p.data)).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}
