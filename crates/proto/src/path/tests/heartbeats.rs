//! When the next heartbeat is due (RFC 9260 section 8.3, RFC 7829), and which answers count.

use super::*;
use crate::config::PfConfig;
use crate::path::HeartbeatInfo;
use crate::path::way_back::clock_of;
use crate::view::PathState;

const MILLISECOND: Duration = Duration::from_millis(1);

/// The answer to a HEARTBEAT with `nonce`, a second after `NOW`.
fn answer(paths: &mut PathSet, nonce: u64) -> Option<Duration> {
    let path = PathId(0);
    paths.heartbeat_acked(NOW + SECOND, HeartbeatInfo { path, nonce })
}

#[test]
fn a_silent_path_is_asked_every_rto_and_another_waits_for_the_interval() {
    let (mut paths, config) = (proven(1), AssocConfig::default());
    assert!(wait(&mut paths, 0, &config) > 30 * SECOND);
    view(&mut paths, 0).silent = true;
    assert_eq!(wait(&mut paths, 0, &config), SECOND);
}

#[test]
fn an_unproven_address_that_did_not_answer_waits_for_the_interval() {
    let config = AssocConfig::default();
    let mut paths = paths_between(&[(0, 0), (1, 1)], false, &config);
    paths.confirm(NOW, PathId(0));
    let most = config.path_max_retrans;
    view(&mut paths, 1).errors = most;
    assert_eq!(wait(&mut paths, 1, &config), SECOND);
    view(&mut paths, 1).errors = most + 1;
    assert!(wait(&mut paths, 1, &config) > 30 * SECOND);
    // Unless a packet from there asked for it, or there is no other.
    own(&mut paths, 1).verification.asked_for = true;
    assert_eq!(wait(&mut paths, 1, &config), SECOND);
    own(&mut paths, 1).verification.asked_for = false;
    paths.remove(NOW, PathId(0));
    assert_eq!(wait(&mut paths, 1, &config), SECOND);
}

#[test]
fn a_potentially_failed_path_is_not_probed_where_heartbeats_are_off() {
    let (mut paths, config) = (proven(1), AssocConfig::default());
    view(&mut paths, 0).state = PathState::PotentiallyFailed;
    assert_eq!(wait(&mut paths, 0, &config), SECOND);
    own(&mut paths, 0).settings.heartbeat_interval = None;
    paths.schedule_heartbeat(NOW, PathId(0), &config, &mut Rng::from_u64(1));
    assert_eq!(probed_at(&paths), [Time::MAX], "RFC 7829 section 3.2, item 5");
}

#[test]
fn a_failed_path_is_probed_whenever_it_was_down_for_a_tenth_longer() {
    let probe = Some(20 * SECOND);
    let potentially_failed = Some(PfConfig { probe, ..PfConfig::default() });
    let config = AssocConfig { potentially_failed, ..AssocConfig::default() };
    let mut paths = proven(1);
    view(&mut paths, 0).state = PathState::Inactive;
    own(&mut paths, 0).rto_estimate = SECOND;
    let mut waits = |down| {
        own(&mut paths, 0).failed_since = NOW - down * SECOND;
        wait(&mut paths, 0, &config)
    };
    assert_eq!(waits(50), 5 * SECOND);
    assert_eq!((waits(5), waits(99)), (SECOND, 99 * SECOND / 10), "once per RTO at most");
}

#[test]
fn an_answer_that_comes_late_counts_where_failed_paths_are_probed_often() {
    let often = PfConfig { probe: Some(SECOND), ..PfConfig::default() };
    let config = AssocConfig { potentially_failed: Some(often), ..AssocConfig::default() };
    let mut paths = proven(1);
    for nonce in 1..=10 {
        paths.heartbeat_sent(NOW + u32::try_from(nonce).unwrap() * MILLISECOND, PathId(0), nonce);
        assert!(paths.heartbeat_overdue(PathId(0), &config));
    }
    assert!(!paths.heartbeat_overdue(PathId(0), &config), "none is in flight");
    assert_eq!(answer(&mut paths, 2), None, "eight are remembered");
    assert_eq!(answer(&mut paths, 3), Some(SECOND - 3 * MILLISECOND));
    assert_eq!(answer(&mut paths, 4), None, "all were answered by that");
    let stats = &own(&mut paths, 0).stats;
    assert_eq!((stats.heartbeats_sent, stats.heartbeats_acked), (10, 1));
    // Elsewhere none does.
    let (mut paths, config) = (proven(1), AssocConfig::default());
    paths.heartbeat_sent(NOW, PathId(0), 1);
    assert!(paths.heartbeat_overdue(PathId(0), &config));
    assert_eq!(answer(&mut paths, 1), None);
}

#[test]
fn sacks_are_spaced_where_heartbeats_find_a_queue_on_the_way_back() {
    let mut paths = proven(1);
    view(&mut paths, 0).srtt = Some(40 * MILLISECOND);
    let delays = [20, 20, 80, 80, 80];
    let spaced = (0..).zip(delays).map(|(n, delay)| {
        let sent = NOW + n * SECOND;
        let received = clock_of(sent + delay * MILLISECOND);
        paths.note_heartbeat_received(sent + SECOND, PathId(0), sent, received);
        paths.spaces_sacks(sent + SECOND, PathId(0))
    });
    assert_eq!(spaced.collect::<Vec<_>>(), [false, false, false, true, true]);
}
