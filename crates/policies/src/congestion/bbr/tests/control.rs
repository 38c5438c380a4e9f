//! Pacing rate and window of each state ("Updating Control Parameters").

use polypath_proto::time::Duration;

use super::super::{BbrState, Beyond};
use super::fake_path::*;

/// A path of this rate and round trip, in CRUISE or REFILL, whose window has grown as far as it
/// does.
fn cruising(rate: f64, rtt: Duration) -> FakePath {
    let sack = Sack { rate, rtt: Some(rtt), in_flight: 0, sent_in_flight: 0, ..ROUND };
    let mut path = FakePath::with(3, Beyond::default(), Some(rtt));
    path.sacks(40, Sack { begins_round: false, ..sack });
    path.sacks(3, sack);
    path.sacks(30, Sack { begins_round: false, ..sack });
    path
}

#[test]
fn gains_and_windows_of_all_states() {
    let doubled = 2 * BDP + ACKED;
    let rows = [
        (FakePath::in_startup(), BbrState::Startup, 2.77, doubled),
        (FakePath::in_drain(), BbrState::Drain, 0.5, doubled),
        (FakePath::in_down(), BbrState::Down, 0.9, doubled),
        (FakePath::in_cruise(), BbrState::Cruise, 1.0, doubled),
        (FakePath::in_refill(), BbrState::Refill, 1.0, doubled),
        // 2.25 BDP, and two packets.
        (FakePath::in_up(), BbrState::Up, 1.25, 225_000 + ACKED + 2000),
    ];
    for (mut path, state, gain, cwnd) in rows {
        path.sacks(10, Sack { begins_round: false, in_flight: BDP + 1, ..CALM });
        assert_eq!(path.state(), state);
        assert_eq!((path.gain(), path.cwnd()), (gain, cwnd), "{state:?}");
    }
}

#[test]
fn names_are_those_of_the_draft() {
    let states = [
        BbrState::Startup,
        BbrState::Drain,
        BbrState::Down,
        BbrState::Cruise,
        BbrState::Refill,
        BbrState::Up,
        BbrState::ProbeRtt,
    ];
    let names = states.map(BbrState::name).join(" ");
    let draft = "Startup Drain ProbeBW_DOWN ProbeBW_CRUISE ProbeBW_REFILL ProbeBW_UP ProbeRTT";
    assert_eq!(names, draft);
}

#[test]
fn the_window_grows_by_what_is_acknowledged() {
    let mut path = FakePath::new();
    path.sack(WITHIN);
    assert_eq!(path.cwnd(), INITIAL + ACKED);
    path.sack(Sack { acked: 3000, ..WITHIN });
    assert_eq!(path.cwnd(), INITIAL + ACKED + 3000);
}

#[test]
fn before_the_pipe_was_full_the_window_is_never_cut() {
    let mut path = FakePath::in_startup();
    let cwnd = path.cwnd();
    path.sack(Sack { rtt: Some(RTT / 2), ..WITHIN });
    assert_eq!((path.state(), path.cwnd()), (BbrState::Startup, cwnd));
    path.sacks(5, WITHIN);
    assert_eq!(path.cwnd(), cwnd, "nor does it grow");
    path.sacks(3, ROUND);
    assert_eq!((path.state(), path.cwnd()), (BbrState::Drain, BDP + ACKED));
}

#[test]
fn the_first_window_grows_whatever_the_samples_say() {
    let mut path = FakePath::new();
    let slow = Sack { rate: 1000.0, acked: 2000, ..WITHIN };
    path.sacks(4, slow);
    assert_eq!(path.cwnd(), INITIAL + 8000);
    path.sacks(4, slow);
    assert_eq!(path.cwnd(), INITIAL + 8000, "until so much was delivered");
}

#[test]
fn a_rate_is_not_lowered_before_the_pipe_was_full() {
    let mut path = FakePath::new();
    let first = path.gain();
    path.sack(Sack { rate: 1000.0, ..WITHIN });
    assert_eq!(path.gain(), first);
    path.sack(WITHIN);
    assert_eq!(path.gain(), 2.77);
}

#[test]
fn a_path_of_less_than_a_packet_has_four_in_flight() {
    // 5 kB/s and 100 ms: half a packet.
    let mut path = cruising(5000.0, RTT);
    assert_eq!(path.gain(), 0.005);
    assert!(path.cwnd() >= 4 * PACKET, "{}", path.cwnd());
    path.time_out(&[]);
    path.sack(Sack { rate: 5000.0, acked: 500, ..WITHIN });
    assert_eq!(path.cwnd(), 4 * PACKET);
    path.sack(Sack { after: 60 * RTT, rate: 5000.0, acked: 1000, ..WITHIN });
    assert_eq!((path.state(), path.cwnd()), (BbrState::ProbeRtt, 4 * PACKET));
}

#[test]
fn three_quanta_fit_the_window() {
    // 20 MB/s and 0.1 ms hold two packets, and a millisecond's worth is 19.8.
    assert_eq!(cruising(2e7, Duration::from_micros(100)).cwnd(), 3 * 19_800);
    // At most as much as a host hands to its card at once.
    assert_eq!(cruising(1e9, Duration::from_micros(10)).cwnd(), 3 * 65_536);
    // At least two packets.
    let slow = cruising(1000.0, Duration::from_millis(1));
    assert_eq!(slow.model().inflight(1.0), 3 * 2 * PACKET);
}

#[test]
fn while_no_round_trip_is_known_the_initial_window_is_what_fits() {
    let path = FakePath::with(1, Beyond::default(), None);
    assert_eq!([0.5, 2.0].map(|gain| path.model().bdp_multiple(gain)), [INITIAL as f64; 2]);
    assert_eq!(path.model().bdp(), INITIAL as f64);
}

#[test]
fn packets_are_as_large_as_the_path_takes_them() {
    let mut path = FakePath::new();
    path.time_out(&[]);
    assert_eq!(path.cwnd(), PACKET);
    path.view.pmdcs = 500;
    path.sack(WITHIN);
    path.time_out(&[]);
    assert_eq!(path.cwnd(), 500);
}

#[test]
fn bunches_of_acknowledgements_widen_the_window() {
    let mut path = FakePath::in_cruise();
    // Fifty packets come at once in 50 ms.
    for _ in 0..4 {
        path.sack(Sack { after: Duration::from_millis(50), acked: 50_000, ..CALM });
    }
    assert_eq!(path.cwnd(), 2 * BDP + 50_000);
    // Ten rounds after the bunches have ended they are forgotten.
    path.sack(Sack { after: Duration::from_millis(60), ..CALM });
    path.sacks(9, CALM);
    assert_eq!(path.cwnd(), 2 * BDP + 50_000);
    path.sack(CALM);
    assert_eq!(path.cwnd(), 2 * BDP + ACKED);
}

#[test]
fn in_startup_bunches_count_for_a_round() {
    let mut path = FakePath::in_startup();
    let bunch = Sack { after: Duration::from_millis(50), acked: 50_000, ..WITHIN };
    path.sacks(2, bunch);
    assert_eq!(path.model().aggregation.extra(), 50_000.0);
    let limited = Sack { app_limited: true, ..ROUND };
    path.sack(Sack { after: Duration::from_millis(60), ..limited });
    assert_eq!(path.model().aggregation.extra(), 50_000.0);
    path.sack(limited);
    assert_eq!(path.model().aggregation.extra(), ACKED as f64);
}

#[test]
fn a_rest_explains_no_bunch() {
    let mut path = FakePath::in_cruise();
    path.sacks(11, CALM);
    path.sack(Sack { acked: 40_000, ..CALM });
    path.restart(Duration::from_millis(500), true);
    // 10 000 bytes in 10 ms of use: the bunch goes on.
    path.sack(Sack { acked: 20_000, ..CALM });
    assert_eq!(path.model().aggregation.extra(), 50_000.0);
}

#[test]
fn little_room_leaves_one_packet_to_others() {
    // The path holds five packets; the limit of six leaves one, not 0.9.
    let rate = 5e4;
    let sack = Sack { rate, in_flight: 5000, sent_in_flight: 0, ..CALM };
    let mut path = cruising(rate, RTT).until(BbrState::Up, sack);
    path.lose(&[lost_after(5, 1, 7)]);
    assert_eq!(path.limit(), 6000.0);
    path.sack(Sack { in_flight: 5001, ..sack });
    assert_eq!(path.state(), BbrState::Down);
    path.sack(sack);
    assert_eq!((path.state(), path.cwnd()), (BbrState::Cruise, 5 * PACKET));
}
