//! What the scheduler picks, by hand.

use super::burst::Burst;
use super::*;
use crate::path_model::estimate::tests::feed;
use crate::test_views::{chunk, paths, view};

const KIB: u64 = 1024;
/// Bytes of DATA chunks per second that 10 Mbit/s carry.
const TEN: f64 = 1_223_333.0;

/// Two paths of 10 Mbit/s with hold times of 21.2 and 86.2 ms (10 and 75 ms one way, S0), both
/// known to be full.
pub(super) fn two(scheduler: &mut Knapsack) -> Vec<PathView> {
    let mut p = paths(2);
    for (path, ms) in p.iter_mut().zip([21.2, 86.2]) {
        let rtt = Duration::from_secs_f64(ms / 1000.0);
        let mut own = Own::default();
        let queued = (1.3 * TEN * rtt.as_secs_f64()) as u64 + 6_000;
        feed(&mut own.estimate, Time::ZERO, TEN, rtt, queued, 3);
        own.burst = Burst::unbounded();
        let sample = RateSample::of_trip(queued, rtt * 13 / 10);
        own.bound.on_sample(Time::ZERO, path, &sample);
        scheduler.paths.push(own);
        path.min_rtt = Some(rtt);
        path.cwnd = u64::MAX;
    }
    p
}

pub(super) fn scheduler() -> Knapsack {
    Knapsack::new(2, 0.06)
}

pub(super) fn buffered<'a>(p: &'a [PathView], kib: u64) -> AssocView<'a> {
    let mut v = view(p);
    v.now = Time::from_millis(300);
    v.send_buffer.limit = kib * KIB;
    v.send_buffer.unsent = kib * KIB;
    v.peer_rwnd_max = kib * KIB;
    v.outstanding = 1;
    v
}

pub(super) fn ordered(stream: u16) -> ChunkMeta {
    let mut next = chunk(stream, 1452);
    next.ordered = true;
    next
}

pub(super) fn unordered() -> ChunkMeta {
    let mut next = chunk(0, 1452);
    next.ordered = false;
    next
}

#[test]
fn small_urgent_messages_take_two_paths_where_that_is_wanted() {
    let mut s = scheduler();
    let p = two(&mut s);
    let v = buffered(&p, 64);
    let mut urgent = chunk(0, 100);
    urgent.needs.service = polypath_proto::Service::LowDelay;
    assert!(s.copy_paths(&v, PathId(0), &urgent).is_empty(), "not unless it is wanted");
    s.copies = true;
    assert_eq!(s.copy_paths(&v, PathId(0), &urgent), [PathId(1)]);
    assert_eq!(s.copy_paths(&v, PathId(1), &urgent), [PathId(0)]);
    let mut part = urgent;
    part.last = false;
    assert!(s.copy_paths(&v, PathId(0), &part).is_empty());
    assert!(s.copy_paths(&v, PathId(0), &ordered(1)).is_empty());
}

#[test]
fn paths_fill_in_the_order_of_their_hold_times_up_to_the_cap() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    assert_eq!(s.pick_path(&buffered(&p, 64), &unordered()), PathPick::Use(PathId(0)));
    // 10 Mbit/s for 21.2 ms are 25.9 kB, and two packets of slack.
    p[0].outstanding = 27_000;
    assert_eq!(s.pick_path(&buffered(&p, 64), &unordered()), PathPick::Use(PathId(0)));
    p[0].outstanding = 28_500;
    assert_eq!(s.pick_path(&buffered(&p, 64), &unordered()), PathPick::Use(PathId(1)));
    p[1].outstanding = 110_000;
    assert_eq!(s.pick_path(&buffered(&p, 64), &unordered()), PathPick::Wait);
}

#[test]
fn equal_paths_take_turns() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    s.paths[1] = s.paths[0].clone();
    p[1].min_rtt = p[0].min_rtt;
    p[0].outstanding = 3_000;
    assert_eq!(s.pick_path(&buffered(&p, 64), &unordered()), PathPick::Use(PathId(1)));
    p[1].outstanding = 4_500;
    assert_eq!(s.pick_path(&buffered(&p, 64), &unordered()), PathPick::Use(PathId(0)));
}

#[test]
fn ordered_data_takes_equal_paths_in_turn_while_nothing_waits() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    s.paths[1] = s.paths[0].clone();
    p[1].min_rtt = p[0].min_rtt;
    p[0].outstanding = 3_000;
    let mut v = buffered(&p, 64);
    v.send_buffer.unsent = 1452;
    assert_eq!(s.pick_path(&v, &ordered(0)), PathPick::Use(PathId(1)));
    v.send_buffer.unsent = 2 * 1452;
    assert_eq!(s.pick_path(&v, &ordered(0)), PathPick::Use(PathId(0)));
}

#[test]
fn one_ordered_stream_uses_the_slow_path_only_where_that_carries_more() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    p[0].outstanding = 28_500;
    // 10 Mbit/s alone; with both B / 88.7 ms: 5.9, 8.9, 11.8 Mbit/s at 64, 96, 128 KiB.
    for (kib, pick) in [(64, PathPick::Wait), (96, PathPick::Wait), (128, PathPick::Use(PathId(1)))]
    {
        let v = buffered(&p, kib);
        s.begin_attempt(&v, Trigger::Sack);
        assert_eq!(s.pick_path(&v, &ordered(0)), pick, "{kib} KiB");
    }
}

#[test]
fn a_far_path_is_left_out_where_little_is_to_be_done() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    p[0].outstanding = 28_500;
    // What waits is delivered after 86.2 ms if 77 kB wait beside those in flight.
    for (bytes, pick) in [(60_000, PathPick::Wait), (100_000, PathPick::Use(PathId(1)))] {
        let mut v = buffered(&p, 1024);
        v.send_buffer.unsent = bytes;
        s.begin_attempt(&v, Trigger::Write);
        assert_eq!(s.pick_path(&v, &ordered(0)), pick, "{bytes} bytes, ordered");
        assert_eq!(s.pick_path(&v, &unordered()), pick, "{bytes} bytes");
    }
}

#[test]
fn streams_share_the_paths_that_carry_most() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    p[0].outstanding = 28_500;
    let v = buffered(&p, 64);
    s.begin_attempt(&v, Trigger::Sack);
    assert_eq!([0, 1].map(|n| s.pick_path(&v, &ordered(n))), [PathPick::Wait; 2]);
    let v = buffered(&p, 256);
    s.begin_attempt(&v, Trigger::Sack);
    let pick = PathPick::Use(PathId(1));
    assert_eq!([0, 1].map(|n| s.pick_path(&v, &ordered(n))), [pick; 2]);
}

#[test]
fn one_stream_has_the_slow_path_for_itself_where_the_buffer_is_too_small_for_all() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    let buffered = |p: &[PathView], s: &mut Knapsack, n| {
        let mut v = buffered(p, 64);
        v.nr_sacks = true;
        s.begin_attempt(&v, Trigger::Sack);
        s.pick_path(&v, &ordered(n))
    };
    p[0].outstanding = 28_500;
    let before = p.clone();
    let mut v = self::buffered(&before, 64);
    v.nr_sacks = true;
    s.begin_attempt(&v, Trigger::Sack);
    s.on_sent(&v, PathId(0), &ordered(0), true);
    s.on_sent(&v, PathId(0), &ordered(1), true);
    assert_eq!(buffered(&p, &mut s, 1), PathPick::Use(PathId(1)));
    s.on_sent(&v, PathId(1), &ordered(1), true);
    assert_eq!(buffered(&p, &mut s, 0), PathPick::Skip, "the others keep to the fast one");
    // What buffer there is belongs to the fast one.
    p[0].outstanding = 20_000;
    assert_eq!(buffered(&p, &mut s, 1), PathPick::Skip);
    assert_eq!(buffered(&p, &mut s, 0), PathPick::Use(PathId(0)));
}

#[test]
fn pieces_of_unordered_messages_keep_to_the_paths_of_one_stream() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    p[0].outstanding = 28_500;
    let mut v = buffered(&p, 64);
    v.nr_sacks = true;
    s.begin_attempt(&v, Trigger::Sack);
    assert_eq!(s.pick_path(&v, &unordered()), PathPick::Use(PathId(1)));
    let mut piece = unordered();
    piece.last = false;
    assert_eq!(s.pick_path(&v, &piece), PathPick::Wait);
}

#[test]
fn an_untried_path_carries_one_packet_until_that_is_acknowledged() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    s.paths[1] = Own::default();
    s.paths[1].burst = Burst::unbounded();
    p[0].outstanding = 28_500;
    (p[1].last_rtt, p[1].cwnd) = (Some(Duration::from_millis(30)), 60_000);
    let pick = |s: &mut Knapsack, p: &[PathView]| {
        let v = buffered(p, 256);
        s.begin_attempt(&v, Trigger::Sack);
        s.pick_path(&v, &unordered())
    };
    assert_eq!(pick(&mut s, &p), PathPick::Use(PathId(1)));
    p[1].outstanding = 1_468;
    assert_eq!(pick(&mut s, &p), PathPick::Wait);
    let sample = RateSample::of_trip(1_468, Duration::from_millis(90));
    s.on_rate_sample(&buffered(&p, 256), PathId(1), &sample);
    assert_eq!(pick(&mut s, &p), PathPick::Use(PathId(1)));
}

#[test]
fn a_path_that_was_slow_is_thought_to_be_so_for_ten_seconds() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    // 12 kB/s.
    let rtt = Duration::from_secs(1);
    let now = feed(&mut s.paths[1].estimate, Time::ZERO, TEN / 100.0, rtt, 20_000, 3);
    p[0].outstanding = 28_500;
    let rate = |s: &mut Knapsack, p: &[PathView], seconds| {
        let mut v = buffered(p, 256);
        v.now = now + Duration::from_secs(seconds);
        s.begin_attempt(&v, Trigger::Sack);
        s.rate(v.now, &p[1])
    };
    let ev = AckedInfo {
        path: PathId(1),
        bytes: 1_468,
        outstanding_before: 1_468,
        outstanding: 0,
        may_grow: true,
        rtt: Some(rtt),
        sack_path: PathId(1),
    };
    let mut v = buffered(&p, 256);
    v.now = now;
    s.on_acked(&v, &ev);
    assert!(rate(&mut s, &p, 9) < 2.0 * TEN);
    assert_eq!(rate(&mut s, &p, 11), f64::INFINITY);
}

#[test]
fn a_lone_packet_asks_for_its_sack() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    let mut v = buffered(&p, 1024);
    assert!(!s.wants_sack_at_once(&v, PathId(0), &unordered()));
    v.send_buffer.unsent = 1452;
    assert!(s.wants_sack_at_once(&v, PathId(0), &unordered()));
    p[0].outstanding = 6_000;
    let mut v = buffered(&p, 1024);
    v.send_buffer.unsent = 1452;
    assert!(!s.wants_sack_at_once(&v, PathId(0), &unordered()));
}

#[test]
fn equally_fast_paths_start_side_by_side() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    s.paths = vec![Own::default(); 2];
    for path in &mut p {
        path.min_rtt = Some(Duration::from_millis(90));
        (path.cwnd, path.ssthresh) = (4_404, 256 * KIB);
    }
    assert_eq!(s.pick_path(&buffered(&p, 256), &ordered(0)), PathPick::Use(PathId(0)));
    p[0].outstanding = 4_404;
    assert_eq!(s.pick_path(&buffered(&p, 256), &ordered(0)), PathPick::Use(PathId(1)));
    // One on which nothing would arrive before the other has carried all waits.
    p[1].min_rtt = Some(Duration::from_millis(1_200));
    s.begin_attempt(&buffered(&p, 256), Trigger::Sack);
    assert_eq!(s.pick_path(&buffered(&p, 256), &ordered(0)), PathPick::Wait);
}

#[test]
fn a_path_is_taken_again_after_an_outage_although_its_window_is_small() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    (p[0].cwnd, p[0].ssthresh) = (1_468, 64 * KIB);
    // The far path carries 64 KiB / 86.2 ms, 760 kB/s; slow start from one packet comes to 560 kB/s
    // over 64 KiB, but the writer that fills the buffer has more.
    let share = |v: &AssocView<'_>| s.share(v, &p[0], 0.0212, 0.0);
    assert!(share(&buffered(&p, 64)) > 0.99 * TEN);
    let mut all_it_has = buffered(&p, 64);
    all_it_has.send_buffer.unsent = 45 * KIB;
    assert!(share(&all_it_has) < 500e3);
    // What congestion took does not come back so soon.
    let mut congested = p.clone();
    congested[0].ssthresh = 11 * 1_468;
    let share = |v: &AssocView<'_>| s.share(v, &congested[0], 0.0212, 0.0);
    assert!(share(&buffered(&congested, 64)) < 800e3);
    s.begin_attempt(&buffered(&p, 64), Trigger::Sack);
    assert_eq!(s.pick_path(&buffered(&p, 64), &ordered(0)), PathPick::Use(PathId(0)));
}

#[test]
fn packets_of_one_ordered_stream_are_spread_on_the_slow_path() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    let rate = s.paths[1].estimate.rate();
    // 128 KiB are too few for both paths, 256 are not; with losses room is taken as it comes.
    for (kib, lost, spread) in [(128, 0, true), (256, 0, false), (128, 1, false)] {
        (p[1].data_chunks, p[1].lost_chunks) = (100_000 * lost, lost);
        let mut v = buffered(&p, kib);
        v.nr_sacks = true;
        s.pick_path(&v, &ordered(0));
        s.begin_attempt(&v, Trigger::Sack);
        assert_eq!(s.pacing_rate(PathId(0)), None);
        let expected = spread.then_some((1.25 * rate) as u64);
        assert_eq!(s.pacing_rate(PathId(1)), expected, "{kib} KiB, {lost} lost");
    }
}

#[test]
fn a_path_that_carries_all_may_have_the_whole_buffer() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    let held: f64 = p.iter().map(|path| s.paths[path.id.index()].estimate.bdp(path)).sum();
    p[1].outstanding = 1_500;
    assert_eq!(s.spare(&buffered(&p, 512)), 524_288.0 - held);
    p[0].outstanding = 1_500;
    assert_eq!(s.spare(&buffered(&p, 512)), (262_144.0 - held) / 2.0);
    assert_eq!(s.spare(&buffered(&p, 64)), 0.0);
}

#[test]
fn the_first_nr_sack_ends_runs() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    p.iter_mut().for_each(|path| path.cwnd = 1 << 20);
    let mut view = buffered(&p, 1 << 10);
    s.begin_attempt(&view, Trigger::Sack);
    assert!(s.runs.are_needed());
    view.nr_sacks = true;
    s.begin_attempt(&view, Trigger::Sack);
    assert!(!s.runs.are_needed());
}

#[test]
fn sacks_are_asked_for_while_the_buffer_is_scarce() {
    let mut s = scheduler();
    let p = two(&mut s);
    // The caps add up to 28.9 + 108.5 kB.
    assert!(s.wants_sack_at_once(&buffered(&p, 128), PathId(0), &unordered()));
    assert!(!s.wants_sack_at_once(&buffered(&p, 160), PathId(0), &unordered()));
}

#[test]
fn with_nothing_in_flight_something_is_sent() {
    let mut s = scheduler();
    let mut p = two(&mut s);
    p.iter_mut().for_each(|p| p.outstanding = 200_000);
    let mut v = buffered(&p, 64);
    v.outstanding = 0;
    assert_eq!(s.pick_path(&v, &unordered()), PathPick::Use(PathId(0)));
}
