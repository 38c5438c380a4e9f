//! Split fast retransmit, delayed ack for CMT, fast recovery per path.

use super::{Rig, SIZE};
use crate::config::CmtConfig;
use crate::sender::SackVerdict;

/// Path 0 fast, path 1 slow: chunks 1, 3, 5 ... on path 0, the even ones still on their way.
fn reordered(cmt: CmtConfig) -> Rig {
    let mut rig = Rig::new(2, cmt);
    rig.send(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    rig
}

#[test]
fn reordering_across_paths_makes_no_miss_indications() {
    let mut rig = reordered(CmtConfig::default());
    rig.sack(0, 1, &[(3, 3)]);
    rig.sack(0, 1, &[(3, 3), (5, 5)]);
    rig.sack(0, 1, &[(3, 3), (5, 5), (7, 7)]);
    rig.sack(0, 1, &[(3, 3), (5, 5), (7, 7), (9, 9)]);
    assert!(!rig.tx.outstanding.has_marked());
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (0, 5 * SIZE));
}

#[test]
fn without_sfr_the_same_sacks_make_a_spurious_retransmission() {
    let mut rig = reordered(CmtConfig { sfr: false, ..CmtConfig::default() });
    rig.sack(0, 1, &[(3, 3)]);
    rig.sack(0, 1, &[(3, 3), (5, 5)]);
    assert!(!rig.tx.outstanding.has_marked());
    rig.sack(0, 1, &[(3, 3), (5, 5), (7, 7)]);
    assert_eq!(rig.lost(1), 1, "chunk 2 was missed three times");
}

#[test]
fn three_newer_tsns_of_the_same_path_make_a_fast_retransmission_once() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[0, 1, 0, 0, 0, 0, 0]);
    rig.sack(0, 0, &[(3, 3)]);
    rig.sack(0, 0, &[(3, 4)]);
    assert!(!rig.tx.outstanding.has_marked());
    rig.sack(0, 0, &[(3, 5)]);
    assert_eq!((rig.lost(0), rig.lost(1)), (1, 0));
    assert!(rig.in_recovery(0) && rig.tx.recovery.has_allowance(crate::PathId(0)));
    assert_eq!(rig.outstanding(0), 2 * SIZE, "chunks 6 and 7; the marked one left the flight");
    assert_eq!(rig.resend(0, 0), 1);
    // The retransmission is lost as well: only T3 is left (RFC 9260 section 7.2.4, rule 5).
    rig.sack(0, 0, &[(3, 6)]);
    rig.send(&[0, 0, 0]);
    rig.sack(0, 0, &[(3, 7)]);
    rig.sack(0, 0, &[(3, 8)]);
    rig.sack(0, 0, &[(3, 9)]);
    rig.sack(0, 0, &[(3, 10)]);
    assert!(!rig.tx.outstanding.has_marked());
}

#[test]
fn recovery_ends_when_the_path_has_nothing_old_missing_although_the_cum_ack_stands_still() {
    let mut rig = Rig::new(2, CmtConfig::default());
    // Chunk 1 on path 1 stays missing; chunk 2 on path 0 is lost.
    rig.send(&[1, 0, 0, 0, 0]);
    rig.sack(0, 0, &[(3, 3)]);
    rig.sack(0, 0, &[(3, 4)]);
    rig.sack(0, 0, &[(3, 5)]);
    assert!(rig.in_recovery(0));
    assert_eq!(rig.resend(0, 0), 2);
    rig.send(&[0]);
    rig.sack(0, 0, &[(2, 5)]);
    assert!(!rig.in_recovery(0));
    assert!(!rig.in_recovery(1));
}

#[test]
fn a_retransmission_moved_to_another_path_does_not_speak_for_that_path() {
    let mut rig = Rig::new(2, CmtConfig::default());
    // Chunks 1 and 2 outstanding on path 1, the others on path 0; 3, 4 and 5 are lost there and move to path 1.
    rig.send(&[1, 1, 0, 0, 0, 0, 0, 0]);
    for last in 6..=8 {
        rig.sack(0, 0, &[(6, last)]);
    }
    assert_eq!([0; 3].map(|_| rig.resend(0, 1)), [3, 4, 5]);
    for last in 3..=4 {
        rig.sack(1, 0, &[(3, last), (6, 8)]);
    }
    assert!(rig.sack(1, 0, &[(3, 8)]).news, "the third that brings news");
    assert_eq!(rig.outstanding(1), 2 * SIZE);
    assert!(!rig.tx.outstanding.has_marked(), "they are no evidence against 1 and 2");
}

#[test]
fn dac_counts_packets_only_when_the_sack_speaks_of_one_path() {
    let lost = |mixed: bool| {
        let mut rig = Rig::new(2, CmtConfig::default());
        rig.send(&[0, 1, 0, 0, 0]);
        // Chunk 1 missing; one SACK covers two packets.
        let gaps: &[(u64, u64)] = if mixed { &[(2, 4)] } else { &[(3, 4)] };
        rig.nr_sack(0, 0, gaps, &[], 2);
        let rest: &[(u64, u64)] = if mixed { &[(2, 5)] } else { &[(3, 5)] };
        rig.nr_sack(0, 0, rest, &[], 1);
        rig.lost(0)
    };
    assert_eq!(lost(false), 1, "2 + 1 misses");
    assert_eq!(lost(true), 0, "1 + 1 misses");
}

#[test]
fn dac_counts_one_when_acks_lie_on_both_sides() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0, 0, 0, 0, 0]);
    rig.nr_sack(0, 1, &[(3, 4)], &[], 3);
    assert_eq!(rig.lost(0), 0, "chunk 2 lies between 1 and 4: one miss");
    rig.nr_sack(0, 1, &[(3, 5)], &[], 3);
    assert_eq!(rig.lost(0), 1, "below all that is newly acked: three more");
}

#[test]
fn impossible_sacks_are_violations() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0, 0, 0]);
    assert_eq!(rig.sack(0, 4, &[]).verdict, SackVerdict::Violation);
    assert_eq!(rig.sack(0, 1, &[(3, 4)]).verdict, SackVerdict::Violation);
    assert_eq!(rig.nr_sack(0, 1, &[], &[(3, 4)], 1).verdict, SackVerdict::Violation);
    let at_cum = rig.nr_sack(0, 1, &[], &[(2, 4)], 1);
    assert_eq!(at_cum.verdict, SackVerdict::Violation, "a block at cum + 1, and beyond the last");
    assert_eq!(rig.sack(0, 3, &[]).verdict, SackVerdict::Taken);
}

#[test]
fn a_second_loss_in_one_recovery_cuts_nothing_more() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0; 12]);
    let entered = |rig: &Rig| rig.path_outcome(crate::PathId(0)).entered_recovery;
    for last in 2..=4 {
        rig.sack(0, 0, &[(2, last)]);
    }
    assert!(rig.lost(0) == 1 && entered(&rig));
    for last in 6..=8 {
        rig.sack(0, 0, &[(2, 4), (6, last)]);
    }
    assert!(rig.lost(0) == 1 && !entered(&rig), "chunk 5, below the exit point");
}
