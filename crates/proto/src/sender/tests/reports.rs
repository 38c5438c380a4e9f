//! SACKs that say less, or more, than they could: blocks that cannot be true, and a cum-ack alone.

use super::{Rig, SIZE};
use crate::config::{CmtConfig, RecoveryConfig};
use crate::sender::SackVerdict;

#[test]
fn blocks_that_cannot_be_true_are_counted_and_acknowledge_nothing() {
    // At cum + 1; at the cum-ack; ending before it begins, within what was sent and beyond.
    for block in [(2, 3), (1, 3), (4, 3), (9, 3)] {
        let mut rig = Rig::new(1, CmtConfig::default());
        rig.send(&[0; 5]);
        let outcome = rig.sack(0, 1, &[block, (5, 5)]);
        assert_eq!((outcome.verdict, outcome.impossible_blocks), (SackVerdict::Taken, 1));
        assert_eq!(rig.outstanding(0), 3 * SIZE, "{block:?}: chunks 2, 3 and 4");
        let outcome = rig.nr_sack(0, 1, &[], &[block, (5, 5)], 1);
        assert_eq!((outcome.verdict, outcome.impossible_blocks), (SackVerdict::Taken, 1));
        rig.sack(0, 5, &[]);
        assert!(rig.tx.is_drained());
    }
}

#[test]
fn who_reports_what_cannot_be_true_withdraws_nothing_by_it() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0; 5]);
    rig.sack(0, 1, &[(3, 5)]);
    assert_eq!(rig.sack(0, 1, &[(2, 5)]).reneged, 0);
    assert_eq!(rig.outstanding(0), SIZE);
    // A SACK that can be believed does.
    assert_eq!(rig.sack(0, 1, &[(3, 4)]).reneged, 1);
}

#[test]
fn a_shutdown_says_nothing_of_the_window() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0; 3]);
    let window = rig.tx.peer_rwnd();
    assert!(rig.shutdown(0, 2).cum_advanced);
    assert_eq!(rig.tx.peer_rwnd(), window + 2000, "two chunks left the flight");
}

/// The peer reports two blocks at most.
#[test]
fn what_a_full_list_has_no_room_for_is_not_withdrawn() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0; 9]);
    rig.sack(0, 0, &[(2, 2), (8, 9)]);
    assert_eq!(rig.sack(0, 0, &[(2, 2), (5, 5)]).reneged, 0, "8 and 9 did not fit");
    assert_eq!(rig.outstanding(0), 5 * SIZE, "1, 3, 4, 6 and 7");
    // Below the last block all is told; so it is where a block more would fit.
    assert_eq!(rig.sack(0, 0, &[(3, 3), (5, 5)]).reneged, 1);
    assert_eq!(rig.sack(0, 0, &[(3, 5)]).reneged, 2, "8 and 9 after all");
    rig.sack(0, 9, &[]);
    assert!(rig.tx.is_drained() && rig.outstanding(0) == 0);
}

#[test]
fn reneging_behind_a_full_list_comes_to_light() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0; 9]);
    rig.sack(0, 0, &[(2, 2), (5, 5)]);
    assert_eq!(rig.sack(0, 0, &[(2, 2), (4, 4)]).reneged, 0, "in doubt");
    assert_eq!(rig.sack(0, 2, &[(4, 4), (6, 6)]).reneged, 1, "5 is missing below 6");
}

/// After a timeout the lowest chunks go out again. As they arrive, the list has room for what
/// arrived before they were sent.
#[test]
fn what_arrived_long_ago_is_no_evidence_against_a_retransmission() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0; 12]);
    rig.sack(0, 0, &[(3, 3), (5, 5)]);
    rig.wait(1000);
    assert_eq!(rig.timeout(0), 10);
    assert_eq!([0; 3].map(|_| rig.resend(0, 0)), [1, 2, 4]);
    rig.wait(20);
    rig.sack(0, 1, &[(3, 3), (5, 7)]);
    rig.sack(0, 1, &[(3, 3), (5, 8)]);
    rig.sack(0, 1, &[(3, 3), (5, 9)]);
    assert_eq!(rig.lost(0), 0, "2 and 4 were sent after 6 to 9");
    // What is sent after them is.
    rig.send(&[0; 3]);
    rig.wait(20);
    for last in 13..=15 {
        rig.sack(0, 1, &[(3, 3), (5, last)]);
    }
    assert_eq!(rig.lost(0), 2);
}

/// The peer reports 16 blocks at most, as Linux does. Every second of 60 chunks is lost; when the
/// first of them was sent again and arrived, nothing is known of those beyond the last block, which
/// were sent before it.
#[test]
fn what_a_full_list_has_no_room_for_is_not_lost() {
    let recovery = RecoveryConfig { rack: true, ..RecoveryConfig::OFF };
    let mut rig = Rig::recovering(1, recovery);
    rig.send(&[0; 60]);
    rig.wait(100);
    let every_second =
        |from: u64| (0..16).map(|n| (from + 2 * n, from + 2 * n)).collect::<Vec<_>>();
    rig.sack(0, 0, &every_second(2));
    rig.wait(100);
    rig.serve_timers(0);
    assert_eq!(rig.resend(0, 0), 1);
    rig.wait(100);
    rig.sack(0, 2, &every_second(4));
    assert_eq!(rig.lost(0), 1, "33, but neither 35 nor 36 to 60");
}
