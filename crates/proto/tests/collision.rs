//! Set-up chunks for an association that exists: collision, duplicate, restart (RFC 9260 section
//! 5.2).

use polypath_proto::config::{AssocConfig, Handshake};
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, Event, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind::DATA;
use polypath_wire::{DataChunk, DataFlags, InitFixed, Parameter, ParamsBuf, Ssn, StreamId, Tsn};

const SECOND: Duration = Duration::from_secs(1);

/// A client that has forgotten everything connects again from the same addresses and port.
fn restart_client(pair: &mut Pair) {
    pair.client = End::new(endpoint(CLIENT_PORT, &client_addresses()), 99);
    pair.connect();
}

fn both_work(pair: &mut Pair) {
    let (now, sent) = (pair.now, pair.server.received.len());
    pair.client.send(now, b"to server");
    pair.server.send(now, b"to client");
    pair.run_for(2 * SECOND);
    assert_eq!(pair.server.texts()[sent..], [b"to server"]);
    assert_eq!(pair.client.texts().last(), Some(&&b"to client"[..]));
}

#[test]
fn simultaneous_opens_become_one_association() {
    let mut pair = Pair::new();
    pair.connect();
    pair.connect_back();
    pair.run_for(SECOND);
    assert_eq!((pair.client.count(), pair.server.count()), (1, 1));
    assert_eq!((pair.client.established(), pair.server.established()), (1, 1));
    both_work(&mut pair);
}

#[test]
fn simultaneous_opens_survive_the_loss_of_any_packet() {
    for kind in [INIT, INIT_ACK, COOKIE_ECHO, COOKIE_ACK] {
        for nth in 0..2 {
            let mut pair = Pair::new();
            let mut seen = 0;
            pair.lose_packets(move |p| {
                let hit = p.first_kind() == kind && seen == nth;
                seen += usize::from(p.first_kind() == kind);
                if hit { Verdict::Lose } else { Verdict::Deliver }
            });
            pair.connect();
            pair.connect_back();
            pair.run_for(5 * SECOND);
            let states = (pair.client.state(), pair.server.state());
            assert_eq!(states, (State::Established, State::Established), "{kind} {nth}");
            both_work(&mut pair);
        }
    }
}

#[test]
fn copies_of_an_init_do_not_end_the_association_that_a_bare_init_crosses() {
    // Found by random worlds: the answer to a bare INIT is too short for all addresses, so a copy
    // of the other side's INIT on its second path seemed to add one.
    let paths: Vec<_> =
        (0..8).map(|n| tuple(&format!("10.0.{n}.1"), &format!("10.0.{n}.2"))).collect();
    let ours: Vec<_> = paths.iter().map(|t| t.local.ip()).collect();
    let theirs: Vec<_> = paths.iter().map(|t| t.remote.ip()).collect();
    for (offset, late) in (0..60).step_by(4).flat_map(|o| (0..80).step_by(4).map(move |l| (o, l))) {
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &ours), endpoint(SERVER_PORT, &theirs));
        let first = ours[0];
        pair.lose_packets(move |p| match p.first_kind() {
            INIT if p.way == Way::ToServer && p.tuple.remote.ip() != first => {
                Verdict::Delay(Duration::from_millis(late))
            }
            _ => Verdict::Deliver,
        });
        let all = AssocConfig { handshake: Handshake::AllPaths, ..AssocConfig::default() };
        pair.client.endpoint.connect(pair.now, &paths, SERVER_PORT, all.into()).expect("connects");
        pair.run_for(Duration::from_millis(offset));
        if pair.server.count() == 0 {
            let bare = AssocConfig { minimal_init: true, ..AssocConfig::default() };
            let back = [reverse_tuple(paths[0])];
            let opened = pair.server.endpoint.connect(pair.now, &back, CLIENT_PORT, bare.into());
            opened.expect("connects");
        }
        pair.run_for(5 * SECOND);
        assert_eq!(pair.client.closed(), None, "{offset} ms, {late} ms");
        assert_eq!(pair.client.state(), State::Established, "{offset} ms, {late} ms");
    }
}

#[test]
fn opens_at_any_offset_become_one_association() {
    for offset in (0..60).step_by(5) {
        let mut pair = Pair::new();
        pair.connect();
        pair.run_for(Duration::from_millis(offset));
        if pair.server.count() == 0 {
            pair.connect_back();
        }
        pair.run_for(3 * SECOND);
        assert_eq!((pair.client.count(), pair.server.count()), (1, 1), "{offset} ms");
        both_work(&mut pair);
    }
}

#[test]
fn an_init_in_cookie_wait_is_answered_with_our_own_tag() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    let own = read_init(&pair.log[0]);
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(0, &[&chunk(init(55))]));
    let ack = pair.last_with(INIT_ACK);
    assert_eq!((ack.tag(), read_init_ack(&ack).0), (55, own));
    assert_eq!(pair.client.state(), State::CookieWait);
    // An address that our user did not name gets no answer.
    let before = pair.log.len();
    let mut stranger = client_paths()[0];
    stranger.local = client_paths()[1].local;
    pair.inject_packet(Way::ToClient, stranger, &to_client(0, &[&chunk(init(55))]));
    assert_eq!(pair.log.len(), before);
}

#[test]
fn action_b_takes_the_peers_new_tag() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(0, &[&chunk(init(55))]));
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&cookie_echo(cookie)]));
    assert_eq!(pair.client.state(), State::Established);
    assert_eq!(pair.last_with(COOKIE_ACK).tag(), 55);
}

/// Both open; the server dies after `dies` and opens again, while packets of its first life with
/// chunks of `kinds` are `late`.
fn restarted_while_both_open(dies: Duration, late: Duration, kinds: &'static [u8]) -> Pair {
    let mut pair = Pair::new();
    let end = pair.now + dies + Duration::from_millis(10);
    pair.lose_packets(move |p| {
        let slow = p.way == Way::ToClient && p.at < end;
        let hit = slow && p.kinds().iter().any(|kind| kinds.contains(kind));
        if hit { Verdict::Delay(late) } else { Verdict::Deliver }
    });
    pair.connect();
    pair.connect_back();
    let now = pair.now;
    pair.client.send(now, b"early");
    pair.server.send(now, b"of the first life");
    pair.run_for(dies);
    pair.server = End::new(endpoint(SERVER_PORT, &server_addresses()), 99);
    pair.connect_back();
    pair
}

fn both_end_well(mut pair: Pair, what: &str) {
    pair.run_for(10 * SECOND);
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None), "{what}");
    both_work(&mut pair);
    let now = pair.now;
    pair.client.shutdown(now);
    pair.server.shutdown(now);
    pair.run_for(5 * SECOND);
    let ends = (pair.client.closed(), pair.server.closed());
    assert_eq!(ends, (Some(CloseReason::Shutdown), Some(CloseReason::Shutdown)), "{what}");
}

#[test]
fn a_peer_that_restarts_while_both_open_is_heard_from_its_new_first_tsn() {
    // Found by random worlds: the former life's cookie comes after the new life's INIT, and DATA is
    // in flight when the new life's cookie comes. Its tag alone was taken over, not its TSN, and
    // the end was an ABORT for TSNs never sent.
    let ms = Duration::from_millis;
    let times = |dies| (2..60).map(move |late| (ms(dies), ms(late)));
    for (dies, late) in (21..60).step_by(3).flat_map(times) {
        for kinds in [&[COOKIE_ECHO][..], &[COOKIE_ECHO, COOKIE_ACK, DATA]] {
            let pair = restarted_while_both_open(dies, late, kinds);
            both_end_well(pair, &format!("{dies:?}, {late:?}, {kinds:?}"));
        }
    }
}

#[test]
fn a_peer_that_restarts_while_both_open_has_restarted_only_if_its_former_life_sent_data() {
    for heard in [false, true] {
        let mut pair = Pair::new();
        pair.lose_packets(|_| Verdict::Lose);
        pair.connect();
        pair.exchange_packets();
        let path = client_paths()[0];
        let lives = [(55, 1), (56, 1001)].map(|(peer_tag, tsn)| {
            pair.now += Duration::from_millis(5);
            let fixed = InitFixed { initial_tsn: Tsn(tsn), ..fixed(peer_tag) };
            pair.inject_packet(
                Way::ToClient,
                path,
                &to_client(0, &[&chunk(init_with(fixed, &[]))]),
            );
            let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
            (to_client(tag, &[&cookie_echo(cookie)]), to_client(tag, &[&chunk(data(tsn))]))
        });
        pair.inject_packet(Way::ToClient, path, &lives[0].0);
        if heard {
            pair.inject_packet(Way::ToClient, path, &lives[0].1);
        }
        let now = pair.now;
        pair.client.send(now, b"to the former life");
        pair.exchange_packets();
        pair.inject_packet(Way::ToClient, path, &lives[1].0);
        assert_eq!(pair.last_with(COOKIE_ACK).tag(), 56);
        assert_eq!(pair.client.has_seen(&Event::Restarted), heard);
        let failed = |(_, e): &(_, Event)| matches!(e, Event::SendFailed { sent: true, .. });
        assert_eq!(pair.client.events.iter().any(failed), heard, "else it is sent again");
        pair.inject_packet(Way::ToClient, path, &lives[1].1);
        assert_eq!(pair.client.texts().len(), 1 + usize::from(heard));
    }
}

fn data(tsn: u32) -> DataChunk<'static> {
    let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
    let (tsn, stream) = (Tsn(tsn), StreamId(0));
    DataChunk { tsn, stream, ssn: Ssn(0), ppid: 0, flags, payload: b"x" }
}

#[test]
fn action_c_leaves_everything_as_it_was() {
    // A cookie of a time when the client had no association, for the peer's present tag but another
    // of ours.
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(0, &[&chunk(init(55))]));
    let (old_tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    pair.connect();
    pair.exchange_packets();
    let own = read_init(&pair.last_with(INIT));
    let params: ParamsBuf = [Parameter::StateCookie(b"theirs")].into_iter().collect();
    let ack = init_ack(fixed(55), params);
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(own, &[&chunk(ack)]));
    assert_eq!(pair.client.state(), State::CookieEchoed);
    let before = pair.log.len();
    pair.inject_packet(
        Way::ToClient,
        client_paths()[0],
        &to_client(old_tag, &[&cookie_echo(cookie)]),
    );
    assert_eq!((pair.log.len(), pair.client.state()), (before, State::CookieEchoed));
    // T1-cookie runs on.
    pair.run_for(Duration::from_millis(1100));
    assert_eq!(pair.log.last().unwrap().first_kind(), COOKIE_ECHO);
}

#[test]
fn a_restarted_client_gets_its_association_back_in_place() {
    let mut pair = Pair::connected();
    let handle = pair.server.handle();
    let now = pair.now;
    pair.client.send(now, b"before");
    pair.run_for(SECOND);
    // Data is in flight when the client dies.
    pair.lose_packets(|_| Verdict::Lose);
    let now = pair.now;
    pair.server.send(now, b"lost in the restart");
    pair.run_for(Duration::from_millis(50));
    pair.deliver_all();
    restart_client(&mut pair);
    pair.run_for(SECOND);
    assert_eq!((pair.server.handle(), pair.server.count()), (handle, 1));
    assert!(pair.server.has_seen(&Event::Restarted));
    let failed = |(_, e): &(_, Event)| matches!(e, Event::SendFailed { sent: true, .. });
    assert_eq!(pair.server.events.iter().filter(|e| failed(e)).count(), 1);
    both_work(&mut pair);
}

#[test]
fn a_restart_is_seen_in_established_and_shutdown_sent() {
    for (by_server, drop) in [(true, SHUTDOWN), (false, SHUTDOWN_ACK)] {
        let mut pair = Pair::connected();
        pair.lose_packets(
            move |p| if p.kinds().contains(&drop) { Verdict::Lose } else { Verdict::Deliver },
        );
        let now = pair.now;
        if by_server {
            pair.server.shutdown(now);
        }
        pair.run_for(Duration::from_millis(50));
        restart_client(&mut pair);
        pair.run_for(SECOND);
        assert!(pair.server.has_seen(&Event::Restarted));
        assert_eq!(pair.server.state(), State::Established);
    }
}

#[test]
fn an_init_in_shutdown_ack_sent_is_answered_with_shutdown_ack() {
    let mut pair = Pair::connected();
    // The server never hears SHUTDOWN COMPLETE; the client has closed and opens anew.
    pair.lose_packets(|p| {
        if p.kinds().contains(&SHUTDOWN_COMPLETE) { Verdict::Lose } else { Verdict::Deliver }
    });
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.server.state(), State::ShutdownAckSent);
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(77))]));
    let kinds: Vec<u8> = pair.sent_since(before).iter().map(Packet::first_kind).collect();
    assert_eq!(kinds, [SHUTDOWN_ACK]);
    // The reflected COMPLETE of a client that is setting up ends the old association; then the new
    // one comes about.
    pair.deliver_all();
    restart_client(&mut pair);
    pair.run_for(5 * SECOND);
    assert!(pair.server.closed().is_some());
    assert_eq!(pair.client.state(), State::Established);
}

#[test]
fn a_restart_cookie_in_shutdown_ack_sent_is_refused() {
    let mut pair = Pair::connected();
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(77))]));
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    pair.lose_packets(|p| {
        if p.kinds().contains(&SHUTDOWN_COMPLETE) { Verdict::Lose } else { Verdict::Deliver }
    });
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.server.state(), State::ShutdownAckSent);
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&cookie_echo(cookie)]));
    let answer = &pair.sent_since(before)[0];
    assert_eq!(answer.kinds(), [SHUTDOWN_ACK, ERROR]);
    assert_eq!(read_causes(answer).1, [10]);
    assert_eq!(pair.server.state(), State::ShutdownAckSent);
}

#[test]
fn a_restart_with_a_new_address_is_refused_and_changes_nothing() {
    let mut pair = Pair::connected();
    let victim = [Parameter::Ipv4([192, 0, 2, 66].into())];
    let restart = to_server(0, &[&chunk(init_with(fixed(77), &victim))]);
    pair.inject_packet(Way::ToServer, at_server(), &restart);
    let abort = pair.last_with(ABORT);
    assert_eq!((abort.tag(), read_causes(&abort)), (77, (false, vec![11])));
    assert!(!pair.server.has_seen(&Event::Restarted));
    both_work(&mut pair);
}

#[test]
fn a_restart_cookie_without_the_tie_tags_is_dropped() {
    // Made while there was no association: no tie-tags; both tags differ from the association's.
    let mut pair = Pair::new();
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(77))]));
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    pair.connect();
    pair.run_for(SECOND);
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&cookie_echo(cookie)]));
    assert_eq!(pair.log.len(), before);
    assert!(!pair.server.has_seen(&Event::Restarted));
    both_work(&mut pair);
}

#[test]
fn the_restart_cookie_does_not_reveal_the_tags() {
    let mut pair = Pair::connected();
    let (client_tag, server_tag) =
        (read_init(&pair.log[0]), read_init_ack(&pair.last_with(INIT_ACK)).0);
    pair.inject_packet(Way::ToServer, at_server(), &to_server(0, &[&chunk(init(77))]));
    let (_, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    for tag in [client_tag, server_tag] {
        assert!(!cookie.windows(4).any(|bytes| bytes == tag.to_be_bytes()));
    }
}

#[test]
fn a_duplicate_cookie_is_acknowledged_in_shutdown_ack_sent() {
    let mut pair = Pair::connected();
    let echo = pair.last_with(COOKIE_ECHO);
    pair.lose_packets(|p| {
        if p.kinds().contains(&SHUTDOWN_COMPLETE) { Verdict::Lose } else { Verdict::Deliver }
    });
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.server.state(), State::ShutdownAckSent);
    pair.inject_packet(Way::ToServer, echo.tuple, &echo.data);
    assert_eq!(pair.log.last().unwrap().first_kind(), COOKIE_ACK);
    assert_eq!(pair.server.state(), State::ShutdownAckSent);
}

#[test]
fn a_late_copy_of_the_init_is_answered_and_changes_nothing() {
    // INITs go out on all paths at once; behind NATs each comes from another address, which no INIT
    // lists.
    let mut pair = Pair::connected();
    let (init, first) = (pair.last_with(INIT), read_init_ack(&pair.last_with(INIT_ACK)));
    let mut from_nat = init.tuple;
    from_nat.remote = tuple("10.0.0.2", "192.0.2.7").remote;
    for from in [from_nat, init.tuple] {
        let before = pair.log.len();
        pair.inject_packet(Way::ToServer, from, &init.data);
        let answers = pair.sent_since(before).to_vec();
        assert_eq!(answers.len(), 1);
        let ack = &answers[0];
        // To where it came from, with the tag that it named, and with a new one of ours (RFC 9260
        // section 5.2.2).
        assert_eq!((ack.kinds(), ack.tag()), (vec![INIT_ACK], read_init(&init)));
        assert_eq!(ack.tuple, reverse_tuple(from));
        let (tag, cookie) = read_init_ack(ack);
        assert_ne!(tag, first.0);
        // Nobody asked for that cookie. Who brings it all the same gets nothing: it is no restart
        // and no association of its own.
        let before = pair.log.len();
        let echo = to_server(tag, &[&cookie_echo(cookie)]);
        pair.inject_packet(Way::ToServer, from, &echo);
        assert_eq!(pair.log.len(), before, "{:?}", pair.log.last().map(Packet::kinds));
        pair.run_for(SECOND);
        assert_eq!((pair.client.count(), pair.server.count()), (1, 1));
    }
    for host in [&pair.client, &pair.server] {
        assert!(!host.has_seen(&Event::Restarted) && host.closed().is_none());
    }
    both_work(&mut pair);
}
