//! Startup and Drain.

use polypath_proto::time::Duration;
use polypath_proto::view::LostTransmission;

use super::super::BbrState;
use super::fake_path::*;

/// One packet here and one there.
fn ranges(n: usize) -> Vec<LostTransmission> {
    vec![lost(1, 200); n]
}

/// The SACK that ends a round, when so many packets of 200 were lost in it.
fn round_with(lost: u64) -> Sack {
    Sack { lost: lost * PACKET, sent_in_flight: 200 * PACKET, in_recovery: true, ..ROUND }
}

/// Losses in Startup that `losses` shows, and the end of the round of recovery that they begin.
fn lossy_round(losses: usize, lost: u64, app_limited: bool) -> FakePath {
    let mut path = FakePath::in_startup();
    let sack = Sack { app_limited, in_recovery: true, ..WITHIN };
    path.sack_losing(sack, &ranges(losses));
    path.sack(sack);
    assert_eq!(path.state(), BbrState::Startup, "it takes a whole round");
    path.sack(Sack { app_limited, ..round_with(lost) });
    path
}

#[test]
fn three_rounds_of_less_than_a_quarter_more_end_startup() {
    let mut path = FakePath::in_startup();
    for rate in [1.24e6, 1.249e6] {
        path.sack(at_rate(rate));
        assert_eq!(path.state(), BbrState::Startup);
    }
    path.sack(at_rate(1.249e6));
    assert_eq!(path.state(), BbrState::Drain);
    assert_eq!((path.model().max_bw.get(), path.gain()), (1.249e6, 1.249 * 0.5));
}

#[test]
fn growth_keeps_it_in_startup() {
    let mut path = FakePath::in_startup();
    for n in 1..20 {
        path.sacks(3, at_rate(RATE * 1.251_f64.powi(n)));
        path.sacks(5, WITHIN);
        assert_eq!(path.state(), BbrState::Startup);
    }
}

#[test]
fn rounds_that_the_application_limits_do_not_end_it() {
    let mut path = FakePath::in_startup();
    let before = path.gain();
    path.sacks(200, Sack { app_limited: true, rate: RATE / 4.0, ..CALM });
    assert_eq!((path.state(), path.gain()), (BbrState::Startup, before));
}

#[test]
fn six_losses_of_more_than_two_percent_in_a_round_of_recovery_end_it() {
    for app_limited in [false, true] {
        let path = lossy_round(6, 5, app_limited);
        assert_eq!(path.state(), BbrState::Drain);
        assert_eq!(path.limit(), BDP as f64);
        let path = lossy_round(5, 5, app_limited);
        assert_eq!(path.state(), BbrState::Startup, "too few");
        let path = lossy_round(6, 4, app_limited);
        assert_eq!(path.state(), BbrState::Startup, "no more than two percent");
    }
}

#[test]
fn losses_of_the_round_before_do_not_count() {
    let mut path = lossy_round(5, 5, true);
    path.sack_losing(Sack { in_recovery: true, ..WITHIN }, &ranges(5));
    path.sack(Sack { app_limited: true, ..round_with(10) });
    assert_eq!(path.state(), BbrState::Startup);
}

#[test]
fn recovery_must_have_lasted_for_the_whole_round() {
    let mut path = FakePath::in_startup();
    path.sack_losing(WITHIN, &ranges(6));
    path.sack(Sack { in_recovery: true, ..WITHIN });
    path.sack(round_with(6));
    assert_eq!(path.state(), BbrState::Startup, "it began amid that round");
    path.sack_losing(Sack { in_recovery: true, ..WITHIN }, &ranges(6));
    path.sack(Sack { in_recovery: false, ..round_with(6) });
    assert_eq!(path.state(), BbrState::Startup, "it is over");
}

#[test]
fn recovery_that_a_timer_begins_counts_from_then() {
    let mut path = FakePath::in_startup();
    path.lose(&ranges(6));
    path.recover();
    path.sack(Sack { in_recovery: true, ..WITHIN });
    path.sack(round_with(6));
    assert_eq!(path.state(), BbrState::Drain);
}

#[test]
fn what_was_delivered_in_the_lossy_round_is_the_limit_if_it_is_above_the_bdp() {
    let mut path = FakePath::in_startup();
    let sack = Sack { in_recovery: true, ..WITHIN };
    path.sack_losing(Sack { delivered: Some(150_000), ..sack }, &ranges(6));
    path.sack(sack);
    path.sack(round_with(5));
    assert_eq!((path.state(), path.limit()), (BbrState::Drain, 150_000.0));
}

#[test]
fn losses_do_not_slow_it_down_in_startup() {
    let mut path = lossy_round(5, 3, true);
    path.sack_losing(Sack { rate: RATE / 2.0, ..WITHIN }, &[lost(100, 200)]);
    path.sack(Sack { app_limited: true, rate: RATE / 2.0, ..ROUND });
    assert_eq!((path.gain(), path.limit()), (2.77, f64::INFINITY));
    assert_eq!(path.cwnd(), 2 * BDP + ACKED);
}

#[test]
fn drain_ends_when_what_is_in_flight_fits_the_path() {
    let mut path = FakePath::in_drain();
    assert_eq!(path.gain(), 0.5);
    path.sack(Sack { in_flight: BDP + 1, ..WITHIN });
    assert_eq!(path.state(), BbrState::Drain);
    path.sack(Sack { in_flight: BDP, ..WITHIN });
    // ProbeBW begins with DOWN, whose own end is the same condition.
    assert_eq!((path.state(), path.gain()), (BbrState::Cruise, 1.0));
}

#[test]
fn drain_ends_after_three_rounds() {
    let mut path = FakePath::in_drain();
    path.sacks(20, WITHIN);
    path.sacks(3, ROUND);
    assert_eq!(path.state(), BbrState::Drain);
    path.sack(ROUND);
    assert_eq!((path.state(), path.gain()), (BbrState::Down, 0.9));
}

#[test]
fn nothing_but_startup_and_drain_end_by_these_rules() {
    let mut path = FakePath::in_cruise();
    path.sack_losing(Sack { in_recovery: true, ..WITHIN }, &ranges(6));
    path.sack(Sack { in_flight: NO_QUEUE, ..round_with(10) });
    assert_eq!((path.state(), path.limit()), (BbrState::Cruise, f64::INFINITY));
}

#[test]
fn the_first_rate_is_that_of_the_initial_window_in_a_round_trip() {
    let nominal = INITIAL as f64 / 0.1 / RATE / 0.99;
    let gain = FakePath::new().gain();
    assert!((gain - 2.77 * nominal).abs() < 1e-3, "{gain}");
    let unmeasured = FakePath::with(1, super::super::Beyond::default(), None).gain();
    assert!((unmeasured - 100.0 * 2.77 * nominal).abs() < 1e-3, "{unmeasured}");
}

#[test]
fn bandwidth_is_told_to_others_once_the_pipe_was_full() {
    use polypath_proto::policy::CongestionControl;
    let path = FakePath::in_startup();
    assert!(path.bbr.is_rate_based());
    assert_eq!(path.bbr.bandwidth(PATH), None);
    assert_eq!(path.bbr.ssthresh(PATH), 1 << 20, "slow start, as others see it");
    let path = FakePath::in_drain();
    assert_eq!(path.bbr.bandwidth(PATH).map(|rate| rate.get()), Some(RATE as u64));
    assert_eq!(path.bbr.ssthresh(PATH), path.cwnd());
}

#[test]
fn a_path_that_answers_again_begins_anew() {
    use polypath_proto::policy::CongestionControl;
    let mut path = FakePath::in_cruise();
    path.tell(|bbr, view| bbr.on_resumed(view, PATH, 2));
    assert_eq!((path.state(), path.cwnd()), (BbrState::Startup, 2 * PACKET));
    path.sack(Sack { after: Duration::from_secs(1), ..WITHIN });
    assert_eq!(path.cwnd(), 2 * PACKET + ACKED);
}
