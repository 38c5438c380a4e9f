//! FORWARD-TSNs until they are answered (RFC 3758 section 3.5).

use super::abandon::{forward, give_up, send};
use super::{Rig, SIZE};
use crate::config::CmtConfig;
use crate::ids::PathId;
use crate::sender::Reliability;
use crate::tsn_map::wire;

const FIRST: PathId = PathId(0);
const SECOND: PathId = PathId(1);

/// Two chunks, of these streams, were lost and given up.
fn given_up(streams: [u16; 2]) -> Rig {
    let mut rig = Rig::new(2, CmtConfig::default());
    for stream in streams {
        send(&mut rig, stream, Reliability::Limited(0));
    }
    rig.wait(1000);
    rig.timeout(0);
    assert_eq!(give_up(&mut rig), 2);
    rig
}

/// And the FORWARD-TSN went out.
fn told() -> Rig {
    let mut rig = given_up([0, 0]);
    assert_eq!(forward(&mut rig, 1480), Some((wire(rig.tsn(2)), 1)));
    assert_eq!((rig.tx.forward.watched_path(), rig.tx.forward.is_due()), (Some(FIRST), false));
    rig
}

fn next_path(rig: &Rig) -> PathId {
    rig.tx.forward.choose_path(&rig.paths)
}

#[test]
fn a_timeout_has_it_sent_again_on_another_path() {
    let mut rig = told();
    assert!(!rig.tx.forward.on_timeout(SECOND, &rig.tx.outstanding));
    assert_eq!(next_path(&rig), FIRST, "it was not lost");
    assert!(rig.tx.forward.on_timeout(FIRST, &rig.tx.outstanding));
    assert!(rig.tx.forward.is_due());
    assert_eq!(next_path(&rig), SECOND, "RFC 9260 section 6.4.1");
    assert!(!rig.tx.forward.on_timeout(SECOND, &rig.tx.outstanding));
    assert_eq!(next_path(&rig), SECOND, "it is still the one that was lost");
}

#[test]
fn a_path_that_is_removed_has_it_sent_again_on_another() {
    let mut rig = told();
    rig.tx.remove_path(SECOND, FIRST, &mut rig.paths);
    assert!(!rig.tx.forward.is_due());
    let mut rig = told();
    rig.tx.remove_path(FIRST, SECOND, &mut rig.paths);
    assert_eq!((rig.tx.forward.is_due(), next_path(&rig)), (true, SECOND));
}

#[test]
fn sacks_that_do_not_reach_it_have_it_sent_again_once_per_round_trip() {
    let mut rig = told();
    rig.paths.view_mut(FIRST).unwrap().srtt = Some(crate::time::Duration::from_millis(100));
    rig.wait(99);
    rig.tx.forward_after_sack(rig.now, &rig.paths);
    assert!(!rig.tx.forward.is_due(), "its answer cannot have come");
    rig.wait(1);
    rig.tx.forward_after_sack(rig.now, &rig.paths);
    assert!(rig.tx.forward.is_due());
    assert_eq!(forward(&mut rig, 1480), Some((wire(rig.tsn(2)), 1)));
}

#[test]
fn what_it_told_of_proves_nothing_when_it_is_acknowledged() {
    let mut rig = Rig::new(1, CmtConfig::default());
    for _ in 0..2 {
        send(&mut rig, 0, Reliability::Priority(9));
    }
    rig.tx.agree_on_abandoning(true);
    let all = rig.tx.free() + 2_000;
    let full = Reliability::Full;
    let (paths, scheduler) = (&mut rig.paths, &mut crate::policy::FirstCome);
    rig.tx.make_room(rig.now, crate::ids::StreamId(0), all, full, paths, scheduler);
    assert_eq!(forward(&mut rig, 1480), Some((wire(rig.tsn(2)), 1)));
    send(&mut rig, 0, Reliability::Full);
    rig.wait(100);
    rig.sack(0, 2, &[]);
    assert!(!rig.path_outcome(FIRST).acked, "the answer to a FORWARD-TSN");
    assert_eq!(rig.outstanding(0), SIZE);
    rig.sack(0, 3, &[]);
    assert!(rig.path_outcome(FIRST).acked);
}

#[test]
fn it_does_not_pass_a_stream_reset_that_is_under_way() {
    let mut rig = given_up([0, 1]);
    rig.tx.forward.note_reset_point(rig.tsn(1));
    assert_eq!(forward(&mut rig, 1480), Some((wire(rig.tsn(1)), 1)));
    rig.tx.forward.clear_reset_point(None);
    rig.tx.forward_after_sack(rig.now, &rig.paths);
    assert_eq!(forward(&mut rig, 1480), Some((wire(rig.tsn(2)), 2)));
}

#[test]
fn it_does_not_name_numbers_from_before_a_stream_reset() {
    let mut rig = given_up([0, 1]);
    rig.tx.forward.clear_reset_point(Some(rig.tsn(1)));
    assert_eq!(forward(&mut rig, 1480), Some((wire(rig.tsn(2)), 1)), "of stream 1 alone");
}

#[test]
fn nothing_is_told_once_the_association_ends() {
    let mut rig = given_up([0, 0]);
    assert!(rig.tx.forward.is_due());
    rig.tx.forward.clear();
    assert!(!rig.tx.forward.is_due() && rig.tx.forward.watched_path().is_none());
    let mut rig = told();
    rig.tx.forward.restart(rig.tsn(3));
    assert_eq!(rig.tx.forward.watched_path(), None);
}

#[test]
fn what_it_did_not_tell_of_proves_that_the_path_works() {
    let mut rig = Rig::new(1, CmtConfig::default());
    for _ in 0..2 {
        send(&mut rig, 0, Reliability::Priority(9));
    }
    rig.tx.agree_on_abandoning(true);
    let all = rig.tx.free() + 2_000;
    let (paths, scheduler) = (&mut rig.paths, &mut crate::policy::FirstCome);
    let stream = crate::ids::StreamId(0);
    rig.tx.make_room(rig.now, stream, all, Reliability::Full, paths, scheduler);
    rig.wait(100);
    rig.sack(0, 1, &[]);
    assert!(rig.path_outcome(FIRST).acked, "it had arrived");
}

#[test]
fn it_waits_for_a_packet_that_has_room() {
    let mut rig = given_up([0, 1]);
    assert_eq!(forward(&mut rig, 12 + 7), None);
    assert_eq!(forward(&mut rig, 12 + 8), None, "it would tell nothing");
    assert!(rig.tx.forward.is_due());
}
