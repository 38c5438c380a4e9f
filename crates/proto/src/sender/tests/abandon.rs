//! Messages that are abandoned, chunk by chunk.

use bytes::Bytes;
use polypath_wire::{ChecksumCheck, ChecksumMode, Chunk, PacketView, PacketWriter};

use super::{Rig, SIZE};
use crate::config::{AssocConfig, CmtConfig};
use crate::ids::{PathId, StreamId, Tsn};
use crate::policy::FirstCome;
use crate::sender::{NewChunk, Reliability, SendOptions};
use crate::time::Duration;
use crate::tsn_map::wire;

const P: PathId = PathId(0);

/// Sends one chunk of a message that may be abandoned.
pub(super) fn send(rig: &mut Rig, stream: u16, reliability: Reliability) {
    let data = Bytes::from_static(&[0; 1000]);
    let options = SendOptions { reliability, ..SendOptions::default() };
    let stream = StreamId(stream);
    rig.tx.enqueue(rig.now, stream, data, options, &mut FirstCome).unwrap();
    let mut buf = Vec::new();
    let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
    let departure = NewChunk { path: P, stream, bytes: 1000, immediate: false };
    rig.tx.send_new(rig.now, departure, &mut writer, &mut rig.paths, &mut FirstCome).unwrap();
}

pub(super) fn give_up(rig: &mut Rig) -> usize {
    rig.tx.agree_on_abandoning(true);
    rig.tx.abandon_expired_messages(rig.now, &mut rig.paths, &mut FirstCome).len()
}

/// What a FORWARD-TSN in a packet of `limit` bytes says: its TSN and how many streams.
pub(super) fn forward(rig: &mut Rig, limit: usize) -> Option<(Tsn, usize)> {
    let mut buf = Vec::new();
    let mut writer = PacketWriter::new(&mut buf, limit, 1, 2, 3);
    let written = rig.tx.write_forward_tsn(rig.now, P, &mut writer, &mut rig.paths);
    writer.finish(ChecksumMode::Crc32c);
    let view = PacketView::parse(&buf, ChecksumCheck::Verify).ok()?;
    let raw = view.chunks().next().filter(|_| written)?.ok()?;
    match raw.decode().ok()? {
        Chunk::ForwardTsn(f) => Some((f.new_cumulative_tsn, f.skipped.iter().count())),
        _ => None,
    }
}

#[test]
fn what_was_given_up_never_lets_a_window_grow() {
    let mut rig = Rig::new(1, CmtConfig::default());
    for _ in 0..2 {
        send(&mut rig, 0, Reliability::Limited(0));
    }
    for _ in 0..2 {
        send(&mut rig, 0, Reliability::Full);
    }
    // The first chunk is lost; the second one's message goes by priority of another.
    rig.now += Duration::from_secs(1);
    let config = AssocConfig::default();
    rig.tx.on_timeout(rig.now, P, &mut rig.paths, &config);
    assert_eq!(give_up(&mut rig), 2);
    assert_eq!(rig.paths.view(P).map(|v| v.outstanding), Some(0));
    while rig.tx.outstanding.lowest_marked(P).is_some() {
        rig.resend(0, 0);
    }
    assert_eq!(rig.paths.view(P).map(|v| v.outstanding), Some(2 * SIZE));
    rig.sack(0, 4, &[]);
    // Four chunks are cum-acked; two of them count.
    assert_eq!(rig.path_outcome(P).newly_acked, 2 * SIZE);
}

#[test]
fn a_chunk_given_up_in_flight_that_arrives_counts_for_nothing_and_one_that_is_lost_for_a_loss() {
    let mut rig = Rig::new(1, CmtConfig::default());
    send(&mut rig, 0, Reliability::Priority(9));
    send(&mut rig, 0, Reliability::Priority(9));
    for _ in 0..5 {
        send(&mut rig, 0, Reliability::Full);
    }
    rig.tx.agree_on_abandoning(true);
    let all = rig.tx.free() + 2_000;
    let given_up = rig.tx.make_room(
        rig.now,
        StreamId(0),
        all,
        Reliability::Full,
        &mut rig.paths,
        &mut FirstCome,
    );
    assert_eq!(given_up.len(), 2);
    assert_eq!(rig.paths.view(P).map(|v| v.outstanding), Some(5 * SIZE));
    // 1 arrived, 2 did not: three chunks behind it tell.
    rig.sack(0, 1, &[]);
    assert_eq!(rig.path_outcome(P).newly_acked, 0);
    for last in 3..=5 {
        rig.sack(0, 1, &[(3, last)]);
    }
    let outcome = rig.path_outcome(P);
    assert_eq!((outcome.lost, outcome.entered_recovery), (1, true));
    assert!(rig.tx.outstanding.lowest_marked(P).is_none(), "it is not sent again");
}

#[test]
fn what_does_not_fit_a_packet_is_told_later() {
    let mut rig = Rig::new(1, CmtConfig::default());
    for stream in 0..6 {
        send(&mut rig, stream, Reliability::Limited(0));
    }
    rig.now += Duration::from_secs(1);
    let config = AssocConfig::default();
    rig.tx.on_timeout(rig.now, P, &mut rig.paths, &config);
    assert_eq!(give_up(&mut rig), 6);
    // Common header, fixed part and four entries.
    let four = 12 + 8 + 16;
    assert_eq!(forward(&mut rig, four), Some((wire(rig.tsn(4)), 4)));
    assert!(!rig.tx.forward.is_due());
    rig.sack(0, 4, &[]);
    rig.tx.forward_after_sack(rig.now, &rig.paths);
    assert!(rig.tx.forward.is_due());
    assert_eq!(forward(&mut rig, four), Some((wire(rig.tsn(6)), 2)));
    rig.sack(0, 6, &[]);
    rig.tx.forward_after_sack(rig.now, &rig.paths);
    assert!(rig.tx.is_drained() && !rig.tx.forward.is_due());
}

/// Makes room for `bytes` of a message that is fully reliable; gives how many were abandoned.
fn make_room(rig: &mut Rig, bytes: u64) -> usize {
    let (stream, full) = (StreamId(0), Reliability::Full);
    let (paths, scheduler) = (&mut rig.paths, &mut FirstCome);
    rig.tx.make_room(rig.now, stream, bytes, full, paths, scheduler).len()
}

#[test]
fn nothing_is_abandoned_where_that_would_not_make_room_enough() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.tx.agree_on_abandoning(true);
    send(&mut rig, 0, Reliability::Full);
    for _ in 0..3 {
        send(&mut rig, 0, Reliability::Priority(9));
    }
    let free = rig.tx.free();
    assert_eq!(make_room(&mut rig, free + 3 * SIZE + 1000), 0);
    assert_eq!((rig.tx.free(), rig.outstanding(0)), (free, 4 * SIZE));
    assert_eq!(make_room(&mut rig, free), 0, "there is room");
    assert_eq!(make_room(&mut rig, free + 1001), 2, "as many as it takes");
}

#[test]
fn what_has_begun_stays_where_the_peer_cannot_be_told() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.tx.agree_on_abandoning(false);
    send(&mut rig, 0, Reliability::Priority(9));
    let options = SendOptions { reliability: Reliability::Priority(9), ..SendOptions::default() };
    let data = Bytes::from_static(&[0; 1000]);
    rig.tx.enqueue(rig.now, StreamId(0), data, options, &mut FirstCome).unwrap();
    let free = rig.tx.free();
    assert_eq!(make_room(&mut rig, free + 1001), 0, "one alone can go");
    assert_eq!(make_room(&mut rig, free + 1000), 1);
    assert_eq!(rig.outstanding(0), SIZE);
}

#[test]
fn what_was_copied_and_given_up_is_credited_to_no_path() {
    for (copied, delivered) in [(false, SIZE), (true, 0)] {
        let mut rig = Rig::new(2, CmtConfig::default());
        rig.tx.agree_on_abandoning(true);
        send(&mut rig, 0, Reliability::Priority(9));
        if copied {
            assert_eq!(rig.copy(0, 1), Some(1));
        }
        let free = rig.tx.free();
        assert_eq!(make_room(&mut rig, free + 1), 1);
        assert_eq!(rig.outstanding(1), 0);
        rig.wait(20);
        rig.sack(0, 1, &[]);
        assert_eq!(rig.paths.view(P).unwrap().delivered, delivered);
    }
}
