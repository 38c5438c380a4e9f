//! Messages that are given up (RFC 3758, RFC 7496), end to end in virtual time: 10 ms there, 10 ms
//! back, RTO.Min 1 s.

use std::collections::BTreeSet;

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, CmtConfig, ExtensionConfig, NrSack, RecoveryConfig};
use polypath_proto::ids::{StreamId, Tsn};
use polypath_proto::stats::AbandonedCount;
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, Event, MessageId, Reliability, SendError, SendOptions, State};
use polypath_testkit::pair::craft::{chunk, to_server};
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;
use polypath_wire::{
    ChecksumCheck, Chunk, DataChunk, DataFlags, ForwardTsnRepr, IForwardTsnRepr, PacketView,
    SkippedStream, Ssn,
};
use proptest::prelude::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const PARTIAL: ExtensionConfig =
    ExtensionConfig { partial_reliability: true, ..ExtensionConfig::NONE };

fn config() -> AssocConfig {
    AssocConfig { extensions: PARTIAL, max_burst: None, ..AssocConfig::default() }
}

/// An association over two paths, between ends of these settings.
fn pair(client: AssocConfig, server: AssocConfig) -> Pair {
    let mut pair = Pair::connecting(client, server);
    pair.run_for(ms(400));
    assert_eq!(pair.client.state(), State::Established);
    pair
}

fn send(pair: &mut Pair, stream: u16, data: Vec<u8>, reliability: Reliability) -> MessageId {
    try_send(pair, stream, data, reliability).unwrap()
}

fn try_send(
    pair: &mut Pair,
    stream: u16,
    data: Vec<u8>,
    reliability: Reliability,
) -> Result<MessageId, SendError> {
    let (now, options) = (pair.now, SendOptions { reliability, ..SendOptions::default() });
    client(pair).send(now, StreamId(stream), Bytes::from(data), options)
}

fn abandoned(pair: &Pair) -> Vec<(MessageId, bool)> {
    let events = pair.client.events.iter();
    let told = |(_, e): &(_, Event)| match e {
        Event::Abandoned { message, sent, .. } => Some((*message, *sent)),
        _ => None,
    };
    events.filter_map(told).collect()
}

/// First bytes of what arrived.
fn got(pair: &Pair) -> Vec<u8> {
    pair.server.received.iter().map(|m| m.data[0]).collect()
}

/// TSNs of the packet's DATA chunks, with the message's first byte.
fn data(packet: &Packet) -> Vec<(u32, Option<u8>)> {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
    let chunks = view.chunks().map(|raw| raw.unwrap().decode().unwrap());
    chunks
        .filter_map(|chunk| match chunk {
            Chunk::Data(data) => Some((data.tsn.0, data.payload.first().copied())),
            _ => None,
        })
        .collect()
}

/// FORWARD-TSNs of a packet.
fn forwards(packet: &Packet) -> Vec<(Tsn, Vec<SkippedStream>)> {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
    let chunks = view.chunks().map(|raw| raw.unwrap().decode().unwrap());
    chunks
        .filter_map(|chunk| match chunk {
            Chunk::ForwardTsn(f) => Some((f.new_cumulative_tsn, f.skipped.iter().collect())),
            _ => None,
        })
        .collect()
}

fn all_forwards(pair: &Pair) -> Vec<(Tsn, Vec<SkippedStream>)> {
    pair.log.iter().flat_map(forwards).collect()
}

/// Loses every packet with the DATA of messages whose first byte is one of these.
fn lose_messages(pair: &mut Pair, bytes: &'static [u8]) {
    pair.lose_packets(move |packet| {
        let lost = data(packet).iter().any(|(_, b)| b.is_some_and(|b| bytes.contains(&b)));
        if lost { Verdict::Lose } else { Verdict::Deliver }
    });
}

fn client_path_stats(pair: &Pair) -> polypath_proto::stats::PathStats {
    let assoc = pair.client.endpoint.association(pair.client.handle()).unwrap();
    assoc.stats().paths[0].clone()
}

#[test]
fn a_message_that_may_not_be_retransmitted_is_skipped_and_its_stream_goes_on() {
    let mut pair = pair(config(), config());
    lose_messages(&mut pair, &[2]);
    let ids: Vec<_> =
        (1..=8).map(|i| send(&mut pair, 0, vec![i; 1400], Reliability::Limited(0))).collect();
    pair.run_for(ms(300));
    assert_eq!(got(&pair), [1, 3, 4, 5, 6, 7, 8]);
    assert_eq!(abandoned(&pair), [(ids[1], true)]);
    let stats = client_path_stats(&pair);
    assert_eq!((stats.retransmissions_fast, stats.timeouts), (0, 0));
    // The loss is one nevertheless (RFC 3758 section 3.5, F5).
    assert_eq!(stats.fast_recoveries, 1);
    let told = all_forwards(&pair);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].1.iter().map(|s| (s.stream.0, s.ssn.0)).collect::<Vec<_>>(), [(0, 1)]);
    let counts = client(&mut pair).abandoned(Some(StreamId(0)));
    assert_eq!(counts.limited, AbandonedCount { unsent: 0, sent: 1 });
    assert_eq!(counts.total(), client(&mut pair).abandoned(None).total());
    // Also once the association is over.
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(Duration::from_secs(10));
    assert!(pair.client.closed().is_some());
    assert_eq!(client(&mut pair).abandoned(None).total(), counts.total());
    assert!(pair.client.has_seen(&Event::SenderDry));
}

#[test]
fn so_many_retransmissions_as_allowed_are_tried() {
    let mut pair = pair(config(), config());
    let start = pair.log.len();
    lose_messages(&mut pair, &[9]);
    send(&mut pair, 0, vec![9; 100], Reliability::Limited(2));
    send(&mut pair, 1, vec![1; 100], Reliability::Full);
    pair.run_for(ms(30_000));
    let tries = pair.sent_since(start).iter().flat_map(data).filter(|d| d.1 == Some(9)).count();
    assert_eq!(tries, 3);
    assert_eq!(abandoned(&pair).len(), 1);
    assert_eq!(got(&pair), [1]);
}

#[test]
fn an_expired_message_of_which_nothing_was_sent_takes_no_tsn() {
    let mut pair = pair(config(), config());
    // 20 ms are too short for what the first window cannot take.
    let ids: Vec<_> =
        (0..20).map(|i| send(&mut pair, 0, vec![i; 1400], Reliability::Timed(ms(15)))).collect();
    pair.run_for(ms(500));
    let sent = got(&pair);
    let gone = abandoned(&pair);
    assert!(!gone.is_empty() && gone.iter().all(|(_, sent)| !sent), "{gone:?}");
    assert_eq!(sent.len() + gone.len(), 20);
    assert_eq!(gone, ids[sent.len()..].iter().map(|id| (*id, false)).collect::<Vec<_>>());
    assert!(all_forwards(&pair).is_empty());
    assert_eq!(client(&mut pair).abandoned(None).timed.unsent, gone.len() as u64);
    assert_eq!(client(&mut pair).writable(), AssocConfig::default().send_buffer);
}

#[test]
fn the_only_message_expires_by_its_own_timer() {
    let mut pair = pair(config(), config());
    pair.lose_packets(
        |packet| if data(packet).is_empty() { Verdict::Deliver } else { Verdict::Lose },
    );
    send(&mut pair, 0, vec![1; 30_000], Reliability::Timed(ms(50)));
    let before = pair.now;
    pair.run_for(ms(60));
    // A part was sent: the rest is not, and the whole is skipped up to a TSN that was never sent.
    assert_eq!(abandoned(&pair).len(), 1);
    let told = all_forwards(&pair);
    assert_eq!(told.len(), 1);
    let highest = pair.log.iter().flat_map(data).map(|d| d.0).max().unwrap();
    assert_eq!(told[0].0.0, highest.wrapping_add(1));
    let assoc = client(&mut pair);
    assert_eq!((assoc.writable(), assoc.view(before).outstanding), (1 << 20, 0));
    pair.deliver_all();
    send(&mut pair, 0, vec![2; 100], Reliability::Full);
    pair.run_for(ms(5_000));
    assert_eq!(got(&pair), [2]);
}

#[test]
fn what_expires_while_it_is_on_its_way_may_arrive() {
    let mut pair = pair(config(), config());
    send(&mut pair, 0, vec![1; 100], Reliability::Timed(ms(5)));
    pair.run_for(ms(500));
    assert_eq!((got(&pair), abandoned(&pair)), (vec![1], vec![]));
    // Lost and expired: it is not sent again.
    lose_messages(&mut pair, &[2]);
    send(&mut pair, 0, vec![2; 100], Reliability::Timed(ms(5)));
    pair.run_for(ms(5_000));
    pair.deliver_all();
    pair.run_for(ms(30_000));
    assert_eq!((got(&pair), abandoned(&pair).len()), (vec![1], 1));
    assert_eq!(client_path_stats(&pair).retransmissions_timeout, 0);
}

#[test]
fn all_fragments_of_a_message_are_given_up_together() {
    let mut pair = pair(config(), config());
    let mut n = 0;
    pair.lose_packets(move |packet| {
        n += usize::from(!data(packet).is_empty());
        if n == 2 && !data(packet).is_empty() { Verdict::Lose } else { Verdict::Deliver }
    });
    send(&mut pair, 3, vec![1; 6_000], Reliability::Limited(0));
    send(&mut pair, 3, vec![2; 6_000], Reliability::Limited(0));
    pair.run_for(ms(3_000));
    assert_eq!((got(&pair), abandoned(&pair).len()), (vec![2], 1));
    // Nothing of the first is held at the receiver, and the sender's buffer is free.
    let h = pair.server.handle();
    assert_eq!(pair.server.endpoint.association(h).unwrap().receive_buffer(), (0, 0));
    assert_eq!(client(&mut pair).writable(), 1 << 20);
}

#[test]
fn a_lost_forward_tsn_is_sent_again_by_t3() {
    let mut pair = pair(config(), config());
    let mut lost = 0;
    pair.lose_packets(move |packet| {
        let message = data(packet).iter().any(|(_, b)| *b == Some(9));
        let forward = !forwards(packet).is_empty() && lost < 2;
        lost += usize::from(forward);
        if message || forward { Verdict::Lose } else { Verdict::Deliver }
    });
    send(&mut pair, 0, vec![9; 100], Reliability::Limited(0));
    pair.run_for(ms(20_000));
    assert_eq!(all_forwards(&pair).len(), 3);
    let errors = client(&mut pair).view(polypath_proto::time::Time::MAX).paths[0].errors;
    pair.deliver_all();
    send(&mut pair, 0, vec![1; 100], Reliability::Full);
    pair.run_for(ms(1_000));
    assert_eq!(got(&pair), [1]);
    assert!(errors <= 3);
}

#[test]
fn a_peer_that_never_answers_a_forward_tsn_is_given_up_in_the_end() {
    let mut pair = pair(config(), config());
    pair.lose_packets(|_| Verdict::Lose);
    send(&mut pair, 0, vec![9; 100], Reliability::Limited(0));
    pair.run_for(Duration::from_secs(1_200));
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
}

#[test]
fn unordered_messages_are_not_listed() {
    let mut pair = pair(config(), config());
    lose_messages(&mut pair, &[9]);
    let options = SendOptions {
        unordered: true,
        reliability: Reliability::Limited(0),
        ..SendOptions::default()
    };
    let now = pair.now;
    client(&mut pair).send(now, StreamId(0), Bytes::from(vec![9; 100]), options).unwrap();
    pair.run_for(ms(4_000));
    let told = all_forwards(&pair);
    assert!(told.len() == 1 && told[0].1.is_empty(), "{told:?}");
    pair.deliver_all();
    send(&mut pair, 0, vec![1; 100], Reliability::Full);
    pair.run_for(ms(1_000));
    assert_eq!(got(&pair), [1]);
}

#[test]
fn less_important_messages_make_room() {
    let small = AssocConfig { send_buffer: 10_000, ..config() };
    let mut pair = pair(small, config());
    pair.lose_packets(
        |packet| if data(packet).is_empty() { Verdict::Deliver } else { Verdict::Lose },
    );
    let low: Vec<_> =
        (0..5).map(|i| send(&mut pair, 0, vec![i; 2_000], Reliability::Priority(7))).collect();
    // As important as the others: it has to wait.
    let refused = try_send(&mut pair, 1, vec![20; 3_000], Reliability::Priority(7));
    assert_eq!(refused, Err(SendError::WouldBlock));
    assert_eq!(
        try_send(&mut pair, 1, vec![20; 100], Reliability::Timed(ms(1))),
        Err(SendError::WouldBlock)
    );
    send(&mut pair, 1, vec![21; 3_000], Reliability::Priority(6));
    send(&mut pair, 1, vec![22; 3_000], Reliability::Full);
    pair.run_for(ms(5));
    let gone: Vec<_> = abandoned(&pair).iter().map(|a| a.0).collect();
    assert_eq!(gone, [low[4], low[3], low[2]], "the newest first, and no more than necessary");
    pair.deliver_all();
    pair.run_for(ms(10_000));
    let mut all = got(&pair);
    all.sort_unstable();
    assert_eq!(all, [0, 1, 21, 22]);
    let counts = client(&mut pair).abandoned(None).priority;
    assert_eq!(counts.sent + counts.unsent, 3);
}

#[test]
fn without_the_peers_consent_only_what_is_unsent_is_given_up() {
    let mut pair = pair(config(), AssocConfig::default());
    lose_messages(&mut pair, &[1]);
    let limited = send(&mut pair, 0, vec![1; 100], Reliability::Limited(0));
    pair.run_for(ms(500));
    for i in 2..30 {
        send(&mut pair, 0, vec![i; 1_400], Reliability::Timed(ms(30)));
    }
    pair.run_for(ms(500));
    pair.deliver_all();
    pair.run_for(ms(20_000));
    let gone = abandoned(&pair);
    assert!(gone.iter().all(|(id, sent)| !sent && *id != limited) && !gone.is_empty(), "{gone:?}");
    assert_eq!(got(&pair).len() + gone.len(), 29);
    assert!(got(&pair).contains(&1));
    assert!(pair.log.iter().all(|p| !p.kinds().contains(&kind::FORWARD_TSN)));
}

#[test]
fn tsns_and_stream_numbers_may_wrap() {
    let start = AssocConfig { reproduction: begin_at(Tsn(u32::MAX - 30)), ..config() };
    let mut pair = pair(start, config());
    let mut n = 0u32;
    pair.lose_packets(move |packet| {
        n += u32::from(packet.way == Way::ToServer);
        if packet.way == Way::ToServer && n.is_multiple_of(7) {
            Verdict::Lose
        } else {
            Verdict::Deliver
        }
    });
    let mut sent = BTreeSet::new();
    for i in 0..100u8 {
        sent.insert((
            send(&mut pair, u16::from(i % 3), vec![i; 1_000], Reliability::Limited(0)),
            i,
        ));
    }
    pair.run_for(Duration::from_secs(60));
    let gone: BTreeSet<_> = abandoned(&pair).iter().map(|a| a.0).collect();
    let arrived: BTreeSet<u8> = got(&pair).into_iter().collect();
    assert!(!gone.is_empty());
    for (id, i) in sent {
        assert!(gone.contains(&id) || arrived.contains(&i), "{id:?} is missing");
    }
    for stream in 0..3 {
        let of = pair.server.received.iter().filter(|m| m.stream.0 == stream);
        let order: Vec<u8> = of.map(|m| m.data[0]).collect();
        assert!(order.is_sorted(), "{order:?}");
    }
}

// What a hostile peer may say (FORWARD-TSN).

/// The tag of packets to the server, and the client's first TSN.
fn to_the_server(pair: &Pair) -> (u32, u32) {
    let init = pair.log.iter().find(|p| p.first_kind() == kind::INIT).unwrap();
    let view = PacketView::parse(&init.data, ChecksumCheck::Verify).unwrap();
    let raw = view.chunks().next().unwrap().unwrap();
    let Ok(Chunk::Init(init)) = raw.decode() else { panic!("INIT expected") };
    (pair.last_with(kind::COOKIE_ECHO).tag(), init.fixed.initial_tsn.0)
}

/// From here on the server hears what the test says in the client's name.
fn impostor() -> Pair {
    let mut pair = pair(config(), config());
    pair.lose_packets(|_| Verdict::Lose);
    pair
}

/// Hands the server a FORWARD-TSN; gives the types of the chunks that it answers with.
fn forward(pair: &mut Pair, cum: u32, skipped: &[(u16, u16)]) -> Vec<u8> {
    let (tag, _) = to_the_server(pair);
    let skipped: Vec<_> = skipped
        .iter()
        .map(|&(stream, ssn)| SkippedStream { stream: StreamId(stream), ssn: Ssn(ssn) })
        .collect();
    let repr = ForwardTsnRepr { new_cumulative_tsn: Tsn(cum), skipped: &skipped };
    let packet = to_server(tag, &[&chunk(repr)]);
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, at_server(), &packet);
    pair.sent_since(before).iter().flat_map(Packet::kinds).collect()
}

/// Hands the server a message of one chunk.
fn message(pair: &mut Pair, tsn: u32, stream: u16, ssn: u16, flags: DataFlags) {
    let (tag, _) = to_the_server(pair);
    let (stream, ssn) = (StreamId(stream), Ssn(ssn));
    let data = DataChunk { tsn: Tsn(tsn), stream, ssn, ppid: 0, flags, payload: &[7; 100] };
    let packet = to_server(tag, &[&chunk(data)]);
    pair.inject_packet(Way::ToServer, at_server(), &packet);
}

const WHOLE: DataFlags =
    DataFlags { beginning: true, ending: true, unordered: false, immediate: false };

fn last_sack(pair: &Pair) -> (u32, usize) {
    let sacks = pair.log.iter().rev().filter(|p| p.way == Way::ToClient).filter_map(|packet| {
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
        view.chunks().find_map(|raw| match raw.unwrap().decode() {
            Ok(Chunk::Sack(s)) => Some((s.cumulative_tsn.0, s.duplicates.len())),
            _ => None,
        })
    });
    sacks.take(1).next().expect("a SACK")
}

#[test]
fn a_receiver_skips_delivers_and_acknowledges_as_for_data() {
    let mut pair = impostor();
    let (_, first) = to_the_server(&pair);
    // 0 is missing; 1 and 5 wait for it in their stream, 3 is the middle of a message.
    let middle = DataFlags { beginning: false, ending: false, ..WHOLE };
    message(&mut pair, first.wrapping_add(1), 0, 1, WHOLE);
    message(&mut pair, first.wrapping_add(3), 1, 0, middle);
    message(&mut pair, first.wrapping_add(5), 0, 2, WHOLE);
    assert!(pair.server.received.is_empty());
    forward(&mut pair, first.wrapping_add(2), &[(0, 0), (1, 0), (9_999, 3)]);
    pair.run_for(ms(300));
    assert_eq!(pair.server.received.len(), 2);
    assert_eq!(last_sack(&pair).0, first.wrapping_add(3));
    let h = pair.server.handle();
    assert_eq!(pair.server.endpoint.association(h).unwrap().receive_buffer().0, 0);
    // Stream 1 goes on behind its skipped message.
    message(&mut pair, first.wrapping_add(4), 1, 1, WHOLE);
    assert_eq!(pair.server.received.len(), 3);
    // What was skipped and comes after all is a duplicate.
    message(&mut pair, first, 0, 0, WHOLE);
    pair.run_for(ms(300));
    assert_eq!((pair.server.received.len(), last_sack(&pair)), (3, (first.wrapping_add(5), 1)));
}

#[test]
fn an_old_forward_tsn_is_answered_at_once_and_does_nothing() {
    let mut pair = impostor();
    let (_, first) = to_the_server(&pair);
    message(&mut pair, first, 0, 0, WHOLE);
    pair.run_for(ms(500));
    for cum in [first, first.wrapping_sub(1), first.wrapping_sub(1 << 31)] {
        assert_eq!(forward(&mut pair, cum, &[(0, 40_000)]), [kind::SACK], "{cum}");
    }
    message(&mut pair, first.wrapping_add(1), 0, 1, WHOLE);
    assert_eq!(pair.server.received.len(), 2, "the stream's number was not touched");
}

#[test]
fn a_huge_jump_ends_the_association_and_takes_no_time() {
    for jump in [(1 << 20) + 1, 1 << 30, (1 << 31) - 2] {
        let mut pair = impostor();
        let (_, first) = to_the_server(&pair);
        let answer = forward(&mut pair, first.wrapping_sub(1).wrapping_add(jump), &[(0, 1)]);
        assert_eq!(answer, [kind::ABORT]);
        let violation = CloseReason::ProtocolViolation { cause: 13 };
        assert_eq!(pair.server.closed(), Some(violation));
    }
    // As many TSNs as the window has bytes are possible.
    let mut pair = impostor();
    let (_, first) = to_the_server(&pair);
    forward(&mut pair, first.wrapping_sub(1).wrapping_add(1 << 20), &[]);
    assert_eq!(pair.server.closed(), None);
}

#[test]
fn numbers_of_the_past_or_of_the_far_future_do_not_move_a_stream() {
    let mut pair = impostor();
    let (_, first) = to_the_server(&pair);
    for i in 0..3u16 {
        message(&mut pair, first.wrapping_add(i.into()), 0, i, WHOLE);
    }
    // One TSN is skipped: no more than one number can be.
    forward(&mut pair, first.wrapping_add(3), &[(0, 4), (0, 2), (0, 1), (0, 9), (0, 60_000)]);
    message(&mut pair, first.wrapping_add(4), 0, 3, WHOLE);
    assert_eq!(pair.server.received.len(), 4);
}

#[test]
fn where_it_was_not_agreed_on_it_is_an_unknown_chunk() {
    let mut pair = pair(AssocConfig::default(), config());
    let (_, first) = to_the_server(&pair);
    assert_eq!(forward(&mut pair, first, &[]), [kind::ERROR]);
    let error = pair.log.iter().rev().find(|p| p.first_kind() == kind::ERROR).unwrap();
    assert_eq!(craft::read_causes(error).1, [6]);
    assert_eq!(pair.server.closed(), None);
}

#[test]
fn a_flood_of_forward_tsns_holds_nothing() {
    let mut pair = pair(config(), config());
    let (_, first) = to_the_server(&pair);
    for i in 0..5_000u32 {
        // Every one skips half a message.
        let flags = DataFlags { ending: false, ..WHOLE };
        message(&mut pair, first.wrapping_add(2 * i), 3, i as u16, flags);
        forward(&mut pair, first.wrapping_add(2 * i + 1), &[(3, i as u16)]);
        pair.log.truncate(60);
        pair.flying.clear();
    }
    let h = pair.server.handle();
    let assoc = pair.server.endpoint.association(h).unwrap();
    assert_eq!((assoc.receive_buffer(), pair.server.received.len()), ((0, 0), 0));
}

// With I-DATA (RFC 8260 section 2.3.1).

const INTERLEAVED: ExtensionConfig = ExtensionConfig { interleaving: true, ..PARTIAL };

fn interleaving() -> AssocConfig {
    AssocConfig { extensions: INTERLEAVED, ..config() }
}

/// Stream, U bit and MID.
type Skipped = (u16, bool, u32);

/// I-FORWARD-TSNs of a packet, as (stream, unordered, MID).
fn i_forwards(packet: &Packet) -> Vec<(Tsn, Vec<Skipped>)> {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
    let chunks = view.chunks().map(|raw| raw.unwrap().decode().unwrap());
    let list = |f: polypath_wire::IForwardTsnChunk<'_>| {
        f.skipped.iter().map(|s| (s.stream.0, s.unordered, s.mid.0)).collect()
    };
    chunks
        .filter_map(|chunk| match chunk {
            Chunk::IForwardTsn(f) => Some((f.new_cumulative_tsn, list(f))),
            _ => None,
        })
        .collect()
}

/// Loses the I-DATA of messages whose first byte is one of these.
fn lose_i_data(pair: &mut Pair, bytes: &'static [u8]) {
    pair.lose_packets(move |packet| {
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
        let lost = view.chunks().any(|raw| match raw.unwrap().decode() {
            Ok(Chunk::IData(d)) => bytes.contains(&d.payload[0]),
            _ => false,
        });
        if lost { Verdict::Lose } else { Verdict::Deliver }
    });
}

#[test]
fn i_forward_tsns_name_messages_of_both_classes() {
    let mut pair = pair(interleaving(), interleaving());
    lose_i_data(&mut pair, &[9]);
    let now = pair.now;
    for unordered in [false, true, false, true] {
        let reliability = Reliability::Limited(0);
        let options = SendOptions { unordered, reliability, ..SendOptions::default() };
        let data = Bytes::from(vec![9; 3_000]);
        client(&mut pair).send(now, StreamId(2), data, options).unwrap();
    }
    send(&mut pair, 2, vec![1; 100], Reliability::Full);
    pair.run_for(ms(60_000));
    assert_eq!((got(&pair), abandoned(&pair).len()), (vec![1], 4));
    let told: BTreeSet<_> = pair.log.iter().flat_map(i_forwards).flat_map(|t| t.1).collect();
    let both = [(2, false, 0), (2, false, 1), (2, true, 0), (2, true, 1)];
    assert_eq!(told, both.into_iter().collect());
    assert!(all_forwards(&pair).is_empty());
    let h = pair.server.handle();
    assert_eq!(pair.server.endpoint.association(h).unwrap().receive_buffer(), (0, 0));
}

#[test]
fn a_fragment_that_comes_after_its_message_was_skipped_is_dropped() {
    let mut pair = pair(interleaving(), interleaving());
    let mut n = 0;
    // Of two interleaved messages, one ordered and one not, every third packet is lost and every
    // fourth late.
    pair.lose_packets(move |packet| {
        let data = packet.kinds().contains(&kind::I_DATA);
        n += u32::from(data);
        match n {
            _ if !data => Verdict::Deliver,
            n if n.is_multiple_of(3) => Verdict::Lose,
            n if n.is_multiple_of(4) => Verdict::Delay(ms(150)),
            _ => Verdict::Deliver,
        }
    });
    let now = pair.now;
    for (stream, unordered) in [(0, false), (1, true), (0, false), (1, true)] {
        let reliability = Reliability::Limited(0);
        let options = SendOptions { unordered, reliability, ..SendOptions::default() };
        let data = Bytes::from(vec![stream as u8; 20_000]);
        client(&mut pair).send(now, StreamId(stream), data, options).unwrap();
    }
    pair.run_for(ms(20_000));
    pair.deliver_all();
    for stream in 0..2 {
        send(&mut pair, stream, vec![7; 100], Reliability::Full);
    }
    pair.run_for(ms(5_000));
    assert_eq!(got(&pair), [7, 7]);
    assert_eq!(abandoned(&pair).len(), 4);
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
    let h = pair.server.handle();
    assert_eq!(pair.server.endpoint.association(h).unwrap().receive_buffer(), (0, 0));
}

#[test]
fn the_wrong_kind_of_forward_tsn_ends_the_association() {
    let violation = Some(CloseReason::ProtocolViolation { cause: 13 });
    // FORWARD-TSN beside I-DATA.
    let mut beside = pair(interleaving(), interleaving());
    let (_, first) = to_the_server(&beside);
    forward(&mut beside, first, &[]);
    assert_eq!(beside.server.closed(), violation);
    // I-FORWARD-TSN beside DATA; where neither was agreed on it is an unknown chunk.
    for (offered, closed, answer) in
        [(config(), violation, kind::ABORT), (AssocConfig::default(), None, kind::ERROR)]
    {
        let mut pair = pair(offered.clone(), offered);
        let (tag, first) = to_the_server(&pair);
        let repr = IForwardTsnRepr { new_cumulative_tsn: Tsn(first), skipped: &[] };
        let packet = to_server(tag, &[&chunk(repr)]);
        let before = pair.log.len();
        pair.inject_packet(Way::ToServer, at_server(), &packet);
        let answers: Vec<u8> = pair.sent_since(before).iter().flat_map(Packet::kinds).collect();
        assert_eq!((answers, pair.server.closed()), (vec![answer], closed));
    }
}

#[test]
fn a_message_delivered_in_part_and_then_given_up_is_told() {
    for offered in [PARTIAL, INTERLEAVED] {
        let ends = AssocConfig { extensions: offered, partial_delivery: Some(2_000), ..config() };
        let mut pair = pair(ends.clone(), ends);
        let mut n = 0;
        pair.lose_packets(move |packet| {
            let data = packet.kinds().iter().any(|k| [kind::DATA, kind::I_DATA].contains(k));
            n += u32::from(data && packet.way == Way::ToServer);
            if data && n > 3 { Verdict::Lose } else { Verdict::Deliver }
        });
        send(&mut pair, 0, vec![1; 20_000], Reliability::Timed(ms(100)));
        pair.run_for(ms(5_000));
        let aborted = Event::PartialDeliveryAborted { stream: StreamId(0), unordered: false };
        assert!(pair.server.has_seen(&aborted), "{offered:?}: {:?}", pair.server.events);
        assert!(!pair.server.received.is_empty());
        pair.deliver_all();
        send(&mut pair, 0, vec![2; 100], Reliability::Full);
        pair.run_for(ms(3_000));
        assert_eq!(pair.server.received.last().map(|m| m.data[0]), Some(2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every message is delivered, or abandoned and said so, never neither; in order per stream;
    /// and nothing is left behind.
    #[test]
    fn no_message_vanishes(
        seed: u64,
        loss in 0u32..40,
        nr: bool,
        modern: bool,
        dac: bool,
        interleaving: bool,
        plan in proptest::collection::vec((0u16..4, 1usize..6_000, 0u8..8, any::<bool>(), 0u64..60), 1..60),
    ) {
        let nr_sack = if nr { NrSack::Delivered } else { NrSack::Off };
        let recovery = if modern { RecoveryConfig::MODERN } else { RecoveryConfig::OFF };
        let cmt = CmtConfig { nr_sack, dac, ..CmtConfig::default() };
        let extensions = ExtensionConfig { interleaving, ..PARTIAL };
        let both = AssocConfig { cmt, recovery, extensions, send_buffer: 60_000, ..config() };
        let mut pair = pair(both.clone(), both);
        let mut rng = seed | 1;
        pair.lose_packets(move |_| {
            rng ^= rng << 13;
            rng ^= rng >> 7;
            rng ^= rng << 17;
            if rng % 100 < u64::from(loss) {
                Verdict::Lose
            } else if rng.is_multiple_of(11) {
                Verdict::Delay(ms(rng % 40))
            } else {
                Verdict::Deliver
            }
        });
        let mut sent = Vec::new();
        for (i, (stream, bytes, kind, unordered, pause)) in plan.into_iter().enumerate() {
            let reliability = match kind {
                0 | 1 => Reliability::Full,
                2 | 3 => Reliability::Timed(ms(bytes as u64 % 200)),
                4 | 5 => Reliability::Limited(bytes as u32 % 3),
                _ => Reliability::Priority(bytes as u32 % 5),
            };
            let options = SendOptions { unordered, ppid: i as u32, reliability, ..SendOptions::default() };
            let now = pair.now;
            let data = Bytes::from(vec![i as u8; bytes]);
            if let Ok(id) = client(&mut pair).send(now, StreamId(stream), data, options) {
                sent.push((id, i as u32, bytes, reliability));
            }
            pair.run_for(ms(pause));
        }
        pair.run_for(Duration::from_secs(20));
        pair.deliver_all();
        pair.run_for(Duration::from_secs(200));
        let gone: BTreeSet<_> = abandoned(&pair).iter().map(|a| a.0).collect();
        prop_assert_eq!(gone.len(), abandoned(&pair).len(), "each is said once");
        let mut delivered = BTreeSet::new();
        let mut last = [None; 4];
        for m in &pair.server.received {
            prop_assert!(delivered.insert(m.ppid), "{} came twice", m.ppid);
            let (_, _, bytes, _) = sent.iter().find(|s| s.1 == m.ppid).unwrap();
            prop_assert!(m.data.len() == *bytes && m.data.iter().all(|b| *b == m.ppid as u8));
            if !m.unordered {
                let last = &mut last[usize::from(m.stream.0)];
                prop_assert!(*last < Some(m.ppid), "stream {} out of order", m.stream.0);
                *last = Some(m.ppid);
            }
        }
        for (id, ppid, _, reliability) in &sent {
            let (gone, arrived) = (gone.contains(id), delivered.contains(ppid));
            prop_assert!(gone || arrived, "{:?} vanished", id);
            prop_assert!(!gone || *reliability != Reliability::Full);
        }
        prop_assert_eq!(client(&mut pair).writable(), 60_000);
        let now = pair.now;
        let view = client(&mut pair).view(now);
        prop_assert_eq!(view.outstanding, 0);
        for path in view.paths {
            prop_assert_eq!((path.outstanding, path.outstanding_payload, path.queued), (0, 0, 0));
        }
        let h = pair.server.handle();
        prop_assert_eq!(pair.server.endpoint.association(h).unwrap().receive_buffer(), (0, 0));
        pair.client.shutdown(now);
        pair.run_for(Duration::from_secs(5));
        prop_assert_eq!(pair.client.closed(), Some(CloseReason::Shutdown));
    }
}

#[test]
fn a_message_whose_stream_negotiation_took_away_fails_once() {
    let server = AssocConfig { inbound_streams: 1, ..config() };
    let mut ends =
        [endpoint(CLIENT_PORT, &client_addresses()), endpoint(SERVER_PORT, &server_addresses())];
    ends[1].assoc = server.into();
    let [a, b] = ends;
    let mut pair = Pair::with(a, b);
    pair.connect_with(config());
    let timed = Reliability::Timed(ms(1200));
    let id = send(&mut pair, 5, vec![1; 100], timed);
    let ranked = send(&mut pair, 5, vec![1; 100], Reliability::Priority(3));
    pair.run_for(Duration::from_secs(5));
    let failed = |(_, e): &(_, Event)| match e {
        Event::SendFailed { message, .. } => Some(*message),
        _ => None,
    };
    let failed: Vec<MessageId> = pair.client.events.iter().filter_map(failed).collect();
    assert_eq!(failed, [id, ranked]);
    assert_eq!(abandoned(&pair), []);
}
