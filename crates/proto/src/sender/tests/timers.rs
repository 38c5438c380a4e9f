//! T3-rtx per path and RTT samples.

use super::{Rig, SIZE};
use crate::PathId;
use crate::config::{CmtConfig, RecoveryConfig, T3Marks};
use crate::time::{Duration, Time};

fn t3(rig: &Rig, p: u8) -> Time {
    rig.paths.get(PathId(p)).unwrap().t3
}

#[test]
fn t3_starts_with_data_and_stops_with_the_last_ack() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[0, 1]);
    assert_eq!(t3(&rig, 0), rig.now + Duration::from_secs(1));
    rig.wait(100);
    rig.sack(0, 1, &[]);
    assert_eq!(t3(&rig, 0), Time::MAX);
    assert_eq!(t3(&rig, 1), Time::from_secs(2), "acks of path 0 leave the timer of path 1 alone");
}

#[test]
fn t3_restarts_only_when_the_chunk_sent_first_is_acked() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0, 0, 0]);
    let first = t3(&rig, 0);
    rig.wait(100);
    rig.sack(0, 0, &[(2, 2)]);
    assert_eq!(t3(&rig, 0), first);
    rig.wait(100);
    rig.sack(0, 2, &[]);
    assert_eq!(t3(&rig, 0), rig.now + Duration::from_secs(1));
}

#[test]
fn a_timeout_marks_the_chunks_of_its_path_alone() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[0, 1, 0, 1]);
    rig.wait(1000);
    let marked = rig.tx.on_timeout(rig.now, PathId(1), &mut rig.paths, &rig.config);
    assert_eq!(marked, 2);
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (2 * SIZE, 0));
    assert_eq!((rig.resend(1, 0), rig.resend(1, 1)), (2, 4));
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (3 * SIZE, SIZE));
    rig.sack(0, 4, &[]);
    assert!(rig.tx.is_drained());
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (0, 0));
}

#[test]
fn the_2004_amendment_spares_young_chunks_at_the_first_timeout() {
    let cmt = CmtConfig { t3_marks: T3Marks::OlderThanSrtt, ..CmtConfig::default() };
    let mut rig = Rig::new(1, cmt);
    rig.paths.view_mut(PathId(0)).unwrap().srtt = Some(Duration::from_millis(100));
    rig.send(&[0]);
    rig.wait(950);
    rig.send(&[0]);
    rig.wait(50);
    let marked = rig.tx.on_timeout(rig.now, PathId(0), &mut rig.paths, &rig.config);
    assert_eq!((marked, rig.outstanding(0)), (1, SIZE));
    assert_ne!(t3(&rig, 0), Time::MAX, "the young one is still watched");
}

#[test]
fn an_srtt_beyond_the_longest_timeout_spares_no_chunk_for_ever() {
    // The clock jumped hours ahead between a HEARTBEAT and its answer.
    let cmt = CmtConfig { t3_marks: T3Marks::OlderThanSrtt, ..CmtConfig::default() };
    let mut rig = Rig::new(1, cmt);
    rig.paths.view_mut(PathId(0)).unwrap().srtt = Some(Duration::from_secs(13_225));
    rig.send(&[0]);
    rig.wait(1000);
    let marked = rig.tx.on_timeout(rig.now, PathId(0), &mut rig.paths, &rig.config);
    assert_eq!((marked, rig.outstanding(0)), (1, 0));
}

#[test]
fn rtt_comes_from_the_paths_own_sacks_even_when_they_were_overtaken() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[1, 0]);
    rig.wait(20);
    rig.sack(0, 0, &[(2, 2)]);
    assert_eq!(rig.path_outcome(PathId(0)).rtt, Some(Duration::from_millis(20)));
    rig.wait(65);
    rig.sack(0, 2, &[]);
    assert_eq!(rig.path_outcome(PathId(1)).rtt, None, "it came back along path 0");
    rig.wait(65);
    rig.sack(1, 1, &[]);
    assert_eq!(rig.path_outcome(PathId(1)).rtt, Some(Duration::from_millis(150)));
}

#[test]
fn retransmissions_give_no_sample() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0]);
    rig.wait(1000);
    rig.tx.on_timeout(rig.now, PathId(0), &mut rig.paths, &rig.config);
    rig.resend(0, 0);
    rig.wait(50);
    rig.sack(0, 1, &[]);
    assert_eq!(rig.path_outcome(PathId(0)).rtt, None);
}

/// RFC 9260 section 7.2.4, rule 4.
#[test]
fn t3_starts_anew_with_the_fast_retransmission_of_the_lowest_chunk_alone() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0; 8]);
    rig.wait(100);
    for last in 4..=6 {
        rig.sack(0, 0, &[(2, 2), (4, last)]);
    }
    assert_eq!(rig.lost(0), 2);
    // Packets leave later than the SACK came.
    rig.wait(5);
    assert_eq!(rig.resend(0, 0), 1);
    let anew = rig.now + Duration::from_secs(1);
    assert_eq!(t3(&rig, 0), anew);
    rig.wait(10);
    assert_eq!(rig.resend(0, 0), 3);
    assert_eq!(t3(&rig, 0), anew);
}

#[test]
fn one_chunk_is_timed_per_round_trip() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0]);
    rig.wait(30);
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, 2, &[]);
    let sample = rig.path_outcome(PathId(0)).rtt;
    assert_eq!(sample, Some(Duration::from_millis(50)), "the first that was not timed before");
}

#[test]
fn a_path_is_measured_by_its_own_sacks_and_anew_if_they_do_not_come() {
    let cmt = CmtConfig { rtt_same_path: true, ..CmtConfig::default() };
    let probed = |rig: &Rig| rig.paths.get(PathId(0)).unwrap().rtt_probe.is_some();
    // Another path's SACK comes first: the path's own still measures.
    let mut rig = Rig::new(2, cmt);
    rig.send(&[0]);
    rig.wait(30);
    rig.sack(1, 1, &[]);
    assert_eq!((rig.path_outcome(PathId(0)).rtt, probed(&rig)), (None, true));
    rig.wait(20);
    rig.sack(0, 1, &[]);
    let rtt = rig.path_outcome(PathId(0)).rtt;
    assert_eq!((rtt, probed(&rig)), (Some(Duration::from_millis(50)), false));
    // It does not come: after an RTO the next chunk is measured.
    let mut rig = Rig::new(2, cmt);
    rig.send(&[0]);
    rig.sack(1, 1, &[]);
    rig.wait(600);
    rig.sack(1, 1, &[]);
    rig.wait(400);
    rig.sack(1, 1, &[]);
    assert!(probed(&rig), "just an RTO");
    rig.wait(1);
    rig.sack(1, 1, &[]);
    assert!(!probed(&rig));
}

#[test]
fn the_latest_round_trip_is_that_of_the_latest_chunk_where_all_are_timed() {
    let mut rig = Rig::recovering(1, RecoveryConfig { rack: true, ..RecoveryConfig::OFF });
    rig.send(&[0]);
    rig.wait(10);
    rig.send(&[0]);
    rig.wait(20);
    rig.sack(0, 2, &[]);
    let outcome = rig.path_outcome(PathId(0));
    assert_eq!(outcome.rtt, Some(Duration::from_millis(30)), "of the chunk that was timed");
    assert_eq!(outcome.latest_rtt(rig.now), Some(Duration::from_millis(20)));
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0]);
    rig.wait(30);
    rig.sack(0, 1, &[]);
    let latest = rig.path_outcome(PathId(0)).latest_rtt(rig.now);
    assert_eq!(latest, Some(Duration::from_millis(30)));
}
