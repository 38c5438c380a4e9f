//! The long-term inflight limit: what raises and what lowers it, and probing with care.

use polypath_proto::time::Duration;

use super::super::BbrState;
use super::fake_path::*;

/// The window is full, at the limit.
fn full(path: &FakePath) -> Sack {
    Sack { room: 0, acked: path.cwnd(), ..CALM }
}

#[test]
fn losses_above_two_percent_end_up_and_set_the_limit() {
    let mut path = FakePath::in_up();
    path.lose(&[lost(2, 100)]);
    assert_eq!((path.state(), path.limit()), (BbrState::Up, f64::INFINITY));
    path.lose(&[lost_after(2, 1, 120)]);
    assert_eq!(path.state(), BbrState::Down);
    // 119 packets before it, of which 2.38 might be lost and two were.
    let expected = 119_000.0 + (0.02 * 119_000.0 - 2000.0) / 0.98;
    assert!((path.limit() - expected).abs() < 1e-6, "{}", path.limit());
}

#[test]
fn the_limit_is_where_in_a_burst_the_losses_passed_two_percent() {
    let mut path = FakePath::in_up();
    path.lose(&[lost(10, 200)]);
    let expected = 190_000.0 + 0.02 * 190_000.0 / 0.98;
    assert!((path.limit() - expected).abs() < 1e-6, "{}", path.limit());
}

#[test]
fn what_was_lost_before_the_burst_leaves_it_no_negative_part() {
    let mut path = FakePath::in_up();
    path.lose(&[lost_after(40, 10, 200)]);
    assert_eq!(path.limit(), 190_000.0);
}

#[test]
fn the_limit_is_not_below_seven_tenths_of_what_the_path_holds() {
    let mut path = FakePath::in_up();
    path.lose(&[lost(10, 50)]);
    assert_eq!(path.limit(), 0.7 * BDP as f64);
}

#[test]
fn losses_end_up_also_when_the_application_limits_but_set_no_limit() {
    let mut path = FakePath::in_up();
    let mut limited = lost(3, 100);
    limited.is_app_limited = true;
    path.lose(&[limited]);
    assert_eq!((path.state(), path.limit()), (BbrState::Down, f64::INFINITY));
}

#[test]
fn a_probe_lowers_the_limit_once() {
    let mut path = FakePath::with_limit(120);
    path.lose(&[lost(10, 90)]);
    assert_eq!((path.state(), path.limit()), (BbrState::Down, 120_000.0));
}

#[test]
fn losses_that_are_found_after_up_lower_it_too() {
    let mut path = FakePath::in_up().until(BbrState::Down, ROUND);
    path.sack(Sack { in_flight: QUEUE, ..WITHIN });
    path.lose(&[lost_after(89, 1, 131)]);
    assert_eq!((path.state(), path.limit()), (BbrState::Down, 130_000.0));
}

#[test]
fn losses_of_what_left_after_the_probe_do_not() {
    let mut path = FakePath::in_up();
    path.sacks(3, ROUND);
    path = path.expect(BbrState::Down);
    path.sack(ROUND);
    path.lose(&[lost(30, 100)]);
    assert_eq!(path.limit(), f64::INFINITY);
}

#[test]
fn losses_in_refill_are_not_of_a_probe_yet() {
    let mut path = FakePath::in_refill();
    path.lose(&[lost(30, 100)]);
    assert_eq!((path.state(), path.limit()), (BbrState::Refill, f64::INFINITY));
}

#[test]
fn the_probe_after_a_loss_goes_up_to_the_limit_only() {
    let mut path = FakePath::with_limit(120).until(BbrState::Up, CALM);
    path.sack(Sack { in_flight: 119_999, ..CALM });
    assert_eq!(path.state(), BbrState::Up);
    path.sack(Sack { in_flight: 120_000, begins_round: false, ..CALM });
    assert_eq!((path.state(), path.limit()), (BbrState::Down, 120_000.0));
    // Nothing was lost of that: it probes again at once, without that care.
    path.sacks(5, Sack { begins_round: false, ..CALM });
    path.sack(Sack { age: 5 * ACKED + 1, ..CALM });
    assert_eq!(path.state(), BbrState::Cruise);
    path.sack(CALM);
    assert_eq!(path.state(), BbrState::Refill);
    path.sack(CALM);
    path.sack(Sack { in_flight: 150_000, ..CALM });
    assert_eq!(path.state(), BbrState::Up);
}

#[test]
fn losses_of_the_careful_probe_make_it_wait() {
    let mut path = FakePath::with_limit(120).until(BbrState::Up, CALM);
    path.sack(Sack { in_flight: 120_000, ..CALM });
    path.lose(&[lost(10, 100)]);
    path.sacks(20, Sack { in_flight: 0, ..CALM });
    assert_eq!(path.state(), BbrState::Cruise);
}

#[test]
fn a_probe_that_ends_by_itself_is_no_careful_one() {
    let mut path = FakePath::up_again(120).until(BbrState::Down, ROUND);
    path.sacks(20, CALM);
    assert_eq!(path.state(), BbrState::Cruise);
}

#[test]
fn what_was_in_flight_without_losses_raises_the_limit() {
    let mut path = FakePath::with_limit(120).until(BbrState::Cruise, Sack { in_flight: 0, ..CALM });
    path.sack(Sack { sent_in_flight: 130_000, ..CALM });
    assert_eq!(path.limit(), 130_000.0);
    path.sack(Sack { sent_in_flight: 125_000, ..CALM });
    assert_eq!(path.limit(), 130_000.0);
    path.sack(Sack { sent_in_flight: 140_000, lost: 2801, ..CALM });
    assert_eq!(path.limit(), 130_000.0, "losses of more than two percent");
    path.sack(Sack { sent_in_flight: 140_000, lost: 2800, ..CALM });
    assert_eq!(path.limit(), 140_000.0);
}

#[test]
fn a_full_window_raises_it_by_twice_as_much_in_each_round() {
    let mut path = FakePath::up_again(120);
    assert_eq!(path.cwnd(), 120_000);
    for packets in [1, 2, 4, 8] {
        let before = path.limit();
        path.sack(full(&path));
        path.sack(Sack { acked: 0, begins_round: false, ..full(&path) });
        assert_eq!(path.limit() - before, (packets * PACKET) as f64);
        assert_eq!((path.state(), path.cwnd()), (BbrState::Up, path.limit() as u64));
    }
}

#[test]
fn it_grows_within_the_round_too() {
    let mut path = FakePath::up_again(120);
    path.sack(Sack { room: PACKET - 1, ..full(&path) });
    // From now on two packets in a round.
    let part = Sack { begins_round: false, acked: 30_000, ..full(&path) };
    let limits = [0; 4].map(|_| {
        path.sack(part);
        path.limit() - 121_000.0
    });
    assert_eq!(limits, [0.0, 1000.0, 1000.0, 2000.0]);
}

#[test]
fn it_grows_by_a_packet_for_each_one_acknowledged_at_most() {
    let mut path = FakePath::up_again(120);
    for _ in 0..9 {
        path.sack(Sack { acked: 0, ..full(&path) });
    }
    let before = path.limit();
    path.sack(Sack { acked: 10 * PACKET, ..full(&path) });
    assert_eq!(path.limit() - before, 10_000.0);
}

#[test]
fn a_window_that_is_not_full_does_not_raise_it() {
    let mut path = FakePath::up_again(120);
    path.sacks(2, Sack { room: PACKET, ..full(&path) });
    assert_eq!((path.state(), path.limit()), (BbrState::Up, 120_000.0));
    path.sack(CALM);
    assert_eq!(path.state(), BbrState::Down, "three rounds that were no faster");
}

#[test]
fn a_window_below_the_limit_does_not_raise_it() {
    let mut path = FakePath::up_again(120);
    path.time_out(&[]);
    path.sacks(5, Sack { room: 0, acked: 5 * PACKET, begins_round: false, ..CALM });
    assert!(path.cwnd() < 120_000);
    assert_eq!(path.limit(), 120_000.0);
}

#[test]
fn a_window_that_was_full_counts_for_a_round() {
    let mut path = FakePath::up_again(120);
    path.sack(Sack { begins_round: false, ..full(&path) });
    assert_eq!(path.limit(), 121_000.0);
    // cwnd follows the limit with the SACK; what is acknowledged left when the window was full.
    path.sack(Sack { room: u64::MAX, begins_round: false, ..full(&path) });
    assert_eq!(path.limit(), 122_000.0);
    let age = 121_000;
    path.sack(Sack { room: u64::MAX, age, ..full(&path) });
    assert_eq!(path.limit(), 122_000.0);
}

#[test]
fn the_slope_begins_anew_with_each_probe() {
    let mut path = FakePath::up_again(120);
    for _ in 0..3 {
        path.sack(full(&path));
    }
    path.sack(Sack { acked: 2 * ACKED, begins_round: false, ..full(&path) });
    path = path.until(BbrState::Down, CALM).until(BbrState::Up, CALM);
    let (before, acked) = (path.limit(), path.cwnd() - ACKED);
    path.sack(Sack { acked, begins_round: false, ..full(&path) });
    assert_eq!(path.limit(), before);
    path.sack(Sack { acked: ACKED, ..full(&path) });
    assert_eq!(path.limit() - before, 1000.0);
}

#[test]
fn the_limit_caps_the_window_with_headroom_in_cruise() {
    let mut path = FakePath::with_limit(120);
    path.sack(Sack { after: Duration::from_millis(1), ..WITHIN });
    assert_eq!((path.state(), path.cwnd()), (BbrState::Down, 180_000), "raised by what was sent");
    let mut path = FakePath::with_limit(120);
    path.sack(Sack { in_flight: BDP + 1, ..CALM });
    assert_eq!((path.state(), path.cwnd()), (BbrState::Down, 120_000));
    path.sack(CALM);
    assert_eq!((path.state(), path.cwnd()), (BbrState::Cruise, 102_000));
    path = path.until(BbrState::Refill, CALM);
    path.sacks(10, Sack { begins_round: false, ..CALM });
    assert_eq!((path.state(), path.cwnd()), (BbrState::Refill, 120_000));
}
