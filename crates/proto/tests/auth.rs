//! Authenticated chunks (RFC 4895) between two endpoints.

use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::{
    AssocConfig, AuthConfig, AuthKey, EndpointConfig, ExtensionConfig, HmacAlgorithm,
};
use polypath_proto::event::AuthNotice;
use polypath_proto::ids::StreamId;
use polypath_proto::time::Duration;
use polypath_proto::{AuthKeyError, CloseReason, Event, SendOptions, State};
use polypath_testkit::pair::authentic::*;
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::{self, *};
use polypath_wire::{DataChunk, DataFlags, Parameter, ParamsBuf, Ssn, Tsn};

const SECOND: Duration = Duration::from_secs(1);
const EMPTY: (u16, &[u8]) = (0, b"");

/// Authentication on; `chunks` are demanded of the other side.
fn config(chunks: &[u8]) -> AssocConfig {
    AssocConfig {
        extensions: ExtensionConfig { authentication: true, ..ExtensionConfig::NONE },
        auth: AuthConfig { chunks: chunks.to_vec(), ..AuthConfig::default() },
        ..AssocConfig::default()
    }
}

fn with_keys(chunks: &[u8], keys: &[(u16, &[u8])]) -> AssocConfig {
    let key = |(id, secret): &(u16, &[u8])| AuthKey { id: *id, secret: secret.to_vec() };
    let mut config = config(chunks);
    config.auth.keys = keys.iter().map(key).collect();
    config.auth.active = keys[0].0;
    config
}

fn at(port: u16, addresses: &[core::net::IpAddr], assoc: AssocConfig) -> EndpointConfig {
    EndpointConfig { assoc: Arc::new(assoc), ..endpoint(port, addresses) }
}

fn pair(client: AssocConfig, server: AssocConfig) -> Pair {
    let mut pair = Pair::with(
        at(CLIENT_PORT, &client_addresses(), client.clone()),
        at(SERVER_PORT, &server_addresses(), server),
    );
    pair.connect_with(client);
    pair
}

fn connected(client: AssocConfig, server: AssocConfig) -> Pair {
    let mut pair = pair(client, server);
    pair.run_for(SECOND);
    assert_eq!(
        (pair.client.state(), pair.server.state()),
        (State::Established, State::Established)
    );
    pair
}

fn overheard(pair: &Pair) -> Overheard {
    Overheard::new(&pair.log[0], &pair.last_with(INIT_ACK))
}

/// The tag of packets to the server, and the client's first TSN.
fn server_tag(pair: &Pair) -> (u32, u32) {
    let init = &split_chunks(&pair.log[0])[0];
    let tsn = u32::from_be_bytes([init[16], init[17], init[18], init[19]]);
    (read_init_ack(&pair.last_with(INIT_ACK)).0, tsn)
}

fn data(tsn: u32, payload: &[u8]) -> DataChunk<'_> {
    DataChunk {
        tsn: Tsn(tsn),
        stream: StreamId(0),
        ssn: Ssn(0),
        ppid: 0,
        flags: DataFlags { beginning: true, ending: true, ..DataFlags::default() },
        payload,
    }
}

fn talk(pair: &mut Pair) {
    let (now, before) = (pair.now, pair.server.received.len());
    pair.client.send(now, b"to server");
    pair.server.send(now, b"to client");
    pair.run_for(2 * SECOND);
    assert_eq!(pair.server.texts()[before..], [b"to server"]);
    assert_eq!(pair.client.texts().last(), Some(&&b"to client"[..]));
}

fn notices(host: &End) -> Vec<AuthNotice> {
    let notice = |(_, e): &(_, Event)| match e {
        Event::Authentication(notice) => Some(*notice),
        _ => None,
    };
    host.events.iter().filter_map(notice).collect()
}

#[test]
fn everything_may_be_authenticated_both_ways() {
    let all: Vec<u8> = (0..=255).collect();
    let mut pair = connected(config(&all), config(&all));
    let mut message = vec![0; 100_000];
    message.iter_mut().enumerate().for_each(|(i, b)| *b = i as u8);
    let h = pair.client.handle();
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc
        .send(pair.now, StreamId(0), Bytes::from(message.clone()), SendOptions::default())
        .unwrap();
    pair.run_for(5 * SECOND);
    assert!(pair.server.received[0].data == message);
    talk(&mut pair);
    for packet in &pair.log {
        let kinds = packet.kinds();
        assert!(packet.data.len() <= 1480, "{kinds:?} in {} bytes", packet.data.len());
        let exempt = [INIT, INIT_ACK, SHUTDOWN_COMPLETE].contains(&kinds[0]);
        let auths = kinds.iter().filter(|kind| **kind == AUTH).count();
        assert_eq!((auths, kinds[0] == AUTH), if exempt { (0, false) } else { (1, true) });
    }
    let full = pair.log.iter().filter(|p| p.data.len() > 1470).count();
    assert!(full > 60, "DATA fills packets in spite of AUTH: {full}");
    let stats = pair.server.endpoint.association(pair.server.handle()).unwrap().stats();
    assert_eq!((stats.auth_failures, stats.unauthenticated_chunks), (0, 0));
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(SECOND);
    assert_eq!(pair.server.closed(), Some(CloseReason::Shutdown));
    assert_eq!(pair.client.closed(), Some(CloseReason::Shutdown));
}

#[test]
fn chunks_that_nobody_asked_for_stay_in_front_of_the_auth_chunk() {
    // The server wants DATA authenticated; the client wants nothing.
    let mut pair = connected(config(&[]), config(&[DATA]));
    talk(&mut pair);
    let data = |p: &&Packet| p.kinds().contains(&DATA);
    for packet in pair.log.iter().filter(data) {
        let kinds = packet.kinds();
        let auth = kinds.iter().position(|kind| *kind == AUTH);
        assert_eq!(auth.is_some(), packet.way == Way::ToServer, "{kinds:?}");
        assert!(auth.is_none_or(|at| kinds[at + 1] == DATA), "{kinds:?}");
    }
    let sacks = pair.log.iter().filter(|p| p.kinds() == [SACK]).count();
    assert!(sacks > 0, "SACKs need no AUTH");
}

#[test]
fn with_a_side_that_does_not_authenticate_nothing_is_authenticated() {
    for (client, server) in
        [(config(&[]), AssocConfig::default()), (AssocConfig::default(), config(&[]))]
    {
        let asked = client.extensions.authentication;
        let mut pair = connected(client, server);
        talk(&mut pair);
        assert!(pair.log.iter().all(|p| !p.kinds().contains(&AUTH)));
        assert!(key_vector(&pair.last_with(INIT_ACK)).is_empty());
        let (told, other) =
            if asked { (&pair.client, &pair.server) } else { (&pair.server, &pair.client) };
        assert_eq!(notices(told), [AuthNotice::NotSupported]);
        assert_eq!(notices(other), []);
        let h = other.handle();
        let host = if asked { &mut pair.server } else { &mut pair.client };
        let assoc = host.endpoint.association_mut(h).unwrap();
        assert_eq!(assoc.set_auth_key(1, b"x"), Err(AuthKeyError::Off));
    }
}

#[test]
fn who_demands_authentication_refuses_a_peer_without() {
    let mut one = pair(config(&[DATA]), AssocConfig::default());
    one.run_for(SECOND);
    assert_eq!(one.client.closed(), Some(CloseReason::NoAuthentication));
    assert_eq!(one.sent(Way::ToServer, COOKIE_ECHO), 0);
    let mut other = pair(AssocConfig::default(), config(&[DATA]));
    other.run_for(SECOND);
    assert_eq!(other.client.closed(), Some(CloseReason::PeerAbort { cause: Some(13) }));
    assert_eq!(other.server.count(), 0);
}

#[test]
fn data_without_proof_is_dropped_in_silence() {
    let mut pair = connected(config(&[]), config(&[DATA]));
    let (tag, tsn) = server_tag(&pair);
    let ports = (CLIENT_PORT, SERVER_PORT);
    let good =
        overheard(&pair).authenticated_packet(ports, tag, EMPTY, &[&chunk(data(tsn, b"good"))]);
    let plain = to_server(tag, &[&chunk(data(tsn, b"evil"))]);
    let after = overheard(&pair).authenticated_packet(ports, tag, EMPTY, &[]);
    // DATA in front of AUTH is not covered by it.
    let before = tamper_with(&good, |bytes| bytes[12..].rotate_left(40));
    let flipped = tamper_with(&good, |bytes| *bytes.last_mut().unwrap() ^= 1);
    let wrong_mac = tamper_with(&good, |bytes| bytes[25] ^= 1);
    let unknown_key =
        overheard(&pair).authenticated_packet(ports, tag, (7, b""), &[&chunk(data(tsn, b"evil"))]);
    // Authentic, but there is another AUTH chunk in what it covers.
    let auth = chunk(OwnedBytes(good[12..52].to_vec()));
    let twice = overheard(&pair).authenticated_packet(
        ports,
        tag,
        EMPTY,
        &[&auth, &chunk(data(tsn, b"evil"))],
    );
    let alone = pair.log.len();
    for forged in [plain, after, before, flipped, wrong_mac, unknown_key, twice] {
        pair.inject_packet(Way::ToServer, at_server(), &forged);
        pair.run_for(Duration::from_millis(300));
        assert_eq!(pair.log.len(), alone, "neither SACK nor ERROR nor ABORT");
    }
    let h = pair.server.handle();
    let stats = pair.server.endpoint.association(h).unwrap().stats();
    assert_eq!((stats.auth_failures, stats.unauthenticated_chunks), (4, 2));
    pair.inject_packet(Way::ToServer, at_server(), &good);
    assert_eq!(pair.server.texts(), [b"good"]);
}

#[test]
fn an_hmac_that_was_not_offered_is_reported() {
    let mut pair = connected(config(&[]), config(&[DATA]));
    let (tag, tsn) = server_tag(&pair);
    let good = overheard(&pair).authenticated_packet(
        (CLIENT_PORT, SERVER_PORT),
        tag,
        EMPTY,
        &[&chunk(data(tsn, b"x"))],
    );
    for id in [0, 2, 4] {
        let other = tamper_with(&good, |bytes| bytes[19] = id);
        let before = pair.log.len();
        pair.inject_packet(Way::ToServer, at_server(), &other);
        let sent = pair.sent_since(before);
        assert_eq!(sent.len(), 1);
        assert_eq!(read_causes(&sent[0]).1, [0x105]);
        assert_eq!(split_chunks(&sent[0])[0][8..10], [0, id]);
    }
    assert!(pair.server.received.is_empty());
}

#[test]
fn the_peers_favourite_hmac_is_used() {
    let sha1 = AuthConfig { hmacs: vec![HmacAlgorithm::Sha1], ..config(&[DATA]).auth };
    let server = AssocConfig { auth: sha1, ..config(&[DATA]) };
    let mut pair = connected(config(&[DATA]), server);
    talk(&mut pair);
    for packet in pair.log.iter().filter(|p| p.kinds().contains(&AUTH)) {
        let auth = split_chunks(packet).into_iter().find(|c| c[0] == AUTH).unwrap();
        let (id, len) = if packet.way == Way::ToServer { (1, 28) } else { (3, 40) };
        assert_eq!((auth[7], auth.len()), (id, len));
    }
}

#[test]
fn keys_change_while_data_flows() {
    let mut pair = connected(config(&[DATA]), config(&[DATA]));
    talk(&mut pair);
    for host in [&mut pair.client, &mut pair.server] {
        let h = host.handle();
        host.endpoint.association_mut(h).unwrap().set_auth_key(9, b"new secret").unwrap();
    }
    let (c, s) = (pair.client.handle(), pair.server.handle());
    // The client first; the server still sends with the old one.
    pair.client.endpoint.association_mut(c).unwrap().activate_auth_key(9).unwrap();
    talk(&mut pair);
    assert_eq!(
        (notices(&pair.server), notices(&pair.client)),
        (vec![AuthNotice::NewKey(9)], vec![])
    );
    pair.server.endpoint.association_mut(s).unwrap().activate_auth_key(9).unwrap();
    talk(&mut pair);
    assert_eq!(notices(&pair.client), [AuthNotice::NewKey(9)]);
    let client = pair.client.endpoint.association_mut(c).unwrap();
    assert_eq!(client.delete_auth_key(9), Err(AuthKeyError::Active { id: 9 }));
    assert_eq!(client.deactivate_auth_key(0), Ok(()));
    assert_eq!(client.delete_auth_key(0), Ok(()));
    talk(&mut pair);
    assert!(notices(&pair.client).contains(&AuthNotice::KeyFree(0)));
    let last = pair.log.iter().rev().find(|p| p.kinds().contains(&DATA)).unwrap();
    let auth = split_chunks(last).into_iter().find(|c| c[0] == AUTH).unwrap();
    assert_eq!(auth[5], 9);
}

#[test]
fn data_waits_for_a_peer_that_learns_the_key_late() {
    let mut pair = connected(config(&[]), config(&[DATA]));
    let (c, s) = (pair.client.handle(), pair.server.handle());
    let client = pair.client.endpoint.association_mut(c).unwrap();
    client.set_auth_key(1, b"secret").unwrap();
    client.activate_auth_key(1).unwrap();
    let now = pair.now;
    pair.client.send(now, b"early");
    pair.run_for(SECOND);
    assert!(pair.server.received.is_empty());
    // The wrong secret is no better than none.
    pair.server.endpoint.association_mut(s).unwrap().set_auth_key(1, b"other").unwrap();
    pair.run_for(3 * SECOND);
    assert!(pair.server.received.is_empty());
    pair.server.endpoint.association_mut(s).unwrap().set_auth_key(1, b"secret").unwrap();
    pair.run_for(10 * SECOND);
    assert_eq!(pair.server.texts(), [b"early"]);
}

#[test]
fn a_random_number_of_another_length_is_a_violation() {
    let params = |len: usize| {
        let random = vec![7; len];
        let ids: polypath_wire::ItemsBuf<u16, 2> = [1].into_iter().collect();
        let mut params = ParamsBuf::new();
        params.push(&Parameter::Random(&random));
        params.push(&Parameter::HmacAlgorithms(ids.as_items()));
        params
    };
    for (len, fine) in [(0, false), (31, false), (32, true), (33, false)] {
        let mut to = pair(config(&[]), config(&[]));
        to.lose_packets(|_| Verdict::Lose);
        let init = polypath_wire::InitRepr { fixed: fixed(77), params: params(len) };
        let before = to.log.len();
        to.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init)]));
        let from_server = |p: &&Packet| p.way == Way::ToClient;
        let answer = to.log[before..].iter().find(from_server).expect("an answer").clone();
        assert_eq!(answer.first_kind(), if fine { INIT_ACK } else { ABORT }, "{len} bytes");
        if !fine {
            assert_eq!((answer.tag(), read_causes(&answer)), (77, (false, vec![13])));
        }
        // And in an INIT ACK.
        let mut from = pair(config(&[]), config(&[]));
        from.lose_packets(|_| Verdict::Lose);
        from.exchange_packets();
        let tag = read_init(&from.log[0]);
        let mut params = params(len);
        params.push(&Parameter::StateCookie(b"cookie"));
        let ack = to_client(tag, &[&chunk(init_ack(fixed(78), params))]);
        from.inject_packet(Way::ToClient, client_paths()[0], &ack);
        let answer = from.log.last().unwrap();
        assert_eq!(answer.first_kind(), if fine { COOKIE_ECHO } else { ABORT }, "{len} bytes");
        let violation = CloseReason::ProtocolViolation { cause: 13 };
        assert_eq!(from.client.closed(), (!fine).then_some(violation));
    }
}

#[test]
fn addresses_that_cannot_be_protected_are_refused() {
    let listed = [ASCONF, ASCONF_ACK];
    let mut config = config(&[]);
    config.extensions.dynamic_addresses = true;
    let mut to = pair(config.clone(), config.clone());
    to.lose_packets(|_| Verdict::Lose);
    let init = init_with(fixed(77), &[Parameter::SupportedExtensions(&listed)]);
    to.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init)]));
    assert_eq!(to.sent(Way::ToClient, INIT_ACK), 0);
    assert_eq!(read_causes(&to.last_with(ABORT)), (false, vec![13]));
    let mut from = pair(config.clone(), config);
    from.lose_packets(|_| Verdict::Lose);
    from.exchange_packets();
    let tag = read_init(&from.log[0]);
    let params: ParamsBuf =
        [Parameter::SupportedExtensions(&listed), Parameter::StateCookie(b"cookie")]
            .into_iter()
            .collect();
    let ack = to_client(tag, &[&chunk(init_ack(fixed(78), params))]);
    from.inject_packet(Way::ToClient, client_paths()[0], &ack);
    assert_eq!(from.sent(Way::ToServer, COOKIE_ECHO), 0);
    assert_eq!(from.client.closed(), Some(CloseReason::NoAuthentication));
}

#[test]
fn a_server_may_want_the_cookie_echo_authenticated() {
    let keys: [(u16, &[u8]); 1] = [(4, b"both know it")];
    let mut good = connected(with_keys(&[], &keys), with_keys(&[COOKIE_ECHO], &keys));
    let echo = good.last_with(AUTH);
    assert_eq!(echo.kinds()[..2], [AUTH, COOKIE_ECHO]);
    talk(&mut good);
    // A client with another secret never gets in, nor does one that leaves AUTH out.
    let mut stranger = pair(with_keys(&[], &[(4, b"a guess")]), with_keys(&[COOKIE_ECHO], &keys));
    stranger.run_for(5 * SECOND);
    assert_eq!((stranger.server.count(), stranger.client.state()), (0, State::CookieEchoed));
    let packet = stranger.last_with(AUTH);
    let bare = tamper_with(&packet.data, |bytes| {
        bytes.drain(12..52);
    });
    let before = stranger.log.len();
    stranger.inject_packet(Way::ToServer, packet.tuple, &bare);
    assert_eq!((stranger.server.count(), stranger.log.len()), (0, before));
}

#[test]
fn what_follows_an_authentic_cookie_echo_is_taken() {
    // COOKIE ECHO, then AUTH and DATA; and all behind one AUTH.
    for first in [false, true] {
        let mut pair = pair(config(&[]), config(&[DATA]));
        pair.lose_packets(|p| {
            if p.kinds().contains(&COOKIE_ECHO) { Verdict::Lose } else { Verdict::Deliver }
        });
        pair.run_for(Duration::from_millis(100));
        let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
        let tsn = server_tag(&pair).1;
        let echo = cookie_echo(cookie);
        let ports = (CLIENT_PORT, SERVER_PORT);
        let data = chunk(data(tsn, b"early"));
        let packet = if first {
            overheard(&pair).authenticated_packet(ports, tag, EMPTY, &[&echo, &data])
        } else {
            let auth = overheard(&pair).authenticated_packet(ports, tag, EMPTY, &[&data]);
            let behind = move |writer: &mut polypath_wire::PacketWriter<'_>| {
                let end = writer.chunk_area().len();
                writer.insert(end, &pair::authentic::Bytes(&auth[12..]));
            };
            to_server(tag, &[&echo, &behind])
        };
        pair.inject_packet(Way::ToServer, at_server(), &packet);
        assert_eq!(pair.server.texts(), [b"early"], "AUTH first: {first}");
    }
}

#[test]
fn simultaneous_opens_agree_on_the_keys() {
    for kind in [0xff, INIT, INIT_ACK, COOKIE_ECHO, COOKIE_ACK] {
        let mut pair = pair(config(&[DATA]), config(&[DATA]));
        pair.lose_first(1, move |p| p.first_kind() == kind);
        let paths = client_paths().map(reverse_tuple);
        let both = Arc::new(config(&[DATA]));
        pair.server.endpoint.connect(pair.now, &paths, CLIENT_PORT, both).unwrap();
        pair.run_for(5 * SECOND);
        assert_eq!((pair.client.established(), pair.server.established()), (1, 1), "{kind}");
        talk(&mut pair);
    }
}

#[test]
fn a_restarted_peer_gets_new_keys_unless_cookie_echos_must_be_authentic() {
    for (demanded, restarts) in [(DATA, true), (COOKIE_ECHO, false)] {
        let mut pair = connected(config(&[]), config(&[demanded]));
        talk(&mut pair);
        pair.client = End::new(at(CLIENT_PORT, &client_addresses(), config(&[])), 99);
        pair.connect_with(config(&[]));
        pair.run_for(3 * SECOND);
        assert_eq!(pair.server.has_seen(&Event::Restarted), restarts);
        if restarts {
            talk(&mut pair);
        }
    }
}

#[test]
fn a_forged_abort_does_nothing_where_aborts_must_be_authentic() {
    let mut pair = connected(config(&[]), config(&[ABORT]));
    let (tag, _) = server_tag(&pair);
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&abort(false)]));
    assert_eq!(pair.server.closed(), None);
    let (now, h) = (pair.now, pair.client.handle());
    pair.client.endpoint.association_mut(h).unwrap().abort(now, Bytes::from_static(b"enough"));
    pair.run_for(SECOND);
    assert_eq!(pair.server.closed(), Some(CloseReason::PeerAbort { cause: Some(12) }));
}

#[test]
fn out_of_the_blue_a_leading_auth_chunk_is_left_out_of_account() {
    let listener = at(SERVER_PORT, &server_addresses(), config(&[]));
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), listener);
    let auth = [AUTH, 0, 0, 28].into_iter().chain([0; 24]).collect::<Vec<u8>>();
    let auth = chunk(OwnedBytes(auth));
    let complete = chunk(polypath_wire::Chunk::ShutdownAck);
    pair.inject_packet(Way::ToServer, at_server(), &to_server(9, &[&auth, &complete]));
    assert_eq!(pair.log.last().unwrap().first_kind(), SHUTDOWN_COMPLETE);
    pair.inject_packet(Way::ToServer, at_server(), &to_server(9, &[&auth, &abort(false)]));
    assert_eq!(pair.log.len(), 1);
}

struct OwnedBytes(Vec<u8>);

impl polypath_wire::EncodeChunk for OwnedBytes {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

#[test]
fn an_init_ack_with_auth_is_at_most_three_times_the_init() {
    let pair = connected(config(&[DATA]), config(&[DATA]));
    let (init, ack) = (pair.log[0].data.len() + 20, pair.last_with(INIT_ACK).data.len() + 20);
    assert!(ack <= 3 * init, "{ack} bytes for {init}");
}
