//! The end of an association: graceful, crossing, with losses, and abortive (RFC 9260 section 9).

use bytes::Bytes;
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, Event, SendError, SendOptions, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::{ShutdownChunk, StreamId, Tsn};

const SECOND: Duration = Duration::from_secs(1);

fn both_closed(pair: &Pair, reason: &CloseReason) {
    assert_eq!(pair.client.closed().as_ref(), Some(reason), "client");
    assert_eq!(pair.server.closed().as_ref(), Some(reason), "server");
}

#[test]
fn three_packets_end_an_association() {
    let mut pair = Pair::connected();
    let (now, before) = (pair.now, pair.log.len());
    pair.client.shutdown(now);
    pair.run_for(SECOND);
    let kinds: Vec<u8> = pair.sent_since(before).iter().map(Packet::first_kind).collect();
    assert_eq!(kinds, [SHUTDOWN, SHUTDOWN_ACK, SHUTDOWN_COMPLETE]);
    both_closed(&pair, &CloseReason::Shutdown);
    assert!(pair.server.has_seen(&Event::PeerShutdown));
    let last = |host: &End| host.events.last().map(|(_, e)| matches!(e, Event::Closed(_)));
    assert_eq!((last(&pair.client), last(&pair.server)), (Some(true), Some(true)));
}

#[test]
fn everything_handed_in_arrives_first_and_nothing_more_is_taken() {
    let mut pair = Pair::connected();
    let now = pair.now;
    for _ in 0..100 {
        pair.client.send(now, b"request");
        pair.server.send(now, b"response");
    }
    pair.client.shutdown(now);
    let h = pair.client.handle();
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    let late = assoc.send(now, StreamId(0), Bytes::from_static(b"late"), SendOptions::default());
    assert_eq!(late, Err(SendError::ShuttingDown));
    pair.run_for(10 * SECOND);
    both_closed(&pair, &CloseReason::Shutdown);
    assert_eq!((pair.server.received.len(), pair.client.received.len()), (100, 100));
}

#[test]
fn each_lost_packet_is_made_good() {
    for kind in [SHUTDOWN, SHUTDOWN_ACK, SHUTDOWN_COMPLETE] {
        for count in [1, 2] {
            let mut pair = Pair::connected();
            pair.lose_first(count, move |p| p.kinds().contains(&kind));
            let now = pair.now;
            pair.client.shutdown(now);
            pair.run_for(20 * SECOND);
            both_closed(&pair, &CloseReason::Shutdown);
        }
    }
}

#[test]
fn shutdowns_that_cross_end_both_sides() {
    for offset in [0, 5, 12, 25] {
        let mut pair = Pair::connected();
        let now = pair.now;
        pair.client.shutdown(now);
        pair.run_for(Duration::from_millis(offset));
        let now = pair.now;
        pair.server.shutdown(now);
        pair.run_for(5 * SECOND);
        both_closed(&pair, &CloseReason::Shutdown);
    }
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let mut pair = Pair::connected();
    pair.lose_packets(|_| Verdict::Lose);
    let (now, before) = (pair.now, pair.log.len());
    pair.client.shutdown(now);
    pair.run_for(Duration::from_secs(3600));
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
    let shutdowns = pair.sent_since(before).iter().filter(|p| p.first_kind() == SHUTDOWN).count();
    assert!((2..=11).contains(&shutdowns), "{shutdowns} SHUTDOWNs");
}

#[test]
fn shutdowns_are_retransmitted_over_the_other_path() {
    let mut pair = Pair::connected();
    pair.lose_packets(|p| {
        if p.tuple.local.ip() == ip("10.0.0.2") { Verdict::Lose } else { Verdict::Deliver }
    });
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(10 * SECOND);
    both_closed(&pair, &CloseReason::Shutdown);
}

#[test]
fn data_in_shutdown_sent_is_answered_with_shutdown() {
    let mut pair = Pair::connected();
    let now = pair.now;
    pair.client.shutdown(now);
    pair.server.send(now, b"crosses the SHUTDOWN");
    pair.run_for(5 * SECOND);
    both_closed(&pair, &CloseReason::Shutdown);
    assert_eq!(pair.client.texts(), [b"crosses the SHUTDOWN"]);
    assert!(pair.sent(Way::ToServer, SHUTDOWN) >= 2);
}

#[test]
fn a_shutdown_for_unsent_tsns_is_a_protocol_violation() {
    let mut pair = Pair::connected();
    let tag = read_init_ack(&pair.last_with(INIT_ACK)).0;
    let peer_tag = read_init(&pair.log[0]);
    let tsn = pair.last_with(INIT_ACK).data[28..32].try_into().map(u32::from_be_bytes).unwrap();
    pair.lose_packets(|_| Verdict::Lose);
    let now = pair.now;
    pair.server.send(now, b"under way");
    pair.exchange_packets();
    let shutdown = chunk(ShutdownChunk { cumulative_tsn: Tsn(tsn.wrapping_add(5)) });
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&shutdown]));
    let abort = pair.last_with(ABORT);
    assert_eq!((abort.tag(), read_causes(&abort)), (peer_tag, (false, vec![13])));
    assert_eq!(pair.server.closed(), Some(CloseReason::ProtocolViolation { cause: 13 }));
}

#[test]
fn a_shutdown_during_set_up_waits_for_its_end() {
    let mut pair = Pair::new();
    pair.connect();
    let now = pair.now;
    pair.client.send(now, b"only message");
    pair.client.shutdown(now);
    pair.run_for(5 * SECOND);
    both_closed(&pair, &CloseReason::Shutdown);
    assert_eq!(pair.server.texts(), [b"only message"]);
}

#[test]
fn a_shutdown_chunk_during_set_up_is_ignored() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.exchange_packets();
    let tag = read_init(&pair.log[0]);
    let before = pair.log.len();
    let shutdown = chunk(ShutdownChunk { cumulative_tsn: Tsn(1) });
    pair.inject_packet(Way::ToClient, client_paths()[0], &to_client(tag, &[&shutdown]));
    assert_eq!((pair.log.len(), pair.client.state()), (before, State::CookieWait));
}

#[test]
fn a_shutdown_completes_although_messages_were_not_read() {
    let mut pair = Pair::connected();
    let now = pair.now;
    pair.client.send(now, b"unread");
    pair.client.shutdown(now);
    pair.run_for(5 * SECOND);
    both_closed(&pair, &CloseReason::Shutdown);
}

#[test]
fn an_abort_carries_the_users_reason_and_is_not_answered() {
    let mut pair = Pair::connected();
    let (now, h) = (pair.now, pair.client.handle());
    pair.client.send(now, b"never acknowledged");
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc.abort(now, Bytes::from_static(b"enough"));
    let before = pair.log.len();
    pair.run_for(SECOND);
    assert_eq!(pair.sent_since(before).len(), 1);
    let abort = pair.last_with(ABORT);
    assert_eq!(read_causes(&abort), (false, vec![12]));
    assert!(abort.data.windows(6).any(|w| w == b"enough"));
    assert_eq!(pair.client.closed(), Some(CloseReason::LocalAbort));
    assert_eq!(pair.server.closed(), Some(CloseReason::PeerAbort { cause: Some(12) }));
    assert!(pair.client.events.iter().any(|(_, e)| matches!(e, Event::SendFailed { .. })));
}

#[test]
fn a_reason_longer_than_a_packet_is_cut() {
    let mut pair = Pair::connected();
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc.abort(now, Bytes::from(vec![7; 100_000]));
    pair.run_for(SECOND);
    assert!(pair.last_with(ABORT).data.len() <= 1480);
    assert_eq!(pair.server.closed(), Some(CloseReason::PeerAbort { cause: Some(12) }));
}

#[test]
fn an_abort_before_the_peer_is_known_just_ends_it() {
    let mut pair = Pair::new();
    pair.connect();
    let (now, h) = (pair.now, pair.client.handle());
    pair.client.endpoint.association_mut(h).unwrap().abort(now, Bytes::new());
    pair.run_for(SECOND);
    assert_eq!(pair.log.len(), 0);
    assert_eq!(pair.client.closed(), Some(CloseReason::LocalAbort));
}

#[test]
fn nothing_stirs_after_the_end() {
    let mut pair = Pair::connected();
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(SECOND);
    let before = pair.log.len();
    pair.run_for(Duration::from_secs(3600));
    assert_eq!(pair.log.len(), before);
    let timeouts = [&pair.client, &pair.server].map(|h| h.endpoint.poll_timeout());
    assert_eq!(timeouts, [None, None]);
    // Its addresses are free for the next association.
    let h = pair.client.handle();
    pair.client.endpoint.remove(h);
    pair.connect();
    pair.run_for(SECOND);
    assert_eq!(pair.client.state(), State::Established);
}
