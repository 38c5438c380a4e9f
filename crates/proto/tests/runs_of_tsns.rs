//! Runs: a path scheduler has consecutive TSNs on one path although packets are paced, and the
//! other path goes on meanwhile. Paths of 20 ms there and back.

use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::SendOptions;
use polypath_proto::config::{AssocConfig, CcConfig, InitialCwnd};
use polypath_proto::ids::{PathId, StreamId};
use polypath_proto::policy::{PathPick, PathScheduler, Policy, PolicyFactory, PolicySet};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, ChunkMeta};
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;

use crate::recovery::tsns;

/// A message fills a packet.
const MESSAGE: usize = 1440;
/// Packets of a run.
const RUN: usize = 16;
/// The windows never fill.
const WINDOW: u64 = 40 * 1456;

/// A run on path 1, one on path 0, and so on.
#[derive(Debug)]
struct Turns {
    together: bool,
    sent: usize,
}

impl Policy for Turns {
    fn name(&self) -> &'static str {
        "turns"
    }
}

impl PathScheduler for Turns {
    fn pick_path(&mut self, _: &AssocView<'_>, _: &ChunkMeta) -> PathPick {
        PathPick::Use(PathId(u8::from((self.sent / RUN).is_multiple_of(2))))
    }

    fn keeps_tsns_together(&self, path: PathId) -> bool {
        self.together && path == PathId(1)
    }

    fn on_sent(&mut self, _: &AssocView<'_>, _: PathId, _: &ChunkMeta, _: bool) {
        self.sent += 1;
    }
}

#[derive(Debug)]
struct InTurns {
    together: bool,
}

impl PolicyFactory for InTurns {
    fn build(&self, cc: &CcConfig, _: &mut Rng) -> PolicySet {
        let path_scheduler = Box::new(Turns { together: self.together, sent: 0 });
        PolicySet { path_scheduler, ..PolicySet::rfc9260(cc) }
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A client that has sent two runs' worth of messages, and where its log of that begins.
fn sending(together: bool) -> (Pair, usize) {
    let mut config = AssocConfig { pacing: true, max_burst: None, ..AssocConfig::default() };
    config.policies = Arc::new(InTurns { together });
    // Heartbeats measure round trips.
    config.heartbeat_interval = Some(ms(100));
    config.congestion.initial_cwnd = InitialCwnd::Bytes(WINDOW);
    let mut pair = Pair::with(
        endpoint(CLIENT_PORT, &client_addresses()),
        endpoint(SERVER_PORT, &server_addresses()),
    );
    pair.client.endpoint.connect(pair.now, &client_paths(), SERVER_PORT, Arc::new(config)).unwrap();
    pair.run_for(ms(5_000));
    let (since, now) = (pair.log.len(), pair.now);
    for _ in 0..2 * RUN {
        let data = Bytes::from_static(&[7; MESSAGE]);
        client(&mut pair).send(now, StreamId(0), data, SendOptions::default()).unwrap();
    }
    pair.exchange_packets();
    (pair, since)
}

/// When the packets with DATA left on the client's path `i`, and their TSNs.
fn departures(pair: &Pair, since: usize, i: usize) -> Vec<(Time, u32)> {
    let there = reverse_tuple(client_paths()[i]);
    let sent = pair.sent_since(since).iter();
    let sent = sent.filter(|p| p.tuple == there && p.kinds().contains(&kind::DATA));
    sent.map(|p| (p.at - ms(10), tsns(p)[0])).collect()
}

#[test]
fn a_run_has_consecutive_tsns_and_the_other_path_does_not_wait_for_it() {
    let (mut pair, since) = sending(true);
    let began = pair.now;
    pair.run_for(ms(100));
    let [other, run] = [0, 1].map(|path| departures(&pair, since, path));
    assert_eq!((run.len(), other.len()), (RUN, RUN));
    for path in [&run, &other] {
        assert!(path.windows(2).all(|two| two[1].1 == two[0].1 + 1), "{path:?}");
    }
    assert_eq!(other[0].1, run[RUN - 1].1 + 1);
    // What a millisecond carries leaves together.
    let last = run[RUN - 1].0;
    assert!(last >= began + ms(1) && last < began + ms(5), "{:?}", last.since(began));
    let at_once = run.iter().filter(|(at, _)| *at == began).count();
    assert_eq!(at_once, 4);
    assert_eq!(other[0].0, began, "the other path goes on at once");
    assert_eq!(pair.server.received.len(), 2 * RUN);
    let stats = client(&mut pair).stats();
    assert_eq!((stats.retransmissions_fast, stats.retransmissions_timeout), (0, 0));
}

#[test]
fn without_runs_what_comes_behind_waits_for_the_pacer() {
    let (mut pair, since) = sending(false);
    let began = pair.now;
    pair.run_for(ms(100));
    let [other, run] = [0, 1].map(|path| departures(&pair, since, path));
    assert!(other[0].0 >= run[RUN - 1].0 && other[0].0 > began, "{other:?}, {run:?}");
}

#[test]
fn what_was_held_does_not_leave_once_the_association_is_over() {
    let (mut pair, _) = sending(true);
    let (since, now) = (pair.log.len(), pair.now);
    client(&mut pair).abort(now, Bytes::new());
    pair.run_for(ms(100));
    let kinds: Vec<_> = pair.sent_since(since).iter().flat_map(Packet::kinds).collect();
    assert!(kinds.contains(&kind::ABORT) && !kinds.contains(&kind::DATA), "{kinds:?}");
}
