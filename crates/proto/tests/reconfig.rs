//! Stream reconfiguration (RFC 6525), end to end in virtual time: 10 ms there, 10 ms back, RTO.Min
//! 1 s.

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, ExtensionConfig, ReconfigConfig};
use polypath_proto::ids::{StreamId, Tsn};
use polypath_proto::time::Duration;
use polypath_proto::{
    CloseReason, Event, ReconfigError, ReconfigOutcome, Reliability, SendError, SendOptions,
    StreamDirection,
};
use polypath_testkit::pair::reconfig::*;
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumCheck, Chunk, PacketView};
use proptest::prelude::*;

#[test]
fn a_stream_starts_at_zero_again_after_what_was_handed_in_before() {
    let mut pair = pair(config(), config());
    let start = pair.log.len();
    for i in 0..3 {
        send(&mut pair, 1, i, 1_000);
        send(&mut pair, 2, i, 1_000);
    }
    let id = reset_streams(&mut pair, StreamDirection::Outgoing, &[1]);
    send(&mut pair, 1, 9, 100);
    send(&mut pair, 2, 9, 100);
    pair.run_for(ms(2_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(told_resets(&pair.client), [(StreamDirection::Outgoing, vec![1])]);
    assert_eq!(told_resets(&pair.server), [(StreamDirection::Incoming, vec![1])]);
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
    pair.run_for(ms(300));
    // The DATA before the reset is lost, the request is not.
    let mut lost = false;
    pair.lose_packets(move |packet| {
        let first = packet.way == Way::ToServer && packet.kinds().contains(&kind::DATA) && !lost;
        lost |= first;
        if first { Verdict::Lose } else { Verdict::Deliver }
    });
    send(&mut pair, 1, 2, 100);
    pair.exchange_packets();
    let id = reset_streams(&mut pair, StreamDirection::Outgoing, &[1]);
    send(&mut pair, 1, 3, 100);
    send(&mut pair, 3, 4, 100);
    pair.run_for(ms(300));
    assert_eq!(request_outcome(&pair.client, id), None, "in progress");
    assert_eq!(pair.server.received.len(), 2, "the other stream goes on");
    pair.run_for(ms(5_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
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
        pair.run_for(ms(300));
        pair.lose_first(2, move |p| p.way == way && is_reconfig(p));
        let id = reset_streams(&mut pair, StreamDirection::Outgoing, &[]);
        send(&mut pair, 0, 2, 100);
        pair.run_for(ms(20_000));
        assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed), "{name}");
        assert_eq!(
            told_resets(&pair.server).len(),
            1,
            "{name}: once, however often it was asked for"
        );
        assert_eq!(pair.server.texts().len(), 2);
        assert_eq!(reconfigs(&pair, Way::ToServer), 3, "{name}");
    }
}

#[test]
fn a_peer_that_never_answers_is_unreachable_in_the_end() {
    let mut pair = pair(config(), config());
    pair.lose_packets(|p| if is_reconfig(p) { Verdict::Lose } else { Verdict::Deliver });
    let heartbeats = AssocConfig::default().heartbeat_interval.is_some();
    assert!(heartbeats, "they answer, but do not speak for the request");
    reset_streams(&mut pair, StreamDirection::Outgoing, &[0]);
    pair.run_for(ms(3_000));
    assert!(reconfigs(&pair, Way::ToServer) >= 2);
    pair.lose_packets(|_| Verdict::Lose);
    pair.run_for(Duration::from_secs(1_500));
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
    pair.run_for(ms(300));
    let id = reset_streams(&mut pair, StreamDirection::Incoming, &[4]);
    pair.run_for(ms(1_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(told_resets(&pair.client), [(StreamDirection::Incoming, vec![4])]);
    assert_eq!(told_resets(&pair.server), [(StreamDirection::Outgoing, vec![4])]);
    // Request 14, answered by 13, which is answered by 16.
    assert_eq!(params(&pair, Way::ToServer), [vec![14], vec![16]]);
    assert_eq!(params(&pair, Way::ToClient), [vec![13]]);
    // At zero already: nothing to do.
    let again = reset_streams(&mut pair, StreamDirection::Incoming, &[4]);
    pair.run_for(ms(1_000));
    assert_eq!(request_outcome(&pair.client, again), Some(ReconfigOutcome::Performed));
    assert_eq!(told_resets(&pair.client).len(), 1);
}

#[test]
fn both_directions_go_in_one_chunk() {
    let mut pair = pair(config(), config());
    let now = pair.now;
    send(&mut pair, 4, 1, 100);
    let data = Bytes::from_static(b"back");
    server(&mut pair).send(now, StreamId(4), data, SendOptions::default()).unwrap();
    pair.run_for(ms(500));
    let id = reset_streams(&mut pair, StreamDirection::Both, &[4]);
    pair.run_for(ms(1_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(params(&pair, Way::ToServer)[0], [13, 14]);
    let mut of_client = told_resets(&pair.client);
    of_client.sort_by_key(|r| r.0 == StreamDirection::Incoming);
    let both = [(StreamDirection::Outgoing, vec![4]), (StreamDirection::Incoming, vec![4])];
    assert_eq!(of_client, both);
    send(&mut pair, 4, 2, 100);
    pair.run_for(ms(500));
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
    pair.run_for(ms(1_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    assert_eq!(client(&mut pair).streams(), (14, 12));
    assert_eq!(server(&mut pair).streams(), (12, 14));
    assert!(pair.client.has_seen(&Event::StreamsAdded { outgoing: 4, incoming: 0 }));
    assert!(pair.client.has_seen(&Event::StreamsAdded { outgoing: 0, incoming: 2 }));
    assert_eq!(params(&pair, Way::ToServer)[0], [17, 18]);
    send(&mut pair, 13, 7, 100);
    pair.run_for(ms(300));
    assert_eq!(pair.server.received[0].stream, StreamId(13));
    // One more than the server wants.
    let now = pair.now;
    let denied = client(&mut pair).add_streams(now, 1, 0).unwrap();
    pair.run_for(ms(1_000));
    assert_eq!(request_outcome(&pair.client, denied), Some(ReconfigOutcome::Denied));
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
    let id = reset_streams(&mut pair, StreamDirection::Outgoing, &[0]);
    send(&mut pair, 0, 2, 100);
    pair.run_for(ms(1_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Denied));
    assert_eq!(numbers(&pair, start), [(0, 0, 1), (0, 1, 2)]);
    assert_eq!(pair.server.received.len(), 2);
    let now = pair.now;
    let id = client(&mut pair).reset_streams(now, StreamDirection::Incoming, &[]).unwrap();
    pair.run_for(ms(1_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Denied));
}

#[test]
fn sequence_numbers_wrap() {
    let start = AssocConfig { reproduction: begin_at(Tsn(u32::MAX - 1)), ..config() };
    let mut pair = pair(start, config());
    for round in 0..6u8 {
        send(&mut pair, 0, round, 100);
        let id = reset_streams(&mut pair, StreamDirection::Outgoing, &[0]);
        pair.run_for(ms(500));
        assert_eq!(
            request_outcome(&pair.client, id),
            Some(ReconfigOutcome::Performed),
            "round {round}"
        );
    }
    assert_eq!(pair.server.received.len(), 6);
}

#[test]
fn requests_wait_for_each_other() {
    let mut pair = pair(config(), config());
    for stream in 0..4 {
        send(&mut pair, stream, 1, 100);
    }
    let ids: Vec<_> =
        (0..4).map(|s| reset_streams(&mut pair, StreamDirection::Outgoing, &[s])).collect();
    let now = pair.now;
    let busy = client(&mut pair).reset_streams(now, StreamDirection::Outgoing, &[StreamId(2)]);
    assert_eq!(busy, Err(ReconfigError::Busy));
    pair.run_for(ms(1_000));
    for id in ids {
        assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    }
    assert_eq!(reconfigs(&pair, Way::ToServer), 4);
    let events = pair.server.events.len();
    assert!(events < 50);
}

#[test]
fn a_shutdown_waits_for_a_reset_and_what_it_holds_back() {
    let mut pair = pair(config(), config());
    send(&mut pair, 0, 1, 5_000);
    reset_streams(&mut pair, StreamDirection::Outgoing, &[0]);
    send(&mut pair, 0, 2, 5_000);
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(ms(3_000));
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
        let id = reset_streams(&mut pair, StreamDirection::Outgoing, &[1]);
        pair.run_for(ms(2_000));
        assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    }
    let now = pair.now;
    let id = client(&mut pair).reset_association(now).unwrap();
    send(&mut pair, 1, 2, 3_000);
    pair.run_for(ms(2_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
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
    let id = reset_streams(&mut pair, StreamDirection::Outgoing, &[0]);
    pair.exchange_packets();
    let (now, gone) = (pair.now, client_addresses()[0]);
    pair.client.endpoint.remove_address(now, gone);
    pair.run_for(ms(10_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
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

    /// Whatever is reset or added in between, from whichever side, by a lossy way: messages arrive
    /// once and in order, or are abandoned and said so; every request gets an answer, and none that
    /// its sequence number is bad.
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
        let wrapping = || begin_at(Tsn(u32::MAX - 3));
        let reproduction = wraps.then(wrapping).unwrap_or_default();
        // Timers of data and of requests both count (RFC 9260 section 8.1, RFC 6525 section 5.1.1):
        // where a third is lost, five expirations in a row may end an association, and rightly so.
        // That is not what is looked for here.
        let assoc_max_retrans = 1_000;
        let both = AssocConfig { extensions, reproduction, assoc_max_retrans, ..config() };
        let mut pair = pair(both.clone(), both);
        let mut rng = seed | 1;
        pair.lose_packets(move |_| {
            rng ^= rng << 13;
            rng ^= rng >> 7;
            rng ^= rng << 17;
            if rng % 100 < u64::from(loss) { Verdict::Lose } else { Verdict::Deliver }
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
                Step::Wait(time) => pair.run_for(ms(time)),
            }
        }
        pair.run_for(Duration::from_secs(20));
        pair.deliver_all();
        pair.run_for(Duration::from_secs(300));
        let directions = [[&pair.client, &pair.server], [&pair.server, &pair.client]];
        for (side, [from, to]) in directions.into_iter().enumerate() {
            prop_assert_eq!(from.closed(), None);
            for id in &asked[side] {
                let outcome = request_outcome(from, *id);
                prop_assert!(outcome.is_some(), "{:?} of side {} got no answer", id, side);
                let out_of_step = ReconfigOutcome::Failed { result: 5 };
                prop_assert_ne!(outcome, Some(out_of_step), "{:?} of side {}", id, side);
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
