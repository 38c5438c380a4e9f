//! Messages that are handed in part by part, and what waits for their end: other streams, resets,
//! shutdowns.

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, ExtensionConfig, ReproductionConfig};
use polypath_proto::ids::StreamId;
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, Event, MessageId, SendError, SendOptions};
use polypath_testkit::pair::*;

const SECOND: Duration = Duration::from_secs(1);

fn config(interleaving: bool) -> AssocConfig {
    let extensions =
        ExtensionConfig { interleaving, stream_reconfiguration: true, ..ExtensionConfig::NONE };
    AssocConfig { extensions, send_buffer: 10_000, ..AssocConfig::default() }
}

fn connected(config: AssocConfig) -> Pair {
    let mut pair = Pair::connecting(config.clone(), config);
    pair.run_for(SECOND);
    pair
}

fn part(pair: &mut Pair, stream: u16, bytes: usize, last: bool) -> Result<MessageId, SendError> {
    let (now, data) = (pair.now, Bytes::from(vec![1; bytes]));
    client(pair).send_part(now, StreamId(stream), data, SendOptions::default(), last)
}

/// Whole messages on a stream until the buffer is full.
fn fill(pair: &mut Pair, stream: u16) -> Vec<MessageId> {
    let mut sent = Vec::new();
    loop {
        let (now, data) = (pair.now, Bytes::from(vec![2; 1000]));
        match client(pair).send(now, StreamId(stream), data, SendOptions::default()) {
            Ok(id) => sent.push(id),
            Err(SendError::WouldBlock) => return sent,
            Err(error) => panic!("{error}"),
        }
    }
}

fn failed(pair: &Pair) -> Vec<MessageId> {
    let failed = |(_, e): &(_, Event)| match e {
        Event::SendFailed { message, .. } => Some(*message),
        _ => None,
    };
    pair.client.events.iter().filter_map(failed).collect()
}

#[test]
fn a_message_that_all_others_wait_for_can_be_ended_though_they_fill_the_buffer() {
    let mut pair = connected(config(false));
    part(&mut pair, 0, 10, false).unwrap();
    pair.run_for(SECOND);
    let behind = fill(&mut pair, 1);
    pair.run_for(SECOND);
    assert!(pair.server.received.is_empty(), "nothing passes an open message without I-DATA");
    // Larger than what is free, and as large as the buffer.
    assert_eq!(client(&mut pair).writable_on(StreamId(0)), 10_000);
    for last in [false, true] {
        part(&mut pair, 0, 10_000, last).unwrap();
        assert_eq!(part(&mut pair, 0, 1, true), Err(SendError::WouldBlock), "but no more");
        if !last {
            pair.run_for(SECOND);
        }
    }
    pair.run_for(10 * SECOND);
    assert_eq!(pair.server.received.len(), 1 + behind.len());
    assert_eq!(pair.server.received[0].data.len(), 20_010);
}

#[test]
fn a_reset_that_waits_for_an_open_message_lets_it_end() {
    for interleaving in [false, true] {
        let mut pair = connected(config(interleaving));
        part(&mut pair, 0, 100, false).unwrap();
        pair.run_for(SECOND);
        let now = pair.now;
        client(&mut pair).reset_association(now).unwrap();
        // These wait for the reset.
        let behind = fill(&mut pair, 1);
        pair.run_for(SECOND);
        part(&mut pair, 0, 4000, true).unwrap();
        pair.run_for(10 * SECOND);
        assert_eq!(pair.server.received.len(), 1 + behind.len(), "interleaving {interleaving}");
        let reset = |(_, e): &(_, Event)| matches!(e, Event::AssociationReset { .. });
        assert!(pair.client.events.iter().any(reset));
    }
}

#[test]
fn a_shutdown_waits_neither_for_an_open_message_nor_for_what_waits_behind_it() {
    for by_client in [true, false] {
        let mut pair = connected(config(false));
        let open = part(&mut pair, 0, 10, false).unwrap();
        pair.run_for(SECOND);
        let behind = fill(&mut pair, 1);
        let now = pair.now;
        if by_client {
            pair.client.shutdown(now)
        } else {
            pair.server.shutdown(now)
        }
        pair.run_for(10 * SECOND);
        assert_eq!(failed(&pair), [&[open][..], &behind].concat());
        let closed = (pair.client.closed(), pair.server.closed());
        assert_eq!(closed, (Some(CloseReason::Shutdown), Some(CloseReason::Shutdown)));
    }
}

#[test]
fn a_shutdown_does_not_wait_for_a_reset_that_waits_for_an_open_message() {
    for interleaving in [false, true] {
        let mut pair = connected(config(interleaving));
        let open = part(&mut pair, 0, 10, false).unwrap();
        let now = pair.now;
        client(&mut pair).reset_association(now).unwrap();
        let behind = fill(&mut pair, 1);
        pair.run_for(SECOND);
        let now = pair.now;
        pair.client.shutdown(now);
        pair.run_for(30 * SECOND);
        assert_eq!(failed(&pair), [&[open][..], &behind].concat());
        let closed = (pair.client.closed(), pair.server.closed());
        assert_eq!(closed, (Some(CloseReason::Shutdown), Some(CloseReason::Shutdown)));
    }
}

#[test]
fn small_parts_that_take_more_than_their_payload_pass_a_small_buffer() {
    for interleaving in [false, true] {
        // Eight chunks of 246 bytes fill the buffer with less than half of it in payload.
        for (bytes, charge, count) in [(246, 256, 100), (1, 0, 2000)] {
            let config = AssocConfig {
                receive_buffer: 4000,
                partial_delivery: Some(4000),
                reproduction: ReproductionConfig {
                    chunk_charge: charge,
                    ..ReproductionConfig::default()
                },
                ..config(interleaving)
            };
            let mut pair = connected(config);
            let mut sent = 0;
            while sent < count {
                match part(&mut pair, 0, bytes, sent + 1 == count) {
                    Ok(_) => sent += 1,
                    Err(SendError::WouldBlock) => pair.run_for(SECOND),
                    Err(error) => panic!("{error} after {sent} parts of {bytes} bytes"),
                }
            }
            pair.run_for(600 * SECOND);
            assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
            let received: usize = pair.server.received.iter().map(|m| m.data.len()).sum();
            assert_eq!(received, bytes * count, "interleaving {interleaving}");
        }
    }
}
