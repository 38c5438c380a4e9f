//! A former life of the peer sent SHUTDOWN, or our user did, and then the cookie of the peer's new
//! life comes (RFC 9260 section 5.2.4, actions A and B): what we do in each state, what the new
//! life sees, and that all ends.

use polypath_proto::time::Duration;
use polypath_proto::{AssocHandle, CloseReason, Event, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind::DATA;
use polypath_wire::{DataChunk, DataFlags, ShutdownChunk, Ssn, StreamId, Tsn};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
/// All states of an association that the cookie of a new life can find.
const STATES: [State; 5] = [
    State::Established,
    State::ShutdownPending,
    State::ShutdownSent,
    State::ShutdownReceived,
    State::ShutdownAckSent,
];

fn first_tsn(packet: &Packet) -> u32 {
    u32::from_be_bytes(packet.data[28..32].try_into().unwrap())
}

/// Nothing but what set-up needs passes; COOKIE ECHOs take a second.
fn only_set_up(pair: &mut Pair) {
    pair.lose_packets(|p| match p.first_kind() {
        COOKIE_ECHO => Verdict::Delay(SECOND),
        INIT | INIT_ACK => Verdict::Deliver,
        _ => Verdict::Lose,
    });
}

/// A client that has forgotten everything asks for a cookie and sends it, which takes a second.
fn new_life(pair: &mut Pair) {
    only_set_up(pair);
    let seed = 99 + pair.log.len() as u64;
    pair.client = End::new(endpoint(CLIENT_PORT, &client_addresses()), seed);
    pair.connect();
    pair.run_for(100 * MS);
}

/// Brings the server, which is us, to `state`: the former life knows its `tag` and that its first
/// TSN is `tsn`.
fn bring_to(pair: &mut Pair, state: State, tag: u32, tsn: u32) {
    let now = pair.now;
    if matches!(state, State::ShutdownPending | State::ShutdownReceived) {
        pair.server.send(now, b"to the former life");
    }
    match state {
        State::ShutdownPending | State::ShutdownSent => pair.server.shutdown(now),
        State::ShutdownReceived | State::ShutdownAckSent => {
            let shutdown = ShutdownChunk { cumulative_tsn: Tsn(tsn.wrapping_sub(1)) };
            pair.exchange_packets();
            pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&chunk(shutdown)]));
        }
        _ => {}
    }
    pair.exchange_packets();
    assert_eq!(pair.server.state(), state);
}

/// Action A. `early`: the new life has its cookie before the state changes.
fn by_tie_tags(state: State, early: bool) -> Pair {
    let mut pair = Pair::connected();
    let ack = pair.last_with(INIT_ACK);
    let (tag, tsn) = (read_init_ack(&ack).0, first_tsn(&ack));
    only_set_up(&mut pair);
    if early {
        new_life(&mut pair);
    }
    bring_to(&mut pair, state, tag, tsn);
    if !early {
        new_life(&mut pair);
    }
    pair
}

/// Action B. We open, too, and answer the INITs of both lives with the tag of ours. `heard`: the
/// former life sent data.
fn by_collision(state: State, heard: bool) -> Pair {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect_back();
    pair.exchange_packets();
    let (own, tsn) = (read_init(&pair.log[0]), first_tsn(&pair.log[0]));
    new_life(&mut pair);
    let (cookie, former) = (pair.last_with(COOKIE_ECHO), pair.last_with(INIT));
    pair.flying.clear();
    new_life(&mut pair);
    pair.inject_packet(Way::ToServer, at_server(), &cookie.data);
    assert_eq!((pair.server.state(), cookie.tag()), (State::Established, own));
    if heard {
        let data = chunk(data(first_tsn(&former)));
        pair.inject_packet(Way::ToServer, at_server(), &to_server(own, &[&data]));
    }
    bring_to(&mut pair, state, own, tsn);
    pair
}

fn data(tsn: u32) -> DataChunk<'static> {
    let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
    let (tsn, stream) = (Tsn(tsn), StreamId(0));
    DataChunk { tsn, stream, ssn: Ssn(0), ppid: 0, flags, payload: b"x" }
}

fn every_case() -> impl Iterator<Item = (String, State, Pair)> {
    STATES.into_iter().flat_map(|state| {
        [false, true].into_iter().flat_map(move |flag| {
            let early = if flag { "cookie before" } else { "cookie after" };
            let heard = if flag { "heard" } else { "not heard" };
            [
                (format!("A, {state:?}, {early}"), state, by_tie_tags(state, flag)),
                (format!("B, {state:?}, {heard}"), state, by_collision(state, flag)),
            ]
        })
    })
}

fn both_work(pair: &mut Pair, what: &str) {
    let (now, sent) = (pair.now, pair.server.received.len());
    pair.client.send(now, b"to server");
    pair.server.send(now, b"to client");
    pair.run_for(2 * SECOND);
    assert_eq!(pair.server.texts()[sent..], [b"to server"], "{what}");
    assert_eq!(pair.client.texts().last(), Some(&&b"to client"[..]), "{what}");
}

/// Chunk types of the server's packets.
fn said(pair: &Pair, since: usize) -> Vec<Vec<u8>> {
    let by_server = pair.sent_since(since).iter().filter(|p| p.way == Way::ToClient);
    by_server.map(Packet::kinds).collect()
}

/// What became of the association whose peer began anew.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// It goes on with the new life.
    Works,
    /// Our user wanted it to end, and nothing was exchanged with the former life: the new one is
    /// told.
    Ends,
    /// It ends; the new life then gets an association of its own.
    EndsAndBegins,
    /// It ends; the new life's cookie was for that one alone.
    EndsForBoth,
}

fn check(what: &str, state: State, mut pair: Pair) {
    pair.lose_packets(|_| Verdict::Deliver);
    let all: Vec<_> = pair.server.endpoint.associations().collect();
    pair.run_for(15 * SECOND);
    let (ours, theirs) = (pair.server.closed(), pair.client.closed());
    let shutdown = Some(CloseReason::Shutdown);
    let new = pair.server.endpoint.associations().any(|h| !all.contains(&h));
    let end = match (ours, theirs) {
        (None, None) => Outcome::Works,
        (a, b) if a == shutdown && b == shutdown => Outcome::Ends,
        (a, None) if a == shutdown && new => Outcome::EndsAndBegins,
        (a, Some(CloseReason::PeerAbort { cause: None })) if a == shutdown => Outcome::EndsForBoth,
        other => panic!("{what}: {other:?}"),
    };
    let expected = match state {
        State::ShutdownPending | State::ShutdownSent if what.ends_with("not heard") => {
            Outcome::Ends
        }
        state if state != State::ShutdownAckSent => Outcome::Works,
        _ if what.starts_with('A') => Outcome::EndsAndBegins,
        _ => Outcome::EndsForBoth,
    };
    assert_eq!(end, expected, "{what}");
    // Nothing was exchanged with the former life: there is no new one, only a new name.
    let renamed = what.ends_with("not heard") && state != State::ShutdownReceived;
    let restarted = state != State::ShutdownAckSent && !renamed;
    assert_eq!(pair.server.has_seen(&Event::Restarted), restarted, "{what}");
    if end == Outcome::Works {
        both_work(&mut pair, what);
        let now = pair.now;
        pair.client.shutdown(now);
        pair.run_for(5 * SECOND);
        assert_eq!((pair.client.closed(), pair.server.closed()), (shutdown.clone(), shutdown));
    }
}

#[test]
fn a_new_life_is_served_or_told_whatever_its_former_one_began() {
    for (what, state, pair) in every_case() {
        check(&what, state, pair);
    }
}

#[test]
fn in_shutdown_ack_sent_a_new_life_gets_shutdown_ack_and_an_error_and_no_association() {
    for mut pair in [
        by_tie_tags(State::ShutdownAckSent, true),
        by_collision(State::ShutdownAckSent, false),
        by_collision(State::ShutdownAckSent, true),
    ] {
        pair.lose_packets(
            |p| if p.way == Way::ToServer { Verdict::Lose } else { Verdict::Deliver },
        );
        let echo = pair.last_with(COOKIE_ECHO);
        pair.flying.clear();
        let before = pair.log.len();
        pair.inject_packet(Way::ToServer, echo.tuple, &echo.data);
        assert_eq!(said(&pair, before), [[SHUTDOWN_ACK, ERROR]]);
        assert_eq!(read_causes(pair.log.last().unwrap()).1, [10]);
        assert_eq!((pair.server.state(), pair.server.count()), (State::ShutdownAckSent, 1));
        // The new life's answer to the tag that it does not know: SHUTDOWN COMPLETE with the T bit.
        pair.deliver_all();
        pair.run_for(20 * MS);
        assert!(
            pair.log.iter().any(|p| p.first_kind() == SHUTDOWN_COMPLETE && p.first_flags() == 1)
        );
    }
}

/// Both open; the former life sends data or not, ends the association and dies; packets of it are
/// late.
#[test]
fn a_former_life_that_ends_the_association_while_both_open_leaves_nothing_that_hangs() {
    for (dies, late) in (21..61).step_by(4).flat_map(|d| (2..90).step_by(8).map(move |l| (d, l))) {
        for kinds in [&[COOKIE_ECHO][..], &[COOKIE_ECHO, SHUTDOWN], &[SHUTDOWN, DATA]] {
            let what = format!("{dies} ms, {late} ms, {kinds:?}");
            let mut pair = Pair::new();
            let end = pair.now + (dies + 10) * MS;
            pair.lose_packets(move |p| {
                let slow = p.way == Way::ToServer && p.at < end;
                let hit = slow && p.kinds().iter().any(|kind| kinds.contains(kind));
                if hit { Verdict::Delay(late * MS) } else { Verdict::Deliver }
            });
            pair.connect();
            pair.connect_back();
            let now = pair.now;
            pair.client.shutdown(now);
            pair.run_for(dies * MS);
            pair.client = End::new(endpoint(CLIENT_PORT, &client_addresses()), 99);
            pair.connect();
            pair.run_for(20 * SECOND);
            match (pair.client.closed(), pair.server.endpoint.associations().count()) {
                (None, 1..) => {
                    let now = pair.now;
                    pair.client.send(now, b"to server");
                    pair.client.shutdown(now);
                    pair.run_for(5 * SECOND);
                    assert_eq!(pair.server.texts().last(), Some(&&b"to server"[..]), "{what}");
                    assert_eq!(pair.client.closed(), Some(CloseReason::Shutdown), "{what}");
                }
                (Some(CloseReason::PeerAbort { cause: None }), _) => {}
                other => panic!("{what}: {other:?}"),
            }
            let open = |h: &AssocHandle| {
                pair.server.endpoint.association(*h).is_some_and(|a| a.state() != State::Closed)
            };
            assert_eq!(pair.server.endpoint.associations().filter(open).count(), 0, "{what}");
        }
    }
}
