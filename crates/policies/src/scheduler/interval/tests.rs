use polypath_proto::PathId;
use polypath_proto::policy::{PathPick, PathScheduler, Trigger};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, PathView, SendBufferView};
use polypath_testkit::conformance::check_path_scheduler;
use proptest::prelude::*;

use super::observer::Observer;
use super::*;
use crate::test_views::{chunk, measured, paths, send, view};

/// These actions, one after the other; the last one from then on.
#[derive(Debug)]
struct Script {
    actions: Vec<Action>,
    asked: Vec<Time>,
}

impl IntervalPolicy for Script {
    fn decide(&mut self, now: Time, _observation: &Observation) -> Action {
        let action = self.actions[self.asked.len().min(self.actions.len() - 1)].clone();
        self.asked.push(now);
        action
    }
}

fn script(actions: Vec<Action>, every_ms: u64) -> Interval<Script> {
    let script = Script { actions, asked: Vec::new() };
    Interval::new(script, Duration::from_millis(every_ms))
}

fn constant(weights: &[f32], factors: &[f32]) -> Interval<Script> {
    script(vec![Action::new(weights, factors).expect("valid")], 10)
}

fn weighing(weights: &[f32]) -> Interval<Script> {
    constant(weights, &vec![1.0; weights.len()])
}

fn pick(scheduler: &mut dyn PathScheduler, p: &[PathView]) -> PathPick {
    scheduler.pick_path(&view(p), &chunk(0, 1452))
}

/// Sends packets of 1452 bytes; says which path took each.
fn walk(scheduler: &mut dyn PathScheduler, p: &mut [PathView], packets: usize) -> Vec<u8> {
    let mut next = || {
        let PathPick::Use(id) = pick(scheduler, p) else { panic!("a path is open") };
        send(p, scheduler, id, 1452);
        id.0
    };
    (0..packets).map(|_| next()).collect()
}

/// How many packets path 0 takes until it waits, as an engine would send them.
fn fill(scheduler: &mut dyn PathScheduler, p: &mut [PathView]) -> usize {
    let mut goes = || {
        p[0].sendable = p[0].has_room();
        let goes = pick(scheduler, p) == PathPick::Use(PathId(0));
        if goes {
            send(p, scheduler, PathId(0), 1452);
        }
        goes
    };
    (0..1000).take_while(|_| goes()).count()
}

const NEXT_DECISION: PathPick = PathPick::WaitUntil(Time::from_millis(1010));

#[test]
fn shares_by_weight() {
    // As `weighted` has it: the first of equals first.
    assert_eq!(
        walk(&mut weighing(&[0.5, 0.25, 0.0]), &mut paths(3), 9),
        [0, 1, 0, 0, 1, 0, 0, 1, 0]
    );
    assert_eq!(walk(&mut weighing(&[]), &mut paths(3), 4), [0, 1, 2, 0], "equal without weights");
    assert_eq!(walk(&mut weighing(&[0.0; 2]), &mut paths(2), 3), [0, 1, 0], "and without any");
}

#[test]
fn a_full_path_loses_its_turn() {
    let mut scheduler = weighing(&[3.0, 1.0]);
    let mut p = paths(2);
    p[0].sendable = false;
    assert_eq!(walk(&mut scheduler, &mut p, 3), [1, 1, 1]);
    p[0].sendable = true;
    // Path 1's third packet started at 2904 and ends at 4356; path 0 starts at 2904, in thirds.
    assert_eq!(walk(&mut scheduler, &mut p, 5), [0, 0, 0, 0, 1], "no arrears");
}

#[test]
fn a_path_without_weight_rests_while_another_is_usable() {
    let mut scheduler = weighing(&[0.0, 1.0]);
    let mut p = paths(2);
    assert_eq!(walk(&mut scheduler, &mut p, 3), [1, 1, 1]);
    p[1].sendable = false;
    assert_eq!(pick(&mut scheduler, &p), NEXT_DECISION);
    p[1].usable = false;
    assert_eq!(walk(&mut scheduler, &mut p, 2), [0, 0]);
    (p[1].usable, p[1].outstanding, p[0].outstanding) = (true, 0, 0);
    assert_eq!(pick(&mut scheduler, &p), PathPick::Use(PathId(0)), "nothing would wake us up");
}

#[test]
fn a_factor_takes_its_part_of_the_window() {
    for (factor, packets) in [(1.0, 20), (0.5, 10), (0.04, 1), (f32::MIN_POSITIVE, 1)] {
        let mut p = measured(&[(20 * 1468, 50)]);
        assert_eq!(fill(&mut constant(&[1.0], &[factor]), &mut p), packets, "{factor}");
    }
}

#[test]
fn a_tiny_factor_leaves_one_packet() {
    let mut p = paths(2);
    let mut scheduler = constant(&[1.0, 0.0], &[f32::MIN_POSITIVE; 2]);
    assert_eq!(fill(&mut scheduler, &mut p), 1);
    assert_eq!(pick(&mut scheduler, &p), NEXT_DECISION);
    p[0].outstanding = 0;
    assert_eq!(fill(&mut scheduler, &mut p), 1);
    (p[0].outstanding, p[0].outstanding_payload) = (1467, 1451);
    assert_eq!(fill(&mut scheduler, &mut p), 1, "less than a packet");
}

#[test]
fn who_was_ahead_is_ahead_by_as_many_bytes_after_a_change_of_weights() {
    let uneven = Action::of_weights(&[1.0, 0.001]).expect("valid");
    let mut scheduler = script(vec![uneven, Action::default()], 0);
    let mut p = paths(2);
    scheduler.begin_attempt(&view(&p), Trigger::Sack);
    assert_eq!(walk(&mut scheduler, &mut p, 4), [0, 1, 0, 0]);
    // Both are about a packet ahead. At its old weight path 1 would have been for 1000 of path 0.
    scheduler.begin_attempt(&view(&p), Trigger::Sack);
    assert_eq!(walk(&mut scheduler, &mut p, 4), [1, 0, 1, 0]);
}

#[test]
fn a_weight_of_next_to_nothing_counts_as_a_millionth() {
    let mut scheduler = weighing(&[f32::MIN_POSITIVE, f32::MAX, f32::MAX / 2.0]);
    let mut p = paths(3);
    assert_eq!(walk(&mut scheduler, &mut p, 4), [0, 1, 2, 1], "then not for a million packets");
    (p[1].sendable, p[2].sendable) = (false, false);
    assert_eq!(walk(&mut scheduler, &mut p, 2), [0, 0]);
    (p[1].sendable, p[2].sendable) = (true, true);
    let order = walk(&mut scheduler, &mut p, 6);
    assert_eq!(order, [1, 2, 1, 1, 2, 1], "start times are still precise");
}

#[test]
fn a_heavy_path_that_is_not_usable_does_not_even_out_the_others() {
    let mut scheduler = weighing(&[2.0, 1.0, 1e9]);
    let mut p = paths(3);
    (p[2].usable, p[2].sendable) = (false, false);
    assert_eq!(walk(&mut scheduler, &mut p, 6), [0, 1, 0, 0, 1, 0]);
    (p[2].usable, p[2].sendable) = (true, true);
    assert_eq!(walk(&mut scheduler, &mut p, 1), [2], "it counts as much as the heaviest");
    let mut scheduler = weighing(&[0.0, 0.0, 1.0]);
    (p[2].usable, p[2].sendable) = (false, false);
    assert_eq!(walk(&mut scheduler, &mut p, 2), [0, 1]);
    (p[2].usable, p[2].sendable) = (true, true);
    assert_eq!(walk(&mut scheduler, &mut p, 3), [2, 2, 2]);
}

/// When the policy is asked, by attempts and picks at these times, all in ms.
fn asked(every_ms: u64, attempts: &[u64], picks: &[u64]) -> Vec<u64> {
    let mut scheduler = script(vec![Action::default()], every_ms);
    let p = paths(1);
    let mut times: Vec<_> = attempts.iter().map(|&ms| (ms, true)).collect();
    times.extend(picks.iter().map(|&ms| (ms, false)));
    times.sort_unstable();
    for (ms, is_attempt) in times {
        let mut view = view(&p);
        view.now = Time::from_millis(ms);
        if is_attempt {
            scheduler.begin_attempt(&view, Trigger::Sack);
        } else {
            assert_eq!(scheduler.pick_path(&view, &chunk(0, 1452)), PathPick::Use(PathId(0)));
        }
    }
    scheduler.policy().asked.iter().map(|at| at.as_nanos() / 1_000_000).collect()
}

#[test]
fn policies_are_asked_at_multiples_of_the_interval_or_soon_after() {
    assert_eq!(asked(10, &[7, 9, 10, 19, 45, 49, 50], &[8, 12, 31]), [7, 10, 31, 45, 50]);
    assert_eq!(asked(0, &[7, 7, 9], &[8, 8, 10]), [7, 7, 9], "each attempt");
    assert_eq!(asked(0, &[], &[8, 8]), [8], "the first chunk needs an answer");
}

#[test]
fn intervals_are_a_millisecond_at_least() {
    let short = Script { actions: vec![Action::default()], asked: Vec::new() };
    let mut scheduler = Interval::new(short, Duration::from_nanos(1));
    let p = paths(1);
    for nanos in [0, 1, 999_999, 1_000_000] {
        let mut view = view(&p);
        view.now = Time(nanos);
        scheduler.begin_attempt(&view, Trigger::Timer);
    }
    assert_eq!(scheduler.policy().asked, [Time::ZERO, Time::from_millis(1)]);
}

#[test]
fn small_chunks_fill_a_packet_before_another_path_has_its_turn() {
    let mut scheduler = weighing(&[1.0, 1.0]);
    let mut p = paths(2);
    let mut order = Vec::new();
    for i in 0..8 {
        let PathPick::Use(id) = scheduler.pick_path(&view(&p), &chunk(0, 340)) else {
            panic!("a path is open")
        };
        p[id.index()].outstanding += 356;
        scheduler.on_sent(&view(&p), id, &chunk(0, 340), i % 4 == 0);
        order.push(id.0);
    }
    assert_eq!(order, [0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn constant_policies_keep_to_the_rules() {
    let cases: [(&[f32], &[f32]); 6] = [
        (&[], &[]),
        (&[0.0; 5], &[0.01; 5]),
        (&[1.0, 0.0, 3.0], &[0.5, 1.0, 0.01]),
        (&[0.0, 1.0], &[1.0; 2]),
        (&[f32::MAX, f32::MIN_POSITIVE, 1.0], &[f32::MIN_POSITIVE; 3]),
        (&[0.0, 0.0, 0.0, 1e-3, 5.0], &[1.0; 5]),
    ];
    for (weights, factors) in cases {
        for seed in 0..20 {
            check_path_scheduler(|_| Box::new(constant(weights, factors)), seed);
        }
    }
}

fn observe<'a>(observer: &'a mut Observer, ms: u64, p: &[PathView]) -> &'a Observation {
    let mut view = view(p);
    view.now = Time::from_millis(ms);
    observer.observe(&view)
}

fn figure(observation: &Observation, path: usize, name: &str) -> f32 {
    observation.paths()[path][Observation::path_figure(name).expect("a name")]
}

#[test]
fn figures_by_hand() {
    let mut p = measured(&[(1023 * 1468, 127)]);
    p[0].min_rtt = Some(Duration::from_millis(63));
    p[0].rttvar = Duration::from_micros(31_750);
    p[0].outstanding = 1023 * 367;
    p[0].queued = 3000;
    let mut view = view(&p);
    view.peer_rwnd = 16_384;
    view.send_buffer = SendBufferView::new(24_000, 12_000, 1000, 1);
    let mut observer = Observer::default();
    let seen = observer.observe(&view);
    // log(128) / 10, log(64) / 10, 127 / 63 - 1 = 64 / 63, 31.75 / 127, log(1024) / 10.
    let wanted = [1.0, 1.0, 0.7, 0.6, 64.0 / 63.0, 0.25, 1.0, 0.25, 0.0, 0.0, 0.0, 0.25];
    for (i, (seen, wanted)) in seen.paths()[0].iter().zip(wanted).enumerate() {
        assert!((seen - wanted).abs() < 1e-6, "{}: {seen}", PATH_FIGURES[i]);
    }
    let wanted = [0.1, 0.25, 0.5, 0.05, 0.0, 0.0];
    for (i, (seen, wanted)) in seen.assoc().iter().zip(wanted).enumerate() {
        assert!((seen - wanted).abs() < 1e-6, "{}: {seen}", ASSOC_FIGURES[i]);
    }
}

#[test]
fn rates_are_of_the_interval() {
    let mut p = paths(1);
    (p[0].delivered, p[0].lost) = (1 << 30, 1 << 20);
    let mut observer = Observer::default();
    let rates = |seen: &Observation| {
        let [.., send_rate, elapsed] = *seen.assoc();
        let of_path = ["delivery-rate", "loss-rate"].map(|name| figure(seen, 0, name));
        (of_path, [send_rate, elapsed])
    };
    assert_eq!(rates(observe(&mut observer, 100, &p)), ([0.0; 2], [0.0; 2]), "none ended yet");
    p[0].delivered += 21_483; // 1023 kB/s for 21 ms
    p[0].lost += 7161;
    observer.on_sent(21_483);
    let (of_path, of_assoc) = rates(observe(&mut observer, 121, &p));
    assert_eq!(of_path, [0.5, 0.25]);
    assert_eq!(of_assoc[0], 0.5);
    assert!((of_assoc[1] - 22.0_f32.log2() / 10.0).abs() < 1e-6);
    assert_eq!(rates(observe(&mut observer, 121, &p)), (of_path, of_assoc), "no time has passed");
    let (of_path, of_assoc) = rates(observe(&mut observer, 122, &p));
    assert_eq!((of_path, of_assoc[0]), ([0.0; 2], 0.0));
    assert!((of_assoc[1] - 0.1).abs() < 1e-6, "log(1 + 1 ms) / 10");
}

#[test]
fn fresh_paths_and_none_have_figures() {
    let fresh = PathView::new(PathId(0), 0, 0, Duration::ZERO);
    let mut observer = Observer::default();
    for (ms, count) in [(0, 0), (10, 1), (20, 3), (30, 2)] {
        let p = vec![fresh; count];
        let mut view = AssocView::new(Time::from_millis(ms), &p);
        view.rto_initial = Duration::ZERO;
        let seen = observer.observe(&view);
        assert_eq!(seen.paths(), vec![[0.0; PATH_FIGURES.len()]; count]);
    }
}

fn any_path() -> impl Strategy<Value = PathView> {
    let time = || any::<u64>().prop_map(Duration::from_nanos);
    let bytes = || prop_oneof![any::<u64>(), 0..1_000_000_u64];
    let times = (proptest::option::of(time()), proptest::option::of(time()), time());
    let sizes = (bytes(), bytes(), bytes(), bytes(), bytes());
    let flags = any::<[bool; 3]>();
    (times, sizes, flags, any::<u32>()).prop_map(|(times, sizes, flags, pmdcs)| {
        let mut p = PathView::new(PathId(0), 1500, pmdcs, Duration::ZERO);
        (p.srtt, p.min_rtt, p.rttvar) = times;
        (p.cwnd, p.outstanding, p.queued, p.delivered, p.lost) = sizes;
        [p.usable, p.sendable, p.in_recovery] = flags;
        p
    })
}

proptest! {
    #[test]
    fn figures_are_finite_and_small_and_follow_their_path(
        mut before in proptest::collection::vec(any_path(), 5),
        mut after in proptest::collection::vec(any_path(), 5),
        ms in 0..u64::MAX / 1_000_000,
        turn in 0..5_usize,
    ) {
        let look = |before: &[PathView], after: &[PathView]| {
            let mut observer = Observer::default();
            observe(&mut observer, 0, before);
            observer.on_sent(u32::MAX);
            observe(&mut observer, ms, after).clone()
        };
        let seen = look(&before, &after);
        let all = seen.paths().iter().flatten().chain(seen.assoc());
        for figure in all {
            prop_assert!((0.0..=10.0).contains(figure));
            prop_assert_eq!((figure * 1_048_576.0).fract(), 0.0);
        }
        before.rotate_left(turn);
        after.rotate_left(turn);
        let mut turned = seen.paths().to_vec();
        turned.rotate_left(turn);
        prop_assert_eq!(look(&before, &after), Observation::from_figures(turned, *seen.assoc()));
    }
}
