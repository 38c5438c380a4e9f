//! Paths, rule by rule: heartbeats, verification, error counters, failover (RFC 9260 sections 5.4,
//! 6.3, 6.4 and 8), potentially failed paths (RFC 7829).

use polypath_proto::config::{AssocConfig, PathPairing, PfConfig};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{PathState, PathView};
use polypath_proto::{CloseReason, Event, FourTuple, PathId, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;
use polypath_wire::{
    ChecksumCheck, Chunk, HeartbeatRepr, PacketView, Parameter, SackRepr, ShutdownChunk, Tsn,
};

const SECOND: Duration = Duration::from_secs(1);
const FIRST: PathId = PathId(0);
const SECOND_PATH: PathId = PathId(1);

/// Two paths, both ends with these settings, a while after set-up.
fn pair_with(config: AssocConfig) -> Pair {
    let mut pair = Pair::connecting(config.clone(), config);
    pair.run_for(SECOND);
    assert_eq!(
        (pair.client.state(), pair.server.state()),
        (State::Established, State::Established)
    );
    pair
}

fn view(pair: &Pair, p: PathId) -> PathView {
    let assoc = pair.client.endpoint.association(pair.client.handle()).unwrap();
    *assoc.view(pair.now).path(p).unwrap()
}

fn on(packet: &Packet, path: FourTuple) -> bool {
    packet.tuple == path || packet.tuple == reverse_tuple(path)
}

/// Path `i` is dead both ways.
fn cut(pair: &mut Pair, i: usize) {
    let dead = client_paths()[i];
    pair.lose_packets(move |p| if on(p, dead) { Verdict::Lose } else { Verdict::Deliver });
}

/// When the client sent chunks of type `kind` on path `i`.
fn times(pair: &Pair, i: usize, kind: u8) -> Vec<Time> {
    let there = reverse_tuple(client_paths()[i]);
    let sent = pair.log.iter().filter(|p| p.tuple == there && p.kinds().contains(&kind));
    sent.map(|p| p.at).collect()
}

/// The client's first TSN, as its INIT says.
fn client_tsn(pair: &Pair) -> u32 {
    u32::from_be_bytes(pair.log[0].data[28..32].try_into().unwrap())
}

fn waits(times: &[Time]) -> Vec<Duration> {
    times.windows(2).map(|w| w[1] - w[0]).collect()
}

fn states(pair: &Pair, p: PathId) -> Vec<PathState> {
    let of = |e: &Event| match e {
        Event::PathState { path, state } if *path == p => Some(*state),
        _ => None,
    };
    pair.client.events.iter().filter_map(|(_, e)| of(e)).collect()
}

#[test]
fn idle_paths_are_asked_every_interval_plus_rto_with_jitter() {
    let mut pair = pair_with(AssocConfig::default());
    pair.run_for(3600 * SECOND);
    for i in 0..2 {
        let waits = waits(&times(&pair, i, kind::HEARTBEAT));
        assert!((110..=120).contains(&waits.len()), "{}", waits.len());
        // RTO is RTO.Min, 1 s; half of it either way. The period begins when the last one was
        // answered, 20 ms after it was sent.
        let (low, high) = (SECOND * 305 / 10, SECOND * 3152 / 100);
        // The first is at the end of path verification.
        assert!(waits.iter().skip(1).all(|w| *w >= low && *w <= high), "{waits:?}");
        let spread =
            waits.iter().skip(1).max().unwrap().abs_diff(*waits.iter().skip(1).min().unwrap());
        assert!(spread > SECOND / 2, "they are not all alike: {spread:?}");
    }
}

#[test]
fn a_padded_heartbeat_follows_the_first_ones_and_then_one_in_eight_seconds() {
    let config = AssocConfig { rate_probes: true, ..AssocConfig::default() };
    let mut pair = pair_with(AssocConfig { heartbeat_interval: Some(SECOND / 4), ..config });
    pair.run_for(60 * SECOND);
    let there = reverse_tuple(client_paths()[1]);
    let padded = |p: &&Packet| p.tuple == there && p.kinds().contains(&kind::PAD);
    let probes: Vec<_> = pair.log.iter().filter(padded).collect();
    // As large as a packet with data, and nothing else is in it.
    let room = view(&pair, SECOND_PATH).pmdcs as usize;
    assert!(probes.iter().all(|p| p.data.len().abs_diff(room + 12) < 4));
    assert!(probes.iter().all(|p| p.kinds() == [kind::HEARTBEAT, kind::PAD]));
    let waits = waits(&probes.iter().map(|p| p.at).collect::<Vec<_>>());
    let (first, then) = waits.split_at(2);
    assert!(first.iter().all(|w| *w < 2 * SECOND), "{first:?}");
    assert!(then.iter().all(|w| *w > 8 * SECOND && *w < 11 * SECOND), "{then:?}");
    assert!((5..=8).contains(&then.len()));
    // Its round trip has the padding in it, and is none of the path's.
    assert_eq!(view(&pair, SECOND_PATH).state, PathState::Active);
}

#[test]
fn a_path_that_does_not_answer_is_asked_ever_more_rarely_and_on_and_on() {
    let mut pair = pair_with(AssocConfig::default());
    cut(&mut pair, 1);
    let before = pair.now;
    pair.run_for(3600 * SECOND);
    assert_eq!(view(&pair, SECOND_PATH).state, PathState::Inactive);
    let sent: Vec<Time> =
        times(&pair, 1, kind::HEARTBEAT).into_iter().filter(|t| *t > before).collect();
    let waits = waits(&sent);
    // RTO doubles up to RTO.Max, 60 s: 30 s and 30 to 90 s more.
    assert!(waits.iter().skip(7).all(|w| *w >= 60 * SECOND && *w <= 120 * SECOND), "{waits:?}");
    assert!(waits[0] < 40 * SECOND && waits.len() > 30);
    // The association lives on by its other path, and is told when this one is back.
    assert_eq!(pair.client.state(), State::Established);
    pair.deliver_all();
    pair.run_for(200 * SECOND);
    assert_eq!(states(&pair, SECOND_PATH).last(), Some(&PathState::Active));
    assert_eq!(view(&pair, SECOND_PATH).errors, 0);
}

#[test]
fn a_path_bears_path_max_retrans_failures_and_is_inactive_at_the_next() {
    for (most, potentially_failed) in [(0, false), (1, false), (5, false), (5, true)] {
        let config = AssocConfig {
            path_max_retrans: most,
            heartbeat_interval: Some(SECOND),
            potentially_failed: potentially_failed.then(PfConfig::default),
            ..AssocConfig::default()
        };
        let mut pair = pair_with(config);
        cut(&mut pair, 1);
        // RTO doubles from one second: five failures take little more than a minute.
        for _ in 0..2000 {
            let path = view(&pair, SECOND_PATH);
            if path.state == PathState::Inactive {
                break;
            }
            assert!(path.errors <= most, "{path:?}");
            pair.run_for(SECOND / 10);
        }
        let path = view(&pair, SECOND_PATH);
        assert_eq!((path.state, path.errors), (PathState::Inactive, most + 1));
    }
}

#[test]
fn a_path_with_data_gets_no_heartbeats() {
    let config = AssocConfig { heartbeat_interval: Some(2 * SECOND), ..AssocConfig::default() };
    let mut pair = pair_with(config);
    pair.run_for(10 * SECOND);
    let before = pair.now;
    for _ in 0..300 {
        let now = pair.now;
        pair.client.send(now, b"a little now and then");
        pair.run_for(SECOND / 10);
    }
    let beats = |i| times(&pair, i, kind::HEARTBEAT).iter().filter(|t| **t > before).count();
    // Round robin over both paths would leave neither idle; the default sends on the primary alone.
    assert!(beats(0) == 0 && beats(1) >= 8, "{} {}", beats(0), beats(1));
}

#[test]
fn no_heartbeat_follows_a_shutdown() {
    for by_peer in [false, true] {
        let mut pair = pair_with(AssocConfig::default());
        pair.run_for(60 * SECOND);
        let now = pair.now;
        if by_peer {
            pair.lose_packets(|p| {
                if p.kinds().contains(&SHUTDOWN_ACK) { Verdict::Lose } else { Verdict::Deliver }
            });
            pair.server.shutdown(now);
        } else {
            pair.lose_packets(|p| {
                if p.way == Way::ToServer { Verdict::Lose } else { Verdict::Deliver }
            });
            pair.client.shutdown(now);
        }
        let before = pair.log.len();
        pair.run_for(120 * SECOND);
        let own = |p: &&Packet| p.way == Way::ToServer;
        let kinds: Vec<u8> =
            pair.sent_since(before).iter().filter(own).flat_map(Packet::kinds).collect();
        assert!(!kinds.is_empty() && !kinds.contains(&kind::HEARTBEAT), "{kinds:?}");
    }
}

#[test]
fn a_heartbeat_is_answered_word_for_word_where_it_came_from_in_the_states_that_allow_it() {
    let mut pair = pair_with(AssocConfig::default());
    let (tag, tsn) = {
        let ack = pair.last_with(INIT_ACK);
        let tsn = u32::from_be_bytes(ack.data[28..32].try_into().unwrap());
        (read_init_ack(&ack).0, tsn)
    };
    pair.lose_packets(|_| Verdict::Lose);
    // A second TLV behind the info, and padding between them.
    let info = b"opaque \x01\x02\x03";
    let heartbeat = to_server(tag, &[&chunk(HeartbeatRepr { info })]);
    for path in client_paths() {
        let before = pair.log.len();
        pair.inject_packet(Way::ToServer, reverse_tuple(path), &heartbeat);
        let [answer] = pair.sent_since(before) else { panic!("one answer") };
        assert_eq!((answer.tuple, answer.kinds()), (path, vec![kind::HEARTBEAT_ACK]));
        assert_eq!(answer.data[16..], heartbeat[16..], "the value is the same");
    }
    // On a new pair of known addresses, which is not verified, it is answered as well.
    let crossed = tuple("10.0.0.2", "10.0.1.1");
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, crossed, &heartbeat);
    assert_eq!(pair.sent_since(before)[0].kinds(), [kind::HEARTBEAT_ACK]);
    // Not any more once SHUTDOWN ACK was sent.
    let shutdown = chunk(ShutdownChunk { cumulative_tsn: Tsn(tsn.wrapping_sub(1)) });
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&shutdown]));
    assert_eq!(pair.server.state(), State::ShutdownAckSent);
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, at_server(), &heartbeat);
    assert_eq!(pair.log.len(), before);
    // Nor before the COOKIE ECHO.
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    let (own, before) = (read_init(&pair.log[0]), pair.log.len());
    let heartbeat = to_client(own, &[&chunk(HeartbeatRepr { info })]);
    pair.inject_packet(Way::ToClient, client_paths()[0], &heartbeat);
    assert_eq!((pair.log.len(), pair.client.state()), (before, State::CookieWait));
}

/// A server that has an unverified address of its peer; the tag of packets to it.
fn unverified() -> (Pair, u32) {
    let mut server = endpoint(SERVER_PORT, &server_addresses());
    server.pairing = PathPairing::Index;
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    pair.lose_packets(|_| Verdict::Lose);
    let both = [Parameter::Ipv4([10, 0, 0, 1].into()), Parameter::Ipv4([10, 0, 1, 1].into())];
    pair.inject_packet(
        Way::ToServer,
        at_server(),
        &to_server(0, &[&chunk(init_with(fixed(77), &both))]),
    );
    let (tag, cookie) = read_init_ack(&pair.last_with(INIT_ACK));
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&cookie_echo(cookie)]));
    pair.run_for(SECOND / 100);
    (pair, tag)
}

fn server_path(pair: &Pair, tuple: FourTuple) -> PathState {
    let assoc = pair.server.endpoint.association(pair.server.handle()).unwrap();
    let found = (0..16).map(PathId).find(|p| assoc.path_tuple(*p) == Some(tuple)).expect("a path");
    assoc.view(pair.now).path(found).unwrap().state
}

#[test]
fn an_address_is_verified_by_the_answer_to_its_own_heartbeat_and_by_nothing_else() {
    let (mut pair, tag) = unverified();
    let second = reverse_tuple(client_paths()[1]);
    assert_eq!(server_path(&pair, second), PathState::Unconfirmed);
    let heartbeat = pair.log.iter().rev().find(|p| p.kinds() == [kind::HEARTBEAT]).unwrap().clone();
    assert_eq!(heartbeat.tuple, client_paths()[1]);
    let view = PacketView::parse(&heartbeat.data, ChecksumCheck::Verify).unwrap();
    let Chunk::Heartbeat(asked) = view.chunks().next().unwrap().unwrap().decode().unwrap() else {
        panic!("HEARTBEAT expected")
    };
    let info = asked.info().to_vec();
    assert!(info.len() >= 8, "the nonce has 64 bits");
    let answer = |info: &[u8]| {
        let value = [&[0, 1][..], &(4 + info.len() as u16).to_be_bytes(), info].concat();
        let len = 4 + value.len() as u16;
        let bytes = [&[kind::HEARTBEAT_ACK, 0][..], &len.to_be_bytes(), &value].concat();
        to_server(tag, &[&|w| w.push(&Raw(&bytes)).unwrap()])
    };
    // Every single bit counts: the path and the nonce.
    for bit in 0..info.len() * 8 {
        let mut forged = info.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        pair.inject_packet(Way::ToServer, second, &answer(&forged));
    }
    assert_eq!(server_path(&pair, second), PathState::Unconfirmed);
    pair.inject_packet(Way::ToServer, second, &answer(&info));
    assert_eq!(server_path(&pair, second), PathState::Active);
    // Again it gives no second sample, as it is not in flight any more.
    let acked = |pair: &Pair| {
        let assoc = pair.server.endpoint.association(pair.server.handle()).unwrap();
        assoc.stats().paths.iter().map(|p| p.heartbeats_acked).sum::<u64>()
    };
    let before = acked(&pair);
    pair.inject_packet(Way::ToServer, second, &answer(&info));
    assert_eq!(acked(&pair), before);
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

#[test]
fn an_unverified_address_is_asked_once_per_rto_and_gets_nothing_else() {
    let (mut pair, _) = unverified();
    let now = pair.now;
    for _ in 0..50 {
        pair.server.send(now, &[1; 1000]);
    }
    pair.run_for(60 * SECOND);
    let there: Vec<&Packet> = pair.log.iter().filter(|p| p.tuple == client_paths()[1]).collect();
    assert!(there.iter().all(|p| p.kinds() == [kind::HEARTBEAT] && p.data.len() <= 100));
    let waits = waits(&there.iter().map(|p| p.at).collect::<Vec<_>>());
    assert_eq!(waits[..3], [SECOND, 2 * SECOND, 4 * SECOND], "RTO, doubled each time");
    // Its failures are not the association's.
    let assoc = pair.server.endpoint.association(pair.server.handle()).unwrap();
    assert!(assoc.state() == State::Established || pair.server.closed().is_some());
}

#[test]
fn data_moves_off_a_dead_primary_and_comes_back_to_it() {
    let mut pair = pair_with(AssocConfig::default());
    cut(&mut pair, 0);
    let chat = |pair: &mut Pair, seconds: u32| {
        let before = pair.log.len();
        for _ in 0..seconds {
            let now = pair.now;
            pair.client.send(now, b"a message");
            pair.run_for(SECOND);
        }
        let data = |p: &&Packet| p.way == Way::ToServer && p.kinds().contains(&kind::DATA);
        let sent: Vec<&Packet> = pair.sent_since(before).iter().filter(data).collect();
        let first = sent.iter().filter(|p| on(p, client_paths()[0])).count();
        (first, sent.len() - first)
    };
    chat(&mut pair, 200);
    assert_eq!(states(&pair, FIRST), [PathState::Inactive]);
    assert!(view(&pair, FIRST).errors > 5);
    let (first, second) = chat(&mut pair, 20);
    assert_eq!((first, second), (0, 20), "retransmissions and new data take the other path");
    pair.deliver_all();
    pair.run_for(150 * SECOND);
    assert_eq!(states(&pair, FIRST), [PathState::Inactive, PathState::Active]);
    let (first, _) = chat(&mut pair, 20);
    assert!(first >= 10, "{first}");
    let texts = pair.server.received.len();
    assert_eq!(texts, 240, "nothing was lost");
}

#[test]
fn a_timeout_doubles_the_rto_counts_once_and_an_acknowledgement_clears_it() {
    let config = AssocConfig { heartbeat_interval: None, ..AssocConfig::default() };
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &[]), endpoint(SERVER_PORT, &[]));
    let path = [client_paths()[0]];
    pair.client.endpoint.connect(pair.now, &path, SERVER_PORT, config.into()).unwrap();
    pair.run_for(SECOND);
    pair.lose_packets(|_| Verdict::Lose);
    let now = pair.now;
    pair.client.send(now, b"x");
    pair.run_for(Duration::from_millis(7500));
    let data = times(&pair, 0, kind::DATA);
    assert_eq!(waits(&data), [SECOND, 2 * SECOND, 4 * SECOND]);
    assert_eq!((view(&pair, FIRST).errors, view(&pair, FIRST).rto), (3, 8 * SECOND));
    pair.deliver_all();
    pair.run_for(9 * SECOND);
    assert_eq!(view(&pair, FIRST).errors, 0);
    assert_eq!(view(&pair, FIRST).rto, 16 * SECOND, "the retransmission is no sample (Karn)");
    let now = pair.now;
    pair.client.send(now, b"y");
    pair.run_for(SECOND);
    assert_eq!(view(&pair, FIRST).rto, SECOND, "a new sample ends the back-off");
}

#[test]
fn association_max_retrans_ends_it_and_everything_undelivered_is_reported() {
    let mut pair = pair_with(AssocConfig::default());
    let now = pair.now;
    pair.lose_packets(|_| Verdict::Lose);
    for _ in 0..30 {
        pair.client.send(now, &[1; 1400]);
    }
    pair.run_for(1800 * SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
    let failed = |sent: bool| {
        let matches = |e: &Event| matches!(e, Event::SendFailed { sent: s, .. } if *s == sent);
        pair.client.events.iter().filter(|(_, e)| matches(e)).count()
    };
    assert!(failed(true) > 0 && failed(false) > 0);
    assert_eq!(failed(true) + failed(false), 30);
    // Nothing goes out any more.
    let before = pair.log.len();
    pair.run_for(1800 * SECOND);
    assert_eq!(pair.log.len(), before);
}

#[test]
fn with_every_path_down_data_keeps_trying_and_comes_through_in_the_end() {
    for potentially_failed in [None, Some(PfConfig::default())] {
        let mut config =
            AssocConfig { assoc_max_retrans: 40, potentially_failed, ..AssocConfig::default() };
        config.rto.max = 5 * SECOND;
        let mut pair = pair_with(config);
        pair.lose_packets(|_| Verdict::Lose);
        let now = pair.now;
        pair.client.send(now, b"in the end");
        pair.run_for(60 * SECOND);
        assert_eq!(view(&pair, FIRST).state, PathState::Inactive);
        assert_eq!(view(&pair, SECOND_PATH).state, PathState::Inactive);
        let usable = [FIRST, SECOND_PATH].iter().filter(|p| view(&pair, **p).usable).count();
        let expected = if potentially_failed.is_some() { 1 } else { 2 };
        assert_eq!(usable, expected, "RFC 7829: one path while dormant");
        let before = view(&pair, FIRST).errors;
        let data = |pair: &Pair| pair.sent(Way::ToServer, kind::DATA);
        let sent = data(&pair);
        pair.run_for(20 * SECOND);
        assert!(data(&pair) > sent, "it goes on trying");
        assert!(view(&pair, FIRST).errors >= before, "to be chosen clears nothing");
        pair.deliver_all();
        pair.run_for(40 * SECOND);
        assert_eq!(pair.server.texts(), [b"in the end"]);
        assert_eq!(pair.client.state(), State::Established);
    }
}

/// One timeout on the first path, of which nothing is heard.
fn potentially_failed(pf: PfConfig, heartbeats: bool) -> Pair {
    let heartbeat_interval = heartbeats.then_some(30 * SECOND);
    let config =
        AssocConfig { potentially_failed: Some(pf), heartbeat_interval, ..AssocConfig::default() };
    let mut pair = pair_with(config);
    cut(&mut pair, 0);
    let now = pair.now;
    pair.client.send(now, b"over the primary");
    pair.run_for(SECOND * 105 / 100);
    pair
}

#[test]
fn one_timeout_makes_a_path_potentially_failed_and_is_answered_by_heartbeats() {
    let mut pair = potentially_failed(PfConfig::default(), true);
    assert_eq!(states(&pair, FIRST), [PathState::PotentiallyFailed]);
    assert!(!view(&pair, FIRST).usable && view(&pair, SECOND_PATH).usable);
    assert_eq!(pair.server.texts(), [b"over the primary"], "by way of the other path");
    // Asked at once, and every RTO, which doubles; HB.interval plays no part.
    let began = pair.now;
    pair.run_for(40 * SECOND);
    let beats: Vec<Time> =
        times(&pair, 0, kind::HEARTBEAT).into_iter().filter(|t| *t + SECOND / 10 > began).collect();
    assert_eq!(waits(&beats)[..3], [2 * SECOND, 4 * SECOND, 8 * SECOND]);
    // Path.Max.Retrans more make it inactive.
    pair.run_for(100 * SECOND);
    assert_eq!(states(&pair, FIRST), [PathState::PotentiallyFailed, PathState::Inactive]);
}

#[test]
fn an_answered_heartbeat_brings_a_potentially_failed_path_back_with_a_small_window() {
    let mut pair = potentially_failed(PfConfig::default(), true);
    pair.deliver_all();
    pair.run_for(5 * SECOND);
    assert_eq!(states(&pair, FIRST), [PathState::PotentiallyFailed, PathState::Active]);
    let path = view(&pair, FIRST);
    assert_eq!((path.errors, path.usable, path.cwnd), (0, true, 2 * 1468));
}

#[test]
fn pfmr_is_the_number_of_timeouts_that_are_borne() {
    let pf = PfConfig { max_retrans: 1, ..PfConfig::default() };
    let mut pair = potentially_failed(pf, true);
    assert_eq!(states(&pair, FIRST), []);
    let now = pair.now;
    pair.client.send(now, b"once more");
    pair.run_for(3 * SECOND);
    assert_eq!(states(&pair, FIRST), [PathState::PotentiallyFailed]);
}

#[test]
fn where_heartbeats_are_off_a_failed_path_gets_none() {
    let mut pair = potentially_failed(PfConfig::default(), false);
    assert_eq!(states(&pair, FIRST), [PathState::PotentiallyFailed]);
    pair.run_for(300 * SECOND);
    assert_eq!(times(&pair, 0, kind::HEARTBEAT), []);
}

#[test]
fn with_every_path_potentially_failed_one_alone_carries_data() {
    let config =
        AssocConfig { potentially_failed: Some(PfConfig::default()), ..AssocConfig::default() };
    let mut pair = pair_with(config);
    pair.lose_packets(|_| Verdict::Lose);
    let now = pair.now;
    pair.client.send(now, b"x");
    pair.run_for(SECOND * 25 / 10);
    let (first, second) = (view(&pair, FIRST), view(&pair, SECOND_PATH));
    assert_eq!(first.state, PathState::PotentiallyFailed);
    assert_eq!(second.state, PathState::PotentiallyFailed);
    assert_eq!((first.errors, second.errors), (1, 1));
    assert!(second.usable && !first.usable, "of equals the one that was active last");
}

#[test]
fn what_an_acknowledgement_of_data_sent_twice_proves_is_a_matter_of_the_path() {
    // The data was sent on both paths: no proof. It was sent twice on one: proof, if so configured.
    for (paths, single_path_ack_proves_path, back) in
        [(2, true, false), (1, false, false), (1, true, true)]
    {
        let pf = PfConfig { single_path_ack_proves_path, ..PfConfig::default() };
        let config = AssocConfig {
            potentially_failed: Some(pf),
            heartbeat_interval: None,
            ..AssocConfig::default()
        };
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &[]), endpoint(SERVER_PORT, &[]));
        let (now, all) = (pair.now, client_paths());
        pair.client.endpoint.connect(now, &all[..paths], SERVER_PORT, config.into()).unwrap();
        pair.run_for(SECOND);
        let tag = read_init(&pair.log[0]);
        let tsn = client_tsn(&pair);
        pair.lose_packets(|_| Verdict::Lose);
        let now = pair.now;
        pair.client.send(now, b"x");
        pair.run_for(SECOND * 11 / 10);
        assert_eq!(states(&pair, FIRST), [PathState::PotentiallyFailed]);
        let sack = SackRepr {
            flags: 0,
            cumulative_tsn: Tsn(tsn),
            a_rwnd: 100_000,
            gap_blocks: &[],
            duplicates: &[],
        };
        pair.inject_packet(Way::ToClient, all[0], &to_client(tag, &[&chunk(sack)]));
        let active = view(&pair, FIRST).state == PathState::Active;
        assert_eq!(active, back, "{paths} paths, {single_path_ack_proves_path}");
    }
}

/// Data that was lost on one path and sent again on another: which of the two delivered it is not
/// known, so neither is proven.
#[test]
fn data_that_moved_proves_neither_path() {
    let pf = PfConfig { single_path_ack_proves_path: true, ..PfConfig::default() };
    let config = AssocConfig {
        potentially_failed: Some(pf),
        heartbeat_interval: None,
        ..AssocConfig::default()
    };
    let mut pair = pair_with(config);
    pair.lose_packets(|_| Verdict::Lose);
    let now = pair.now;
    pair.client.send(now, b"x");
    pair.run_for(SECOND * 25 / 10);
    let tsn = client_tsn(&pair);
    let failed = [PathState::PotentiallyFailed; 2];
    let states = |pair: &Pair| [FIRST, SECOND_PATH].map(|p| view(pair, p).state);
    assert_eq!(states(&pair), failed);
    let sack = SackRepr {
        flags: 0,
        cumulative_tsn: Tsn(tsn),
        a_rwnd: 100_000,
        gap_blocks: &[],
        duplicates: &[],
    };
    let tag = read_init(&pair.log[0]);
    pair.inject_packet(Way::ToClient, client_paths()[1], &to_client(tag, &[&chunk(sack)]));
    assert_eq!(states(&pair), failed);
}

#[test]
fn heartbeats_and_thresholds_can_be_set_path_by_path() {
    let mut pair = pair_with(AssocConfig::default());
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    let mut settings = assoc.path_settings(FIRST).unwrap();
    assert_eq!((settings.heartbeat_interval, settings.max_retrans), (Some(30 * SECOND), 5));
    (settings.heartbeat_interval, settings.max_retrans) = (None, 1);
    assert!(assoc.set_path_settings(now, FIRST, settings));
    settings.heartbeat_interval = Some(3 * SECOND);
    assert!(assoc.set_path_settings(now, SECOND_PATH, settings));
    assert!(!assoc.set_path_settings(now, PathId(9), settings));
    pair.run_for(100 * SECOND);
    let beats =
        |pair: &Pair, i| times(pair, i, kind::HEARTBEAT).iter().filter(|t| **t > now).count();
    // Every 3 s and an RTO of 1 s; none on the first.
    assert_eq!(beats(&pair, 0), 0);
    assert!((23..=28).contains(&beats(&pair, 1)), "{}", beats(&pair, 1));
    // The second failure makes a path inactive, in place of the sixth.
    cut(&mut pair, 1);
    pair.run_for(12 * SECOND);
    assert_eq!(states(&pair, SECOND_PATH).last(), Some(&PathState::Inactive));
    assert_eq!(view(&pair, SECOND_PATH).errors, 2);
    // On again.
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assert!(assoc.set_path_settings(now, FIRST, settings));
    let before = beats(&pair, 0);
    pair.run_for(20 * SECOND);
    assert!(beats(&pair, 0) > before + 3);
}

#[test]
fn a_heartbeat_goes_out_on_demand() {
    let config = AssocConfig { heartbeat_interval: None, ..AssocConfig::default() };
    let mut pair = pair_with(config);
    pair.run_for(100 * SECOND);
    assert_eq!(times(&pair, 1, kind::HEARTBEAT).len(), 0);
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assert!(assoc.request_heartbeat(now, SECOND_PATH));
    assert!(!assoc.request_heartbeat(now, PathId(9)));
    pair.run_for(SECOND);
    assert_eq!(times(&pair, 1, kind::HEARTBEAT).len(), 1);
    assert_eq!(view(&pair, SECOND_PATH).srtt, Some(Duration::from_millis(20)));
    // Not once a shutdown is on its way.
    let now = pair.now;
    pair.lose_packets(|_| Verdict::Lose);
    pair.client.shutdown(now);
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assert!(!assoc.request_heartbeat(now, SECOND_PATH));
}

/// Requests a heartbeat on the second path every 5 ms, 1000 times: a quarter of its round trip.
fn ask_again_and_again(pair: &mut Pair) {
    let h = pair.client.handle();
    for _ in 0..1000 {
        let now = pair.now;
        let assoc = pair.client.endpoint.association_mut(h).unwrap();
        assert!(assoc.request_heartbeat(now, SECOND_PATH));
        pair.run_for(5 * Duration::from_millis(1));
    }
}

#[test]
fn heartbeats_that_are_requested_often_are_answered() {
    let config = AssocConfig { heartbeat_interval: None, ..AssocConfig::default() };
    let mut pair = pair_with(config);
    ask_again_and_again(&mut pair);
    assert_eq!(times(&pair, 1, kind::HEARTBEAT).len(), 250, "one each round trip");
    assert_eq!(view(&pair, SECOND_PATH).srtt, Some(Duration::from_millis(20)));
}

#[test]
fn heartbeats_that_are_requested_often_find_a_path_that_is_cut() {
    let mut pair = pair_with(AssocConfig::default());
    cut(&mut pair, 1);
    ask_again_and_again(&mut pair);
    assert!(view(&pair, SECOND_PATH).errors > 1);
    assert!(times(&pair, 1, kind::HEARTBEAT).len() < 10, "one each RTO, which backs off");
}
