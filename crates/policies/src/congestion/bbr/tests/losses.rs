//! Losses while the path does not accelerate: the short-term model.

use super::super::BbrState;
use super::fake_path::*;

/// The path delivers half of what it did.
const SLOW: Sack = Sack { rate: RATE / 2.0, acked: ACKED / 2, ..CALM };

/// A round at a rate, in which a packet is lost.
fn lossy_round(path: &mut FakePath, rate: f64) {
    path.sack_losing(Sack { rate, begins_round: false, ..CALM }, &[lost(1, 100)]);
    path.sack(Sack { rate, ..CALM });
}

#[test]
fn the_rate_falls_to_what_was_delivered_and_by_three_tenths_at_most() {
    let mut path = FakePath::in_cruise();
    path.sacks(2, Sack { rate: 0.9 * RATE, ..CALM });
    lossy_round(&mut path, 0.9 * RATE);
    assert_eq!(path.gain(), 0.9);
    path.sacks(2, SLOW);
    lossy_round(&mut path, RATE / 2.0);
    assert_eq!(path.gain(), 0.63);
    lossy_round(&mut path, RATE / 2.0);
    assert_eq!(path.gain(), 0.5);
    lossy_round(&mut path, RATE / 2.0);
    assert_eq!((path.gain(), path.model().max_bw.get()), (0.5, RATE));
}

#[test]
fn the_window_falls_alike() {
    let mut path = FakePath::in_cruise();
    let before = path.cwnd() as f64;
    path.sacks(2, SLOW);
    for n in 1..4 {
        lossy_round(&mut path, RATE / 2.0);
        let expected = (0.7_f64.powi(n) * before).max(50_000.0);
        assert!((path.model().short_term.inflight - expected).abs() < 1.0);
    }
    // Twice of what the lowered rate fills.
    assert!(path.cwnd() as f64 <= path.model().short_term.inflight);
    for _ in 0..3 {
        lossy_round(&mut path, RATE / 2.0);
    }
    assert_eq!((path.model().short_term.inflight, path.cwnd()), (50_000.0, 50_000));
}

#[test]
fn the_fastest_sample_of_the_round_counts() {
    let mut path = FakePath::in_cruise();
    path.sack(SLOW);
    path.sack(Sack { rate: 0.9 * RATE, begins_round: false, ..SLOW });
    path.sack(Sack { begins_round: false, ..SLOW });
    lossy_round(&mut path, RATE / 2.0);
    assert_eq!(path.gain(), 0.9);
    lossy_round(&mut path, RATE / 2.0);
    assert_eq!(path.gain(), 0.63, "and that of the round before does not");
}

#[test]
fn it_waits_for_the_end_of_the_round() {
    let mut path = FakePath::in_cruise();
    path.sacks(2, SLOW);
    for _ in 0..9 {
        path.sack_losing(Sack { begins_round: false, ..SLOW }, &[lost(1, 100)]);
        assert_eq!(path.gain(), 1.0);
    }
    path.sack(SLOW);
    assert_eq!(path.gain(), 0.7);
    path.sacks(9, SLOW);
    assert_eq!(path.gain(), 0.7, "rounds without losses change nothing");
}

#[test]
fn the_round_begins_with_the_first_loss() {
    let mut path = FakePath::in_cruise();
    path.sacks(2, SLOW);
    // The SACK that shows the loss acknowledges what left before it.
    path.sack_losing(SLOW, &[lost(1, 100)]);
    assert_eq!(path.gain(), 1.0);
    path.sack(SLOW);
    assert_eq!(path.gain(), 0.7);
}

#[test]
fn drain_and_down_slow_down_too() {
    for (mut path, gain) in [(FakePath::in_drain(), 0.5), (FakePath::in_down(), 0.9)] {
        path.sack(at_rate(RATE / 2.0));
        path.sack_losing(Sack { rate: RATE / 2.0, ..WITHIN }, &[lost(1, 100)]);
        path.sack(at_rate(RATE / 2.0));
        assert_eq!(path.gain(), gain * 0.7);
    }
}

#[test]
fn accelerating_it_does_not_slow_down() {
    for mut path in [FakePath::in_refill(), FakePath::in_up()] {
        let (state, gain) = (path.state(), path.gain());
        let within = Sack { begins_round: false, ..SLOW };
        path.sacks(9, within);
        path.sack_losing(within, &[lost(1, 100)]);
        path.sack(Sack { app_limited: true, ..SLOW });
        assert_eq!(path.model().short_term.bw, f64::INFINITY);
        assert!(state == BbrState::Refill || path.gain() == gain);
    }
}

#[test]
fn refill_forgets_it() {
    let mut path = FakePath::in_cruise();
    path.sacks(2, SLOW);
    lossy_round(&mut path, RATE / 2.0);
    path = path.until(BbrState::Refill, SLOW);
    assert_eq!(path.gain(), 1.0);
    path.sacks(20, Sack { begins_round: false, ..CALM });
    assert!(path.cwnd() >= 2 * BDP, "{}", path.cwnd());
    assert_eq!(path.model().short_term.inflight, f64::INFINITY);
}

#[test]
fn losses_of_up_do_not_lower_the_bounds_of_down() {
    let mut path = FakePath::with_limit(120);
    path.sack(Sack { begins_round: false, ..SLOW });
    path.sack(SLOW);
    assert_eq!(path.model().short_term.bw, f64::INFINITY);
}

#[test]
fn what_up_delivered_does_not_soften_losses_of_down() {
    let mut path = FakePath::with_limit(120);
    let cwnd = path.cwnd() as f64;
    path.sack_losing(Sack { begins_round: false, ..SLOW }, &[lost(1, 100)]);
    path.sack(SLOW);
    assert_eq!(path.model().short_term.bw, 0.7 * RATE);
    assert!(path.model().short_term.inflight <= 0.7 * cwnd);
}

#[test]
fn a_policer_is_met_at_its_rate() {
    // The bucket is empty: what goes beyond half the rate is lost, round after round.
    let mut path = FakePath::in_cruise();
    for _ in 0..6 {
        let sent = (path.gain() * 100.0) as u64;
        let losses = [lost(sent.saturating_sub(50).max(1), sent)];
        if path.gain() > 0.5 {
            path.sack_losing(Sack { begins_round: false, ..SLOW }, &losses);
        }
        path.sack(SLOW);
    }
    assert_eq!((path.state(), path.gain()), (BbrState::Cruise, 0.5));
}
