//! Cwnd update for CMT.

use super::Rig;
use crate::config::{CmtConfig, Cuc};

#[test]
fn a_path_in_order_moves_its_pseudo_cum_ack_behind_another_paths_gap() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[1, 0, 0, 0]);
    rig.sack(0, 0, &[(2, 2)]);
    assert!(rig.pseudo(0) && !rig.pseudo(1));
    rig.sack(0, 0, &[(2, 2), (4, 4)]);
    assert!(!rig.pseudo(0), "chunk 3 of this path is missing");
    rig.sack(0, 0, &[(2, 4)]);
    assert!(rig.pseudo(0));
    rig.sack(0, 4, &[]);
    assert!(!rig.pseudo(0) && rig.pseudo(1));
}

#[test]
fn version_2_lets_new_data_move_past_a_retransmission() {
    let grows = |cuc| {
        let mut rig = Rig::new(2, CmtConfig { cuc, ..CmtConfig::default() });
        // Chunk 2 on path 1 is lost, marked and moved to path 0, where it is outstanding as the lowest TSN.
        rig.send(&[0, 1, 1, 1, 1, 0, 0]);
        rig.sack(1, 1, &[(3, 3)]);
        rig.sack(1, 1, &[(3, 4)]);
        rig.sack(1, 1, &[(3, 5)]);
        assert_eq!(rig.resend(1, 0), 2);
        rig.sack(0, 1, &[(3, 6)]);
        rig.pseudo(0)
    };
    assert!(grows(Cuc::V2));
    assert!(!grows(Cuc::V1));
    assert!(!grows(Cuc::Off));
}

#[test]
fn the_retransmission_has_a_pseudo_cum_ack_of_its_own() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[1, 0, 0, 0, 0, 0]);
    rig.sack(0, 0, &[(3, 5)]);
    rig.sack(0, 0, &[(3, 6)]);
    rig.nr_sack(0, 0, &[(3, 6)], &[], 1);
    assert!(!rig.tx.outstanding.has_marked(), "two indications so far");
    rig.send(&[0]);
    rig.sack(0, 0, &[(3, 7)]);
    assert_eq!(rig.resend(0, 0), 2);
    rig.sack(0, 0, &[(2, 7)]);
    assert!(rig.pseudo(0));
}
