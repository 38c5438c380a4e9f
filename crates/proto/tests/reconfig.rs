//! Stream reconfiguration (RFC 6525), end to end in virtual time: 10 ms there, 10 ms back, RTO.Min 1 s.

mod common;

use bytes::Bytes;
use common::craft::{chunk, to_server};
use common::*;
use polypath_proto::config::{AssocConfig, ExtensionConfig, ReconfigConfig};
use polypath_proto::ids::{StreamId, Tsn};
use polypath_proto::time::Duration;
use polypath_proto::{
    Association, CloseReason, Event, ReconfigError, ReconfigId, ReconfigOutcome, Reliability,
    SendError, SendOptions, State, StreamDirection,
};
use polypath_wire::chunk::kind;
use polypath_wire::param::{AddStreams, IncomingReset, OutgoingReset, ReconfigResult};
use polypath_wire::{
    ChecksumCheck, Chunk, DataChunk, DataFlags, ItemsBuf, PacketView, Parameter, ParamsBuf,
    ReconfigChunk, Ssn,
};
use proptest::prelude::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const RECONFIG: ExtensionConfig =
    ExtensionConfig { stream_reconfiguration: true, ..ExtensionConfig::NONE };

fn config() -> AssocConfig {
    AssocConfig { extensions: RECONFIG, ..AssocConfig::default() }
}

fn pair(client: AssocConfig, server: AssocConfig) -> Pair {
    let mut ends =
        [endpoint(CLIENT_PORT, &client_addresses()), endpoint(SERVER_PORT, &server_addresses())];
    ends[1].assoc = server.into();
    let [a, b] = ends;
    let mut pair = Pair::with(a, b);
    pair.connect_with(client);
    pair.run(ms(400));
    assert_eq!(pair.client.state(), State::Established);
    pair
}

fn client(pair: &mut Pair) -> &mut Association {
    let h = pair.client.handle();
    pair.client.endpoint.association_mut(h).unwrap()
}

fn server(pair: &mut Pair) -> &mut Association {
    let h = pair.server.handle();
    pair.server.endpoint.association_mut(h).unwrap()
}

fn send(pair: &mut Pair, stream: u16, byte: u8, len: usize) {
    let now = pair.now;
    let data = Bytes::from(vec![byte; len]);
    client(pair).send(now, StreamId(stream), data, SendOptions::default()).unwrap();
}

fn reset(pair: &mut Pair, direction: StreamDirection, streams: &[u16]) -> ReconfigId {
    let streams: Vec<_> = streams.iter().map(|s| StreamId(*s)).collect();
    let now = pair.now;
    client(pair).reset_streams(now, direction, &streams).unwrap()
}

fn outcome(host: &Host, id: ReconfigId) -> Option<ReconfigOutcome> {
    host.events.iter().find_map(|(_, e)| match e {
        Event::Reconfigured { request, outcome } if *request == id => Some(*outcome),
        _ => None,
    })
}

fn resets(host: &Host) -> Vec<(StreamDirection, Vec<u16>)> {
    let reset = |(_, e): &(_, Event)| match e {
        Event::StreamsReset { direction, streams } => {
            Some((*direction, streams.iter().map(|s| s.0).collect()))
        }
        _ => None,
    };
    host.events.iter().filter_map(reset).collect()
}

/// (stream, SSN, first byte) of all DATA that the client sent since, once per TSN.
fn numbers(pair: &Pair, since: usize) -> Vec<(u16, u16, u8)> {
    let mut seen = std::collections::BTreeSet::new();
    let mut out = Vec::new();
    for packet in pair.sent_since(since).iter().filter(|p| p.way == Way::ToServer) {
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
        for raw in view.chunks() {
            if let Ok(Chunk::Data(d)) = raw.unwrap().decode()
                && seen.insert(d.tsn.0)
                && d.flags.beginning
            {
                out.push((d.stream.0, d.ssn.0, d.payload[0]));
            }
        }
    }
    out
}

fn is_reconfig(packet: &Packet) -> bool {
    packet.kinds().contains(&kind::RECONFIG)
}

fn reconfigs(pair: &Pair, way: Way) -> usize {
    pair.log.iter().filter(|p| p.way == way && is_reconfig(p)).count()
}

/// Types of the parameters of all RE-CONFIGs.
fn params(pair: &Pair, way: Way) -> Vec<Vec<u16>> {
    let mut out = Vec::new();
    for packet in pair.log.iter().filter(|p| p.way == way) {
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
        for raw in view.chunks() {
            if let Ok(Chunk::Reconfig(r)) = raw.unwrap().decode() {
                out.push(r.params.iter().map(|p| p.unwrap().kind).collect());
            }
        }
    }
    out
}

#[test]
fn a_stream_starts_at_zero_again_after_what_was_handed_in_before() {
    let mut pair = pair(config(), config());
    let start = pair.log.len();
    for i in 0..3 {
        send(&mut pair, 1, i, 1_000);
        send(&mut pair, 2, i, 1_000);
    }
    let id = reset(&mut pair, StreamDirection::Outgoing, &[1]);
    send(&mut pair, 1, 9, 100);
    send(&mut pair, 2, 9, 100);
    pair.run(ms(2_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(resets(&pair.client), [(StreamDirection::Outgoing, vec![1])]);
    assert_eq!(resets(&pair.server), [(StreamDirection::Incoming, vec![1])]);
    let sent = numbers(&pair, start);
    let of = |s: u16| sent.iter().filter(|n| n.0 == s).map(|n| (n.1, n.2)).collect::<Vec<_>>();
    assert_eq!(of(1), [(0, 0), (1, 1), (2, 2), (0, 9)]);
    assert_eq!(of(2), [(0, 0), (1, 1), (2, 2), (3, 9)]);
    assert_eq!(pair.server.received.len(), 8);
}

#[test]
fn a_reset_waits_at_the_receiver_for_what_was_lost_before_it() {
    let mut pair = pair(config(), config());
    send(&mut pair, 1, 1, 100);
    pair.run(ms(300));
    // The DATA before the reset is lost, the request is not.
    let mut lost = false;
    pair.lose(move |packet| {
        let first = packet.way == Way::ToServer && packet.kinds().contains(&kind::DATA) && !lost;
        lost |= first;
        if first { Fate::Lose } else { Fate::Deliver }
    });
    send(&mut pair, 1, 2, 100);
    pair.exchange();
    let id = reset(&mut pair, StreamDirection::Outgoing, &[1]);
    send(&mut pair, 1, 3, 100);
    send(&mut pair, 3, 4, 100);
    pair.run(ms(300));
    assert_eq!(outcome(&pair.client, id), None, "in progress");
    assert_eq!(pair.server.received.len(), 2, "the other stream goes on");
    pair.run(ms(5_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    let on_1 = pair.server.received.iter().filter(|m| m.stream.0 == 1);
    assert_eq!(on_1.map(|m| m.data[0]).collect::<Vec<_>>(), [1, 2, 3]);
    // Waiting for a peer that is at work is no error.
    assert!(pair.client.closed().is_none());
}

#[test]
fn lost_requests_and_responses_are_made_good() {
    for (name, way) in [("request", Way::ToServer), ("response", Way::ToClient)] {
        let mut pair = pair(config(), config());
        send(&mut pair, 0, 1, 100);
        pair.run(ms(300));
        pair.lose_first(2, move |p| p.way == way && is_reconfig(p));
        let id = reset(&mut pair, StreamDirection::Outgoing, &[]);
        send(&mut pair, 0, 2, 100);
        pair.run(ms(20_000));
        assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed), "{name}");
        assert_eq!(resets(&pair.server).len(), 1, "{name}: once, however often it was asked for");
        assert_eq!(pair.server.texts().len(), 2);
        assert_eq!(reconfigs(&pair, Way::ToServer), 3, "{name}");
    }
}

#[test]
fn a_peer_that_never_answers_is_unreachable_in_the_end() {
    let mut pair = pair(config(), config());
    pair.lose(|p| if is_reconfig(p) { Fate::Lose } else { Fate::Deliver });
    let heartbeats = AssocConfig::default().heartbeat_interval.is_some();
    assert!(heartbeats, "they answer, but do not speak for the request");
    reset(&mut pair, StreamDirection::Outgoing, &[0]);
    pair.run(ms(3_000));
    assert!(reconfigs(&pair, Way::ToServer) >= 2);
    pair.lose(|_| Fate::Lose);
    pair.run(Duration::from_secs(1_500));
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
}

#[test]
fn the_peers_streams_are_reset_by_the_peer() {
    let mut pair = pair(config(), config());
    let now = pair.now;
    for i in 0..2u8 {
        let data = Bytes::from(vec![i; 100]);
        server(&mut pair).send(now, StreamId(4), data, SendOptions::default()).unwrap();
    }
    pair.run(ms(300));
    let id = reset(&mut pair, StreamDirection::Incoming, &[4]);
    pair.run(ms(1_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(resets(&pair.client), [(StreamDirection::Incoming, vec![4])]);
    assert_eq!(resets(&pair.server), [(StreamDirection::Outgoing, vec![4])]);
    // Request 14, answered by 13, which is answered by 16.
    assert_eq!(params(&pair, Way::ToServer), [vec![14], vec![16]]);
    assert_eq!(params(&pair, Way::ToClient), [vec![13]]);
    // At zero already: nothing to do.
    let again = reset(&mut pair, StreamDirection::Incoming, &[4]);
    pair.run(ms(1_000));
    assert_eq!(outcome(&pair.client, again), Some(ReconfigOutcome::Performed));
    assert_eq!(resets(&pair.client).len(), 1);
}

#[test]
fn both_directions_go_in_one_chunk() {
    let mut pair = pair(config(), config());
    let now = pair.now;
    send(&mut pair, 4, 1, 100);
    let data = Bytes::from_static(b"back");
    server(&mut pair).send(now, StreamId(4), data, SendOptions::default()).unwrap();
    pair.run(ms(500));
    let id = reset(&mut pair, StreamDirection::Both, &[4]);
    pair.run(ms(1_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(params(&pair, Way::ToServer)[0], [13, 14]);
    let mut of_client = resets(&pair.client);
    of_client.sort_by_key(|r| r.0 == StreamDirection::Incoming);
    let both = [(StreamDirection::Outgoing, vec![4]), (StreamDirection::Incoming, vec![4])];
    assert_eq!(of_client, both);
    send(&mut pair, 4, 2, 100);
    pair.run(ms(500));
    assert_eq!(pair.server.received.len(), 2);
}

#[test]
fn streams_are_added_within_limits() {
    let limits = ReconfigConfig { max_inbound_streams: 14, ..ReconfigConfig::default() };
    let limited = AssocConfig { reconfiguration: limits, ..config() };
    let mut pair = pair(config(), limited);
    assert_eq!(client(&mut pair).streams(), (10, 10));
    let now = pair.now;
    let none_yet =
        client(&mut pair).send(now, StreamId(12), Bytes::from_static(b"x"), SendOptions::default());
    assert!(matches!(none_yet, Err(SendError::InvalidStream { streams: 10, .. })));
    let id = client(&mut pair).add_streams(now, 4, 2).unwrap();
    pair.run(ms(1_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(client(&mut pair).streams(), (14, 12));
    assert_eq!(server(&mut pair).streams(), (12, 14));
    assert!(pair.client.saw(&Event::StreamsAdded { outgoing: 4, incoming: 0 }));
    assert!(pair.client.saw(&Event::StreamsAdded { outgoing: 0, incoming: 2 }));
    assert_eq!(params(&pair, Way::ToServer)[0], [17, 18]);
    send(&mut pair, 13, 7, 100);
    pair.run(ms(300));
    assert_eq!(pair.server.received[0].stream, StreamId(13));
    // One more than the server wants.
    let now = pair.now;
    let denied = client(&mut pair).add_streams(now, 1, 0).unwrap();
    pair.run(ms(1_000));
    assert_eq!(outcome(&pair.client, denied), Some(ReconfigOutcome::Denied));
    assert_eq!(client(&mut pair).streams(), (14, 12));
    // Stream numbers have 16 bits.
    let now = pair.now;
    let too_many = client(&mut pair).add_streams(now, u16::MAX, 0);
    assert!(matches!(too_many, Err(ReconfigError::TooManyAdded { .. })));
}

#[test]
fn a_denied_reset_changes_nothing() {
    let limits = ReconfigConfig { allow_resets: false, ..ReconfigConfig::default() };
    let mut pair = pair(config(), AssocConfig { reconfiguration: limits, ..config() });
    let start = pair.log.len();
    send(&mut pair, 0, 1, 100);
    let id = reset(&mut pair, StreamDirection::Outgoing, &[0]);
    send(&mut pair, 0, 2, 100);
    pair.run(ms(1_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Denied));
    assert_eq!(numbers(&pair, start), [(0, 0, 1), (0, 1, 2)]);
    assert_eq!(pair.server.received.len(), 2);
    let now = pair.now;
    let id = client(&mut pair).reset_streams(now, StreamDirection::Incoming, &[]).unwrap();
    pair.run(ms(1_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Denied));
}

#[test]
fn the_whole_association_starts_anew() {
    let mut pair = pair(config(), config());
    let start = pair.log.len();
    for i in 0..20 {
        send(&mut pair, i % 3, i as u8, 1_000);
    }
    let now = pair.now;
    let data = Bytes::from(vec![50; 30_000]);
    server(&mut pair).send(now, StreamId(0), data, SendOptions::default()).unwrap();
    let now = pair.now;
    let id = client(&mut pair).reset_association(now).unwrap();
    for i in 20..40 {
        send(&mut pair, i % 3, i as u8, 1_000);
    }
    pair.run(ms(5_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    let got: Vec<u8> = pair.server.received.iter().map(|m| m.data[0]).collect();
    for stream in 0..3u8 {
        let of: Vec<u8> = got.iter().copied().filter(|i| i % 3 == stream).collect();
        assert_eq!(of, (0..40).filter(|i| i % 3 == stream).collect::<Vec<u8>>());
    }
    assert_eq!(pair.client.received.len(), 1);
    // TSNs went on half the number space further, and numbers from 0.
    let tsns: Vec<u32> = pair.server.received.iter().map(|m| m.tsn.0).collect();
    let jump = tsns.windows(2).map(|w| w[1].wrapping_sub(w[0])).max().unwrap();
    assert_eq!(jump, (1 << 31) + 1);
    let sent = numbers(&pair, start);
    assert_eq!(sent.iter().filter(|n| n.0 == 0).map(|n| n.1).max(), Some(6));
    let now = pair.now;
    assert_eq!(client(&mut pair).reset_association(now), Err(ReconfigError::TooSoon));
    let told = |host: &Host| {
        host.events.iter().find_map(|(_, e)| match e {
            Event::AssociationReset { next_sent, next_received } => {
                Some((*next_sent, *next_received))
            }
            _ => None,
        })
    };
    let (client_said, server_said) = (told(&pair.client).unwrap(), told(&pair.server).unwrap());
    assert_eq!(client_said, (server_said.1, server_said.0));
    // And again, when that is allowed.
    pair.run(Duration::from_secs(31));
    let now = pair.now;
    let id = client(&mut pair).reset_association(now).unwrap();
    send(&mut pair, 0, 77, 100);
    pair.run(ms(3_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(pair.server.received.len(), 41);
}

/// Sends a message of the server, once more when the packet it goes in is lost and it may be.
fn send_back(pair: &mut Pair, stream: u16, n: u32, len: usize, reliability: Reliability) {
    let now = pair.now;
    let options = SendOptions { ppid: n, reliability, ..SendOptions::default() };
    let data = Bytes::from(vec![n as u8; len]);
    server(pair).send(now, StreamId(stream), data, options).unwrap();
}

/// Whether it is the server's answer to a request to reset the association.
fn is_answer(packet: &Packet) -> bool {
    packet.way == Way::ToClient && is_reconfig(packet)
}

/// What the client got of a stream, by what it was sent as.
fn got_back(pair: &Pair, stream: u16) -> Vec<u32> {
    let of = pair.client.received.iter().filter(|m| m.stream.0 == stream);
    of.map(|m| m.ppid).collect()
}

/// Streams 0 and 1 have had messages when the association is reset, stream 2 has not; all answers come `late`.
fn answer_overtaken(interleaving: bool, late: Duration) -> (Pair, ReconfigId) {
    let extensions = ExtensionConfig { interleaving, partial_reliability: true, ..RECONFIG };
    let both = AssocConfig { extensions, ..config() };
    let mut pair = pair(both.clone(), both);
    for n in 0..3 {
        send_back(&mut pair, u16::from(n == 2), n, 500, Reliability::Full);
    }
    pair.run(ms(1_000));
    pair.lose(move |p| if is_answer(p) { Fate::Delay(late) } else { Fate::Deliver });
    let now = pair.now;
    let id = client(&mut pair).reset_association(now).unwrap();
    pair.run(ms(15));
    assert_eq!(pair.flying.iter().filter(|p| is_answer(p)).count(), 1);
    (pair, id)
}

/// Everything went on, in both directions.
fn check_goes_on(pair: &mut Pair, id: ReconfigId, wanted: [&[u32]; 3]) {
    pair.run(Duration::from_secs(60));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    for stream in 0..3u16 {
        send(pair, stream, 77, 100);
        send_back(pair, stream, 1_000, 100, Reliability::Full);
    }
    pair.run(Duration::from_secs(60));
    for (stream, wanted) in (0..).zip(wanted) {
        let wanted: Vec<u32> = wanted.iter().copied().chain([1_000]).collect();
        assert_eq!(got_back(pair, stream), wanted, "stream {stream}");
    }
    assert_eq!(pair.server.received.len(), 3);
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
}

#[test]
fn data_overtakes_the_answer_to_a_reset_of_the_association() {
    for (interleaving, late) in [(false, 60), (true, 60), (false, 3_500), (true, 3_500)] {
        let (mut pair, id) = answer_overtaken(interleaving, ms(late));
        // Whole and in fragments, of a stream without old numbers first and of streams with some.
        for (n, stream, len) in
            [(10, 2, 100), (11, 2, 9_000), (12, 1, 100), (13, 0, 9_000), (14, 0, 100), (15, 2, 1)]
        {
            send_back(&mut pair, stream, n, len, Reliability::Full);
        }
        check_goes_on(&mut pair, id, [&[0, 1, 13, 14], &[2, 12], &[10, 11, 15]]);
    }
}

#[test]
fn the_answer_to_a_reset_of_the_association_comes_again_later() {
    for interleaving in [false, true] {
        let (mut pair, id) = answer_overtaken(interleaving, ms(60));
        let answer = pair.flying.iter().find(|p| is_answer(p)).unwrap().clone();
        for (n, stream) in [(10, 2), (11, 1), (12, 0), (13, 2)] {
            send_back(&mut pair, stream, n, 3_000, Reliability::Full);
        }
        for wait in [30, 100, 2_000] {
            pair.run(ms(wait));
            pair.inject(Way::ToClient, answer.tuple, &answer.data);
        }
        check_goes_on(&mut pair, id, [&[0, 1, 12], &[2, 11], &[10, 13]]);
    }
}

/// What the server gives up right after it performed a reset has new numbers, too.
#[test]
fn what_is_given_up_overtakes_the_answer_to_a_reset_of_the_association() {
    for (interleaving, stream) in [(false, 2), (true, 2), (false, 1), (true, 1), (false, 0)] {
        let (mut pair, id) = answer_overtaken(interleaving, ms(8_000));
        let mut lost = 1;
        pair.lose(move |p| match p.kinds() {
            _ if is_answer(p) => Fate::Delay(ms(8_000)),
            kinds if p.way == Way::ToClient && lost > 0 => {
                lost -= u32::from(kinds.contains(&kind::DATA) || kinds.contains(&kind::I_DATA));
                Fate::Lose
            }
            _ => Fate::Deliver,
        });
        send_back(&mut pair, stream, 10, 100, Reliability::Limited(0));
        pair.run(ms(3_000));
        send_back(&mut pair, stream, 11, 100, Reliability::Full);
        send_back(&mut pair, stream, 12, 9_000, Reliability::Full);
        let mut wanted = [vec![0, 1], vec![2], vec![]];
        wanted[usize::from(stream)].extend([11, 12]);
        let [a, b, c] = &wanted;
        check_goes_on(&mut pair, id, [a, b, c]);
    }
}

/// An unordered message with a number that was given up before the reset is a new one.
#[test]
fn an_unordered_message_overtakes_the_answer_to_a_reset_of_the_association() {
    let extensions = ExtensionConfig { interleaving: true, partial_reliability: true, ..RECONFIG };
    let both = AssocConfig { extensions, ..config() };
    let mut pair = pair(both.clone(), both);
    let unordered = |pair: &mut Pair, n: u32, reliability| {
        let now = pair.now;
        let options =
            SendOptions { unordered: true, ppid: n, reliability, ..SendOptions::default() };
        server(pair).send(now, StreamId(0), Bytes::from_static(b"x"), options).unwrap();
    };
    pair.lose_first(1, |p| p.way == Way::ToClient);
    unordered(&mut pair, 1, Reliability::Limited(0));
    pair.run(Duration::from_secs(10));
    pair.lose(|p| if is_answer(p) { Fate::Delay(ms(500)) } else { Fate::Deliver });
    let now = pair.now;
    let id = client(&mut pair).reset_association(now).unwrap();
    pair.run(ms(15));
    unordered(&mut pair, 2, Reliability::Full);
    check_goes_on(&mut pair, id, [&[2], &[], &[]]);
}

/// The peer cannot reset anything before it is believed what it has given up.
#[test]
fn what_was_given_up_before_a_reset_of_the_association_does_not_hold_it_up() {
    for interleaving in [false, true] {
        let extensions = ExtensionConfig { interleaving, partial_reliability: true, ..RECONFIG };
        let both = AssocConfig { extensions, ..config() };
        let mut pair = pair(both.clone(), both);
        send_back(&mut pair, 0, 0, 100, Reliability::Full);
        pair.run(ms(1_000));
        pair.lose_first(1, |p| p.way == Way::ToClient);
        send_back(&mut pair, 0, 1, 100, Reliability::Limited(0));
        let now = pair.now;
        let id = client(&mut pair).reset_association(now).unwrap();
        pair.run(Duration::from_secs(10));
        check_goes_on(&mut pair, id, [&[0], &[], &[]]);
    }
}

#[test]
fn a_reset_of_streams_overtakes_the_answer_to_a_reset_of_the_association() {
    for interleaving in [false, true] {
        let (mut pair, id) = answer_overtaken(interleaving, ms(3_000));
        // Its request overtakes both the answer, and the data before it.
        let mut lost = 1;
        pair.lose(move |p| {
            let data = p.kinds().iter().any(|k| matches!(*k, kind::DATA | kind::I_DATA));
            if p.way == Way::ToClient && data && lost > 0 {
                lost -= 1;
                return Fate::Delay(ms(8_000));
            }
            if p.way == Way::ToClient && data { Fate::Delay(ms(5_000)) } else { Fate::Deliver }
        });
        send_back(&mut pair, 2, 10, 100, Reliability::Full);
        send_back(&mut pair, 1, 11, 100, Reliability::Full);
        let now = pair.now;
        let direction = StreamDirection::Outgoing;
        let other = server(&mut pair).reset_streams(now, direction, &[StreamId(1)]).unwrap();
        send_back(&mut pair, 1, 12, 100, Reliability::Full);
        pair.run(ms(20_000));
        pair.deliver_all();
        check_goes_on(&mut pair, id, [&[0, 1], &[2, 11, 12], &[10]]);
        assert_eq!(outcome(&pair.server, other), Some(ReconfigOutcome::Performed));
    }
}

#[test]
fn sequence_numbers_wrap() {
    let start = AssocConfig { initial_tsn: Some(Tsn(u32::MAX - 1)), ..config() };
    let mut pair = pair(start, config());
    for round in 0..6u8 {
        send(&mut pair, 0, round, 100);
        let id = reset(&mut pair, StreamDirection::Outgoing, &[0]);
        pair.run(ms(500));
        assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed), "round {round}");
    }
    assert_eq!(pair.server.received.len(), 6);
}

#[test]
fn requests_wait_for_each_other() {
    let mut pair = pair(config(), config());
    for stream in 0..4 {
        send(&mut pair, stream, 1, 100);
    }
    let ids: Vec<_> = (0..4).map(|s| reset(&mut pair, StreamDirection::Outgoing, &[s])).collect();
    let now = pair.now;
    let busy = client(&mut pair).reset_streams(now, StreamDirection::Outgoing, &[StreamId(2)]);
    assert_eq!(busy, Err(ReconfigError::Busy));
    pair.run(ms(1_000));
    for id in ids {
        assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    }
    assert_eq!(reconfigs(&pair, Way::ToServer), 4);
    let events = pair.server.events.len();
    assert!(events < 50);
}

#[test]
fn a_shutdown_waits_for_a_reset_and_what_it_holds_back() {
    let mut pair = pair(config(), config());
    send(&mut pair, 0, 1, 5_000);
    reset(&mut pair, StreamDirection::Outgoing, &[0]);
    send(&mut pair, 0, 2, 5_000);
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run(ms(3_000));
    assert_eq!(pair.server.received.len(), 2);
    assert_eq!(pair.client.closed(), Some(CloseReason::Shutdown));
}

#[test]
fn it_is_refused_where_it_was_not_agreed_on() {
    let mut pair = pair(config(), AssocConfig::default());
    let now = pair.now;
    let refused = client(&mut pair).add_streams(now, 1, 1);
    assert_eq!(refused, Err(ReconfigError::Unsupported));
    assert_eq!(reconfigs(&pair, Way::ToServer), 0);
}

// What a hostile peer may ask for.

/// Hands the server a RE-CONFIG as if the client had sent it; gives the results it answers with.
fn ask(pair: &mut Pair, params: &[Parameter<'_>]) -> Vec<u32> {
    let tag = pair.last_with(kind::COOKIE_ECHO).tag();
    let list: ParamsBuf = params.iter().copied().collect();
    let packet = to_server(tag, &[&chunk(ReconfigChunk { params: list.as_params() })]);
    let before = pair.log.len();
    pair.inject(Way::ToServer, at_server(), &packet);
    let mut results = Vec::new();
    for packet in pair.sent_since(before).iter().filter(|p| p.way == Way::ToClient) {
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
        for raw in view.chunks() {
            if let Ok(Chunk::Reconfig(r)) = raw.unwrap().decode() {
                for param in r.params.iter() {
                    if let Ok(Parameter::ReconfigResponse(r)) = param.unwrap().decode() {
                        results.push(r.result.0);
                    }
                }
            }
        }
    }
    results
}

/// The client's next request sequence number, as the server expects it: it has sent none.
fn first_request(pair: &Pair) -> u32 {
    let init = pair.log.iter().find(|p| p.first_kind() == kind::INIT).unwrap();
    let view = PacketView::parse(&init.data, ChecksumCheck::Verify).unwrap();
    let raw = view.chunks().next().unwrap().unwrap();
    let Ok(Chunk::Init(init)) = raw.decode() else { panic!("INIT expected") };
    init.fixed.initial_tsn.0
}

fn outgoing(request: u32, last_tsn: Tsn, streams: &ItemsBuf<StreamId, 2>) -> Parameter<'_> {
    let streams = streams.as_items();
    Parameter::OutgoingReset(OutgoingReset { request, response: 0, last_tsn, streams })
}

#[test]
fn a_flood_of_requests_gets_one_answer_each_and_costs_nothing_that_stays() {
    let mut pair = pair(config(), config());
    let first = first_request(&pair);
    let none = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    let last = Tsn(first.wrapping_sub(1));
    let mut denied = 0;
    for i in 0..10_000u32 {
        let results = ask(&mut pair, &[outgoing(first.wrapping_add(i), last, &none)]);
        assert_eq!(results.len(), 1);
        denied += u32::from(results[0] == ReconfigResult::DENIED.0);
        pair.log.truncate(100);
        pair.flying.clear();
    }
    // The harness takes events at once, so none were denied for want of room.
    assert_eq!(denied, 0);
    // The same number again: the same answer, and nothing happens.
    let seen = resets(&pair.server).len();
    let repeated = ask(&mut pair, &[outgoing(first.wrapping_add(9_999), last, &none)]);
    assert_eq!((repeated, resets(&pair.server).len()), (vec![1], seen));
    // Numbers from elsewhere.
    for wrong in [first, first.wrapping_add(10_001), first ^ (1 << 31)] {
        assert_eq!(ask(&mut pair, &[outgoing(wrong, last, &none)]), [5]);
    }
}

#[test]
fn nonsense_is_called_so() {
    let mut pair = pair(config(), config());
    let first = first_request(&pair);
    let last = Tsn(first.wrapping_sub(1));
    let wrong: ItemsBuf<StreamId, 2> = [StreamId(5_000)].into_iter().collect();
    assert_eq!(ask(&mut pair, &[outgoing(first, last, &wrong)]), [3]);
    let reset = IncomingReset { request: first.wrapping_add(1), streams: wrong.as_items() };
    assert_eq!(ask(&mut pair, &[Parameter::IncomingReset(reset)]), [3]);
    let add = |i, count| AddStreams { request: first.wrapping_add(i), count };
    assert_eq!(ask(&mut pair, &[Parameter::AddOutgoingStreams(add(2, u16::MAX))]), [2]);
    assert_eq!(ask(&mut pair, &[Parameter::AddOutgoingStreams(add(3, 2_039))]), [2]);
    assert_eq!(ask(&mut pair, &[Parameter::AddOutgoingStreams(add(4, 0))]), [0]);
    assert_eq!(server(&mut pair).streams(), (10, 10));
    // More TSNs than can be under way.
    let none = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    let far = Tsn(last.0.wrapping_add(1 << 30));
    assert_eq!(ask(&mut pair, &[outgoing(first.wrapping_add(5), far, &none)]), [2]);
}

#[test]
fn what_waits_for_a_reset_is_bounded_by_the_receive_buffer() {
    let small = AssocConfig { receive_buffer: 20_000, ..config() };
    let mut pair = pair(config(), small);
    let first = first_request(&pair);
    let tag = pair.last_with(kind::COOKIE_ECHO).tag();
    let all = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    // TSN `first` never comes.
    assert_eq!(ask(&mut pair, &[outgoing(first, Tsn(first), &all)]), [6]);
    assert_eq!(ask(&mut pair, &[outgoing(first.wrapping_add(1), Tsn(first), &all)]), [4]);
    let data = |i: u32, payload: &'static [u8]| {
        let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
        let (stream, ssn) = (StreamId(1), Ssn(i.saturating_sub(1) as u16));
        let tsn = Tsn(first.wrapping_add(i));
        to_server(tag, &[&chunk(DataChunk { tsn, stream, ssn, ppid: 0, flags, payload })])
    };
    for i in 1..1_000 {
        pair.inject(Way::ToServer, at_server(), &data(i, &[7; 1_000]));
    }
    let held = server(&mut pair).receive_buffer().0;
    assert!((19_000..=21_000).contains(&held), "{held}");
    assert_eq!(pair.server.received.len(), 0);
    // It comes after all: room is made for it, the reset is done, what was kept is delivered from number 0 on.
    pair.inject(Way::ToServer, at_server(), &data(0, &[1; 1_000]));
    assert_eq!(resets(&pair.server), [(StreamDirection::Incoming, vec![])]);
    let got: Vec<u8> = pair.server.received.iter().map(|m| m.data[0]).collect();
    assert!(got.len() >= 18 && got[1..].iter().all(|b| *b == 7), "{got:?}");
}

#[test]
fn an_application_that_does_not_listen_is_not_buried_in_events() {
    let mut pair = pair(config(), config());
    let first = first_request(&pair);
    let tag = pair.last_with(kind::COOKIE_ECHO).tag();
    let (h, now) = (pair.server.handle(), pair.now);
    let all = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    for i in 0..500u32 {
        let last = Tsn(first.wrapping_sub(1));
        let list: ParamsBuf = [outgoing(first.wrapping_add(i), last, &all)].into_iter().collect();
        let packet = to_server(tag, &[&chunk(ReconfigChunk { params: list.as_params() })]);
        pair.server.endpoint.handle_datagram(now, at_server(), &packet);
        let mut out = Vec::new();
        while pair.server.endpoint.poll_transmit(now, &mut out).is_some() {
            out.clear();
        }
    }
    pair.exchange();
    assert_eq!(resets(&pair.server).len(), 64);
    assert!(pair.server.endpoint.association(h).is_some());
}

#[test]
fn an_association_that_is_over_asks_for_nothing_and_resets_nothing() {
    // Found by random worlds: what was in flight is forgotten at the end, which looked like "all is acknowledged". A peer that had
    // not heard of the end skipped what it had not received.
    for asks in [true, false] {
        let mut pair = pair(config(), config());
        for i in 0..10 {
            send(&mut pair, 0, i, 1_000);
        }
        let now = pair.now;
        if asks {
            client(&mut pair).reset_association(now).unwrap();
        } else {
            server(&mut pair).reset_association(now).unwrap();
        }
        // Data is lost, so the reset waits; then the application gives up, and its ABORT is lost as well.
        pair.lose(|p| match p.kinds()[0] {
            kind::DATA | kind::ABORT => Fate::Lose,
            _ => Fate::Deliver,
        });
        pair.run(ms(300));
        let (now, before) = (pair.now, pair.log.len());
        client(&mut pair).abort(now, Bytes::new());
        pair.run(ms(300));
        let kinds: Vec<Vec<u8>> = pair
            .sent_since(before)
            .iter()
            .filter(|p| p.way == Way::ToServer)
            .map(Packet::kinds)
            .collect();
        assert_eq!(kinds.first(), Some(&vec![kind::ABORT]));
        assert!(!kinds.iter().flatten().any(|k| *k == kind::RECONFIG), "{kinds:?}");
        let closed = |(_, e): &(_, Event)| matches!(e, Event::Closed(_));
        let at = pair.client.events.iter().position(closed).expect("it is over");
        assert_eq!(pair.client.events.len(), at + 1, "{:?}", &pair.client.events[at..]);
    }
}

#[test]
fn mids_of_both_classes_start_at_zero_again() {
    let extensions = ExtensionConfig { interleaving: true, ..RECONFIG };
    let both = AssocConfig { extensions, ..config() };
    let mut pair = pair(both.clone(), both);
    for round in 0..2u8 {
        let now = pair.now;
        for unordered in [false, true, false, true] {
            let options = SendOptions { unordered, ..SendOptions::default() };
            let data = Bytes::from(vec![round; 3_000]);
            client(&mut pair).send(now, StreamId(1), data, options).unwrap();
        }
        let id = reset(&mut pair, StreamDirection::Outgoing, &[1]);
        pair.run(ms(2_000));
        assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    }
    let now = pair.now;
    let id = client(&mut pair).reset_association(now).unwrap();
    send(&mut pair, 1, 2, 3_000);
    pair.run(ms(2_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(pair.server.received.len(), 9);
    let mids: Vec<(bool, u32)> = pair
        .log
        .iter()
        .filter(|p| p.way == Way::ToServer)
        .flat_map(|packet| {
            let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
            let chunks: Vec<_> = view
                .chunks()
                .filter_map(|raw| match raw.unwrap().decode() {
                    Ok(Chunk::IData(d)) if d.flags.beginning => Some((d.flags.unordered, d.mid.0)),
                    _ => None,
                })
                .collect();
            chunks
        })
        .collect();
    let once = [(false, 0), (true, 0), (false, 1), (true, 1)];
    assert_eq!(mids, [&once[..], &once[..], &[(false, 0)]].concat());
}

#[test]
fn a_path_that_goes_takes_no_request_with_it() {
    let extensions = ExtensionConfig::ALL;
    let both = AssocConfig { extensions, ..config() };
    let mut pair = pair(both.clone(), both);
    pair.lose_first(1, is_reconfig);
    let id = reset(&mut pair, StreamDirection::Outgoing, &[0]);
    pair.exchange();
    let (now, gone) = (pair.now, client_addresses()[0]);
    pair.client.endpoint.remove_address(now, gone);
    pair.run(ms(10_000));
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
}

#[derive(Clone, Debug)]
enum Step {
    Send { stream: u16, bytes: usize, unordered: bool, limited: bool },
    Reset { direction: u8, streams: Vec<u16> },
    Everything,
    Add(u16, u16),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let streams = || proptest::collection::vec(0u16..4, 0..3);
    prop_oneof![
        8 => (0u16..4, 1usize..5_000, any::<bool>(), any::<bool>()).prop_map(
            |(stream, bytes, unordered, limited)| Step::Send { stream, bytes, unordered, limited }
        ),
        3 => (0u8..3, streams()).prop_map(|(direction, streams)| Step::Reset { direction, streams }),
        1 => Just(Step::Everything),
        1 => (0u16..3, 0u16..3).prop_map(|(out, more)| Step::Add(out, more)),
        3 => (0u64..3_000).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is reset or added in between, from whichever side, by a lossy way: messages arrive once and in order, or are
    /// abandoned and said so; every request gets an answer.
    #[test]
    fn resets_lose_nothing(
        seed: u64,
        loss in 0u32..30,
        interleaving: bool,
        wraps: bool,
        steps in proptest::collection::vec((any::<bool>(), step()), 1..40),
    ) {
        let extensions =
            ExtensionConfig { interleaving, partial_reliability: true, ..RECONFIG };
        let initial_tsn = wraps.then_some(Tsn(u32::MAX - 3));
        let both = AssocConfig { extensions, initial_tsn, ..config() };
        let mut pair = pair(both.clone(), both);
        let mut rng = seed | 1;
        pair.lose(move |_| {
            rng ^= rng << 13;
            rng ^= rng >> 7;
            rng ^= rng << 17;
            if rng % 100 < u64::from(loss) { Fate::Lose } else { Fate::Deliver }
        });
        let mut sent = [Vec::new(), Vec::new()];
        let mut asked = [Vec::new(), Vec::new()];
        for (n, (of_server, step)) in (0u32..).zip(steps) {
            let now = pair.now;
            let side = usize::from(of_server);
            let assoc = if of_server { server(&mut pair) } else { client(&mut pair) };
            match step {
                Step::Send { stream, bytes, unordered, limited } => {
                    let reliability =
                        if limited { Reliability::Limited(1) } else { Reliability::Full };
                    let options =
                        SendOptions { unordered, ppid: n, reliability, ..SendOptions::default() };
                    let data = Bytes::from(vec![n as u8; bytes]);
                    if let Ok(id) = assoc.send(now, StreamId(stream), data, options) {
                        sent[side].push((id, n));
                    }
                }
                Step::Reset { direction, streams } => {
                    let direction = match direction {
                        0 => StreamDirection::Outgoing,
                        1 => StreamDirection::Incoming,
                        _ => StreamDirection::Both,
                    };
                    let streams: Vec<_> = streams.iter().map(|s| StreamId(*s)).collect();
                    asked[side].extend(assoc.reset_streams(now, direction, &streams));
                }
                Step::Everything => asked[side].extend(assoc.reset_association(now)),
                Step::Add(out, more) => asked[side].extend(assoc.add_streams(now, out, more)),
                Step::Wait(time) => pair.run(ms(time)),
            }
        }
        pair.run(Duration::from_secs(20));
        pair.deliver_all();
        pair.run(Duration::from_secs(300));
        for (side, [from, to]) in [[&pair.client, &pair.server], [&pair.server, &pair.client]].into_iter().enumerate() {
            prop_assert_eq!(from.closed(), None);
            for id in &asked[side] {
                prop_assert!(outcome(from, *id).is_some(), "{:?} of side {} got no answer", id, side);
            }
            let mut arrived = std::collections::BTreeSet::new();
            let mut last = std::collections::BTreeMap::new();
            for m in &to.received {
                prop_assert!(arrived.insert(m.ppid), "{} came twice", m.ppid);
                if !m.unordered {
                    let before = last.insert(m.stream.0, m.ppid);
                    prop_assert!(before < Some(m.ppid), "stream {} out of order", m.stream.0);
                }
            }
            for (id, n) in &sent[side] {
                let gone = from.events.iter().any(|(_, e)| {
                    matches!(e, Event::Abandoned { message, .. } if message == id)
                });
                prop_assert!(gone || arrived.contains(n), "message {} of side {} vanished", n, side);
            }
        }
    }
}
