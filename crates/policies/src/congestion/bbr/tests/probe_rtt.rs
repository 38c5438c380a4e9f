//! ProbeRTT, the smallest round trip, and restarts from idle.

use polypath_proto::policy::CongestionControl;
use polypath_proto::time::{Duration, Time};

use super::super::BbrState;
use super::fake_path::*;

const HALF_BDP: u64 = BDP / 2;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// When the first round trip was seen.
fn first_rtt() -> Time {
    Time::from_secs(100) + ms(10)
}

impl FakePath {
    fn sack_at(&mut self, at: Time, sack: Sack) {
        let after = at.since(self.now);
        self.sack(Sack { after, ..sack });
    }

    /// In ProbeRTT, with too much in flight still.
    fn in_probe_rtt() -> Self {
        let mut path = Self::in_cruise();
        path.sack_at(first_rtt() + ms(5001), CALM);
        path.expect(BbrState::ProbeRtt)
    }
}

#[test]
fn a_round_trip_that_no_smaller_one_followed_for_five_seconds_is_looked_for() {
    let mut path = FakePath::in_cruise();
    path.sack_at(first_rtt() + ms(5000), Sack { begins_round: false, ..CALM });
    assert_ne!(path.state(), BbrState::ProbeRtt);
    assert!(!path.bbr.holds_back(PATH));
    path.sack_at(first_rtt() + ms(5001), Sack { begins_round: false, ..CALM });
    assert_eq!(path.state(), BbrState::ProbeRtt);
    assert!(path.bbr.holds_back(PATH), "its samples count as application-limited");
    assert_eq!((path.gain(), path.cwnd()), (1.0, HALF_BDP));
}

#[test]
fn so_it_is_where_the_first_one_came_late() {
    let mut path = FakePath::new();
    path.sack(Sack { after: ms(5001), ..CALM });
    assert_eq!(path.state(), BbrState::ProbeRtt);
}

#[test]
fn a_smaller_one_puts_it_off() {
    let mut path = FakePath::in_cruise();
    let seen = path.now + ms(10);
    path.sack(Sack { rtt: Some(ms(99)), ..CALM });
    path.sack_at(first_rtt() + ms(5001), Sack { begins_round: false, ..CALM });
    assert_ne!(path.state(), BbrState::ProbeRtt);
    path.sack_at(seen + ms(5000), Sack { begins_round: false, ..CALM });
    assert_ne!(path.state(), BbrState::ProbeRtt);
    path.sack_at(seen + ms(5001), Sack { begins_round: false, ..CALM });
    assert_eq!(path.state(), BbrState::ProbeRtt);
}

#[test]
fn an_equal_one_does_not() {
    let mut path = FakePath::in_cruise();
    path.sack_at(first_rtt() + ms(4000), Sack { begins_round: false, ..CALM });
    path.sack_at(first_rtt() + ms(5001), Sack { begins_round: false, ..CALM });
    assert_eq!(path.state(), BbrState::ProbeRtt);
}

#[test]
fn it_lasts_for_200_ms_with_little_in_flight_and_for_a_round() {
    let mut path = FakePath::in_probe_rtt();
    path.sacks(30, Sack { in_flight: HALF_BDP + 1, ..CALM });
    assert_eq!(path.state(), BbrState::ProbeRtt, "its time has not begun");
    let little = Sack { in_flight: HALF_BDP, ..CALM };
    path.sack(little);
    path.sack(Sack { after: ms(200), ..little });
    assert_eq!(path.state(), BbrState::ProbeRtt);
    path.sack(Sack { after: ms(1), begins_round: false, ..little });
    assert_eq!((path.state(), path.gain()), (BbrState::Cruise, 1.0));
}

#[test]
fn it_lasts_for_a_round_however_long_that_is() {
    let mut path = FakePath::in_probe_rtt();
    let little = Sack { in_flight: HALF_BDP, ..CALM };
    path.sack(little);
    path.sack(Sack { after: ms(900), begins_round: false, ..little });
    assert_eq!(path.state(), BbrState::ProbeRtt);
    path.sack(little);
    assert_eq!(path.state(), BbrState::Cruise);
}

#[test]
fn its_round_begins_when_little_enough_is_in_flight() {
    let mut path = FakePath::in_probe_rtt();
    let little = Sack { in_flight: HALF_BDP, ..CALM };
    path.sack(Sack { begins_round: false, ..little });
    path.sack(Sack { after: ms(201), age: 1, ..little });
    assert_eq!(path.state(), BbrState::ProbeRtt);
    path.sack(little);
    assert_eq!(path.state(), BbrState::Cruise);
    // The next one waits for a round of its own.
    path.sack(Sack { after: ms(5001), begins_round: false, ..CALM });
    path.sack(little);
    path.sack(Sack { after: ms(201), begins_round: false, ..little });
    assert_eq!(path.state(), BbrState::ProbeRtt);
}

#[test]
fn losses_of_the_probe_that_it_ended_lower_the_limit_for_a_round() {
    let in_probe_rtt = || {
        let mut path = FakePath::in_up();
        path.sack_at(first_rtt() + ms(5001), Sack { begins_round: false, ..CALM });
        path.expect(BbrState::ProbeRtt)
    };
    let mut path = in_probe_rtt();
    path.sack(Sack { age: 1, ..CALM });
    path.lose(&[lost(30, 100)]);
    assert!(path.state() == BbrState::ProbeRtt && path.limit().is_finite());
    let mut path = in_probe_rtt();
    path.sack(CALM);
    path.lose(&[lost(30, 100)]);
    assert_eq!((path.state(), path.limit()), (BbrState::ProbeRtt, f64::INFINITY));
}

#[test]
fn the_window_is_restored_afterwards() {
    let mut path = FakePath::in_cruise();
    let before = path.cwnd();
    path.sack_at(first_rtt() + ms(5001), CALM);
    assert_eq!(path.cwnd(), HALF_BDP);
    path.sack(Sack { in_flight: HALF_BDP, ..CALM });
    path.sack(Sack { after: ms(201), in_flight: HALF_BDP, ..CALM });
    assert_eq!((path.state(), path.cwnd()), (BbrState::Cruise, before));
}

#[test]
fn the_next_one_comes_five_seconds_after_the_last() {
    let mut path = FakePath::in_probe_rtt();
    path.sack(Sack { in_flight: HALF_BDP, ..CALM });
    path.sack(Sack { after: ms(201), in_flight: HALF_BDP, ..CALM });
    path.sack(Sack { after: ms(5000), begins_round: false, ..CALM });
    assert_ne!(path.state(), BbrState::ProbeRtt);
    path.sack(Sack { after: ms(1), begins_round: false, ..CALM });
    assert_eq!(path.state(), BbrState::ProbeRtt);
}

#[test]
fn the_clock_of_probes_begins_anew_with_its_end() {
    let mut path = FakePath::in_probe_rtt();
    path.sack(Sack { in_flight: HALF_BDP, ..CALM });
    path.sack(Sack { after: ms(201), in_flight: HALF_BDP, ..CALM });
    path.sack(Sack { after: ms(1999), begins_round: false, ..CALM });
    assert_eq!(path.state(), BbrState::Cruise);
    path.sack(Sack { after: ms(1002), begins_round: false, ..CALM });
    assert_eq!(path.state(), BbrState::Refill);
}

#[test]
fn losses_before_it_are_forgotten_afterwards() {
    let mut path = FakePath::in_probe_rtt();
    let slow = Sack { rate: RATE / 2.0, app_limited: true, ..CALM };
    path.sack(slow);
    path.sack_losing(slow, &[lost(1, 50)]);
    path.sack(slow);
    assert_eq!(path.gain(), 0.7, "losses count in ProbeRTT");
    path.sack(Sack { in_flight: 4 * PACKET, ..slow });
    path.sack(Sack { after: ms(201), in_flight: 4 * PACKET, ..slow });
    assert_eq!((path.state(), path.gain()), (BbrState::Cruise, 1.0));
}

#[test]
fn the_window_from_before_such_losses_is_restored() {
    // Losses in CRUISE halve the window, which ProbeRTT saves: the good one is that before them.
    let mut path = FakePath::in_cruise();
    let before = path.cwnd();
    let slow = Sack { rate: RATE / 2.0, app_limited: true, ..CALM };
    path.sack(slow);
    path.sack_losing(slow, &[lost(1, 100)]);
    path.sack(slow);
    assert!(path.cwnd() < before * 3 / 4);
    path.sack_at(first_rtt() + ms(5001), Sack { begins_round: false, ..slow });
    path.sack(Sack { in_flight: 4 * PACKET, ..slow });
    path.sack(Sack { after: ms(201), in_flight: 4 * PACKET, ..slow });
    assert_eq!((path.state(), path.cwnd()), (BbrState::Cruise, before));
}

#[test]
fn headroom_is_left_in_it() {
    let mut path = FakePath::with_limit(70).until(BbrState::Cruise, Sack { in_flight: 0, ..CALM });
    path.sack_at(first_rtt() + ms(5001), Sack { sent_in_flight: 0, ..CALM });
    assert_eq!((path.state(), path.limit()), (BbrState::ProbeRtt, 90_000.0));
    assert_eq!(path.cwnd(), HALF_BDP, "less than 85 percent of the limit");
    path.sack(Sack { sent_in_flight: 95_000, ..CALM });
    assert_eq!(path.limit(), 95_000.0, "what was in flight without losses raises it here, too");
}

#[test]
fn in_startup_it_ends_with_startup() {
    let mut path = FakePath::in_startup();
    path.sack_at(first_rtt() + ms(5001), Sack { app_limited: true, ..CALM });
    assert_eq!(path.state(), BbrState::ProbeRtt);
    path.sack(Sack { app_limited: true, in_flight: HALF_BDP, ..CALM });
    path.sack(Sack { app_limited: true, after: ms(201), in_flight: HALF_BDP, ..CALM });
    assert_eq!((path.state(), path.gain()), (BbrState::Startup, 2.77));
}

#[test]
fn losses_in_it_do_not_end_startup() {
    let mut path = FakePath::in_startup();
    let sack = Sack { app_limited: true, in_recovery: true, in_flight: HALF_BDP, ..ROUND };
    path.sack_at(first_rtt() + ms(5001), sack);
    path.sack_losing(Sack { begins_round: false, ..sack }, &[lost(1, 200); 6]);
    path.sack(Sack { lost: 9 * PACKET, ..sack });
    path.sack(Sack { after: ms(201), ..sack });
    assert_eq!(path.state(), BbrState::Startup);
}

#[test]
fn a_path_that_rested_needs_no_probe_rtt() {
    let mut path = FakePath::in_cruise();
    path.restart(ms(6000), true);
    path.sack(Sack { after: RTT, ..CALM });
    assert_ne!(path.state(), BbrState::ProbeRtt);
    path.sack(CALM);
    assert_ne!(path.state(), BbrState::ProbeRtt, "that round trip counts");
    path.sack(Sack { after: ms(5001), ..CALM });
    assert_eq!(path.state(), BbrState::ProbeRtt, "and it did not rest since");
    let mut path = FakePath::in_cruise();
    path.restart(ms(6000), false);
    path.sack(Sack { after: RTT, ..CALM });
    assert_eq!(path.state(), BbrState::ProbeRtt, "the network held it back");
}

#[test]
fn a_path_that_rested_starts_at_its_bandwidth() {
    for (mut path, state) in [
        (FakePath::in_down(), BbrState::Down),
        (FakePath::in_up(), BbrState::Up),
        (FakePath::in_cruise(), BbrState::Cruise),
    ] {
        let cwnd = path.cwnd();
        path.restart(ms(500), true);
        assert_eq!((path.state(), path.gain(), path.cwnd()), (state, 1.0, cwnd));
    }
    let mut path = FakePath::in_drain();
    path.restart(ms(500), true);
    assert_eq!((path.state(), path.gain()), (BbrState::Drain, 0.5));
}

#[test]
fn probe_rtt_may_end_while_the_path_rests() {
    let mut path = FakePath::in_probe_rtt();
    path.restart(ms(1000), true);
    assert_eq!(path.state(), BbrState::ProbeRtt, "it had not begun to measure");
    path.sack(Sack { in_flight: HALF_BDP, ..CALM });
    path.restart(ms(200), true);
    assert_eq!(path.state(), BbrState::ProbeRtt);
    path.restart(ms(1), true);
    assert_eq!((path.state(), path.cwnd()), (BbrState::Cruise, 2 * BDP + ACKED));
}

#[test]
fn a_longer_way_is_believed_after_ten_seconds() {
    let mut path = FakePath::in_cruise();
    let long = Sack { rtt: Some(ms(150)), begins_round: false, in_flight: 0, ..CALM };
    let created = Time::from_secs(100);
    path.sack_at(first_rtt() + ms(5001), long);
    assert_eq!(path.model().min_rtt.least, Some(RTT));
    path.sack_at(created + ms(10_000), long);
    assert_eq!(path.model().min_rtt.least, Some(RTT));
    path.sack_at(created + ms(10_001), long);
    assert_eq!(path.model().min_rtt.least, Some(ms(150)));
    path.sack(Sack { rtt: Some(ms(120)), ..long });
    assert_eq!(path.model().min_rtt.least, Some(ms(120)), "a shorter one at once");
}

#[test]
fn a_sack_without_a_round_trip_leaves_it_alone() {
    let mut path = FakePath::in_cruise();
    path.sacks(10, Sack { rtt: None, ..CALM });
    path.sack_at(first_rtt() + ms(5001), Sack { rtt: None, begins_round: false, ..CALM });
    assert_eq!((path.state(), path.model().min_rtt.least), (BbrState::ProbeRtt, Some(RTT)));
    let mut path = FakePath::with(1, super::super::Beyond::default(), None);
    path.sack(Sack { after: ms(20_000), rtt: None, ..CALM });
    assert_eq!(path.model().min_rtt.least, None);
    path.sack(CALM);
    assert_eq!(path.model().min_rtt.least, Some(RTT));
}
