//! Chunks in flight on two paths, and paths that fall silent.

use polypath_wire::PacketWriter;

use super::{Rig, SIZE};
use crate::PathId;
use crate::config::{RecoveryConfig, Rescheduling};
use crate::time::Duration;

/// Three paths with round trips of 40 ms (path 0 and 1) and 100 ms (path 2), as a chunk on each
/// measured them.
fn rig() -> Rig {
    let recovery = RecoveryConfig { rescheduling: Rescheduling::Silent, ..RecoveryConfig::MODERN };
    let mut rig = Rig::recovering(3, recovery);
    rig.send(&[0, 1, 2]);
    rig.wait(40);
    rig.sack(0, 2, &[]);
    rig.wait(60);
    rig.sack(0, 3, &[]);
    for (p, ms) in [(0, 40), (1, 40), (2, 100)] {
        let rtt = Duration::from_millis(ms);
        let view = rig.paths.view_mut(PathId(p)).unwrap();
        (view.srtt, view.last_rtt, view.rttvar) = (Some(rtt), Some(rtt), rtt / 20);
    }
    rig
}

fn acked(rig: &Rig, p: u8) -> u64 {
    rig.path_outcome(PathId(p)).newly_acked
}

fn queued(rig: &Rig, p: u8) -> u64 {
    rig.paths.view(PathId(p)).unwrap().queued
}

#[test]
fn a_copy_counts_on_its_path_until_the_chunk_is_acknowledged() {
    let mut rig = rig();
    rig.send(&[0, 0]);
    assert_eq!(rig.copy(0, 1), Some(4));
    assert_eq!(rig.copy(0, 1), Some(5));
    assert_eq!(rig.copy(0, 1), None, "once each");
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (2 * SIZE, 2 * SIZE));
    assert_eq!((queued(&rig, 0), queued(&rig, 1)), (2000, 0), "held once");
    assert_eq!(rig.tx.bytes_in_flight(), 2000, "the peer's window is taken once");
    rig.wait(40);
    rig.sack(0, 5, &[]);
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (0, 0));
    assert!(rig.tx.is_drained());
}

#[test]
fn an_acknowledgement_is_credited_to_the_transmission_that_was_expected_last() {
    let mut rig = rig();
    rig.send(&[0, 0, 0]);
    rig.wait(60);
    for _ in 0..3 {
        rig.copy(0, 2);
    }
    // 40 ms after the copies: path 2 takes 100 ms, so the originals arrived.
    rig.wait(40);
    rig.sack(0, 4, &[]);
    assert_eq!((acked(&rig, 0), acked(&rig, 2)), (SIZE, 0));
    assert!(rig.path_outcome(PathId(0)).acked_once, "certain: the path lives");
    // 100 ms after the copies they are due, the originals long overdue.
    rig.wait(60);
    rig.sack(0, 5, &[]);
    assert_eq!((acked(&rig, 0), acked(&rig, 2)), (0, SIZE));
    assert!(!rig.path_outcome(PathId(2)).acked_once, "ambiguous");
    // The peer got it twice: so the original did arrive.
    rig.duplicates(0, 5, &[5]);
    assert!(rig.path_outcome(PathId(0)).acked_once);
    // It went out 160 ms ago.
    let trip = rig.path_outcome(PathId(0)).copied_trip;
    assert_eq!(trip, Some(Duration::from_millis(160)));
}

#[test]
fn a_copy_may_be_answered_sooner_by_a_nearer_path_than_its_own() {
    // There by path 2 and back by path 0: half of 100 ms and half of 40 ms.
    for (after, certain) in [(69, true), (70, false)] {
        let mut rig = rig();
        rig.send(&[0]);
        assert_eq!(rig.copy(0, 2), Some(4));
        rig.wait(after);
        rig.sack(0, 4, &[]);
        assert_eq!(rig.path_outcome(PathId(0)).acked_once, certain, "{after}");
    }
}

#[test]
fn what_arrived_twice_does_not_revive_a_silent_path() {
    for silent in [true, false] {
        let mut rig = rig();
        rig.send(&[0]);
        assert_eq!(rig.copy(0, 2), Some(4));
        rig.wait(100);
        rig.sack(2, 4, &[]);
        rig.paths.view_mut(PathId(0)).unwrap().silent = silent;
        rig.duplicates(2, 4, &[4]);
        assert_eq!(rig.path_outcome(PathId(0)).acked_once, !silent);
    }
}

#[test]
fn a_copy_that_was_faster_than_ever_measures_no_other_path() {
    let mut rig = rig();
    rig.send(&[2]);
    assert_eq!(rig.copy(2, 0), Some(4));
    // A millisecond before either could be answered.
    rig.wait(39);
    rig.sack(0, 4, &[]);
    assert_eq!((acked(&rig, 0), acked(&rig, 2)), (SIZE, 0));
    assert_eq!(rig.path_outcome(PathId(2)).rtt, None);
}

#[test]
fn what_a_timeout_loses_is_not_sent_again_while_a_copy_is_in_flight() {
    let mut rig = rig();
    rig.send(&[0, 0]);
    rig.wait(60);
    rig.copy(0, 1);
    rig.wait(1000);
    assert_eq!(rig.timeout(0), 2);
    assert_eq!(rig.tx.outstanding.marked_count(PathId(0)), 1, "the one without a copy");
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (0, SIZE));
    assert_eq!((queued(&rig, 0), queued(&rig, 1)), (1000, 1000), "it belongs to path 1 now");
    // And path 1 loses it, too.
    assert_eq!(rig.timeout(1), 1);
    assert_eq!(rig.tx.outstanding.marked_count(PathId(1)), 1);
    assert_eq!((rig.outstanding(0), rig.outstanding(1), rig.tx.bytes_in_flight()), (0, 0, 0));
}

#[test]
fn a_lost_copy_is_replaced() {
    let mut rig = rig();
    rig.send(&[0]);
    rig.wait(60);
    assert_eq!(rig.copy(0, 1), Some(4));
    rig.send(&[1]);
    rig.wait(40);
    // Chunk 5 left path 1 after the copy, and arrived; the window of 10 ms passes.
    rig.sack(0, 3, &[(5, 5)]);
    assert_eq!(rig.copy(0, 1), None);
    rig.wait(10);
    assert_eq!(rig.serve_timers(1).lost, 1);
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (SIZE, 0));
    assert_eq!(rig.copy(0, 1), Some(4));
}

#[test]
fn a_recovery_ends_where_copies_took_over_all_that_was_in_flight() {
    let mut rig = rig();
    rig.send(&[0]);
    rig.wait(60);
    assert_eq!(rig.copy(0, 1), Some(4));
    rig.send(&[0]);
    rig.wait(40);
    // Chunk 5 left path 0 long after chunk 4, and arrived: the copy stands in for what was lost.
    rig.sack(0, 3, &[(5, 5)]);
    assert_eq!(rig.lost(0), 1);
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (0, SIZE));
    rig.send(&[0]);
    rig.wait(40);
    rig.sack(0, 3, &[(5, 6)]);
    assert!(!rig.in_recovery(0), "there is nothing to repair here");
}

#[test]
fn an_acknowledgement_of_either_transmission_proves_nothing_lost() {
    let mut rig = rig();
    rig.send(&[0, 1]);
    rig.wait(60);
    assert_eq!(rig.copy(0, 1), Some(4));
    // Both can have been answered by now. Chunk 5 left path 1 before the copy did.
    rig.wait(40);
    rig.sack(0, 4, &[]);
    assert_eq!((rig.lost(1), rig.outstanding(1)), (0, SIZE));
}

#[test]
fn a_path_is_silent_when_others_are_heard_and_its_data_is_overdue() {
    let mut rig = rig();
    let silent =
        |rig: &mut Rig, p: u8| rig.tx.is_silent(rig.now, PathId(p), &rig.outcome, &rig.paths);
    // Chunk 4 on path 0, and one on path 1 every 10 ms.
    rig.send(&[0, 1]);
    for n in 6..12 {
        rig.wait(10);
        rig.send(&[1]);
        if n < 8 {
            continue;
        }
        rig.sack(1, 3, &[(5, n - 3)]);
        // The round trip of 40 ms, and four times its variation of 2 ms, but at least a quarter: 50
        // ms.
        assert_eq!(silent(&mut rig, 0), n >= 10, "{n}");
        assert!(!silent(&mut rig, 1), "{n}");
    }
    rig.sack(1, 8, &[]);
    assert!(!silent(&mut rig, 0), "it was heard of");
}

/// The peer reports 16 blocks at most, as Linux does: of the far path's chunks every second is
/// lost, and the near path's one lies beyond the last block that fits.
#[test]
fn a_path_is_not_silent_where_the_sack_has_no_room_for_its_data() {
    let mut rig = rig();
    rig.send(&[2; 40]);
    rig.send(&[0]);
    rig.wait(100);
    let every_second: Vec<_> = (0..16).map(|n| (5 + 2 * n, 5 + 2 * n)).collect();
    rig.sack(2, 3, &every_second);
    assert!(!rig.tx.is_silent(rig.now, PathId(0), &rig.outcome, &rig.paths));
    // One with room for it.
    rig.sack(2, 3, &[(5, 36)]);
    assert!(rig.tx.is_silent(rig.now, PathId(0), &rig.outcome, &rig.paths));
}

#[test]
fn copies_of_a_window_do_not_leave_in_one_go() {
    let mut rig = rig();
    rig.send(&[0; 90]);
    rig.send(&[1]);
    rig.tx.begin_copying(PathId(0));
    let copy_all = |rig: &mut Rig| {
        let mut copies = 0;
        while rig.tx.may_copy_to(rig.paths.view(PathId(1)).unwrap()) {
            let Some(head) = rig.tx.outstanding.lowest_uncopied(PathId(0)) else { break };
            let mut buf = Vec::new();
            let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
            let (now, to) = (rig.now, PathId(1));
            assert!(rig.tx.send_copy(now, head.tsn, to, &mut writer, &mut rig.paths));
            copies += 1;
        }
        copies
    };
    // 32 full packets' worth; with each acknowledgement two more.
    assert_eq!(copy_all(&mut rig), (32 * 1500_u64).div_ceil(SIZE));
    rig.tx.copies.add_credit(PathId(1), 3 * SIZE);
    assert!((5..=6).contains(&copy_all(&mut rig)));
    assert_eq!(copy_all(&mut rig), 0);
    // A path without anything in flight has nothing that could let them go on.
    rig.wait(40);
    rig.paths.view_mut(PathId(1)).unwrap().outstanding = 0;
    assert!(rig.tx.may_copy_to(rig.paths.view(PathId(1)).unwrap()));
}

#[test]
fn a_path_that_was_just_heard_of_is_not_silent() {
    let mut rig = rig();
    let silent =
        |rig: &mut Rig, p: u8| rig.tx.is_silent(rig.now, PathId(p), &rig.outcome, &rig.paths);
    rig.send(&[0, 0]);
    rig.wait(20);
    rig.send(&[1, 1]);
    rig.wait(42);
    rig.sack(0, 4, &[]);
    rig.wait(9);
    rig.sack(1, 4, &[(6, 6)]);
    assert!(!silent(&mut rig, 0), "9 ms ago, a late answer came");
    rig.wait(1);
    rig.sack(1, 4, &[(6, 7)]);
    assert!(silent(&mut rig, 0));
}

#[test]
fn a_path_whose_round_trip_varies_is_given_more_time() {
    let mut rig = rig();
    let silent =
        |rig: &mut Rig, p: u8| rig.tx.is_silent(rig.now, PathId(p), &rig.outcome, &rig.paths);
    rig.paths.view_mut(PathId(0)).unwrap().rttvar = Duration::from_millis(5);
    rig.send(&[0]);
    rig.wait(15);
    rig.send(&[1]);
    rig.wait(10);
    rig.send(&[1]);
    rig.wait(40);
    // Due after 40 ms, and given four times the variation of 5 ms.
    rig.sack(1, 3, &[(5, 5)]);
    assert!(!silent(&mut rig, 0), "the other's was due after 55");
    rig.sack(1, 3, &[(5, 6)]);
    assert!(silent(&mut rig, 0), "the other's was due after 65");
}
