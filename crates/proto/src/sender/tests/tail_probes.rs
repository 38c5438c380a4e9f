//! Tail-loss probes (RFC 8985 section 7): when they leave, and what their answers mean.

use super::recovery::measured;
use super::{Rig, SIZE};
use crate::config::RecoveryConfig;
use crate::ids::{PathId, StreamId};
use crate::sender::{ProbeTimer, Reliability};
use crate::time::{Duration, Time};

const P: PathId = PathId(0);
const PROBES: RecoveryConfig =
    RecoveryConfig { rack: true, tail_probe: true, ..RecoveryConfig::OFF };

/// Two chunks are in flight; the next probe is due.
fn due() -> (Rig, u64) {
    let (mut rig, n) = measured(1, PROBES);
    rig.send(&[0, 0]);
    assert_eq!(rig.tx.recovery.deadline(), rig.now + Duration::from_millis(40), "2 SRTT");
    rig.wait(39);
    rig.serve_timers(0);
    assert_eq!(rig.tx.recovery.stats(P).tail_probes, 0);
    rig.wait(1);
    (rig, n)
}

/// And it went out: the last chunk, once more.
fn probed() -> (Rig, u64) {
    let (mut rig, n) = due();
    assert_eq!(rig.serve_timers(0).lost, 0);
    assert_eq!(rig.tx.recovery.stats(P).tail_probes, 1);
    assert_eq!(rig.outstanding(0), 2 * SIZE, "it counts once");
    assert_eq!(rig.tx.recovery.deadline(), rig.now + Duration::from_millis(40), "its answer");
    rig.wait(20);
    (rig, n)
}

#[test]
fn a_probe_that_is_not_answered_is_told_of_once_and_followed_by_none() {
    let (mut rig, _) = probed();
    let expire = |rig: &mut Rig| rig.tx.expire_probe_timer(rig.now, P, &mut rig.paths);
    rig.wait(19);
    assert_eq!(expire(&mut rig), ProbeTimer::Waits);
    rig.wait(1);
    assert_eq!(expire(&mut rig), ProbeTimer::Unanswered);
    rig.wait(1000);
    assert_eq!(expire(&mut rig), ProbeTimer::Waits);
    assert_eq!((rig.tx.recovery.deadline(), rig.tx.recovery.find_due_probe()), (Time::MAX, None));
}

#[test]
fn a_probe_is_not_missed_where_something_was_acknowledged_since() {
    let (mut rig, n) = probed();
    rig.sack(0, n + 1, &[]);
    assert_eq!(rig.tx.recovery.deadline(), Time::MAX);
    rig.wait(20);
    assert_eq!(rig.tx.expire_probe_timer(rig.now, P, &mut rig.paths), ProbeTimer::Waits);
}

#[test]
fn a_probe_of_a_path_that_failed_since_tells_nothing() {
    let (mut rig, n) = probed();
    rig.sack(0, n + 2, &[]);
    rig.tx.recovery.forget_probe(P);
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, n + 3, &[]);
    assert_eq!(rig.tx.recovery.stats(P).tail_losses, 0);
}

#[test]
fn the_probe_is_the_last_chunk_in_flight() {
    let (mut rig, n) = due();
    assert_eq!(rig.tx.expire_probe_timer(rig.now, P, &mut rig.paths), ProbeTimer::Due);
    assert!(rig.tx.recovery.is_probe_due(P) && rig.tx.recovery.find_due_probe() == Some(P));
    let probe = rig.tx.probe_candidate(rig.now, P).unwrap();
    assert_eq!((probe.tsn, u64::from(probe.bytes)), (rig.tsn(n + 2), SIZE));
    rig.tx.recovery.drop_probe(P);
    assert!(!rig.tx.recovery.is_probe_due(P));
}

#[test]
fn an_answer_without_a_duplicate_says_that_the_probe_repaired_a_loss() {
    let (mut rig, n) = probed();
    rig.sack(0, n + 2, &[]);
    assert_eq!(rig.tx.recovery.stats(P).tail_losses, 0, "a duplicate may still be told");
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, n + 3, &[]);
    assert_eq!(rig.tx.recovery.stats(P).tail_losses, 1);
    assert!(rig.path_outcome(P).entered_recovery, "section 7.4: the window is cut");
}

#[test]
fn a_duplicate_says_that_nothing_was_lost() {
    let (mut rig, n) = probed();
    rig.duplicates(0, n + 2, &[n + 2]);
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, n + 3, &[]);
    assert_eq!(rig.tx.recovery.stats(P).tail_losses, 0);
    assert!(!rig.path_outcome(P).entered_recovery);
}

#[test]
fn a_timeout_ends_the_episode() {
    let (mut rig, n) = probed();
    rig.wait(2000);
    rig.timeout(0);
    assert_eq!((rig.resend(0, 0), rig.resend(0, 0)), (n + 1, n + 2));
    rig.wait(20);
    rig.sack(0, n + 2, &[]);
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, n + 3, &[]);
    assert_eq!(rig.tx.recovery.stats(P).tail_losses, 0);
}

#[test]
fn a_single_chunk_waits_for_the_delay_of_its_sack_and_no_longer_than_t3() {
    let (mut rig, _) = measured(1, PROBES);
    rig.send(&[0]);
    let wait = rig.tx.recovery.deadline() - rig.now;
    assert!(wait > Duration::from_millis(40) && wait <= Duration::from_millis(240), "{wait:?}");
    rig.paths.get_mut(P).unwrap().t3 = rig.now + Duration::from_millis(30);
    rig.wait(1);
    rig.send(&[0]);
    assert_eq!(rig.tx.recovery.deadline(), rig.now + Duration::from_millis(29));
}

#[test]
fn no_probe_is_sent_while_a_hole_is_watched_or_repaired() {
    let (mut rig, n) = measured(1, PROBES);
    rig.send(&[0, 0]);
    rig.wait(20);
    rig.sack(0, n, &[(n + 2, n + 2)]);
    // The reordering timer alone runs, for a quarter of a round trip.
    assert_eq!(rig.tx.recovery.deadline(), rig.now + Duration::from_millis(5));
    rig.wait(5);
    assert_eq!(rig.serve_timers(0).lost, 1);
    assert_eq!(rig.resend(0, 0), n + 1);
    assert_eq!(rig.tx.recovery.deadline(), Time::MAX, "in recovery");
}

#[test]
fn the_answer_to_a_probe_measures_nothing() {
    let (mut rig, n) = measured(1, PROBES);
    rig.send(&[0]);
    rig.now = rig.tx.recovery.deadline();
    rig.serve_timers(0);
    assert_eq!(rig.tx.recovery.stats(P).tail_probes, 1);
    rig.wait(20);
    rig.sack(0, n + 1, &[]);
    // Karn: which transmission it answers cannot be known.
    assert_eq!((rig.path_outcome(P).rtt, rig.path_outcome(P).acked_once), (None, false));
    let stats = &rig.paths.get(P).unwrap().stats;
    assert_eq!((stats.data_chunks, stats.retransmissions_fast), (3, 1));
}

#[test]
fn a_message_that_may_not_be_sent_again_is_no_probe() {
    for (times, may) in [(0, false), (1, true)] {
        let (mut rig, n) = measured(1, PROBES);
        super::abandon::send(&mut rig, 0, Reliability::Limited(times));
        let probe = rig.tx.probe_candidate(rig.now, P);
        assert_eq!(probe.map(|chunk| chunk.tsn), may.then_some(rig.tsn(n + 1)));
    }
    let (mut rig, _) = measured(1, PROBES);
    let life = Duration::from_millis(100);
    super::abandon::send(&mut rig, 0, Reliability::Timed(life));
    assert!(rig.tx.probe_candidate(rig.now, P).is_some());
    rig.wait(100);
    assert!(rig.tx.probe_candidate(rig.now, P).is_none(), "its time is over");
}

#[test]
fn where_paths_differ_the_duplicate_is_given_time_to_be_overtaken() {
    let (mut rig, n) = measured(2, PROBES);
    rig.paths.view_mut(P).unwrap().rttvar = Duration::from_millis(1);
    rig.send(&[0, 0]);
    rig.wait(40);
    rig.serve_timers(0);
    assert_eq!(rig.tx.recovery.stats(P).tail_probes, 1);
    rig.wait(20);
    rig.sack(0, n + 2, &[]);
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, n + 3, &[]);
    assert_eq!(rig.tx.recovery.stats(P).tail_losses, 0, "it was sent a round trip after the probe");
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, n + 4, &[]);
    assert_eq!(rig.tx.recovery.stats(P).tail_losses, 1);
}

#[test]
fn without_rack_a_hole_waits_for_miss_indications_and_for_no_probe() {
    let (mut rig, n) = measured(1, RecoveryConfig { rack: false, ..PROBES });
    rig.send(&[0, 0]);
    rig.wait(20);
    rig.sack(0, n, &[(n + 2, n + 2)]);
    assert_eq!(rig.tx.recovery.deadline(), Time::MAX);
}

#[test]
fn a_chunk_is_described_by_its_stream_and_payload() {
    let (mut rig, n) = measured(1, PROBES);
    super::abandon::send(&mut rig, 7, Reliability::Full);
    assert_eq!(rig.tx.describe_chunk(rig.tsn(n + 1)), (StreamId(7), 1000));
}

#[test]
fn nothing_is_probed_on_a_removed_path_nor_once_the_association_ends() {
    let (mut rig, _) = measured(2, PROBES);
    rig.send(&[0]);
    assert!(rig.tx.recovery.deadline() != Time::MAX);
    rig.tx.remove_path(P, PathId(1), &mut rig.paths);
    assert_eq!(rig.tx.recovery.deadline(), Time::MAX);
    let (mut rig, _) = measured(1, PROBES);
    rig.send(&[0]);
    assert_eq!(rig.tx.drain_undelivered().len(), 1);
    assert!(rig.tx.recovery.deadline() == Time::MAX && rig.tx.outstanding.is_empty());
}
