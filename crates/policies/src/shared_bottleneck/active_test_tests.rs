//! Active tests on synthetic paths that obey: flights that stay as they are but for the dips, and
//! packets that return when they should.

use std::collections::VecDeque;

use super::*;
use crate::test_views::{measured, view};
use polypath_proto::time::{Duration, Time};

/// Bytes per second of every bottleneck, and milliseconds of every way without a queue.
const RATE: f64 = 2e6;
const BASE: [u64; 2] = [20, 60];
const STEP: Duration = Duration::from_millis(2);

struct Loop {
    detector: Detector,
    shared: bool,
    now: Time,
    windows: [u64; 2],
    /// Bytes of somebody else in either queue.
    others: [u64; 2],
    /// Packets on their way: when they return, and after how long.
    sent: [VecDeque<(Time, Duration)>; 2],
    /// The most that a path yielded.
    dips: [u64; 2],
}

impl Loop {
    fn new(shared: bool, windows: [u64; 2], others: [u64; 2]) -> Self {
        let mut detector = Detector::default();
        (0..2).for_each(|p| detector.path_added(PathId(p)));
        let (now, sent) = (Time::from_secs(1), Default::default());
        Self { detector, shared, now, windows, others, sent, dips: [0; 2] }
    }

    fn flights(&self) -> [u64; 2] {
        let limited = |p: usize| self.detector.test_limit(PathId(p as u8)).unwrap_or(u64::MAX);
        [0, 1].map(|p| self.windows[p].min(limited(p)))
    }

    /// What a packet meets that leaves now. Beyond its bandwidth-delay product a flight is queued.
    fn rtt(&self, path: usize) -> Duration {
        let flights = self.flights();
        let held = |p: usize| (RATE * BASE[p] as f64 / 1e3) as u64;
        let queued = |p: usize| (flights[p] + self.others[p]).saturating_sub(held(p));
        let queue = if self.shared { queued(0) + queued(1) } else { queued(path) };
        Duration::from_millis(BASE[path]) + Duration::from_secs_f64(queue as f64 / RATE)
    }

    fn step(&mut self) {
        self.now += STEP;
        let flights = self.flights();
        let mut paths = measured(&[0, 1].map(|p| (self.windows[p], 0)));
        for (p, path) in paths.iter_mut().enumerate() {
            path.min_rtt = Some(Duration::from_millis(BASE[p]));
            path.srtt = self.sent[p].back().map(|sent| sent.1).or(path.min_rtt);
            path.outstanding = flights[p];
            self.dips[p] = self.dips[p].max(self.windows[p] - flights[p]);
        }
        let mut view = view(&paths);
        view.now = self.now;
        for (p, flight) in flights.into_iter().enumerate() {
            let rtt = self.rtt(p);
            self.sent[p].push_back((self.now + rtt, rtt));
            while let Some((_, rtt)) = self.sent[p].pop_front_if(|sent| sent.0 <= self.now) {
                let ev = AckedInfo {
                    path: PathId(p as u8),
                    bytes: 1500,
                    outstanding_before: flight,
                    outstanding: flight,
                    may_grow: true,
                    rtt: Some(rtt),
                    sack_path: PathId(p as u8),
                };
                self.detector.on_acked(&view, &ev);
            }
        }
    }

    /// The time until the paths are grouped, if that takes no longer than this.
    fn grouped(&mut self, seconds: u64) -> Option<Duration> {
        let began = self.now;
        while self.now < began + Duration::from_secs(seconds) {
            self.step();
            if self.detector.group_of(PathId(1)) == PathId(0) {
                return Some(self.now.since(began));
            }
        }
        None
    }
}

#[test]
fn flights_that_never_change_by_themselves_are_told_apart_by_trials() {
    // 290 kB in one queue of 2 MB/s: round trips of 165 and 205 ms, four tests of less than five
    // of them.
    let mut l = Loop::new(true, [120_000, 150_000], [100_000, 100_000]);
    let found = l.grouped(60).expect("one queue");
    assert!(found < Duration::from_secs(6), "{found:?}");
    assert!(l.dips.iter().all(|dip| *dip > 10_000), "both directions: {:?}", l.dips);
    // From then on they become rare: less than one in a minute.
    l.dips = [0; 2];
    l.grouped(1);
    let before = l.detector.pairs[0].evidence;
    (0..10 * 500).for_each(|_| l.step());
    assert_eq!(l.detector.pairs[0].evidence.shared_verdict(), before.shared_verdict());
}

#[test]
fn two_queues_are_not_one_whether_their_flights_are_in_step_or_not() {
    for windows in [[120_000, 150_000], [150_000, 150_000]] {
        let mut l = Loop::new(false, windows, [100_000, 100_000]);
        assert_eq!(l.grouped(60), None);
        assert_eq!(l.detector.pairs[0].evidence.shared_verdict(), Some(false), "and that is known");
    }
}

#[test]
fn a_queue_that_moves_to_one_place_or_to_two_is_noticed() {
    let mut l = Loop::new(false, [120_000, 150_000], [100_000, 100_000]);
    assert_eq!(l.grouped(10), None);
    l.shared = true;
    assert!(l.grouped(120).is_some());
    l.shared = false;
    (0..150 * 500).for_each(|_| l.step());
    assert_eq!(l.detector.group_of(PathId(1)), PathId(1));
}

#[test]
fn without_a_queue_nobody_yields() {
    let mut l = Loop::new(false, [40_000, 120_000], [0; 2]);
    l.grouped(20);
    assert_eq!(l.dips, [0; 2]);
}

#[test]
fn a_path_yields_no_more_than_it_has_in_the_queue() {
    // 40 kB are the path's own bandwidth-delay product, half of 100 kB more than what it may yield.
    let mut l = Loop::new(false, [70_000, 240_000], [0; 2]);
    l.grouped(20);
    assert!(l.dips[0] > 0 && l.windows[0] - l.dips[0] >= 40_000, "{:?}", l.dips);
    assert!(l.dips[1] > 0 && l.windows[1] - l.dips[1] >= 120_000, "{:?}", l.dips);
}

#[test]
fn a_group_yields_where_it_takes_more_than_the_share_of_one() {
    // Beside 300 kB on either way 120 and 150 take 0.34 of 2 MB/s, alone all of it.
    for (others, much) in [([300_000; 2], false), ([0; 2], true)] {
        let mut l = Loop::new(true, [120_000, 150_000], others);
        assert!(l.grouped(60).is_some());
        let mut joined = Vec::new();
        while let Some(path) = l.detector.take_joined() {
            joined.push(path.0);
        }
        joined.sort_unstable();
        assert_eq!(joined, if much { vec![0, 1] } else { vec![] });
        (0..30 * 500).for_each(|_| l.step());
        assert_eq!(l.detector.take_joined(), None, "once");
    }
}
