//! What ns-2.35 does otherwise (`Ns2Faults`): each test shows a switch off and on.

use super::{Rig, SIZE};
use crate::config::{AssocConfig, Ns2Faults};
use crate::ids::{PathId, StreamId, Tsn};
use crate::sender::SackVerdict;
use crate::time::{Duration, Time};
use crate::view::ChunkMeta;

/// Runs `play` without the switch and with it.
fn off_and_on<T>(
    paths: u16,
    set: impl Fn(&mut Ns2Faults),
    mut play: impl FnMut(&mut Rig) -> T,
) -> [T; 2] {
    [false, true].map(|on| {
        let mut config = AssocConfig::default();
        if on {
            set(&mut config.reproduction.ns2);
        }
        play(&mut Rig::with(paths, Tsn(100), config))
    })
}

#[test]
fn what_was_sent_again_waits_for_t3() {
    let lost = off_and_on(
        1,
        |ns2| ns2.resent_wait_for_t3 = true,
        |rig| {
            rig.send(&[0]);
            rig.wait(1000);
            assert_eq!(rig.timeout(0), 1);
            assert_eq!(rig.resend(0, 0), 1);
            rig.wait(10);
            rig.send(&[0, 0, 0]);
            (2..=4).map(|end| rig.sack(0, 0, &[(2, end)])).count();
            rig.lost(0)
        },
    );
    assert_eq!(lost, [1, 0]);
}

#[test]
fn a_path_whose_chunks_the_cum_ack_passes_does_not_make_a_sack_mixed() {
    let lost = off_and_on(
        2,
        |ns2| ns2.misses_by_gap_acks = true,
        |rig| {
            rig.send(&[1, 0, 0, 0]);
            // One packet of each path: DAC counts 1, ns-2 counts both.
            rig.nr_sack(0, 1, &[(3, 3)], &[], 2);
            rig.sack(0, 1, &[(3, 4)]);
            rig.lost(0)
        },
    );
    assert_eq!(lost, [0, 1]);
}

#[test]
fn an_expected_pseudo_cum_ack_is_not_looked_for_again_before_it_is_acknowledged() {
    let moved = off_and_on(
        1,
        |ns2| ns2.stale_pseudo_cum_acks = true,
        |rig| {
            rig.send(&[0, 0, 0, 0, 0]);
            (2..=4).map(|end| rig.sack(0, 0, &[(2, end)])).count();
            assert_eq!((rig.lost(0), rig.resend(0, 0)), (1, 1));
            // CUC expects chunk 5 now, ns-2 still chunk 1, which was sent again.
            rig.sack(0, 0, &[(2, 5)]);
            rig.pseudo(0)
        },
    );
    assert_eq!(moved, [true, false]);
}

#[test]
fn losses_beyond_the_last_cut_cut_again_although_recovery_goes_on() {
    let cuts = off_and_on(
        1,
        |ns2| ns2.cuts_by_tsn = true,
        |rig| {
            rig.send(&[0; 6]);
            (2..=4).map(|end| rig.sack(0, 0, &[(2, end)])).count();
            assert!(rig.path_outcome(PathId(0)).entered_recovery);
            assert_eq!(rig.resend(0, 0), 1);
            rig.send(&[0; 4]);
            rig.sack(0, 0, &[(2, 6)]);
            (8..=10).map(|end| rig.sack(0, 0, &[(2, 6), (8, end)])).count();
            assert_eq!(rig.lost(0), 1);
            rig.path_outcome(PathId(0)).entered_recovery
        },
    );
    assert_eq!(cuts, [false, true]);
}

#[test]
fn the_packet_that_may_ignore_cwnd_is_one_of_the_sack_that_found_the_loss() {
    let allowed = off_and_on(
        1,
        |ns2| ns2.allowance_of_target = true,
        |rig| {
            rig.send(&[0; 6]);
            (2..=4).map(|end| rig.sack(0, 0, &[(2, end)])).count();
            assert!(rig.tx.recovery.has_allowance(PathId(0)));
            rig.sack(0, 0, &[(2, 5)]);
            rig.tx.recovery.has_allowance(PathId(0))
        },
    );
    assert_eq!(allowed, [true, false]);
}

#[test]
fn the_cum_ack_starts_t3_anew_by_what_was_gap_acked_before() {
    let expires = off_and_on(
        2,
        |ns2| ns2.t3_by_tsn = true,
        |rig| {
            rig.send(&[1, 0, 0, 0]);
            rig.sack(0, 0, &[(2, 3)]);
            let before = rig.paths.get(PathId(0)).unwrap().t3;
            rig.wait(100);
            rig.sack(1, 3, &[]);
            let after = rig.paths.get(PathId(0)).unwrap().t3;
            assert!(after < Time::MAX, "chunk 4 is in flight");
            after.since(before)
        },
    );
    assert_eq!(expires, [Duration::ZERO, Duration::from_millis(100)]);
}

#[test]
fn an_overtaken_sack_is_believed() {
    let taken = off_and_on(
        2,
        |ns2| ns2.believes_overtaken_sacks = true,
        |rig| {
            rig.send(&[0, 1, 0, 1]);
            rig.sack(0, 0, &[(2, 4)]);
            let outcome = rig.sack(1, 0, &[(2, 3)]);
            (outcome.verdict, rig.outstanding(1))
        },
    );
    assert_eq!(taken, [(SackVerdict::Stale, 0), (SackVerdict::Taken, SIZE)]);
}

#[test]
fn what_waits_to_be_retransmitted_keeps_its_part_of_the_peers_window() {
    let admits = off_and_on(
        2,
        |ns2| ns2.marked_stay_outstanding = true,
        |rig| {
            rig.tx.set_peer_window(3000);
            rig.send(&[0, 0, 1]);
            rig.wait(1000);
            assert_eq!(rig.timeout(0), 2);
            rig.tx.window_admits(&ChunkMeta::whole(StreamId(0), 1001))
        },
    );
    assert_eq!(admits, [true, false]);
}
