//! Timeouts, the end of recovery, and losses that were none.

use polypath_proto::view::LostTransmission;

use super::super::BbrState;
use super::fake_path::*;

/// The SACK of what left before the timeout, and that of what left afterwards.
const BEFORE: Sack = WITHIN;

/// All that is in flight is lost, as a timeout has it: transmission by transmission.
fn all_lost(path: &FakePath) -> Vec<LostTransmission> {
    let packets = path.view.outstanding / PACKET;
    let of = |n| lost_after(n - 1, 1, packets);
    (1..=packets).map(of).collect()
}

#[test]
fn after_a_timeout_one_packet_may_go_and_the_window_comes_back_with_recovery() {
    let mut path = FakePath::in_drain();
    let before = path.cwnd();
    path.time_out(&[]);
    assert_eq!(path.cwnd(), PACKET);
    path.sack(Sack { acked: PACKET, ..BEFORE });
    assert_eq!(path.cwnd(), 4 * PACKET, "at least so much");
    path.sack(Sack { acked: 3 * PACKET, ..BEFORE });
    assert_eq!(path.cwnd(), 7 * PACKET);
    path.sack(ROUND);
    assert_eq!((path.state(), path.cwnd()), (BbrState::Drain, before));
}

#[test]
fn what_is_in_flight_may_stay_there() {
    let mut path = FakePath::in_cruise();
    path.view.outstanding = 50_000;
    let loss = polypath_proto::policy::LossInfo {
        path: PATH,
        kind: polypath_proto::view::LossKind::Timeout,
    };
    path.tell(|bbr, view| {
        polypath_proto::policy::CongestionControl::on_lost(bbr, view, &loss);
    });
    assert_eq!(path.cwnd(), 51_000);
}

#[test]
fn timeouts_in_a_row_save_the_window_before_the_first() {
    let mut path = FakePath::in_cruise();
    let before = path.cwnd();
    for _ in 0..3 {
        path.time_out(&[]);
    }
    path.sack(CALM);
    assert_eq!(path.cwnd(), before);
}

#[test]
fn fast_recovery_gives_the_window_back_too() {
    let mut path = FakePath::in_cruise();
    let before = path.cwnd();
    let recovering = Sack { in_recovery: true, ..CALM };
    path.sack_losing(recovering, &[lost(1, 100)]);
    path.sacks(4, Sack { rate: RATE / 4.0, acked: 0, ..recovering });
    assert!(path.cwnd() < before);
    // Without a bound by the model it would be the old one.
    let bound = path.model().short_term.inflight;
    path.sack(CALM);
    assert_eq!(path.cwnd() as f64, bound.floor());
}

#[test]
fn a_spurious_timeout_gives_back_rate_window_and_limit() {
    let mut path = FakePath::in_drain();
    let before = path.cwnd();
    path.time_out(&all_lost(&path));
    path.sack(BEFORE);
    path.undo();
    assert_eq!(path.cwnd(), before);
    path.sacks(2, at_rate(RATE / 2.0));
    assert_eq!((path.state(), path.gain()), (BbrState::Drain, 0.5));
}

#[test]
fn losses_that_were_none_do_not_slow_it_down() {
    let slow = Sack { rate: RATE / 2.0, ..CALM };
    let mut path = FakePath::in_cruise();
    path.sacks(2, slow);
    path.lose(&[lost(1, 100)]);
    path.undo();
    path.sack(slow);
    assert_eq!(path.gain(), 1.0);
}

#[test]
fn a_spurious_timeout_in_up_probes_again() {
    let mut path = FakePath::in_up();
    path.view.outstanding = NO_QUEUE;
    path.time_out(&all_lost(&path));
    assert_eq!(path.state(), BbrState::Down);
    assert!(path.limit().is_finite());
    path.sack(BEFORE);
    path.undo();
    assert_eq!((path.state(), path.limit()), (BbrState::Refill, f64::INFINITY));
}

#[test]
fn it_does_so_also_after_a_loss_in_the_same_round() {
    let mut path = FakePath::in_up();
    path.sack_losing(Sack { begins_round: false, ..CALM }, &[lost(1, 100)]);
    path.view.outstanding = NO_QUEUE;
    path.time_out(&all_lost(&path));
    path.undo();
    assert_eq!((path.state(), path.limit()), (BbrState::Refill, f64::INFINITY));
}

#[test]
fn losses_long_before_the_timeout_are_not_undone() {
    let mut path = FakePath::with_limit(120);
    path = path.until(BbrState::Cruise, CALM);
    path.sacks(3, CALM);
    path.view.outstanding = NO_QUEUE;
    path.time_out(&all_lost(&path));
    path.undo();
    assert_eq!((path.state(), path.limit()), (BbrState::Cruise, 120_000.0));
}

#[test]
fn the_bounds_of_losses_are_raised_to_those_before_the_timeout() {
    let mut path = FakePath::in_drain();
    let slow = at_rate(RATE / 2.0);
    path.sack(slow);
    path.sack_losing(Sack { begins_round: false, ..slow }, &[lost(1, 100)]);
    path.sack(slow);
    let (bw, inflight) = (path.model().short_term.bw, path.model().short_term.inflight);
    path.time_out(&all_lost(&path));
    path.sack(slow);
    assert!(path.model().short_term.bw < bw && path.model().short_term.inflight < inflight);
    path.undo();
    assert_eq!(path.model().short_term.bw, bw);
    assert_eq!(path.model().short_term.inflight, inflight);
}

#[test]
fn startup_that_losses_ended_goes_on_if_they_were_none() {
    let mut path = left_startup_by_loss();
    path.undo();
    assert_eq!((path.state(), path.limit()), (BbrState::Startup, f64::INFINITY));
    path.sack(Sack { app_limited: true, ..ROUND });
    assert_eq!(path.gain(), 2.77);
    path.sacks(2, ROUND);
    assert_eq!(path.state(), BbrState::Startup, "three rounds, from now on");
    path.sacks(2, ROUND);
    assert_eq!(path.state(), BbrState::Drain);
}

#[test]
fn in_probe_rtt_it_goes_on_afterwards() {
    let mut path = left_startup_by_loss();
    path.sack(Sack { after: 60 * RTT, ..CALM });
    path = path.expect(BbrState::ProbeRtt);
    path.undo();
    assert_eq!(path.state(), BbrState::ProbeRtt);
    let little = Sack { in_flight: 4 * PACKET, app_limited: true, ..CALM };
    path.sack(little);
    path.sack(Sack { after: 3 * RTT, ..little });
    assert_eq!(path.state(), BbrState::Startup);
}

#[test]
fn up_that_ended_in_probe_rtt_is_not_resumed() {
    let mut path = FakePath::in_up();
    path.lose(&[lost(10, 100)]);
    path.sack(Sack { after: 60 * RTT, ..CALM });
    path = path.expect(BbrState::ProbeRtt);
    path.undo();
    assert_eq!(path.state(), BbrState::ProbeRtt);
}

#[test]
fn what_was_undone_once_is_not_undone_again() {
    let mut path = FakePath::in_up();
    path.lose(&[lost(10, 100)]);
    path.undo();
    path = path.expect(BbrState::Refill).until(BbrState::Down, ROUND);
    path.undo();
    assert_eq!(path.state(), BbrState::Down);
}

/// In Drain, since losses ended Startup.
fn left_startup_by_loss() -> FakePath {
    let mut path = FakePath::in_startup();
    path.sack_losing(Sack { in_recovery: true, ..WITHIN }, &[lost(1, 200); 6]);
    path.sack(Sack { lost: 6 * PACKET, in_recovery: true, ..ROUND });
    path.expect(BbrState::Drain)
}
