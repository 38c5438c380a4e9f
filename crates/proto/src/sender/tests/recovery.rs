//! Modern recovery where several paths meet: each path is judged by its own deliveries.

use super::{Rig, SIZE};
use crate::PathId;
use crate::config::RecoveryConfig;
use crate::time::{Duration, Time};

const RACK: RecoveryConfig = RecoveryConfig { rack: true, ..RecoveryConfig::OFF };
const F_RTO: RecoveryConfig = RecoveryConfig { f_rto: true, ..RecoveryConfig::OFF };

/// A rig whose paths delivered one chunk each in 20 ms, so that their round trips are known; gives
/// the chunks sent.
pub(super) fn measured(paths: u16, recovery: RecoveryConfig) -> (Rig, u64) {
    let mut rig = Rig::recovering(paths, recovery);
    let n = u64::from(paths);
    for p in 0..paths as u8 {
        rig.send(&[p]);
    }
    rig.wait(20);
    rig.sack(0, n, &[]);
    for view in &mut rig.paths.views {
        view.srtt = Some(Duration::from_millis(20));
    }
    (rig, n)
}

pub(super) fn spurious(rig: &Rig, p: u8) -> bool {
    rig.path_outcome(PathId(p)).spurious_timeout
}

#[test]
fn another_path_s_deliveries_judge_nothing() {
    let (mut rig, n) = measured(2, RACK);
    rig.send(&[1, 0, 0, 0, 0, 0, 0]);
    rig.wait(20);
    rig.sack(0, n, &[(n + 2, n + 7)]);
    assert_eq!((rig.lost(0), rig.lost(1)), (0, 0));
    assert_eq!(rig.tx.recovery.deadline(), Time::MAX);
}

#[test]
fn the_reordering_timer_finds_a_loss_that_too_few_packets_follow() {
    let (mut rig, n) = measured(1, RACK);
    rig.send(&[0]);
    rig.wait(1);
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, n, &[(n + 2, n + 2)]);
    assert_eq!(rig.lost(0), 0);
    // Sent at 0, a round trip of 20 ms, a window of 5 ms: 25 ms; now it is 21 ms.
    assert_eq!(rig.tx.recovery.deadline(), rig.now + Duration::from_millis(4));
    rig.wait(3);
    assert_eq!(rig.serve_timers(0).lost, 0);
    rig.wait(1);
    let losses = rig.serve_timers(0);
    assert_eq!((losses.lost, losses.react), (1, true));
    assert!(rig.in_recovery(0));
    assert_eq!((rig.resend(0, 0), rig.tx.recovery.deadline()), (n + 1, Time::MAX));
}

#[test]
fn a_retransmission_is_judged_on_its_new_path() {
    let (mut rig, n) = measured(2, RACK);
    rig.send(&[1, 1, 1, 1]);
    rig.wait(20);
    rig.sack(1, n, &[(n + 2, n + 2)]);
    rig.sack(1, n, &[(n + 2, n + 3)]);
    rig.sack(1, n, &[(n + 2, n + 4)]);
    assert_eq!((rig.lost(1), rig.resend(1, 0)), (1, n + 1));
    // Behind it on path 0, something is delivered that it should have come before.
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, n, &[(n + 2, n + 5)]);
    rig.wait(5);
    let losses = rig.serve_timers(0);
    assert_eq!((losses.lost, losses.react), (1, true));
    assert_eq!(rig.tx.recovery.stats(PathId(0)).lost_again, 1);
}

#[test]
fn a_timeout_spares_what_rack_still_waits_for_and_its_losses_cut_no_further() {
    let (mut rig, n) = measured(1, RACK);
    rig.send(&[0, 0]);
    rig.wait(985);
    rig.send(&[0]);
    rig.wait(15);
    assert_eq!(rig.timeout(0), 2, "the third has been under way for 15 ms");
    assert_eq!((rig.outstanding(0), rig.resend(0, 0)), (SIZE, n + 1));
    rig.wait(20);
    rig.sack(0, n + 1, &[]);
    // The third was sent before the delivered retransmission and is lost: part of the same
    // recovery.
    assert_eq!((rig.lost(0), rig.in_recovery(0)), (1, false));
}

#[test]
fn an_original_that_answers_too_soon_proves_a_timeout_spurious() {
    let (mut rig, n) = measured(2, F_RTO);
    rig.send(&[1, 1, 1, 1]);
    rig.wait(1000);
    assert_eq!((rig.timeout(1), rig.outstanding(1)), (4, 0));
    assert_eq!(rig.resend(1, 0), n + 1);
    rig.wait(19);
    // The answer to the retransmission would take 20 ms.
    rig.sack(1, n + 2, &[]);
    assert!(spurious(&rig, 1) && !spurious(&rig, 0));
    assert_eq!((rig.outstanding(1), rig.tx.outstanding.has_marked()), (2 * SIZE, false));
    assert_eq!(rig.tx.recovery.stats(PathId(1)).spurious_timeouts, 1);
}

#[test]
fn a_retransmission_s_answer_proves_nothing() {
    let (mut rig, n) = measured(1, F_RTO);
    rig.send(&[0, 0, 0, 0]);
    rig.wait(1000);
    rig.timeout(0);
    assert_eq!(rig.resend(0, 0), n + 1);
    rig.wait(20);
    rig.sack(0, n + 1, &[]);
    assert!(!spurious(&rig, 0) && rig.tx.recovery.holds_retransmissions(PathId(0), PathId(0)));
    assert!(
        !rig.tx.recovery.holds_retransmissions(PathId(0), PathId(1)),
        "another path need not wait"
    );
    // New data goes out and is acknowledged first: the rest was lost.
    rig.send(&[0]);
    assert!(!rig.tx.release_retransmissions(&rig.paths));
    rig.wait(20);
    rig.sack(0, n + 1, &[(n + 5, n + 5)]);
    assert!(!spurious(&rig, 0) && !rig.tx.recovery.holds_retransmissions(PathId(0), PathId(0)));
    assert_eq!(rig.tx.outstanding.marked_count(PathId(0)), 3);
}

#[test]
fn a_hold_ends_when_what_went_out_was_another_paths_and_all_is_acknowledged() {
    let (mut rig, n) = measured(2, F_RTO);
    rig.send(&[0, 1, 1, 1]);
    rig.wait(1000);
    rig.timeout(1);
    rig.timeout(0);
    assert_eq!(rig.resend(1, 1), n + 2);
    rig.wait(20);
    rig.sack(1, n, &[(n + 2, n + 2)]);
    assert!(rig.tx.recovery.holds_retransmissions(PathId(1), PathId(1)));
    // Nothing new, but the other path's chunk.
    assert_eq!(rig.resend(0, 1), n + 1);
    rig.wait(20);
    rig.sack(1, n + 2, &[]);
    assert_eq!((rig.outstanding(1), rig.tx.outstanding.marked_count(PathId(1))), (0, 2));
    // Neither an answer nor a timer is to come.
    if rig.tx.recovery.holds_retransmissions(PathId(1), PathId(1)) {
        assert!(rig.tx.release_retransmissions(&rig.paths));
    }
    assert!(!rig.tx.recovery.holds_retransmissions(PathId(1), PathId(1)));
}

#[test]
fn duplicates_of_all_retransmissions_prove_a_timeout_spurious() {
    let (mut rig, n) = measured(2, F_RTO);
    rig.send(&[1, 1]);
    rig.wait(1000);
    rig.timeout(1);
    assert_eq!((rig.resend(1, 0), rig.resend(1, 0)), (n + 1, n + 2));
    rig.wait(30);
    rig.sack(0, n + 2, &[]);
    assert!(!spurious(&rig, 1));
    rig.duplicates(1, n + 2, &[n + 1]);
    assert!(!spurious(&rig, 1), "the second may have been lost");
    rig.duplicates(1, n + 2, &[n + 2]);
    assert!(spurious(&rig, 1));
    rig.duplicates(1, n + 2, &[n + 2]);
    assert!(!spurious(&rig, 1), "once");
}
