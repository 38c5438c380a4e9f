//! Paths that are removed while chunks are in flight on them.

use bytes::Bytes;
use polypath_wire::{ChecksumMode, PacketWriter};

use super::{Rig, SIZE};
use crate::config::CmtConfig;
use crate::ids::{PathId, StreamId};
use crate::policy::FirstCome;
use crate::sender::{NewChunk, SendOptions};

const FIRST: PathId = PathId(0);
const SECOND: PathId = PathId(1);

fn marked(rig: &Rig, p: PathId) -> usize {
    rig.tx.outstanding.marked_count(p)
}

#[test]
fn what_it_had_in_flight_is_sent_again_on_the_account_of_its_heir() {
    let mut rig = Rig::new(3, CmtConfig::default());
    rig.send(&[0, 1, 0]);
    rig.tx.remove_path(FIRST, SECOND, &mut rig.paths);
    assert_eq!((rig.outstanding(0), rig.outstanding(1)), (0, SIZE));
    assert_eq!((marked(&rig, FIRST), marked(&rig, SECOND)), (0, 2));
    assert!(!rig.in_recovery(0) && !rig.in_recovery(1), "nothing was lost to congestion");
    assert_eq!((rig.resend(1, 2), rig.resend(1, 2)), (1, 3));
}

#[test]
fn a_copy_takes_the_place_of_what_it_had_in_flight_and_its_own_copies_go() {
    let mut rig = Rig::new(3, CmtConfig::default());
    rig.send(&[0, 1, 2]);
    assert_eq!((rig.copy(0, 1), rig.copy(1, 0), rig.copy(2, 1)), (Some(1), Some(2), Some(3)));
    rig.tx.remove_path(FIRST, SECOND, &mut rig.paths);
    // Chunk 1 by its copy, chunk 2 without one, and the copy of 3.
    assert_eq!((rig.outstanding(0), rig.outstanding(1), rig.outstanding(2)), (0, 3 * SIZE, SIZE));
    assert_eq!((marked(&rig, FIRST), marked(&rig, SECOND)), (0, 0), "nothing is to be sent again");
    rig.sack(1, 3, &[]);
    assert!(rig.tx.is_drained());
    assert_eq!((rig.outstanding(1), rig.outstanding(2)), (0, 0));
}

#[test]
fn a_chunk_that_never_left_is_taken_back_from_its_own_path_alone() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[0, 0]);
    let tsn = rig.tsn(1);
    rig.tx.outstanding.keep_loss_log(true);
    assert!(!rig.tx.take_back(tsn, SECOND, false, &mut rig.paths));
    assert!(rig.tx.take_back(tsn, FIRST, false, &mut rig.paths));
    assert_eq!((rig.outstanding(0), marked(&rig, FIRST)), (SIZE, 1));
    assert!(!rig.tx.take_back(tsn, FIRST, true, &mut rig.paths), "it is not in flight");
    assert_eq!(rig.resend(0, 0), 1);
    assert!(!rig.tx.take_back(tsn, FIRST, false, &mut rig.paths), "it was, the first time");
    assert!(rig.tx.take_back(tsn, FIRST, true, &mut rig.paths));
    assert_eq!(rig.tx.outstanding.take_loss_log(), None, "the link lost nothing");
}

#[test]
fn a_packet_that_was_too_large_is_taken_back_whichever_kind_of_chunk_it_has() {
    for interleaving in [false, true] {
        let mut rig = Rig::new(1, CmtConfig::default());
        rig.tx.set_interleaving(interleaving);
        let mut packet = Vec::new();
        let mut writer = PacketWriter::new(&mut packet, 1480, 1, 2, 3);
        for _ in 0..2 {
            let (data, options) = (Bytes::from_static(&[0; 500]), SendOptions::default());
            rig.tx.enqueue(rig.now, StreamId(0), data, options, &mut FirstCome).unwrap();
            let stream = StreamId(0);
            let departure = NewChunk { path: FIRST, stream, bytes: 500, immediate: false };
            let (paths, fcfs) = (&mut rig.paths, &mut FirstCome);
            rig.tx.send_new(rig.now, departure, &mut writer, paths, fcfs).unwrap();
        }
        writer.finish(ChecksumMode::Crc32c);
        assert!(rig.tx.take_back_packet(FIRST, &packet, false, &mut rig.paths));
        assert_eq!((rig.outstanding(0), marked(&rig, FIRST)), (0, 2));
        assert!(!rig.tx.take_back_packet(FIRST, &packet, false, &mut rig.paths), "once");
        assert!(!rig.tx.take_back_packet(FIRST, &[0; 12], false, &mut rig.paths), "no chunk");
    }
}
