//! F-RTO (RFC 5682): which answers prove a timeout spurious or genuine, and which nothing.

use super::Rig;
use super::recovery::{measured, spurious};
use crate::config::{AssocConfig, PfConfig, RecoveryConfig};
use crate::ids::PathId;
use crate::time::Duration;

const F_RTO: RecoveryConfig = RecoveryConfig { f_rto: true, ..RecoveryConfig::OFF };

/// T3-rtx of path 0 expired with four chunks in flight, and the first was sent again.
fn expired(paths: u16) -> (Rig, u64) {
    let (mut rig, n) = measured(paths, F_RTO);
    rig.send(&[0; 4]);
    rig.wait(1000);
    assert_eq!(rig.timeout(0), 4);
    assert!(!holds(&rig), "nothing is known yet: the first goes out again");
    assert_eq!(rig.resend(0, 0), n + 1);
    (rig, n)
}

/// The same, and its answer came: step 2b of section 2.1, new data goes out.
fn in_second_step(paths: u16) -> (Rig, u64) {
    let (mut rig, n) = expired(paths);
    rig.wait(20);
    rig.sack(0, n + 1, &[]);
    assert!(holds(&rig) && !spurious(&rig, 0));
    rig.send(&[0]);
    (rig, n)
}

/// Whether retransmissions wait for the answer to new data.
fn holds(rig: &Rig) -> bool {
    rig.tx.recovery.holds_retransmissions(PathId(0), PathId(0))
}

#[test]
fn an_answer_that_is_too_soon_for_the_retransmission_is_the_originals() {
    let (mut rig, n) = expired(1);
    rig.wait(10);
    rig.sack(0, n + 1, &[]);
    assert!(spurious(&rig, 0));
    // The others are in flight as they were before.
    let sent = rig.now - Duration::from_millis(1010);
    assert_eq!(rig.tx.outstanding.earliest_sent(PathId(0)), Some((rig.tsn(n + 2), sent)));
}

#[test]
fn what_rack_spared_and_arrives_proves_the_timeout_spurious() {
    let (mut rig, n) = measured(1, RecoveryConfig { rack: true, ..F_RTO });
    rig.send(&[0, 0]);
    rig.wait(985);
    rig.send(&[0]);
    rig.wait(15);
    assert_eq!(rig.timeout(0), 2);
    assert_eq!(rig.resend(0, 0), n + 1);
    rig.wait(5);
    rig.sack(0, n, &[(n + 3, n + 3)]);
    assert!(spurious(&rig, 0), "it was sent before the timeout");
}

#[test]
fn another_paths_data_says_nothing_of_the_timeout() {
    let (mut rig, n) = in_second_step(2);
    rig.send(&[1]);
    rig.wait(20);
    rig.sack(1, n + 1, &[(n + 6, n + 6)]);
    assert!(holds(&rig), "the answer to the new data is awaited");
    rig.sack(0, n + 1, &[(n + 5, n + 6)]);
    assert!(!holds(&rig) && !spurious(&rig, 0), "it came first: the others were lost");
}

#[test]
fn originals_that_arrive_before_the_new_data_prove_it_spurious() {
    let (mut rig, n) = in_second_step(1);
    rig.wait(20);
    rig.sack(0, n + 2, &[]);
    assert!(spurious(&rig, 0));
}

#[test]
fn a_sack_without_news_proves_it_genuine_once_it_can_be_the_answer() {
    let (mut rig, n) = in_second_step(1);
    rig.wait(10);
    rig.sack(0, n + 1, &[]);
    assert!(!holds(&rig) && !spurious(&rig, 0), "section 2.1, step 3a");
    // Sooner it may be a second copy of the one before, but not twice.
    let (mut rig, n) = in_second_step(1);
    rig.wait(9);
    rig.sack(0, n + 1, &[]);
    assert!(holds(&rig));
    rig.sack(0, n + 1, &[]);
    assert!(!holds(&rig) && !spurious(&rig, 0));
}

#[test]
fn a_timeout_within_a_fast_recovery_is_not_doubted() {
    let (mut rig, n) = measured(1, F_RTO);
    rig.send(&[0; 6]);
    rig.wait(20);
    for last in n + 3..=n + 5 {
        rig.sack(0, n, &[(n + 3, last)]);
    }
    assert!(rig.in_recovery(0));
    rig.wait(1000);
    rig.timeout(0);
    assert_eq!(rig.resend(0, 0), n + 1);
    rig.wait(1);
    rig.sack(0, n + 2, &[(n + 3, n + 5)]);
    assert!(!spurious(&rig, 0), "section 2.1, step 1");
}

#[test]
fn a_timeout_after_one_that_was_undone_is_not_doubted_before_anything_arrives() {
    let (mut rig, n) = expired(1);
    rig.wait(10);
    rig.sack(0, n + 1, &[]);
    assert!(spurious(&rig, 0));
    rig.wait(1000);
    assert_eq!(rig.timeout(0), 3);
    assert_eq!(rig.resend(0, 0), n + 2);
    rig.wait(10);
    rig.sack(0, n + 2, &[]);
    assert!(!spurious(&rig, 0), "the round trip may have become shorter");
}

#[test]
fn a_timeout_of_the_same_chunks_is_doubted_again() {
    let (mut rig, n) = expired(1);
    rig.wait(2000);
    assert_eq!(rig.timeout(0), 1);
    assert_eq!(rig.resend(0, 0), n + 1);
    rig.wait(10);
    rig.sack(0, n + 1, &[]);
    assert!(!spurious(&rig, 0), "which of its transmissions arrived cannot be known");
}

/// T3-rtx of path 0 expired, as in [`expired`], and nothing came on the path since: it is taken for
/// potentially failed.
fn failed() -> (Rig, u64) {
    let (mut rig, n) = measured(2, F_RTO);
    rig.send(&[0; 4]);
    rig.wait(1000);
    assert_eq!(rig.timeout(0), 4);
    let config =
        AssocConfig { potentially_failed: Some(PfConfig::default()), ..AssocConfig::default() };
    rig.paths.timeout(rig.now, PathId(0), true, &config);
    assert_eq!(rig.resend(0, 1), n + 1);
    (rig, n)
}

#[test]
fn what_arrived_before_an_outage_and_is_told_after_it_proves_nothing() {
    // The outage took the SACKs; the first one since comes by the other path.
    let (mut rig, n) = failed();
    rig.wait(100);
    rig.sack(1, n + 3, &[]);
    assert!(!spurious(&rig, 0));
    assert!(rig.tx.outstanding.has_marked_on(PathId(0)), "what was lost stays so");
    // What one SACK does not tell and the next one does arrived in between.
    let (mut rig, n) = failed();
    rig.paths.sack_heard(rig.now);
    rig.wait(5);
    rig.sack(1, n + 3, &[]);
    assert!(spurious(&rig, 0));
    // What is told on the path itself is no better: its SACK may have been delayed.
    let (mut rig, n) = failed();
    rig.wait(5);
    rig.sack(0, n + 3, &[]);
    assert!(!spurious(&rig, 0));
}

#[test]
fn a_path_all_of_whose_data_arrived_had_no_outage() {
    let (mut rig, n) = failed();
    assert!(rig.tx.misses_data_of(PathId(0), &rig.paths));
    rig.wait(5);
    rig.sack(1, n + 4, &[]);
    assert!(spurious(&rig, 0) && !rig.tx.misses_data_of(PathId(0), &rig.paths));
}

#[test]
fn what_arrived_twice_proves_nothing_while_what_was_sent_behind_it_is_missing() {
    let (mut rig, n) = expired(2);
    rig.wait(20);
    rig.duplicates(0, n + 1, &[n + 1]);
    assert!(!spurious(&rig, 0), "its SACK may have been delayed when the outage began");
    rig.duplicates(0, n + 4, &[]);
    assert!(spurious(&rig, 0));
}

#[test]
fn an_answer_by_a_nearer_path_is_not_too_soon() {
    // There by path 1 and back by path 0: half of 20 ms and half of 4 ms.
    for (after, early) in [(11, true), (12, false)] {
        let (mut rig, n) = measured(2, F_RTO);
        rig.send(&[0]);
        rig.wait(4);
        rig.sack(0, n + 1, &[]);
        rig.send(&[0; 4]);
        rig.wait(1000);
        assert_eq!(rig.timeout(0), 4);
        assert_eq!(rig.resend(0, 1), n + 2);
        rig.wait(after);
        rig.sack(0, n + 2, &[]);
        assert_eq!(spurious(&rig, 0), early, "{after}");
    }
}
