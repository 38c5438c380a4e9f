//! What a path scheduler asks of the pacer: runs, which are consecutive TSNs on one path while the
//! other path goes on, and a rate of its own. Paths of 20 ms there and back.

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

const RUNS: Asks = Asks { together: true, rate: None };

/// A run on path 1, one on path 0, and so on.
#[derive(Debug)]
struct Turns {
    asks: Asks,
    sent: usize,
}

/// What it asks for on path 1.
#[derive(Clone, Copy, Debug, Default)]
struct Asks {
    together: bool,
    rate: Option<u64>,
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
        self.asks.together && path == PathId(1)
    }

    fn pacing_rate(&self, path: PathId) -> Option<u64> {
        self.asks.rate.filter(|_| path == PathId(1))
    }

    fn on_sent(&mut self, _: &AssocView<'_>, _: PathId, _: &ChunkMeta, _: bool) {
        self.sent += 1;
    }
}

#[derive(Debug)]
struct InTurns(Asks);

impl PolicyFactory for InTurns {
    fn build(&self, cc: &CcConfig, _: &mut Rng) -> PolicySet {
        let path_scheduler = Box::new(Turns { asks: self.0, sent: 0 });
        PolicySet { path_scheduler, ..PolicySet::rfc9260(cc) }
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A client that has sent two runs' worth of messages, and where its log of that begins.
fn sending(asks: Asks) -> (Pair, usize) {
    let mut config = AssocConfig { pacing: true, max_burst: None, ..AssocConfig::default() };
    config.policies = Arc::new(InTurns(asks));
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
    let (mut pair, since) = sending(RUNS);
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
    let (mut pair, since) = sending(Asks::default());
    let began = pair.now;
    pair.run_for(ms(100));
    let [other, run] = [0, 1].map(|path| departures(&pair, since, path));
    assert!(other[0].0 >= run[RUN - 1].0 && other[0].0 > began, "{other:?}, {run:?}");
}

#[test]
fn what_was_held_does_not_leave_once_the_association_is_over() {
    let (mut pair, _) = sending(RUNS);
    let (since, now) = (pair.log.len(), pair.now);
    client(&mut pair).abort(now, Bytes::new());
    pair.run_for(ms(100));
    let kinds: Vec<_> = pair.sent_since(since).iter().flat_map(Packet::kinds).collect();
    assert!(kinds.contains(&kind::ABORT) && !kinds.contains(&kind::DATA), "{kinds:?}");
}

#[test]
fn a_scheduler_spreads_packets_by_a_rate_of_its_own() {
    // A packet every ten milliseconds, more or less, after three at once.
    let (mut pair, since) = sending(Asks { rate: Some(147_000), ..Asks::default() });
    let began = pair.now;
    pair.run_for(ms(500));
    let run = departures(&pair, since, 1);
    let last = run[RUN - 1].0.since(began);
    assert!(last > ms(120) && last < ms(150), "{last:?}");
    // More than the window lets it have is nothing.
    let (mut pair, since) = sending(Asks { rate: Some(u64::MAX), ..Asks::default() });
    let began = pair.now;
    pair.run_for(ms(500));
    let last = departures(&pair, since, 1)[RUN - 1].0;
    assert!(last >= began + ms(1) && last < began + ms(5), "{:?}", last.since(began));
}
