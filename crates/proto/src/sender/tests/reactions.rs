//! When a loss cuts the window, and what a timeout marks beside chunks of its own.

use super::recovery::measured;
use super::{Rig, SIZE};
use crate::config::{CmtConfig, RecoveryConfig, T3Marks};
use crate::ids::PathId;
use crate::time::{Duration, Time};

const RACK: RecoveryConfig = RecoveryConfig { rack: true, ..RecoveryConfig::OFF };

/// Path 0 lost the first of four chunks and is in recovery; nothing was sent again yet.
fn recovering() -> (Rig, u64) {
    let (mut rig, n) = measured(1, RACK);
    rig.send(&[0; 4]);
    rig.wait(20);
    rig.sack(0, n, &[(n + 2, n + 4)]);
    rig.wait(5);
    let losses = rig.serve_timers(0);
    assert_eq!((losses.lost, losses.react), (1, true));
    (rig, n)
}

/// Whether the latest SACK found so many losses, and had the window cut for them.
fn found(rig: &Rig) -> (u32, bool) {
    let outcome = rig.path_outcome(PathId(0));
    (outcome.lost, outcome.entered_recovery)
}

#[test]
fn a_retransmission_that_is_lost_cuts_the_window_again() {
    let (mut rig, n) = recovering();
    for (last, again) in [(n + 5, 1), (n + 6, 2)] {
        assert_eq!(rig.resend(0, 0), n + 1);
        let stats = &rig.paths.get(PathId(0)).unwrap().stats;
        assert_eq!(stats.retransmissions_fast, again);
        rig.send(&[0]);
        rig.wait(20);
        rig.sack(0, n, &[(n + 2, last)]);
        assert_eq!(found(&rig), (1, true));
        assert!(!rig.outcome.fast_retransmission_acked);
    }
}

#[test]
fn what_was_sent_once_and_is_lost_within_a_recovery_cuts_nothing() {
    let (mut rig, n) = recovering();
    rig.send(&[0, 0]);
    rig.wait(20);
    rig.sack(0, n, &[(n + 2, n + 4), (n + 6, n + 6)]);
    assert_eq!(found(&rig), (1, false));
}

#[test]
fn what_was_sent_again_before_a_cut_cuts_nothing_more() {
    let (mut rig, n) = measured(1, RACK);
    rig.send(&[0; 5]);
    rig.wait(20);
    rig.sack(0, n, &[(n + 3, n + 5)]);
    rig.wait(5);
    assert_eq!(rig.serve_timers(0).lost, 2);
    // Both go out again; new data behind each of them tells that it was lost.
    assert_eq!(rig.resend(0, 0), n + 1);
    rig.send(&[0]);
    rig.wait(5);
    assert_eq!(rig.resend(0, 0), n + 2);
    rig.send(&[0]);
    rig.wait(15);
    rig.sack(0, n, &[(n + 3, n + 6)]);
    assert_eq!(found(&rig), (1, true));
    rig.wait(5);
    rig.sack(0, n, &[(n + 3, n + 7)]);
    assert_eq!(found(&rig), (1, false), "it belongs to the cut of 5 ms ago");
}

/// Two chunks that a timeout lost went out again, and two new ones behind them, 20 ms ago.
fn recovering_from_a_timeout() -> (Rig, u64) {
    let (mut rig, n) = measured(1, RACK);
    rig.send(&[0, 0]);
    rig.wait(1000);
    assert_eq!(rig.timeout(0), 2);
    assert_eq!((rig.resend(0, 0), rig.resend(0, 0)), (n + 1, n + 2));
    rig.send(&[0, 0]);
    rig.wait(20);
    (rig, n)
}

#[test]
fn after_a_timeouts_recovery_reordering_is_given_its_time_again() {
    let (mut rig, n) = recovering_from_a_timeout();
    // All that the timeout lost is there; what was sent since is not.
    rig.sack(0, n + 2, &[]);
    assert_eq!(rig.tx.recovery.deadline(), Time::MAX);
    rig.sack(0, n + 2, &[(n + 4, n + 4)]);
    assert_eq!(rig.lost(0), 0, "a quarter of a round trip more");
    rig.wait(5);
    assert_eq!(rig.serve_timers(0).lost, 1);
}

#[test]
fn within_a_timeouts_recovery_nothing_is_waited_for() {
    let (mut rig, n) = recovering_from_a_timeout();
    // The last chunk that the timeout lost is still missing.
    rig.sack(0, n + 1, &[]);
    rig.sack(0, n + 1, &[(n + 4, n + 4)]);
    assert!(rig.lost(0) > 0);
}

#[test]
fn a_timeout_with_nothing_in_flight_doubts_what_was_gap_acknowledged() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[1, 0, 0, 1]);
    rig.wait(20);
    rig.sack(0, 0, &[(2, 4)]);
    rig.wait(1000);
    // RFC 9260 section 6.3.3: the peer may have reneged.
    assert_eq!(rig.timeout(0), 2);
    let marked = |rig: &Rig, p| rig.tx.outstanding.marked_count(PathId(p));
    assert_eq!((marked(&rig, 0), marked(&rig, 1)), (2, 0), "of its own alone");
    assert!(rig.tx.outstanding.has_marked());
    assert_eq!((rig.resend(0, 0), rig.resend(0, 0)), (2, 3));
}

#[test]
fn a_timeout_loses_copies_that_are_old_enough() {
    let cmt = CmtConfig { t3_marks: T3Marks::OlderThanSrtt, ..CmtConfig::default() };
    let mut rig = Rig::new(2, cmt);
    for view in &mut rig.paths.views {
        view.srtt = Some(Duration::from_millis(100));
    }
    rig.send(&[0, 0]);
    assert_eq!(rig.copy(0, 1), Some(1));
    rig.wait(950);
    assert_eq!(rig.copy(0, 1), Some(2));
    rig.wait(50);
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (2 * SIZE, 2 * SIZE));
    assert_eq!(rig.timeout(1), 1, "the second has been under way for half a round trip");
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (2 * SIZE, SIZE));
    assert!(!rig.tx.outstanding.has_marked(), "the originals are under way");
    assert_eq!((rig.copy(0, 1), rig.copy(0, 1)), (Some(1), None), "the first copy was lost");
}

#[test]
fn the_second_timeout_in_a_row_spares_nothing() {
    for (before, lost) in [(0, 1), (1, 2)] {
        let (mut rig, _) = measured(1, RACK);
        rig.send(&[0]);
        rig.wait(990);
        rig.send(&[0]);
        rig.wait(10);
        rig.paths.get_mut(PathId(0)).unwrap().timeouts_in_a_row = before;
        assert_eq!(rig.timeout(0), lost);
    }
}

#[test]
fn losses_and_transmissions_are_counted() {
    let (mut rig, _) = measured(1, RACK);
    rig.send(&[0, 0]);
    rig.wait(1000);
    assert_eq!(rig.timeout(0), 2);
    rig.resend(0, 0);
    let (view, path) = rig.paths.both(PathId(0)).unwrap();
    assert_eq!((view.lost_chunks, view.lost, view.data_chunks), (2, 2 * SIZE, 4));
    let stats = &path.stats;
    assert_eq!((stats.data_chunks, stats.payload_bytes), (4, 4000));
    assert_eq!((stats.retransmissions_timeout, stats.retransmissions_fast), (1, 0));
}

#[test]
fn the_answer_to_a_fast_retransmission_is_told_and_is_no_further_loss() {
    let (mut rig, n) = recovering();
    assert_eq!(rig.resend(0, 0), n + 1);
    rig.wait(20);
    rig.sack(0, n + 4, &[]);
    assert!(rig.outcome.fast_retransmission_acked);
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, n + 5, &[]);
    assert!(!rig.outcome.fast_retransmission_acked);
    let rate = rig.path_outcome(PathId(0)).rate.unwrap();
    assert_eq!((rate.newly_lost, rate.newly_acked), (0, SIZE), "the loss was told before");
}

#[test]
fn a_path_that_never_delivered_anything_spares_nothing() {
    let mut rig = Rig::recovering(1, RACK);
    rig.send(&[0]);
    rig.wait(1000);
    rig.send(&[0]);
    assert_eq!(rig.timeout(0), 2);
}
