//! What limits a transfer, and what tells that it has stopped.

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, StallDetectionConfig};
use polypath_proto::ids::StreamId;
use polypath_proto::stats::{Limit, LimitStats, Stall};
use polypath_proto::time::Duration;
use polypath_proto::view::PathAdmin;
use polypath_proto::{Event, PathId, SendOptions};
use polypath_testkit::pair::{self, Pair, Verdict, client_paths, reverse_tuple};
use polypath_wire::chunk::kind;

const P0: PathId = PathId(0);

fn watching() -> AssocConfig {
    AssocConfig { stall_detection: Some(StallDetectionConfig::default()), ..AssocConfig::default() }
}

fn connected(config: AssocConfig) -> Pair {
    let mut pair = Pair::new();
    pair.connect_with(config);
    pair.run_for(Duration::from_millis(500));
    pair
}

fn limits(pair: &Pair) -> LimitStats {
    let assoc = pair.client.endpoint.association(pair.client.handle()).expect("association");
    assoc.limits(pair.now)
}

fn send(pair: &mut Pair, bytes: usize) {
    let (h, now) = (pair.client.handle(), pair.now);
    let assoc = pair.client.endpoint.association_mut(h).expect("association");
    let data = Bytes::from(vec![7; bytes]);
    assoc.send(now, StreamId(0), data, SendOptions::default()).expect("accepted");
    pair.exchange_packets();
}

fn saturate(pair: &mut Pair) {
    let (h, now) = (pair.client.handle(), pair.now);
    pair.client.saturates = Some(1000);
    pair.client.fill_send_buffer(now, h);
    pair.exchange_packets();
}

fn stalls(pair: &Pair) -> Vec<Stall> {
    let stall = |(_, event): &(_, Event)| match event {
        Event::Stalled { cause, .. } => Some(*cause),
        _ => None,
    };
    pair.client.events.iter().filter_map(stall).collect()
}

#[test]
fn an_idle_association_waits_for_its_application() {
    let mut pair = connected(AssocConfig::default());
    send(&mut pair, 100);
    pair.run_for(Duration::from_secs(10));
    let limits = limits(&pair);
    assert_eq!(limits.current, Limit::Application);
    assert!(limits.application >= Duration::from_secs(10), "{limits:?}");
    assert!(limits.current_for >= Duration::from_secs(9));
}

#[test]
fn a_window_that_is_full_is_named_with_its_path() {
    let mut pair = connected(AssocConfig::default());
    send(&mut pair, 200_000);
    assert_eq!(
        limits(&pair).current,
        Limit::Scheduler(P0),
        "it wants the primary, and the other is open"
    );
    let mut pair = connected(AssocConfig::default());
    let (h, now) = (pair.client.handle(), pair.now);
    let assoc = pair.client.endpoint.association_mut(h).expect("association");
    assoc.set_path_admin(now, PathId(1), PathAdmin::Disabled);
    send(&mut pair, 200_000);
    assert_eq!(limits(&pair).current, Limit::Congestion(P0));
    pair.run_for(Duration::from_millis(10));
    assert_eq!(limits(&pair).current, Limit::Congestion(P0));
    pair.run_for(Duration::from_secs(10));
    let limits = limits(&pair);
    assert_eq!(limits.current, Limit::Application);
    assert!(limits.congestion[0] >= Duration::from_millis(20), "{limits:?}");
}

#[test]
fn a_full_send_buffer_is_told_from_an_application_that_is_done() {
    let config = AssocConfig { send_buffer: 3000, ..AssocConfig::default() };
    let mut pair = connected(config);
    saturate(&mut pair);
    assert_eq!(limits(&pair).current, Limit::SendBuffer);
    pair.run_for(Duration::from_secs(5));
    let ranking = limits(&pair).ranking();
    assert_eq!(ranking[0].0, Limit::SendBuffer, "{ranking:?}");
}

#[test]
fn times_add_up_to_the_life_of_the_association() {
    let mut pair = connected(AssocConfig::default());
    let start = limits(&pair);
    saturate(&mut pair);
    pair.run_for(Duration::from_secs(3));
    let spent = |limits: &LimitStats| limits.ranking().iter().map(|l| l.1).sum::<Duration>();
    assert_eq!(spent(&limits(&pair)) - spent(&start), Duration::from_secs(3));
}

#[test]
fn a_peer_that_does_not_read_is_a_stall_told_once_until_it_reads() {
    let mut pair = connected(watching());
    pair.server.reads = false;
    saturate(&mut pair);
    pair.run_for(Duration::from_secs(3));
    assert!(stalls(&pair).is_empty());
    pair.run_for(Duration::from_secs(60));
    assert_eq!(stalls(&pair), [Stall::PeerReader]);
    assert_eq!(limits(&pair).ranking()[0].0, Limit::PeerWindow);
    assert!(pair.client.has_seen(&Event::Limited(Limit::PeerWindow)));
    pair.server.reads = true;
    let (h, now) = (pair.server.handle(), pair.now);
    let server = pair.server.endpoint.association_mut(h).expect("association");
    while server.recv(now, polypath_proto::RecvFrom::Any).is_some() {}
    pair.exchange_packets();
    pair.run_for(Duration::from_secs(70));
    assert!(pair.server.received.len() > 1000, "it goes on");
    assert_eq!(stalls(&pair), [Stall::PeerReader]);
}

#[test]
fn data_that_vanishes_while_heartbeats_are_answered_is_a_black_hole() {
    let mut pair = connected(watching());
    pair.lose_packets(|p| {
        if p.kinds().contains(&kind::DATA) { Verdict::Lose } else { Verdict::Deliver }
    });
    send(&mut pair, 10_000);
    pair.run_for(Duration::from_secs(20));
    assert!(matches!(stalls(&pair)[..], [Stall::BlackHole(_)]), "{:?}", stalls(&pair));
}

#[test]
fn dead_paths_are_no_stall_and_nothing_is_told_without_watch() {
    let mut pair = connected(watching());
    pair.lose_packets(|_| Verdict::Lose);
    send(&mut pair, 10_000);
    pair.run_for(Duration::from_secs(30));
    assert!(stalls(&pair).is_empty());
    let mut pair = connected(AssocConfig::default());
    pair.server.reads = false;
    saturate(&mut pair);
    pair.run_for(Duration::from_secs(60));
    assert!(stalls(&pair).is_empty());
    let limited = |(_, e): &(_, Event)| matches!(e, Event::Limited(_));
    assert!(!pair.client.events.iter().any(limited));
}

#[test]
fn without_a_usable_path_that_is_the_limit() {
    let mut pair = connected(AssocConfig::default());
    let (h, now) = (pair.client.handle(), pair.now);
    let assoc = pair.client.endpoint.association_mut(h).expect("association");
    for path in [PathId(0), PathId(1)] {
        assoc.set_path_admin(now, path, PathAdmin::Disabled);
    }
    send(&mut pair, 1000);
    assert_eq!(limits(&pair).current, Limit::NoPath);
}

#[test]
fn an_idle_association_is_not_woken_to_be_watched() {
    let mut pair = connected(watching());
    send(&mut pair, 1000);
    pair.run_for(Duration::from_secs(5));
    let wake = pair.client.endpoint.poll_timeout().expect("heartbeats");
    assert!(wake > pair.now + Duration::from_secs(3), "{wake:?} at {:?}", pair.now);
    let first = |p: &&pair::Packet| p.tuple == reverse_tuple(client_paths()[0]);
    assert!(pair.log.iter().filter(first).count() > 0);
}
