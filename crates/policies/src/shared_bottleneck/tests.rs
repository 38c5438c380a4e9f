//! Synthetic paths: flights that change at random, queues that are theirs or common.

use super::*;
use crate::test_views::{measured, view};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use proptest::prelude::*;

/// Bytes per second of every bottleneck.
const RATE: f64 = 2e6;
/// Packets of both paths.
const PACKET: u64 = 1500;

/// What the two paths' queues have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Network {
    /// One queue.
    Shared,
    /// Two queues, and flights that change by themselves.
    Disjoint,
    /// Two queues, and flights that are the same at any time.
    InStep,
    /// Two queues, and a way back that both share and that changes.
    CommonReturn,
}

struct Run {
    detector: Detector,
    rng: Rng,
    now: Time,
    flights: [u64; 2],
    /// Bytes of somebody else in either queue.
    others: [u64; 2],
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut detector = Detector::default();
        detector.path_added(PathId(0));
        detector.path_added(PathId(1));
        let (rng, now) = (Rng::from_u64(seed), Time::from_secs(1));
        Self { detector, rng, now, flights: [60_000; 2], others: [30_000; 2] }
    }

    /// A window that a loss halves now and then, and that grows by a packet else.
    fn window(&mut self, bytes: u64) -> u64 {
        if self.rng.below(25) == 0 { bytes / 2 + 10_000 } else { bytes + PACKET }
    }

    /// A round trip of 100 ms, in which both paths take four samples each.
    fn round(&mut self, network: Network) {
        self.flights = self.flights.map(|f| f.min(150_000));
        let [a, b] = self.flights;
        self.flights = [self.window(a), self.window(b)];
        if network == Network::InStep {
            self.flights[1] = self.flights[0];
        }
        self.others =
            [self.window(self.others[0]).min(80_000), self.window(self.others[1]).min(80_000)];
        let back = if network == Network::CommonReturn { self.rng.below(40) } else { 0 };
        for path in [0, 1, 0, 1, 0, 1, 0, 1] {
            self.now += Duration::from_micros(12_500);
            let own = [self.flights[0] + self.others[0], self.flights[1] + self.others[1]];
            let queue = match network {
                Network::Shared => self.flights[0] + self.flights[1] + self.others[0],
                _ => own[path],
            };
            // Acknowledgements come for two packets at a time.
            let noise = self.rng.below(2 * PACKET as usize) as u64;
            let seconds = 0.02 + (queue + noise) as f64 / RATE + back as f64 / 1e3;
            self.sample(path, Duration::from_secs_f64(seconds));
        }
    }

    fn sample(&mut self, path: usize, rtt: Duration) {
        let shape = self.flights.map(|f| (f, 100));
        let paths = measured(&shape);
        let mut view = view(&paths);
        view.now = self.now;
        let ev = AckedInfo {
            path: PathId(path as u8),
            bytes: PACKET,
            outstanding_before: self.flights[path],
            outstanding: self.flights[path] - PACKET,
            may_grow: true,
            rtt: Some(rtt),
            sack_path: PathId(path as u8),
        };
        self.detector.on_acked(&view, &ev);
    }

    /// Rounds until the verdict is `shared`, at most `rounds`.
    fn until(&mut self, network: Network, shared: bool, rounds: u32) -> Option<u32> {
        (0..rounds).find(|_| {
            self.round(network);
            (self.detector.group_of(PathId(1)) == PathId(0)) == shared
        })
    }
}

#[test]
fn one_queue_is_found_and_left_again() {
    for seed in 0..20 {
        let mut run = Run::new(seed);
        assert_eq!(run.detector.group_of(PathId(1)), PathId(1), "nothing is coupled at first");
        let found = run.until(Network::Shared, true, 400);
        assert!(found.is_some_and(|rounds| rounds >= INTERVALS_TO_JOIN), "seed {seed}: {found:?}");
        assert_eq!(run.until(Network::Shared, false, 2000), None, "seed {seed}: it stays");
        let left = run.until(Network::Disjoint, false, 1500);
        assert!(left.is_some_and(|rounds| rounds >= INTERVALS_TO_PART), "seed {seed}: {left:?}");
    }
}

#[test]
fn separate_queues_are_never_grouped() {
    for network in [Network::Disjoint, Network::InStep, Network::CommonReturn] {
        for seed in 0..20 {
            let found = Run::new(seed).until(network, true, 2000);
            assert_eq!(found, None, "{network:?}, seed {seed}");
        }
    }
}

#[test]
fn first_slow_starts_side_by_side_are_one_event() {
    let mut run = Run::new(1);
    let mut round = |flights: [u64; 2], ms: [f64; 2]| {
        run.flights = flights;
        for path in [0, 1, 0, 1, 0, 1, 0, 1] {
            run.now += Duration::from_micros(12_500);
            let noise = run.rng.below(300) as f64 / 1e3;
            run.sample(path, Duration::from_secs_f64((ms[path] + noise) / 1e3));
        }
        run.detector.group_of(PathId(1))
    };
    // Each fills a queue of its own, by chance to the same height.
    let rise = [8, 15, 28, 53, 93, 53].map(|kb| kb * 1000);
    for (flight, ms) in rise.into_iter().zip([20.0, 21.0, 23.0, 28.0, 36.0, 22.0]) {
        round([flight, flight * 95 / 100], [ms, ms - 0.5]);
    }
    // Then one is full, and the other one's window grows and is cut where no queue is.
    for n in 0..400 {
        let group = round([54_020, 10_000 + n * 17 % 20 * 1_000], [22.0, 20.8]);
        assert_eq!(group, PathId(1), "round {n}");
    }
}

#[test]
fn groups_are_transitive_and_named_by_their_lowest_path() {
    let mut d = Detector::default();
    (0..5).for_each(|p| d.path_added(PathId(p)));
    for (low, high) in [(1, 3), (3, 4)] {
        let pair = d.pairs.iter_mut().find(|p| p.ids == [PathId(low), PathId(high)]);
        pair.expect("every pair is watched").shared = true;
    }
    d.merge_groups();
    assert_eq!(d.groups, [0, 1, 2, 1, 1].map(PathId));
    d.path_added(PathId(3));
    assert_eq!(d.groups, [0, 1, 2, 3, 4].map(PathId), "a path that starts anew is alone");
}

#[test]
fn a_response_by_hand() {
    // Level 0, then changes (1, 0), (0, 1), (-1, 0), (0, -1) of the flights; both delays are their
    // sum.
    let mut m = Regression::default();
    let mut add =
        |f: [f64; 2], d: [f64; 2]| m.add_sample(&Sample { flight: f, delay: d }, 0.0, 1.0);
    add([0.0; 2], [0.0; 2]);
    for _ in 0..20 {
        for (a, b) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)] {
            add([a, b], [a + b + 0.1 * a * b, a + b]);
        }
    }
    let r = m.regress_delay(1, 0.1).expect("both move by themselves");
    assert!((r.ratio - 1.0).abs() < 1e-9 && r.strength > 100.0, "{r:?}");
}

proptest! {
    #[test]
    fn any_measurements_give_finite_answers(
        values in prop::collection::vec((0u64..1 << 40, 0u64..1 << 40, 0u64..1 << 36), 1..200),
    ) {
        let mut run = Run::new(1);
        for (a, b, rtt) in values {
            run.now += Duration::from_millis(1 + a % 300);
            run.flights = [a + PACKET, b + PACKET];
            run.sample((a % 2) as usize, Duration::from_nanos(rtt % run.now.as_nanos()));
        }
        for by in [0, 1] {
            let r = run.detector.pairs[0].moments.regress_delay(by, LEAST_OWN_VARIANCE);
            prop_assert!(r.is_none_or(|r| r.strength.is_finite() || r.own.is_finite()));
        }
    }
}
