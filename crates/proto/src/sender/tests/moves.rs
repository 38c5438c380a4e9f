//! Chunks that block a buffer and are moved to another path, and copies that are wanted.

use polypath_wire::PacketWriter;

use super::{Rig, SIZE};
use crate::config::{RecoveryConfig, Rescheduling};
use crate::ids::PathId;
use crate::time::{Duration, Time};

const FIRST: PathId = PathId(0);
const SECOND: PathId = PathId(1);
const TRIP: Duration = Duration::from_millis(40);

/// Two paths with round trips of 40 ms, and chunks on them; the first of each measured it.
fn rig(on: &[u8]) -> Rig {
    let recovery = RecoveryConfig { rescheduling: Rescheduling::Silent, ..RecoveryConfig::MODERN };
    let mut rig = Rig::recovering(2, recovery);
    rig.send(&[0, 1]);
    rig.wait(40);
    rig.sack(0, 2, &[]);
    for view in &mut rig.paths.views {
        view.srtt = Some(TRIP);
    }
    rig.send(on);
    rig
}

fn copy(rig: &mut Rig, n: u64, to: PathId) -> bool {
    let (mut buf, tsn) = (Vec::new(), rig.tsn(n));
    let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
    rig.tx.send_copy(rig.now, tsn, to, &mut writer, &mut rig.paths)
}

/// The chunk that everything waits for, if it may be moved, with its path.
fn blocking(rig: &Rig) -> Option<(u64, PathId, Time)> {
    rig.tx.blocking_chunk().map(|(chunk, path, sent)| (chunk.tsn + 1 - rig.tsn(1), path, sent))
}

#[test]
fn the_lowest_chunk_is_moved_once() {
    let mut rig = rig(&[0, 0]);
    let sent = rig.now;
    assert_eq!(blocking(&rig), Some((3, FIRST, sent)));
    assert!(rig.tx.complete_move(sent, rig.tsn(3), &mut rig.paths).is_none(), "no copy is there");
    rig.wait(10);
    assert!(copy(&mut rig, 3, SECOND));
    assert_eq!(blocking(&rig), None, "it is under way twice");
    let (from, losses) = rig.tx.complete_move(rig.now, rig.tsn(3), &mut rig.paths).unwrap();
    assert_eq!((from, losses.lost, losses.react), (FIRST, 1, true));
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (SIZE, SIZE));
    assert_eq!(blocking(&rig), None, "not again");
    rig.wait(40);
    rig.sack(1, 3, &[]);
    assert_eq!(rig.path_outcome(SECOND).newly_acked, 0, "it says nothing of the window");
    assert_eq!(blocking(&rig), Some((4, FIRST, sent)));
    rig.wait(1000);
    rig.timeout(0);
    assert_eq!(blocking(&rig), None, "it is not in flight");
}

#[test]
fn a_path_whose_last_chunk_was_moved_has_no_timer_and_any_other_has() {
    let t3 = |rig: &Rig| rig.paths.get(FIRST).unwrap().t3;
    for (on, stops) in [(&[0][..], true), (&[0, 0], false)] {
        let mut rig = rig(on);
        assert!(t3(&rig) != Time::MAX && copy(&mut rig, 3, SECOND));
        rig.tx.complete_move(rig.now, rig.tsn(3), &mut rig.paths).unwrap();
        assert_eq!(t3(&rig) == Time::MAX, stops);
    }
}

#[test]
fn a_wanted_copy_that_makes_no_sense_any_more_is_dropped() {
    let mut rig = rig(&[0, 0, 1, 0]);
    for n in 3..=6 {
        rig.tx.copies.push_wanted(SECOND, rig.tsn(n));
    }
    let next = |rig: &mut Rig| {
        let (path, chunk) = rig.tx.next_wanted_copy(SECOND)?;
        assert_eq!((path, u64::from(chunk.bytes)), (FIRST, SIZE));
        Some(chunk.tsn + 1 - rig.tsn(1))
    };
    assert_eq!(next(&mut rig), Some(3));
    assert!(copy(&mut rig, 3, SECOND));
    assert_eq!(next(&mut rig), Some(4), "a copy of 3 is there");
    rig.wait(40);
    rig.sack(0, 4, &[]);
    assert_eq!(next(&mut rig), Some(6), "4 arrived, and 5 is on that path itself");
    assert!(rig.tx.next_wanted_copy(FIRST).is_none());
}

#[test]
fn copies_linger_where_their_chunks_are_acknowledged_sooner() {
    let mut rig = rig(&[0, 0]);
    rig.wait(30);
    assert!(copy(&mut rig, 3, SECOND));
    rig.wait(10);
    rig.sack(0, 3, &[]);
    assert!(rig.path_outcome(SECOND).copy_left && !rig.path_outcome(FIRST).copy_left);
    let lingering = |rig: &mut Rig, p| rig.tx.copies.lingering(rig.now, p);
    assert_eq!((lingering(&mut rig, SECOND), lingering(&mut rig, FIRST)), (SIZE, 0));
    rig.wait(30);
    assert_eq!(lingering(&mut rig, SECOND), 0, "a round trip after it left");
}

#[test]
fn what_no_transmission_in_flight_can_have_delivered_measures_none_of_them() {
    let mut rig = rig(&[0]);
    rig.wait(10);
    assert!(copy(&mut rig, 3, SECOND));
    // The first transmission counts as lost, and is sent again; then it arrives after all, too soon
    // for either of the others.
    assert!(rig.tx.complete_move(rig.now, rig.tsn(3), &mut rig.paths).is_some());
    rig.wait(5);
    assert!(copy(&mut rig, 3, FIRST));
    rig.wait(20);
    rig.sack(0, 3, &[]);
    for p in [FIRST, SECOND] {
        assert_eq!(rig.path_outcome(p).latest_rtt(rig.now), None, "{p:?}");
    }
}

#[test]
fn an_answer_measures_the_path_unless_it_may_be_the_copys() {
    let probed = |rig: &Rig| rig.paths.get(FIRST).unwrap().rtt_probe.is_some();
    // Both at once: it hardly matters which it answers.
    let mut at_once = rig(&[0, 0]);
    assert!(probed(&at_once) && copy(&mut at_once, 3, SECOND));
    at_once.wait(40);
    at_once.sack(0, 3, &[]);
    assert_eq!(at_once.path_outcome(FIRST).rtt, Some(TRIP));
    // The copy cannot have been answered yet.
    let mut early = rig(&[0, 0]);
    early.wait(20);
    assert!(copy(&mut early, 3, SECOND));
    early.wait(30);
    early.sack(0, 3, &[]);
    assert_eq!(early.path_outcome(FIRST).rtt, Some(Duration::from_millis(50)));
    // Either may have been: Karn.
    let mut either = rig(&[0, 0]);
    either.wait(20);
    assert!(copy(&mut either, 3, SECOND));
    either.wait(50);
    either.sack(0, 3, &[]);
    assert_eq!(either.path_outcome(FIRST).rtt, None);
}

#[test]
fn a_path_is_overdue_after_two_round_trips_while_another_is_sound() {
    let overdue = |rig: &mut Rig| rig.tx.is_overdue(rig.now, FIRST, &rig.paths);
    // The other has nothing in flight.
    let mut idle = rig(&[0]);
    idle.wait(79);
    assert!(!overdue(&mut idle));
    idle.wait(1);
    assert!(overdue(&mut idle));
    // Nothing is heard of either: it is SACKs that are missing.
    let mut deaf = rig(&[0, 1]);
    deaf.wait(100);
    assert!(!overdue(&mut deaf));
    // The other was heard of after it.
    deaf.sack(1, 2, &[(4, 4)]);
    deaf.send(&[1]);
    assert!(overdue(&mut deaf));
    assert!(!deaf.tx.is_overdue(deaf.now, SECOND, &deaf.paths), "it was");
    // A path that may carry no data tells nothing.
    deaf.paths.view_mut(SECOND).unwrap().usable = false;
    assert!(!overdue(&mut deaf));
}

#[test]
fn what_is_in_flight_alone_is_the_lowest_without_a_copy() {
    let mut rig = rig(&[0, 0]);
    let sent = rig.now;
    let alone = |rig: &Rig| {
        let (chunk, sent) = rig.tx.outstanding.lowest_alone(FIRST)?;
        Some((chunk.tsn + 1 - rig.tsn(1), sent))
    };
    assert_eq!(alone(&rig), Some((3, sent)));
    assert!(copy(&mut rig, 3, SECOND));
    assert_eq!((alone(&rig), rig.paths.get(SECOND).unwrap().stats.copies), (Some((4, sent)), 1));
    assert!(copy(&mut rig, 4, SECOND));
    assert_eq!((alone(&rig), rig.paths.get(SECOND).unwrap().stats.copies), (None, 2));
}
