//! Set-up, rule by rule (RFC 9260 sections 3.3.2, 3.3.3, 5.1, 5.2 and 5.4), as far as the other
//! files do not show it on the way.

use polypath_proto::config::{AssocConfig, EndpointConfig, ExtensionConfig};
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, Event, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;
use polypath_wire::{
    ChecksumCheck, Chunk, DataChunk, DataFlags, HeartbeatRepr, InitFixed, PacketView, Parameter,
    ParamsBuf, RawParam, Ssn, StreamId, Tsn,
};

const SECOND: Duration = Duration::from_secs(1);

/// A client that has sent its INIT and hears nothing but what the test injects; and its tag.
fn waiting_client() -> (Pair, u32) {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    let tag = read_init(&pair.log[0]);
    (pair, tag)
}

fn cookie_and(more: &[Parameter<'_>]) -> ParamsBuf {
    [Parameter::StateCookie(b"cookie")].into_iter().chain(more.iter().copied()).collect()
}

fn answer_init(pair: &mut Pair, tag: u32, fixed: InitFixed, params: ParamsBuf) {
    let ack = init_ack(fixed, params);
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&chunk(ack)]));
}

/// The first chunk of a packet, handed to `read`.
fn first<T>(packet: &Packet, read: impl FnOnce(Chunk<'_>) -> T) -> T {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).expect("valid");
    read(view.chunks().next().expect("a chunk").expect("valid").decode().expect("valid"))
}

fn data(tsn: u32) -> DataChunk<'static> {
    let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
    DataChunk { tsn: Tsn(tsn), stream: StreamId(0), ssn: Ssn(0), ppid: 0, flags, payload: b"data" }
}

/// A parameter of an unknown type that asks for a report.
fn strange(value: &'static [u8]) -> ParamsBuf {
    strange_of(0xc7, value)
}

/// A parameter of an unknown type whose top bits are those of `top`.
fn strange_of(top: u8, value: &'static [u8]) -> ParamsBuf {
    let mut bytes = vec![top, 0x77];
    bytes.extend_from_slice(&(4 + value.len() as u16).to_be_bytes());
    bytes.extend_from_slice(value);
    let chunk = [&[1, 0][..], &(20 + bytes.len() as u16).to_be_bytes(), &[0; 16], &bytes].concat();
    let packet = packet(1, 2, 0, &[&|w| w.push(&Raw(&chunk)).unwrap()]);
    let view = PacketView::parse(&packet, ChecksumCheck::Verify).unwrap();
    let Chunk::Init(init) = view.chunks().next().unwrap().unwrap().decode().unwrap() else {
        panic!("INIT expected")
    };
    init.params.to_buf()
}

struct Raw<'a>(&'a [u8]);

impl polypath_wire::EncodeChunk for Raw<'_> {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}

fn unknown(params: &ParamsBuf) -> RawParam<'_> {
    params.as_params().iter().next().expect("one").expect("valid")
}

#[test]
fn tags_are_not_zero_and_differ_as_do_first_tsns() {
    let ends: Vec<(u32, u32)> = (0..50)
        .map(|seed| {
            let mut host = End::new(endpoint(CLIENT_PORT, &[]), seed);
            let path = tuple("10.0.0.1", "10.0.0.2");
            let config = AssocConfig::default().into();
            host.endpoint.connect(polypath_proto::time::Time::ZERO, &[path], 9, config).unwrap();
            let mut buf = Vec::new();
            host.endpoint.poll_transmit(polypath_proto::time::Time::ZERO, &mut buf).unwrap();
            let view = PacketView::parse(&buf, ChecksumCheck::Verify).unwrap();
            assert_eq!(view.header().verification_tag, 0);
            let Ok(Chunk::Init(init)) = view.chunks().next().unwrap().unwrap().decode() else {
                panic!("INIT expected")
            };
            assert!(init.fixed.a_rwnd >= 1500);
            assert!(init.fixed.outbound_streams > 0 && init.fixed.inbound_streams > 0);
            (init.fixed.initiate_tag, init.fixed.initial_tsn.0)
        })
        .collect();
    let distinct = |get: fn(&(u32, u32)) -> u32| {
        ends.iter().map(get).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!((distinct(|e| e.0), distinct(|e| e.1)), (50, 50));
    assert!(ends.iter().all(|e| e.0 != 0));
}

#[test]
fn settings_below_the_allowed_minimum_are_raised_to_it() {
    let config = AssocConfig {
        receive_buffer: 100,
        outbound_streams: 0,
        inbound_streams: 0,
        ..AssocConfig::default()
    };
    let mut pair = Pair::new();
    pair.connect_with(config);
    pair.exchange_packets();
    first(&pair.log[0], |chunk| {
        let Chunk::Init(init) = chunk else { panic!("INIT expected") };
        let InitFixed { a_rwnd, outbound_streams, inbound_streams, .. } = init.fixed;
        assert_eq!((a_rwnd, outbound_streams, inbound_streams), (1500, 1, 1));
    });
}

#[test]
fn our_own_tag_is_kept_through_the_life_of_an_association() {
    let mut pair = Pair::connected();
    let (client_tag, server_tag) =
        (read_init(&pair.log[0]), read_init_ack(&pair.last_with(INIT_ACK)).0);
    let now = pair.now;
    pair.client.send(now, b"x");
    pair.client.shutdown(now);
    pair.run_for(5 * SECOND);
    for packet in &pair.log[2..] {
        let expected = if packet.way == Way::ToServer { server_tag } else { client_tag };
        assert_eq!(packet.tag(), expected, "{:?}", packet.kinds());
    }
    let old = server_tag;
    let h = pair.client.handle();
    pair.client.endpoint.remove(h);
    pair.connect();
    pair.run_for(SECOND);
    assert_ne!(read_init_ack(&pair.last_with(INIT_ACK)).0, old);
    assert_ne!(read_init(&pair.last_with(INIT)), client_tag);
}

#[test]
fn a_cookie_larger_than_a_packet_is_echoed_whole() {
    let (mut pair, tag) = waiting_client();
    let cookie: Vec<u8> = (0..3000).map(|i| i as u8).collect();
    let params = [Parameter::StateCookie(&cookie)].into_iter().collect();
    answer_init(&mut pair, tag, fixed(55), params);
    let echo = pair.last_with(COOKIE_ECHO);
    assert_eq!((echo.tag(), echo.kinds().len()), (55, 1));
    assert_eq!(echo.data[16..16 + 3000], cookie);
}

#[test]
fn a_cookie_echo_is_repeated_unchanged_and_in_the_end_given_up() {
    let (mut pair, tag) = waiting_client();
    answer_init(&mut pair, tag, fixed(55), cookie_and(&[]));
    pair.run_for(600 * SECOND);
    let echoes: Vec<&Packet> = pair.log.iter().filter(|p| p.first_kind() == COOKIE_ECHO).collect();
    assert_eq!(echoes.len(), 1 + 8);
    assert!(echoes.iter().all(|e| e.data == echoes[0].data));
    let gaps: Vec<Duration> = echoes.windows(2).map(|w| w[1].at - w[0].at).collect();
    assert_eq!((gaps[0], gaps[2]), (SECOND, 2 * SECOND), "each of two paths backs off");
    assert_eq!(pair.client.closed(), Some(CloseReason::HandshakeTimeout));
}

#[test]
fn between_cookie_echo_and_cookie_ack_nothing_goes_out_unasked() {
    let (mut pair, tag) = waiting_client();
    answer_init(&mut pair, tag, fixed(55), cookie_and(&[]));
    let before = pair.log.len();
    let now = pair.now;
    pair.client.send(now, b"must wait");
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&chunk(data(1))]));
    pair.run_for(40 * SECOND);
    assert!(pair.sent_since(before).iter().all(|p| p.kinds() == [COOKIE_ECHO]));
    // Requests are answered all the same.
    let heartbeat = chunk(HeartbeatRepr { info: b"are you there" });
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&heartbeat]));
    assert_eq!(pair.log.last().unwrap().kinds(), [kind::HEARTBEAT_ACK]);
}

#[test]
fn unknown_parameters_of_an_init_ack_are_reported_behind_the_cookie_echo() {
    let (mut pair, tag) = waiting_client();
    let strange = strange(b"what is it?!");
    let params = cookie_and(&[Parameter::Unknown(unknown(&strange))]);
    answer_init(&mut pair, tag, fixed(55), params);
    let echo = pair.last_with(COOKIE_ECHO);
    assert_eq!(echo.kinds(), [COOKIE_ECHO, ERROR]);
    assert_eq!(read_causes(&echo).1, [8]);
    assert!(echo.data.windows(12).any(|w| w == b"what is it?!"));
}

#[test]
fn where_partial_reliability_is_off_its_parameter_is_unknown() {
    // RFC 3758 section 3.3.2, for INIT ACK and INIT.
    let (mut pair, tag) = waiting_client();
    answer_init(&mut pair, tag, fixed(55), cookie_and(&[Parameter::ForwardTsnSupported]));
    let echo = pair.last_with(COOKIE_ECHO);
    assert_eq!((echo.kinds(), read_causes(&echo).1), (vec![COOKIE_ECHO, ERROR], vec![8]));
    assert!(echo.data.ends_with(&[0, 8, 0, 8, 0xc0, 0, 0, 4]), "{:?}", echo.data);
    let reported = |on: bool| {
        let mut server = endpoint(SERVER_PORT, &server_addresses());
        let extensions = ExtensionConfig { partial_reliability: on, ..ExtensionConfig::NONE };
        server.assoc = AssocConfig { extensions, ..AssocConfig::default() }.into();
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
        pair.lose_packets(|_| Verdict::Lose);
        let init = init_with(fixed(77), &[Parameter::ForwardTsnSupported]);
        pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init)]));
        first(&pair.last_with(INIT_ACK), |chunk| {
            let Chunk::InitAck(ack) = chunk else { panic!("INIT ACK expected") };
            let params = ack.params.iter().map(Result::unwrap);
            params.filter(|p| p.kind == 8).map(|p| p.value.to_vec()).collect::<Vec<_>>()
        })
    };
    assert_eq!(reported(false), [[0xc0, 0, 0, 4]]);
    assert!(reported(true).is_empty());
}

#[test]
fn what_has_no_room_behind_the_cookie_echo_is_reported_after_the_cookie_ack() {
    let (mut pair, tag) = waiting_client();
    let strange = strange(&[7; 700]);
    let cookie = [1; 1000];
    let mut params: ParamsBuf = [Parameter::StateCookie(&cookie)].into_iter().collect();
    // Five of them: two can be quoted in one packet.
    params.extend([Parameter::Unknown(unknown(&strange)); 5]);
    answer_init(&mut pair, tag, fixed(55), params);
    assert_eq!(pair.last_with(COOKIE_ECHO).kinds(), [COOKIE_ECHO]);
    assert_eq!(pair.sent(Way::ToServer, ERROR), 0);
    pair.inject_packet(
        Way::ToClient,
        client_paths()[0],
        &to_client(tag, &[&chunk(Chunk::CookieAck)]),
    );
    let error = pair.last_with(ERROR);
    assert_eq!(read_causes(&error).1, [8]);
    assert!(error.data.len() > 1400 && error.data.len() <= 1480, "{} bytes", error.data.len());
}

#[test]
fn unknown_parameters_of_an_init_are_reported_in_the_init_ack() {
    let strange = strange(b"what is it?!");
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    let init = init_with(fixed(77), &[Parameter::Unknown(unknown(&strange))]);
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init)]));
    first(&pair.last_with(INIT_ACK), |chunk| {
        let Chunk::InitAck(ack) = chunk else { panic!("INIT ACK expected") };
        let reports = ack.params.iter().filter(|p| p.as_ref().is_ok_and(|p| p.kind == 8));
        let reports: Vec<_> = reports.map(|p| p.unwrap().value.to_vec()).collect();
        assert_eq!(reports, [strange.as_params().as_bytes()]);
    });
}

#[test]
fn no_unknown_parameter_keeps_a_handshake_from_going_on() {
    for (top, reports) in [(0x07, 0), (0x47, 1), (0x87, 0), (0xc7, 1)] {
        let strange = strange_of(top, b"!");
        let params = [Parameter::Unknown(unknown(&strange)), Parameter::Ipv4([10, 0, 1, 1].into())];
        let mut pair = Pair::new();
        pair.lose_packets(|_| Verdict::Lose);
        let init = init_with(fixed(77), &params);
        pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init)]));
        let count = first(&pair.last_with(INIT_ACK), |chunk| {
            let Chunk::InitAck(ack) = chunk else { panic!("INIT ACK expected") };
            ack.params.iter().filter(|p| p.as_ref().is_ok_and(|p| p.kind == 8)).count()
        });
        assert_eq!(count, reports, "{top:#x}");
        // Behind one that says "stop" nothing counts: the second address is not learnt.
        let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
        pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&cookie_echo(cookie)]));
        let assoc = pair.server.endpoint.association(pair.server.handle()).unwrap();
        assert_eq!(assoc.view(pair.now).paths.len() > 1, top & 0x80 != 0, "{top:#x}");
        // An INIT ACK with one is answered all the same.
        let (mut pair, tag) = waiting_client();
        let all: ParamsBuf = [Parameter::Unknown(unknown(&strange)), Parameter::StateCookie(b"c")]
            .into_iter()
            .collect();
        answer_init(&mut pair, tag, fixed(55), all);
        let kinds = if reports == 1 { vec![COOKIE_ECHO, ERROR] } else { vec![COOKIE_ECHO] };
        assert_eq!(pair.last_with(COOKIE_ECHO).kinds(), kinds, "{top:#x}");
    }
}

#[test]
fn a_malformed_parameter_ends_the_attempt_with_abort_13() {
    let broken = {
        let mut init = to_server(0, &[&chunk(init_with(fixed(77), &[Parameter::EcnCapable]))]);
        // The parameter claims to be longer than the chunk.
        let last = init.len() - 1;
        init[last] = 99;
        reseal(&mut init);
        init
    };
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.inject_packet(Way::ToServer, at_server(), &broken);
    assert_eq!(pair.log.len(), 1);
    assert_eq!((pair.log[0].tag(), read_causes(&pair.log[0])), (77, (false, vec![13])));
}

fn reseal(packet: &mut [u8]) {
    packet[8..12].fill(0);
    let crc = polypath_wire::checksum::crc32c(packet).to_le_bytes();
    packet[8..12].copy_from_slice(&crc);
}

#[test]
fn an_init_ack_offers_no_more_streams_than_the_init_takes() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    let init = init_with(InitFixed { inbound_streams: 3, ..fixed(77) }, &[]);
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init)]));
    first(&pair.last_with(INIT_ACK), |chunk| {
        let Chunk::InitAck(ack) = chunk else { panic!("INIT ACK expected") };
        assert_eq!(ack.fixed.outbound_streams, 3);
    });
}

#[test]
fn an_init_ack_goes_back_to_where_the_init_came_from() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    let elsewhere = [Parameter::Ipv4([10, 0, 9, 9].into())];
    let init = to_server(0, &[&chunk(init_with(fixed(77), &elsewhere))]);
    pair.inject_packet(Way::ToServer, at_server(), &init);
    assert_eq!(pair.log[0].tuple, client_paths()[0]);
    assert_eq!((pair.log[0].first_kind(), pair.log[0].tag()), (INIT_ACK, 77));
}

#[test]
fn an_init_ack_from_another_address_of_the_peer_counts() {
    // From an address that nobody named; from the address of our other path to where the first
    // begins.
    for source in ["10.0.7.7", "10.0.1.2"] {
        let (mut pair, tag) = waiting_client();
        let listed = [[10, 0, 0, 2], [10, 0, 7, 7]].map(|a| Parameter::Ipv4(a.into()));
        let ack = || chunk(init_ack(fixed(55), cookie_and(&listed)));
        let mut from = client_paths()[0];
        from.remote.set_ip(ip(source));
        let before = pair.log.len();
        pair.inject_packet(Way::ToClient, from, &to_client(tag ^ 1, &[&ack()]));
        assert_eq!(pair.client.state(), State::CookieWait, "its tag");
        // Who nobody named is refused like any stranger.
        assert!(pair.log[before..].iter().all(|p| p.first_kind() == ABORT));
        pair.inject_packet(Way::ToClient, from, &to_client(tag, &[&ack()]));
        let echo = pair.last_with(COOKIE_ECHO);
        // Nothing but heartbeats goes to an address that is not verified: to the one that our user
        // named.
        assert_eq!((echo.tag(), echo.tuple), (55, at_server()), "{source}");
    }
}

#[test]
fn a_cookie_echo_with_data_is_acknowledged_in_one_packet_cookie_ack_first() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(77))]));
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    let before = pair.log.len();
    let echo = to_server(tag, &[&cookie_echo(cookie), &chunk(data(1))]);
    pair.inject_packet(Way::ToServer, at_server(), &echo);
    let answers = pair.sent_since(before);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].kinds(), [COOKIE_ACK, SACK]);
    assert_eq!(pair.server.texts(), [b"data"]);
}

#[test]
fn a_cookie_ack_counts_in_cookie_echoed_only() {
    let (mut pair, tag) = waiting_client();
    pair.inject_packet(
        Way::ToClient,
        client_paths()[0],
        &to_client(tag, &[&chunk(Chunk::CookieAck)]),
    );
    assert_eq!(pair.client.state(), State::CookieWait);
    let mut pair = Pair::connected();
    let (tag, before) = (read_init(&pair.log[0]), pair.log.len());
    pair.inject_packet(
        Way::ToClient,
        client_paths()[0],
        &to_client(tag, &[&chunk(Chunk::CookieAck)]),
    );
    assert_eq!((pair.log.len(), pair.client.established()), (before, 1));
}

#[test]
fn a_stale_cookie_error_counts_in_cookie_echoed_only() {
    let causes: polypath_wire::CausesBuf =
        [polypath_wire::ErrorCause::StaleCookie(1)].into_iter().collect();
    let stale = |w: &mut polypath_wire::PacketWriter<'_>| {
        w.push(&polypath_wire::ErrorChunk { causes: causes.as_causes() }).unwrap();
    };
    let mut pair = Pair::connected();
    let (tag, before) = (read_init(&pair.log[0]), pair.log.len());
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&stale]));
    assert_eq!((pair.log.len(), pair.client.state()), (before, State::Established));
    let (mut pair, tag) = waiting_client();
    let before = pair.log.len();
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&stale]));
    assert_eq!((pair.log.len(), pair.client.state()), (before, State::CookieWait));
}

#[test]
fn the_preservative_asks_for_no_more_than_a_second_beyond_the_round_trip() {
    let (mut pair, tag) = waiting_client();
    answer_init(&mut pair, tag, fixed(55), cookie_and(&[]));
    pair.run_for(Duration::from_millis(300));
    let causes: polypath_wire::CausesBuf =
        [polypath_wire::ErrorCause::StaleCookie(3_600_000_000)].into_iter().collect();
    let stale = |w: &mut polypath_wire::PacketWriter<'_>| {
        w.push(&polypath_wire::ErrorChunk { causes: causes.as_causes() }).unwrap();
    };
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&stale]));
    first(&pair.last_with(INIT), |chunk| {
        let Chunk::Init(init) = chunk else { panic!("INIT expected") };
        let asked = init.params.iter().find_map(|p| match p.unwrap().decode() {
            Ok(Parameter::CookiePreservative(ms)) => Some(ms),
            _ => None,
        });
        assert_eq!(asked, Some(1300));
    });
}

#[test]
fn an_init_is_answered_in_cookie_wait_only_where_it_says_it_is() {
    let (mut pair, tag) = waiting_client();
    let before = pair.log.len();
    let elsewhere = [Parameter::Ipv4([10, 0, 9, 9].into())];
    let init = to_client(0, &[&chunk(init_with(fixed(55), &elsewhere))]);
    pair.inject_packet(Way::ToClient, client_paths()[0], &init);
    assert_eq!(pair.log.len(), before, "the source is not among its addresses");
    let here = [Parameter::Ipv4([10, 0, 0, 2].into())];
    let init = to_client(0, &[&chunk(init_with(fixed(55), &here))]);
    pair.inject_packet(Way::ToClient, client_paths()[0], &init);
    assert_eq!(read_init_ack(&pair.last_with(INIT_ACK)).0, tag);
}

#[test]
fn a_collision_is_answered_with_what_our_own_init_said() {
    // No address was named at the endpoint: the INIT lists those of the paths.
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &[]), endpoint(SERVER_PORT, &[]));
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(0, &[&chunk(init(55))]));
    let addresses = |params: polypath_wire::Params<'_>| -> Vec<Vec<u8>> {
        let listed = params.iter().map(|p| p.unwrap()).filter(|p| p.kind == 5);
        listed.map(|p| p.value.to_vec()).collect()
    };
    let asked = first(&pair.log[0], |chunk| match chunk {
        Chunk::Init(init) => (init.fixed, addresses(init.params)),
        _ => panic!("INIT expected"),
    });
    let answered = first(&pair.last_with(INIT_ACK), |chunk| match chunk {
        Chunk::InitAck(ack) => (ack.fixed, addresses(ack.params)),
        _ => panic!("INIT ACK expected"),
    });
    assert_eq!(asked, answered);
    assert_eq!(asked.1.len(), 2);
}

#[test]
fn an_init_in_cookie_echoed_that_adds_an_address_is_refused_and_changes_nothing() {
    let (mut pair, tag) = waiting_client();
    answer_init(&mut pair, tag, fixed(55), cookie_and(&[]));
    let victim = [Parameter::Ipv4([192, 0, 2, 66].into())];
    let adding = to_client(0, &[&chunk(init_with(fixed(66), &victim))]);
    pair.inject_packet(Way::ToClient, client_paths()[0], &adding);
    let abort = pair.last_with(ABORT);
    assert_eq!((abort.tag(), read_causes(&abort)), (66, (false, vec![11])));
    assert_eq!(pair.client.state(), State::CookieEchoed);
    // Without one it is answered with our own tag; T1-cookie runs on.
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(0, &[&chunk(init(66))]));
    assert_eq!(read_init_ack(&pair.last_with(INIT_ACK)).0, tag);
    pair.run_for(Duration::from_millis(1100));
    assert_eq!(pair.log.last().unwrap().first_kind(), COOKIE_ECHO);
}

#[test]
fn an_init_for_an_established_association_changes_nothing_until_its_cookie_comes() {
    let mut pair = Pair::connected();
    let old = read_init_ack(&pair.last_with(INIT_ACK)).0;
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(77))]));
    let ack = pair.last_with(INIT_ACK);
    let new = read_init_ack(&ack).0;
    assert_eq!(ack.tag(), 77);
    assert!(new != old && new != 0, "a new tag");
    assert_eq!(pair.server.state(), State::Established);
    let now = pair.now;
    pair.server.send(now, b"as before");
    pair.run_for(SECOND);
    assert_eq!(pair.client.texts(), [b"as before"]);
}

#[test]
fn an_init_from_any_listed_address_is_for_the_association_that_has_it() {
    let mut pair = Pair::connected();
    // The source is new; one of the addresses listed is the peer's.
    let known = [Parameter::Ipv4([10, 0, 0, 1].into())];
    let mut from = at_server();
    from.remote.set_ip(ip("10.0.0.77"));
    let init = to_server(0, &[&chunk(init_with(fixed(77), &known))]);
    pair.inject_packet(Way::ToServer, from, &init);
    let abort = pair.last_with(ABORT);
    assert_eq!(
        (abort.tag(), read_causes(&abort).1),
        (77, vec![11]),
        "a restart with a new address"
    );
    assert_eq!(pair.server.state(), State::Established);
}

#[test]
fn a_restart_begins_with_fresh_windows_and_numbers() {
    let mut pair = Pair::connected();
    let windows = |pair: &Pair| {
        let assoc = pair.server.endpoint.association(pair.server.handle()).unwrap();
        let view = assoc.view(pair.now);
        view.paths.iter().map(|p| (p.cwnd, p.outstanding)).collect::<Vec<_>>()
    };
    let fresh = windows(&pair);
    let now = pair.now;
    (0..200).for_each(|_| pair.server.send(now, &[3; 1400]));
    pair.run_for(5 * SECOND);
    assert!(windows(&pair)[0].0 > fresh[0].0, "the window has grown");
    pair.client = End::new(endpoint(CLIENT_PORT, &client_addresses()), 99);
    pair.connect();
    pair.run_for(SECOND);
    assert!(pair.server.has_seen(&Event::Restarted));
    assert_eq!(windows(&pair), fresh);
    let now = pair.now;
    pair.server.send(now, b"first of the new life");
    pair.run_for(SECOND);
    first(&pair.last_with(kind::DATA), |chunk| {
        let Chunk::Data(data) = chunk else { panic!("DATA expected") };
        assert_eq!((data.ssn, data.payload), (Ssn(0), &b"first of the new life"[..]));
    });
}

#[test]
fn addresses_of_a_family_we_lack_are_ignored_without_complaint() {
    let mut pair = Pair::new();
    let both = [
        Parameter::Ipv4([10, 0, 0, 1].into()),
        Parameter::Ipv6("fd00::1".parse().unwrap()),
        Parameter::SupportedAddressTypes(polypath_wire::Items::new(&[[0, 5], [0, 11], [0, 6]])),
    ];
    let init = to_server(0, &[&chunk(init_with(fixed(77), &both))]);
    pair.inject_packet(Way::ToServer, at_server(), &init);
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&cookie_echo(cookie)]));
    let assoc = pair.server.endpoint.association(pair.server.handle()).unwrap();
    assert_eq!((assoc.state(), assoc.view(pair.now).paths.len()), (State::Established, 1));
}

#[test]
fn neither_mapped_nor_nonsense_addresses_are_announced() {
    let own = ["10.0.0.1", "10.0.1.1", "::ffff:10.0.0.1", "0.0.0.0", "224.0.0.1"].map(ip);
    let config = EndpointConfig { addresses: own.to_vec(), ..endpoint(CLIENT_PORT, &[]) };
    let mut pair = Pair::with(config, endpoint(SERVER_PORT, &server_addresses()));
    pair.connect();
    pair.exchange_packets();
    first(&pair.log[0], |chunk| {
        let Chunk::Init(init) = chunk else { panic!("INIT expected") };
        let listed: Vec<u16> = init.params.iter().map(|p| p.unwrap().kind).collect();
        assert_eq!(listed.iter().filter(|k| matches!(**k, 5 | 6)).count(), 2);
        assert!(!listed.contains(&11), "no host name");
        let mut others: Vec<u16> = listed.into_iter().filter(|k| !matches!(k, 5 | 6)).collect();
        let count = others.len();
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), count, "every other parameter once");
    });
}

#[test]
fn the_first_window_is_that_of_the_address_family() {
    for (local, remote, first) in [("10.0.0.1", "10.0.0.2", 4404), ("fd00::1", "fd00::2", 4344)] {
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &[]), endpoint(SERVER_PORT, &[]));
        let config = std::sync::Arc::new(AssocConfig::default());
        let path = tuple(local, remote);
        let h = pair.client.endpoint.connect(pair.now, &[path], SERVER_PORT, config).unwrap();
        pair.run_for(SECOND);
        let assoc = pair.client.endpoint.association(h).unwrap();
        assert_eq!(assoc.view(pair.now).paths[0].cwnd, first, "{remote}");
    }
}

#[test]
fn an_unverified_address_gets_small_heartbeats_and_a_cookie_ack_only_beside_one() {
    let mut pair = Pair::new();
    pair.inject_packet(
        Way::ToServer,
        at_server(),
        &to_server(0, &[&chunk(init_with(fixed(77), &[Parameter::Ipv4([10, 0, 1, 1].into())]))]),
    );
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    pair.lose_packets(|_| Verdict::Lose);
    let before = pair.log.len();
    // The COOKIE ECHO comes from the address that is not verified yet.
    let second = reverse_tuple(client_paths()[1]);
    pair.inject_packet(Way::ToServer, second, &to_server(tag, &[&cookie_echo(cookie.clone())]));
    assert_eq!(pair.sent_since(before)[0].kinds(), [COOKIE_ACK, kind::HEARTBEAT]);
    pair.run_for(100 * SECOND);
    let to_second = |p: &&Packet| p.tuple == client_paths()[1];
    let unverified: Vec<&Packet> = pair.sent_since(before).iter().filter(to_second).collect();
    assert!(unverified.iter().skip(1).all(|p| p.kinds() == [kind::HEARTBEAT]));
    assert!(unverified.iter().all(|p| p.data.len() <= 60));
}

#[test]
fn late_in_a_shutdown_a_cookie_ack_takes_a_verified_path() {
    let mut pair = Pair::new();
    pair.inject_packet(
        Way::ToServer,
        at_server(),
        &to_server(0, &[&chunk(init_with(fixed(77), &[Parameter::Ipv4([10, 0, 1, 1].into())]))]),
    );
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    pair.lose_packets(|_| Verdict::Lose);
    let echo = to_server(tag, &[&cookie_echo(cookie)]);
    pair.inject_packet(Way::ToServer, at_server(), &echo);
    let shutdown = polypath_wire::ShutdownChunk {
        cumulative_tsn: Tsn(first(&pair.last_with(INIT_ACK), |chunk| match chunk {
            Chunk::InitAck(ack) => ack.fixed.initial_tsn.0.wrapping_sub(1),
            _ => panic!("INIT ACK expected"),
        })),
    };
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&chunk(shutdown)]));
    assert_eq!(pair.server.state(), State::ShutdownAckSent);
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, reverse_tuple(client_paths()[1]), &echo);
    let answer = &pair.sent_since(before)[0];
    assert_eq!((answer.kinds(), answer.tuple), (vec![COOKIE_ACK], client_paths()[0]));
}
