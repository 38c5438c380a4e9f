//! What is not of the draft: losses without congestion, round trips that scatter.

use polypath_proto::time::Duration;

use super::super::{BbrState, Beyond};
use super::fake_path::*;

const RESIDUAL: Beyond = Beyond { residual: true, mean_trip: false };
const MEAN: Beyond = Beyond { residual: false, mean_trip: true };

/// Round trips of an empty path, and of one with a queue.
const EMPTY: Duration = RTT;
const FULL: Duration = Duration::from_millis(130);

fn cruising(beyond: Beyond) -> FakePath {
    let mut path = FakePath::with(5, beyond, Some(RTT));
    path.sacks(25, WITHIN);
    path.sacks(3, ROUND);
    path.until(BbrState::Cruise, CALM)
}

/// A round of 100 packets at 0.9 of the rate, of which so many are lost.
fn round(path: &mut FakePath, packets: u64, rtt: Duration) {
    let sack = Sack { rate: 0.9 * RATE, acked: 50_000, rtt: Some(rtt), ..CALM };
    let within = Sack { begins_round: false, ..sack };
    if packets > 0 {
        path.sack_losing(within, &[lost(packets, 100)]);
    } else {
        path.sack(within);
    }
    path.sack(sack);
}

/// Two packets of 100 get lost on the empty path, for long.
fn with_residual_loss(beyond: Beyond) -> FakePath {
    let mut path = cruising(beyond);
    for _ in 0..20 {
        round(&mut path, 2, EMPTY);
    }
    path.expect(BbrState::Cruise)
}

#[test]
fn losses_on_an_empty_path_are_excused_after_a_while() {
    let slowed = with_residual_loss(Beyond::default());
    assert_eq!(slowed.gain(), 0.9);
    let mut path = with_residual_loss(RESIDUAL);
    // The first rounds, in which nothing was known, have slowed it down, too.
    path = path.until(BbrState::Refill, CALM).until(BbrState::Up, CALM);
    path = path.until(BbrState::Down, ROUND).until(BbrState::Cruise, CALM);
    for _ in 0..10 {
        round(&mut path, 2, EMPTY);
        assert_eq!(path.gain(), 1.0);
    }
}

#[test]
fn a_queue_that_overflows_slows_it_down_within_three_rounds() {
    let mut path = with_residual_loss(RESIDUAL);
    path = path.until(BbrState::Up, CALM).until(BbrState::Down, ROUND);
    path = path.until(BbrState::Cruise, CALM);
    assert_eq!(path.gain(), 1.0);
    for n in 0..3 {
        round(&mut path, 10, FULL + n * RTT / 10);
    }
    assert_eq!(path.gain(), 0.9);
}

#[test]
fn each_round_is_judged_by_itself() {
    let mut path = with_residual_loss(RESIDUAL);
    for _ in 0..10 {
        round(&mut path, 0, EMPTY);
    }
    path = path.until(BbrState::Up, CALM).until(BbrState::Down, ROUND);
    path = path.until(BbrState::Cruise, CALM);
    for _ in 0..3 {
        round(&mut path, 0, EMPTY);
    }
    assert_eq!(path.gain(), 1.0);
    round(&mut path, 10, EMPTY);
    assert_eq!(path.gain(), 0.9);
}

#[test]
fn a_round_was_calm_if_one_of_its_round_trips_was() {
    let mut path = cruising(RESIDUAL);
    for _ in 0..20 {
        path.sack_losing(Sack { begins_round: false, ..CALM }, &[lost(2, 100)]);
        path.sack(Sack { rtt: Some(FULL), ..CALM });
    }
    assert!(path.model().expected_loss(100_000) > 0.0);
}

#[test]
fn losses_with_a_queue_teach_nothing() {
    let mut path = cruising(RESIDUAL);
    for _ in 0..20 {
        round(&mut path, 2, FULL);
    }
    assert_eq!((path.gain(), path.model().expected_loss(100_000)), (0.9, 0.0));
}

#[test]
fn a_round_is_calm_up_to_an_eighth_and_a_millisecond_above_the_smallest_round_trip() {
    let learnt = |rtt| {
        let mut path = cruising(RESIDUAL);
        for _ in 0..20 {
            let sack = Sack { rtt, ..CALM };
            path.sack_losing(Sack { begins_round: false, ..sack }, &[lost(2, 100)]);
            path.sack(sack);
        }
        path.model().expected_loss(100_000) > 0.0
    };
    let bound = Duration::from_micros(113_500);
    assert!(learnt(Some(bound)) && !learnt(Some(bound + Duration::from_nanos(1))));
    assert!(!learnt(None), "nothing is known");
}

#[test]
fn losses_of_probes_teach_nothing() {
    let mut path = FakePath::with(5, RESIDUAL, Some(RTT));
    path.sacks(25, WITHIN);
    for _ in 0..20 {
        path.sack_losing(WITHIN, &[lost(1, 100)]);
        path.sack(Sack { app_limited: true, ..ROUND });
    }
    assert_eq!(path.state(), BbrState::Startup);
    assert_eq!(path.model().expected_loss(100_000), 0.0);
}

#[test]
fn a_probe_bears_what_is_lost_anyway() {
    let mut path = with_residual_loss(RESIDUAL).until(BbrState::Up, CALM);
    let expected = path.model().expected_loss(100_000) / PACKET as f64;
    assert!((2.0..6.0).contains(&expected), "{expected}");
    path.lose(&[lost(2 + expected as u64, 100)]);
    assert_eq!(path.state(), BbrState::Up);
    path.lose(&[lost(3 + expected as u64, 100)]);
    assert_eq!(path.state(), BbrState::Down);
}

#[test]
fn the_limit_is_where_losses_passed_what_is_lost_anyway() {
    let mut path = with_residual_loss(RESIDUAL).until(BbrState::Up, CALM);
    let before = 180_000.0;
    let expected = path.model().expected_loss(180_000);
    path.lose(&[lost(20, 200)]);
    let limit = before + (0.02 * before + expected) / 0.98;
    assert!((path.limit() - limit.min(200_000.0)).abs() < 1e-6, "{}", path.limit());
}

#[test]
fn a_mean_round_trip_gives_a_path_that_scatters_its_volume() {
    let run = |beyond| {
        let mut path = FakePath::with(5, beyond, Some(RTT));
        for n in 0..60 {
            let rtt = Some(if n % 2 == 0 { RTT } else { 2 * RTT });
            path.sack(Sack { rtt, begins_round: n % 10 == 0, ..CALM });
        }
        (path.model().min_rtt.least, path.model().bdp())
    };
    assert_eq!(run(Beyond::default()), (Some(RTT), BDP as f64));
    let (least, bdp) = run(MEAN);
    assert_eq!(least, Some(RTT));
    assert!((bdp - 1.5 * BDP as f64).abs() < 0.1 * BDP as f64, "{bdp}");
}

#[test]
fn where_round_trips_do_not_scatter_the_mean_is_the_smallest() {
    let mut path = cruising(MEAN);
    path.sacks(30, Sack { begins_round: false, ..CALM });
    path.sacks(2, CALM);
    assert_eq!(path.model().bdp(), BDP as f64);
}
