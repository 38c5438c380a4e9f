//! Messages so small that what must be remembered of them fills the memory that goes with the send
//! buffer before their bytes fill the buffer.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, ExtensionConfig};
use polypath_proto::ids::StreamId;
use polypath_proto::time::Duration;
use polypath_proto::{Event, Reliability, SendError, SendOptions};
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;

const SECOND: Duration = Duration::from_secs(1);
const BUFFER: u64 = 20_000;

/// More would be more than twice the buffer and 64 KiB, with 192 bytes each, however many paths
/// there are.
const MOST: usize = (2 * BUFFER as usize + (64 << 10)) / (1 + 192);

fn config(send_buffer: u64) -> AssocConfig {
    let extensions = ExtensionConfig {
        stream_reconfiguration: true,
        partial_reliability: true,
        ..ExtensionConfig::NONE
    };
    AssocConfig { extensions, send_buffer, ..AssocConfig::default() }
}

fn connected(config: AssocConfig) -> Pair {
    let mut pair = Pair::connecting(config.clone(), config);
    pair.run_for(SECOND);
    pair
}

/// Messages of a byte until there is no room. What the association says of its room is true all the
/// time.
fn fill(pair: &mut Pair, stream: u16, reliability: Reliability, most: usize) -> usize {
    let (now, stream) = (pair.now, StreamId(stream));
    let options = SendOptions { reliability, ..SendOptions::default() };
    for sent in 0..most {
        let room = client(pair).writable_on(stream);
        match client(pair).send(now, stream, Bytes::from_static(b"x"), options) {
            Ok(_) => assert!(room > 0),
            Err(SendError::WouldBlock) => {
                assert_eq!(room, 0);
                return sent;
            }
            Err(error) => panic!("{error}"),
        }
    }
    most
}

fn is_woken(pair: &Pair) -> bool {
    pair.client.events.iter().any(|(_, event)| matches!(event, Event::Writable(_)))
}

#[test]
fn bookkeeping_fills_the_buffer_and_acknowledgements_empty_it() {
    let mut pair = connected(config(BUFFER));
    let mut delivered = 0;
    for _ in 0..20 {
        pair.client.events.clear();
        let sent = fill(&mut pair, 0, Reliability::Full, usize::MAX);
        assert!((MOST - 20..=MOST).contains(&sent), "{sent} of {MOST}");
        pair.run_for(10 * SECOND);
        assert!(is_woken(&pair));
        assert_eq!(client(&mut pair).writable(), BUFFER, "nothing is left behind");
        delivered += sent;
        assert_eq!(pair.server.received.len(), delivered);
    }
}

#[test]
fn a_sender_that_waits_for_every_byte_of_room_is_always_woken() {
    let mut pair = connected(config(BUFFER));
    pair.client.saturates = Some(1);
    let (now, h) = (pair.now, pair.client.handle());
    pair.client.fill_send_buffer(now, h);
    for _ in 0..10 {
        let before = pair.server.received.len();
        pair.run_for(SECOND);
        assert!(pair.server.received.len() > before + MOST);
    }
}

#[test]
fn an_unlimited_buffer_has_no_limit_of_memory() {
    let mut pair = connected(config(u64::MAX));
    assert_eq!(fill(&mut pair, 0, Reliability::Full, 50 * MOST), 50 * MOST);
}

#[test]
fn a_buffer_of_large_messages_is_filled_to_the_last_byte() {
    let mut pair = connected(config(BUFFER));
    let now = pair.now;
    for _ in 0..BUFFER / 200 {
        let message = Bytes::from(vec![1; 200]);
        client(&mut pair).send(now, StreamId(0), message, SendOptions::default()).unwrap();
    }
    assert_eq!(client(&mut pair).writable(), 0);
}

#[test]
fn a_message_that_small_ones_wait_for_can_be_ended() {
    let mut pair = connected(config(BUFFER));
    let (now, options) = (pair.now, SendOptions::default());
    let part = |pair: &mut Pair, bytes: usize, last| {
        client(pair).send_part(now, StreamId(0), Bytes::from(vec![1; bytes]), options, last)
    };
    part(&mut pair, 10, false).unwrap();
    pair.run_for(SECOND);
    let behind = fill(&mut pair, 1, Reliability::Full, usize::MAX);
    pair.run_for(SECOND);
    assert!(pair.server.received.is_empty(), "nothing passes an open message without I-DATA");
    part(&mut pair, 10_000, true).unwrap();
    pair.run_for(10 * SECOND);
    assert_eq!(pair.server.received.len(), 1 + behind);
}

#[test]
fn a_message_that_small_ones_wait_for_with_a_reset_can_be_ended() {
    let mut pair = connected(config(BUFFER));
    let (now, options) = (pair.now, SendOptions::default());
    let part = |pair: &mut Pair, bytes: usize, last| {
        client(pair).send_part(now, StreamId(0), Bytes::from(vec![1; bytes]), options, last)
    };
    part(&mut pair, 10, false).unwrap();
    pair.run_for(SECOND);
    client(&mut pair).reset_association(now).unwrap();
    let behind = fill(&mut pair, 1, Reliability::Full, usize::MAX);
    pair.run_for(SECOND);
    part(&mut pair, 10, true).unwrap();
    pair.run_for(10 * SECOND);
    assert_eq!(pair.server.received.len(), 1 + behind);
}

#[test]
fn room_that_frees_no_byte_wakes_the_sender() {
    let patient = AssocConfig { assoc_max_retrans: 1000, path_max_retrans: 1000, ..config(BUFFER) };
    let mut pair = connected(patient);
    let lifetime = Reliability::Timed(Duration::from_millis(100));
    // Data is lost, and what tells the peer not to wait for it as well, for a while.
    let gate = Rc::new(Cell::new(false));
    let open = gate.clone();
    pair.lose_packets(move |packet| {
        let tells = packet.kinds().contains(&kind::FORWARD_TSN);
        let goes = packet.way == Way::ToClient || tells && open.get();
        if goes { Verdict::Delay(Duration::from_millis(20)) } else { Verdict::Lose }
    });
    // All is given up, as it is lost; chunks that were sent are still to be remembered.
    while fill(&mut pair, 0, lifetime, usize::MAX) > 0 {
        pair.run_for(200 * SECOND);
    }
    pair.client.events.clear();
    pair.run_for(200 * SECOND);
    assert!(!is_woken(&pair), "{:?}", pair.client.events);
    gate.set(true);
    pair.run_for(200 * SECOND);
    assert!(is_woken(&pair), "{:?}", pair.client.events);
    assert!(client(&mut pair).writable_on(StreamId(0)) > 0);
}

#[test]
fn small_important_messages_take_the_place_of_small_unimportant_ones() {
    let mut pair = connected(config(BUFFER));
    pair.lose_packets(|_| Verdict::Lose);
    let unimportant = fill(&mut pair, 0, Reliability::Priority(9), usize::MAX);
    let important = {
        let (now, mut taken) = (pair.now, 0);
        let x = Bytes::from_static(b"x");
        while client(&mut pair).send(now, StreamId(1), x.clone(), SendOptions::default()).is_ok() {
            taken += 1;
        }
        taken
    };
    assert!(important >= unimportant, "{important} for {unimportant}");
    let now = pair.now;
    let given_up = client(&mut pair).abandoned(Some(StreamId(0)));
    assert_eq!(given_up.priority.unsent, unimportant as u64, "{now}");
}
