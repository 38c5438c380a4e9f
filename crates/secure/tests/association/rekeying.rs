//! Keys that are replaced while data flows.

use polypath_proto::time::Duration;
use polypath_testkit::pair::{Packet, Verdict};
use polypath_wire::chunk::kind;

use crate::common::*;

#[test]
fn keys_change_each_50_packets_under_a_transfer_with_reordering_and_loss() {
    let mut pair = connected(&rekeying(50));
    let mut state = 7u64;
    pair.lose_packets(move |_: &Packet| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match state % 50 {
            0 => Verdict::Lose,
            1..=9 => Verdict::Delay(Duration::from_millis(state / 64 % 40)),
            _ => Verdict::Deliver,
        }
    });
    let (now, h) = (pair.now, pair.client.handle());
    pair.client.saturates = Some(5_000);
    pair.client.fill_send_buffer(now, h);
    pair.run_for(SECOND.saturating_mul(20));
    let (stats, _) = pair.client.association().protection_stats().unwrap();
    // Old keys live for two RTOs, of a second at least.
    assert!(stats.rekeys > 5, "{stats:?}");
    assert_eq!(stats.forged, 0);
    let (peer, dropped) = pair.server.association().protection_stats().unwrap();
    assert_eq!((peer.forged, dropped), (0, 0));
    assert!(pair.server.received.len() > 500, "{}", pair.server.received.len());
    no_plain_data(&pair);
}

#[test]
fn what_was_sent_before_is_never_taken_again() {
    let mut pair = connected(&rekeying(20));
    for _ in 0..10 {
        let now = pair.now;
        (0..8).for_each(|_| pair.client.send(now, b"once"));
        pair.run_for(SECOND);
    }
    assert_eq!(pair.server.received.len(), 80);
    let opened = pair.server.association().protection_stats().unwrap().0.opened;
    let sealed: Vec<_> =
        pair.log.iter().filter(|p| p.first_kind() == kind::DTLS).cloned().collect();
    for packet in sealed {
        pair.inject_packet(packet.way, packet.tuple, &packet.data);
    }
    assert_eq!(pair.server.association().protection_stats().unwrap().0.opened, opened);
    assert_well(&mut pair);
}

#[test]
fn an_application_that_does_not_read_is_no_hindrance() {
    let mut pair = connected(&rekeying(30));
    pair.server.reads = false;
    for _ in 0..200 {
        let now = pair.now;
        pair.client.send(now, b"waits to be read");
        pair.run_for(Duration::from_millis(100));
    }
    let stats = pair.client.association().protection_stats().unwrap().0;
    assert!(stats.rekeys > 2, "{stats:?}");
    pair.server.reads = true;
    assert_eq!(pair.client.closed(), None);
}
