//! The cycle of ProbeBW, and how long its states last.

use polypath_proto::time::Duration;

use super::super::{BbrState, Beyond};
use super::fake_path::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// `path` has just come to DOWN: milliseconds until it probes, when no round ends.
fn wait_by_clock(seed: u64) -> u64 {
    let mut path = FakePath::with(seed, Beyond::default(), Some(RTT));
    path.sacks(25, WITHIN);
    path.sacks(7, ROUND);
    path = path.expect(BbrState::Down);
    let began = path.now;
    path.sacks_until(BbrState::Refill, Sack { after: ms(1), acked: 1000, ..WITHIN });
    path.now.since(began).as_millis() as u64
}

/// The same in rounds, on a path that holds so many packets.
fn wait_by_rounds(seed: u64, packets: u64) -> u64 {
    let rate = (packets * PACKET) as f64 / RTT.as_secs_f64();
    let mut path = FakePath::with(seed, Beyond::default(), Some(RTT));
    let full = Sack { rate, in_flight: 2 * packets * PACKET, ..ROUND };
    path.sacks(40, Sack { begins_round: false, ..full });
    path.sacks(7, full);
    path = path.expect(BbrState::Down);
    path.sacks_until(BbrState::Refill, Sack { after: ms(1), ..full })
}

#[test]
fn down_ends_when_the_queue_is_gone() {
    let mut path = FakePath::in_down();
    path.sack(Sack { in_flight: BDP + 1, ..CALM });
    assert_eq!((path.state(), path.gain()), (BbrState::Down, 0.9));
    path.sack(Sack { in_flight: BDP, ..CALM });
    assert_eq!((path.state(), path.gain()), (BbrState::Cruise, 1.0));
}

#[test]
fn down_ends_when_there_is_headroom_below_the_limit() {
    let mut path = FakePath::with_limit(100);
    path.sack(Sack { in_flight: 85_001, ..CALM });
    assert_eq!(path.state(), BbrState::Down);
    path.sack(Sack { in_flight: 85_000, ..CALM });
    assert_eq!(path.state(), BbrState::Cruise);
}

#[test]
fn what_fits_is_judged_by_the_long_term_bandwidth() {
    // Losses in DOWN halve the rate; the queue is gone all the same.
    let mut path = FakePath::in_down();
    for _ in 0..6 {
        path.sack_losing(Sack { rate: RATE / 2.0, ..ROUND }, &[lost(1, 100)]);
    }
    assert!(path.gain() < 0.9 * 0.75, "{}", path.gain());
    path.sack(Sack { in_flight: BDP, ..WITHIN });
    assert_eq!(path.state(), BbrState::Cruise);
}

#[test]
fn down_ends_by_the_clock_with_refill() {
    let mut path = FakePath::in_down();
    path.sack(Sack { after: ms(1999), ..WITHIN });
    assert_eq!(path.state(), BbrState::Down);
    path.sack(Sack { after: ms(1002), ..WITHIN });
    assert_eq!((path.state(), path.gain()), (BbrState::Refill, 1.0));
}

#[test]
fn cruise_ends_by_the_clock() {
    let mut path = FakePath::in_cruise();
    path.sack(Sack { after: ms(1980), begins_round: false, ..CALM });
    assert_eq!(path.state(), BbrState::Cruise);
    path.sack(Sack { after: ms(1011), begins_round: false, ..CALM });
    assert_eq!(path.state(), BbrState::Refill);
}

#[test]
fn bandwidth_is_probed_after_two_to_three_seconds() {
    let waits: Vec<u64> = (0..40).map(wait_by_clock).collect();
    assert!(waits.iter().all(|wait| (2000..=3001).contains(wait)), "{waits:?}");
    let count = |from, to| waits.iter().filter(|&&wait| from <= wait && wait < to).count();
    assert!(count(2000, 2333) > 4 && count(2333, 2667) > 4 && count(2667, 3002) > 4, "{waits:?}");
}

#[test]
fn or_after_63_rounds_or_as_many_as_the_path_holds_packets() {
    for (packets, most) in [(200, 63), (64, 63), (62, 62), (20, 20)] {
        let waits: Vec<u64> = (0..20).map(|seed| wait_by_rounds(seed, packets)).collect();
        assert!(waits.iter().all(|wait| [most - 1, most].contains(wait)), "{waits:?}");
        assert!(waits.contains(&(most - 1)) && waits.contains(&most), "{waits:?}");
    }
}

#[test]
fn a_window_that_congestion_cut_shortens_the_wait() {
    let mut path = FakePath::in_cruise();
    path.sacks(40, CALM);
    assert_eq!(path.state(), BbrState::Cruise);
    path.time_out(&[]);
    path.sack(Sack { acked: PACKET, ..CALM });
    assert_eq!(path.state(), BbrState::Refill);
}

#[test]
fn refill_lasts_for_a_round() {
    let mut path = FakePath::in_refill();
    path.sacks(20, Sack { begins_round: false, ..CALM });
    assert_eq!((path.state(), path.gain()), (BbrState::Refill, 1.0));
    path.sack(CALM);
    assert_eq!((path.state(), path.gain()), (BbrState::Up, 1.25));
}

#[test]
fn the_round_of_refill_begins_with_it() {
    let mut path = FakePath::in_cruise();
    path.sack(Sack { after: ms(3001), begins_round: false, ..CALM });
    path.sack(Sack { age: 1, ..CALM });
    assert_eq!(path.state(), BbrState::Refill, "what was sent before that came back");
    path.sack(CALM);
    assert_eq!(path.state(), BbrState::Up);
}

#[test]
fn a_refill_amid_feedback_of_the_last_probe_ends_no_cycle() {
    let mut path = FakePath::in_up();
    path.lose(&[lost(10, 100)]);
    let slow = Sack { rate: RATE / 10.0, ..CALM };
    path.sack(Sack { after: ms(3001), begins_round: false, ..slow });
    path = path.expect(BbrState::Refill).until(BbrState::Up, slow);
    path.lose(&[lost(10, 100)]);
    path.sack(slow);
    assert_eq!(path.model().max_bw.get(), RATE);
}

#[test]
fn up_ends_after_three_rounds_that_are_no_faster() {
    let mut path = FakePath::in_up();
    path.sacks(2, ROUND);
    path.sack(at_rate(1.25 * RATE));
    path.sacks(30, WITHIN);
    path.sacks(2, at_rate(1.5 * RATE));
    assert_eq!(path.state(), BbrState::Up);
    path.sack(at_rate(1.5 * RATE));
    assert_eq!(path.state(), BbrState::Down);
    assert_eq!(path.gain(), 1.5 * 0.9);
}

#[test]
fn rounds_that_the_application_limits_do_not_end_up() {
    let mut path = FakePath::in_up();
    path.sacks(250, Sack { app_limited: true, rate: RATE / 2.0, ..CALM });
    assert_eq!((path.state(), path.gain()), (BbrState::Up, 1.25));
}

#[test]
fn slow_samples_of_a_limited_refill_do_not_count() {
    let mut path = FakePath::in_refill();
    let limited = Sack { app_limited: true, rate: RATE / 10.0, ..CALM };
    path.sacks(5, Sack { begins_round: false, ..limited });
    path.sack(limited);
    assert_eq!((path.state(), path.model().max_bw.get()), (BbrState::Up, RATE));
    path.sacks(4, at_rate(RATE));
    assert_eq!((path.state(), path.model().max_bw.get()), (BbrState::Down, RATE));
}

#[test]
fn the_bandwidth_of_two_cycles_counts() {
    let slow = Sack { rate: RATE / 10.0, ..CALM };
    let mut path = FakePath::in_up();
    // The cycle under way has samples of the fast path.
    path = path.until(BbrState::Down, slow).until(BbrState::Up, slow).until(BbrState::Down, slow);
    assert_eq!(path.model().max_bw.get(), RATE);
    path.sack(slow);
    assert_eq!(path.model().max_bw.get(), RATE / 10.0, "two rounds of feedback");
    assert!(path.gain() <= 0.1, "{}", path.gain());
}

#[test]
fn a_cycle_that_the_application_limits_makes_nothing_old() {
    let limited = Sack { rate: RATE / 10.0, app_limited: true, ..CALM };
    let mut path = FakePath::in_up();
    for _ in 0..3 {
        path.lose(&[lost(10, 100)]);
        path = path.until(BbrState::Up, limited);
    }
    assert_eq!(path.model().max_bw.get(), RATE);
}

#[test]
fn feedback_of_the_probe_lasts_for_a_round_of_down() {
    let mut path = FakePath::in_up();
    path.lose(&[lost(3, 100)]);
    path.sack(Sack { rate: 1.1 * RATE, ..WITHIN });
    path.sack(Sack { rate: RATE / 2.0, ..WITHIN });
    assert_eq!(path.model().max_bw.get(), 1.1 * RATE);
    // The cycle ends here: all that is sent from now on belongs to the next one.
    path.sack(Sack { rate: RATE / 2.0, ..ROUND });
    path = path.until(BbrState::Up, Sack { rate: RATE / 2.0, ..CALM });
    assert_eq!(path.model().max_bw.get(), 1.1 * RATE);
    path.lose(&[lost(10, 100)]);
    path.sack(Sack { rate: RATE / 2.0, ..CALM });
    assert_eq!(path.model().max_bw.get(), RATE / 2.0);
}

#[test]
fn ten_times_the_bandwidth_is_found_in_few_rounds() {
    let mut path = FakePath::in_cruise();
    // Once it probes, the rate grows by a quarter in each round.
    for _ in 0..45 {
        // The path carries what is sent, up to ten times of what it did.
        let rate = (path.gain() * RATE).min(10.0 * RATE);
        let acked = (rate * RTT.as_secs_f64()) as u64;
        path.sack(Sack { after: RTT, rate, acked, in_flight: acked, ..CALM });
    }
    assert!(path.model().max_bw.get() > 9.5 * RATE, "{}", path.model().max_bw.get());
}

#[test]
fn a_tenth_of_the_bandwidth_is_noticed_by_losses_at_once() {
    let mut path = FakePath::in_cruise();
    let slow = Sack { rate: RATE / 10.0, ..CALM };
    path.sack(slow);
    for n in 1..7 {
        path.sack_losing(slow, &[lost(30, 100)]);
        path.sack(slow);
        let expected = 0.7_f64.powi(n).max(0.1);
        assert!((path.gain() - expected).abs() < 1e-3, "{n}: {}", path.gain());
    }
    assert_eq!(path.model().max_bw.get(), RATE);
}
