//! A cookie sets up one association in its life, however often its COOKIE ECHO comes (RFC 9260
//! sections 5.1.5 and 5.2.4).

use bytes::Bytes;
use polypath_proto::config::AssocConfig;
use polypath_proto::ids::Tsn;
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;

const SECOND: Duration = Duration::from_secs(1);
const DATA: u8 = 0;

/// The server's application aborts; the client never hears of it.
fn abort_in_silence(pair: &mut Pair) {
    let (now, h) = (pair.now, pair.server.handle());
    pair.lose_packets(|p| if p.first_kind() == ABORT { Verdict::Lose } else { Verdict::Deliver });
    pair.server.endpoint.association_mut(h).unwrap().abort(now, Bytes::new());
    pair.exchange_packets();
    pair.deliver_all();
}

/// Nobody answers for the client any more: its host is gone.
fn lose_all(pair: &mut Pair) {
    pair.lose_packets(|_| Verdict::Lose);
}

fn replay(pair: &mut Pair, packet: &Packet) {
    pair.inject_packet(packet.way, packet.tuple, &packet.data);
}

/// The server's only answer to `echo` is an ABORT for the client's tag, and no association comes of
/// it.
fn assert_refused(pair: &mut Pair, echo: &Packet, client_tag: u32) {
    let (before, associations) = (pair.log.len(), pair.server.established());
    replay(pair, echo);
    assert_eq!(pair.server.established(), associations);
    let answers = pair.sent_since(before);
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].first_kind(), answers[0].tag()), (ABORT, client_tag));
    assert_eq!(read_causes(&answers[0]), (false, vec![]));
}

#[test]
fn an_aborted_association_does_not_come_back() {
    let mut pair = Pair::connected();
    let (client_tag, echo) = (read_init(&pair.log[0]), pair.last_with(COOKIE_ECHO));
    abort_in_silence(&mut pair);
    lose_all(&mut pair);
    assert_refused(&mut pair, &echo, client_tag);
    assert_eq!(pair.server.endpoint.stats().bad_cookies, 1);
}

#[test]
fn a_removed_association_does_not_come_back() {
    for first_closed in [false, true] {
        let mut pair = Pair::connected();
        let (client_tag, echo) = (read_init(&pair.log[0]), pair.last_with(COOKIE_ECHO));
        if first_closed {
            abort_in_silence(&mut pair);
        }
        let h = pair.server.handle();
        pair.server.endpoint.remove(h);
        lose_all(&mut pair);
        assert_refused(&mut pair, &echo, client_tag);
        assert_eq!(pair.server.count(), 0);
    }
}

#[test]
fn an_association_that_was_shut_down_does_not_come_back() {
    let mut pair = Pair::connected();
    let (client_tag, echo) = (read_init(&pair.log[0]), pair.last_with(COOKIE_ECHO));
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(SECOND);
    assert_eq!(pair.server.closed(), Some(CloseReason::Shutdown));
    lose_all(&mut pair);
    assert_refused(&mut pair, &echo, client_tag);
}

#[test]
fn an_old_message_does_not_come_back_with_its_cookie() {
    let mut pair = Pair::connected();
    let now = pair.now;
    pair.client.send(now, b"once");
    pair.run_for(SECOND);
    let (echo, data) = (pair.last_with(COOKIE_ECHO), pair.last_with(DATA));
    abort_in_silence(&mut pair);
    let h = pair.server.handle();
    pair.server.endpoint.remove(h);
    lose_all(&mut pair);
    replay(&mut pair, &echo);
    replay(&mut pair, &data);
    assert_eq!(pair.server.texts(), [b"once"]);
}

#[test]
fn a_client_that_waits_for_the_cookie_ack_of_an_aborted_association_hears_of_it() {
    let mut pair = Pair::new();
    pair.lose_packets(|p| match p.first_kind() {
        COOKIE_ACK => Verdict::Lose,
        _ => Verdict::Deliver,
    });
    pair.connect();
    pair.run_for(Duration::from_millis(200));
    let states = (pair.client.state(), pair.server.state());
    assert_eq!(states, (State::CookieEchoed, State::Established));
    abort_in_silence(&mut pair);
    pair.run_for(5 * SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::PeerAbort { cause: None }));
    assert_eq!((pair.client.established(), pair.server.established()), (0, 1));
    // Its application may open another at once.
    let h = pair.client.handle();
    pair.client.endpoint.remove(h);
    pair.connect();
    pair.run_for(SECOND);
    assert_eq!((pair.client.established(), pair.server.established()), (1, 2));
}

#[test]
fn neither_cookie_of_an_association_that_restarted_comes_back() {
    let mut pair = Pair::connected();
    let first = (read_init(&pair.log[0]), pair.last_with(COOKIE_ECHO));
    pair.client = End::new(endpoint(CLIENT_PORT, &client_addresses()), 99);
    pair.connect();
    pair.run_for(SECOND);
    let second = (read_init(&pair.last_with(INIT)), pair.last_with(COOKIE_ECHO));
    assert_ne!(first.0, second.0);
    abort_in_silence(&mut pair);
    lose_all(&mut pair);
    for (client_tag, echo) in [first, second] {
        assert_refused(&mut pair, &echo, client_tag);
    }
}

#[test]
fn a_cookie_with_the_tag_of_our_own_init_does_not_bring_our_association_back() {
    // Both open: each side's cookie names the tag of its own INIT.
    let mut pair = Pair::new();
    pair.connect();
    pair.connect_back();
    pair.run_for(SECOND);
    assert_eq!(pair.server.state(), State::Established);
    let client_tag = read_init(&pair.log[0]);
    let echoes: Vec<Packet> =
        pair.log.iter().filter(|p| p.first_kind() == COOKIE_ECHO).cloned().collect();
    let echo = echoes.iter().find(|p| p.way == Way::ToServer).unwrap();
    abort_in_silence(&mut pair);
    lose_all(&mut pair);
    assert_refused(&mut pair, echo, client_tag);
}

#[test]
fn a_former_cookie_of_a_collision_does_not_give_the_peer_its_former_tag() {
    // The peer opens, restarts and opens again while we open: both cookies name the tag of our
    // INIT.
    let mut pair = Pair::new();
    lose_all(&mut pair);
    pair.connect();
    pair.exchange_packets();
    let path = client_paths()[0];
    let echoes = [55, 56].map(|peer_tag| {
        pair.now += Duration::from_millis(5);
        pair.inject_packet(Way::ToClient, path, &to_client(0, &[&chunk(init(peer_tag))]));
        let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
        to_client(tag, &[&cookie_echo(cookie)])
    });
    for (echo, acknowledged) in [(0, Some(55)), (1, Some(56)), (0, None), (1, Some(56))] {
        let before = pair.log.len();
        pair.inject_packet(Way::ToClient, path, &echoes[echo]);
        let ack = pair.sent_since(before).iter().find(|p| p.first_kind() == COOKIE_ACK);
        assert_eq!(ack.map(Packet::tag), acknowledged);
    }
}

#[test]
fn a_cookie_never_used_is_good_although_another_was() {
    let mut pair = Pair::new();
    lose_all(&mut pair);
    let cookies: Vec<_> = [77, 78]
        .map(|tag| {
            pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(tag))]));
            read_init_ack(&pair.last_with(INIT_ACK))
        })
        .into();
    for (i, (tag, cookie)) in cookies.into_iter().enumerate() {
        let echo = to_server(tag, &[&cookie_echo(cookie)]);
        pair.inject_packet(Way::ToServer, at_server(), &echo);
        assert_eq!(pair.server.established(), i + 1);
        abort_in_silence(&mut pair);
        lose_all(&mut pair);
        let h = pair.server.handle();
        pair.server.endpoint.remove(h);
    }
}

#[test]
fn a_living_association_acknowledges_its_own_cookie_as_often_as_it_comes() {
    let mut pair = Pair::connected();
    let echo = pair.last_with(COOKIE_ECHO);
    for count in 2..6 {
        replay(&mut pair, &echo);
        assert_eq!(pair.sent(Way::ToClient, COOKIE_ACK), count);
    }
    let now = pair.now;
    pair.client.send(now, b"all is well");
    pair.run_for(SECOND);
    assert_eq!(pair.server.texts(), [b"all is well"]);
    assert_eq!((pair.client.established(), pair.server.established()), (1, 1));
}

#[test]
fn a_closed_association_does_not_acknowledge_its_cookie() {
    let mut pair = Pair::connected();
    let echo = pair.last_with(COOKIE_ECHO);
    let (now, h, before) = (pair.now, pair.server.handle(), pair.log.len());
    pair.server.endpoint.association_mut(h).unwrap().abort(now, Bytes::new());
    // Before the ABORT is fetched.
    replay(&mut pair, &echo);
    pair.exchange_packets();
    let kinds: Vec<u8> = pair.sent_since(before).iter().map(Packet::first_kind).collect();
    assert!(!kinds.contains(&COOKIE_ACK), "{kinds:?}");
}

#[test]
fn a_server_full_of_used_cookies_takes_new_ones_and_no_old_one() {
    // More set-ups than are remembered, all within one cookie's life.
    const SETUPS: u32 = 70_000;
    let mut server = endpoint(SERVER_PORT, &[]);
    (server.replies.init_acks, server.replies.per_network) = (1_000_000, 1_000_000);
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    lose_all(&mut pair);
    let mut first = None;
    for i in 0..SETUPS {
        pair.now += Duration::from_micros(500);
        let echo = set_up(&mut pair, i + 1);
        assert_eq!(pair.server.count(), 1, "set-up {i}");
        let h = pair.server.handle();
        pair.server.endpoint.remove(h);
        pair.server.events.clear();
        pair.log.clear();
        first = first.or(Some(echo));
    }
    pair.inject_packet(Way::ToServer, at_server(), &first.unwrap());
    assert_eq!((pair.server.count(), read_causes(&pair.last_with(ERROR)).1), (0, vec![3]));
    // An honest client does not even notice.
    pair.deliver_all();
    pair.connect();
    pair.run_for(SECOND);
    assert_eq!((pair.client.established(), pair.server.established()), (1, 1));
}

/// A stranger with this tag opens and gets what it wants. Gives its COOKIE ECHO.
fn set_up(pair: &mut Pair, tag: u32) -> Vec<u8> {
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(tag))]));
    let (server_tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    let echo = to_server(server_tag, &[&cookie_echo(cookie)]);
    pair.inject_packet(Way::ToServer, at_server(), &echo);
    echo
}

#[test]
fn the_second_attempt_after_a_stale_cookie_has_another_tag() {
    // With the same tags and TSNs as the first attempt, its delayed packets would fit.
    let mut server = endpoint(SERVER_PORT, &server_addresses());
    server.cookie_life = Duration::from_millis(1);
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    pair.connect_with(AssocConfig { reproduction: begin_at(Tsn(7)), ..AssocConfig::default() });
    pair.run_for(5 * SECOND);
    let inits: Vec<u32> =
        pair.log.iter().filter(|p| p.first_kind() == INIT).map(read_init).collect();
    assert_eq!(inits.len(), 2);
    assert_ne!(inits[0], inits[1]);
}
