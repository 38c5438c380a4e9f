//! Renegable and non-renegable acknowledgements, withdrawal, stale SACKs.

use super::{Rig, SIZE};
use crate::config::CmtConfig;
use crate::sender::SackVerdict;

#[test]
fn a_gap_ack_frees_cwnd_an_nr_ack_frees_the_buffer_too() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0, 0, 0, 0]);
    let freed = rig.nr_sack(0, 0, &[(2, 2)], &[(3, 3)], 1).freed;
    assert_eq!(freed, 1000);
    assert_eq!(rig.outstanding(0), 2 * SIZE);
    let view = *rig.paths.view(crate::PathId(0)).unwrap();
    assert_eq!((view.queued, rig.tx.buffer_view().used), (3000, 3000));
    // R to NR: freed, and not newly acknowledged again.
    let upgraded = rig.nr_sack(0, 0, &[], &[(2, 3)], 1);
    assert_eq!((upgraded.freed, upgraded.news), (1000, false));
    let all = rig.sack(0, 4, &[]);
    assert_eq!((all.freed, rig.tx.buffer_view().used), (2000, 0));
    assert!(rig.tx.is_drained());
}

#[test]
fn nr_acked_data_is_never_withdrawn() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0, 0, 0]);
    rig.nr_sack(0, 0, &[], &[(3, 3)], 1);
    let outcome = rig.sack(0, 1, &[]);
    assert_eq!((outcome.verdict, outcome.reneged), (SackVerdict::Taken, 0));
}

#[test]
fn reneging_puts_chunks_back_in_flight_with_one_miss() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0, 0, 0]);
    rig.sack(0, 0, &[(2, 3)]);
    assert_eq!(rig.outstanding(0), SIZE);
    assert_eq!(rig.sack(0, 1, &[]).reneged, 2);
    assert_eq!(rig.outstanding(0), 2 * SIZE);
    rig.sack(0, 3, &[]);
    assert!(rig.tx.is_drained() && rig.outstanding(0) == 0);
}

#[test]
fn a_sack_that_was_overtaken_withdraws_nothing_and_opens_no_window() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[1, 0, 0, 1]);
    rig.sack(0, 0, &[(2, 3)]);
    // An older SACK comes along the slow path: the same cum-ack, fewer blocks.
    let stale = rig.sack(1, 0, &[(2, 2)]);
    assert_eq!((stale.verdict, stale.reneged), (SackVerdict::Stale, 0));
    assert_eq!(rig.outstanding(0), 0);
    assert_ne!(rig.paths.get(crate::PathId(0)).unwrap().t3, crate::time::Time::MAX, "on watch");
    // The newest path says so too: then it is true.
    assert_eq!(rig.sack(0, 0, &[(2, 2)]).reneged, 1);
    assert_eq!(rig.outstanding(0), SIZE);
}
