//! Messages handed in part by part, while streams are reset or the association shuts down.

use bytes::Bytes;
use polypath_wire::PacketWriter;

use super::Rig;
use crate::config::CmtConfig;
use crate::ids::{MessageId, PathId, StreamId};
use crate::policy::FirstCome;
use crate::sender::{NewChunk, SendOptions};

const OPEN: StreamId = StreamId(0);
const OTHER: StreamId = StreamId(1);

fn part(rig: &mut Rig, bytes: usize, last: bool) -> MessageId {
    let (part, options) = ((Bytes::from(vec![0; bytes]), last), SendOptions::default());
    rig.tx.enqueue_part(rig.now, OPEN, part, options, &mut FirstCome).unwrap()
}

fn whole(rig: &mut Rig, bytes: usize) -> MessageId {
    let (data, options) = (Bytes::from(vec![0; bytes]), SendOptions::default());
    rig.tx.enqueue(rig.now, OTHER, data, options, &mut FirstCome).unwrap()
}

/// What there is of the open message is sent.
fn send_part(rig: &mut Rig) {
    let mut buf = Vec::new();
    let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
    let departure = NewChunk { path: PathId(0), stream: OPEN, bytes: 100, immediate: false };
    let (paths, fcfs) = (&mut rig.paths, &mut FirstCome);
    assert!(rig.tx.send_new(rig.now, departure, &mut writer, paths, fcfs).is_some());
}

/// A message of which 100 bytes were handed in.
fn open(interleaving: bool) -> (Rig, MessageId) {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.tx.set_interleaving(interleaving);
    let id = part(&mut rig, 100, false);
    (rig, id)
}

#[test]
fn a_shutdown_takes_back_what_waits_for_the_end_of_an_open_message() {
    let (mut rig, _) = open(false);
    let all = rig.tx.free() + 100;
    send_part(&mut rig);
    let waits = whole(&mut rig, 200);
    assert_eq!(rig.tx.drop_what_waits_for_parts(), [], "what was sent is not acknowledged");
    rig.sack(0, 1, &[]);
    let dropped = rig.tx.drop_what_waits_for_parts();
    assert!(dropped.contains(&(waits, OTHER, false)) && dropped.len() == 2, "{dropped:?}");
    assert_eq!((rig.tx.free(), rig.tx.queue.messages()), (all, 0));
}

#[test]
fn a_shutdown_takes_back_nothing_that_can_be_sent() {
    // Another part is there.
    let (mut rig, _) = open(false);
    send_part(&mut rig);
    rig.sack(0, 1, &[]);
    assert_eq!(rig.tx.drop_what_waits_for_parts(), [], "nothing waits");
    part(&mut rig, 100, false);
    whole(&mut rig, 200);
    assert_eq!(rig.tx.drop_what_waits_for_parts(), []);
    // Messages are interleaved.
    let (mut rig, _) = open(true);
    send_part(&mut rig);
    rig.sack(0, 1, &[]);
    whole(&mut rig, 200);
    assert_eq!(rig.tx.drop_what_waits_for_parts(), []);
    // Unless a reset holds them back, which waits for the open one.
    let (mut rig, _) = open(true);
    send_part(&mut rig);
    rig.sack(0, 1, &[]);
    rig.tx.queue.hold(&[]);
    whole(&mut rig, 200);
    assert_eq!(rig.tx.drop_what_waits_for_parts().len(), 2);
}

#[test]
fn a_reset_waits_for_a_message_that_was_begun_before_and_for_no_other() {
    let (mut rig, _) = open(false);
    rig.tx.queue.hold(&[OPEN]);
    assert!(!rig.tx.queue.is_sent(&[OPEN]));
    send_part(&mut rig);
    assert!(!rig.tx.queue.is_sent(&[OPEN]) && rig.tx.queue.holds_up());
    part(&mut rig, 100, true);
    assert_eq!(rig.tx.queue.parked(), (0, 0), "the end of it goes");
    send_part(&mut rig);
    assert!(rig.tx.queue.is_sent(&[OPEN]) && !rig.tx.queue.holds_up());
    // What is begun now waits, all parts of it.
    let id = part(&mut rig, 30, false);
    assert_eq!(part(&mut rig, 40, false), id);
    assert_eq!((rig.tx.queue.parked(), rig.tx.queue.heads().heads.len()), ((70, 2), 0));
    assert!(rig.tx.queue.is_sent(&[OPEN]) && !rig.tx.queue.holds_up());
    assert_eq!(rig.tx.queue.info()[0].unsent_messages, 2);
    rig.tx.queue.release(&[OPEN], &mut FirstCome);
    let first = rig.tx.queue.peek(OPEN, 1000).unwrap();
    assert_eq!((first.bytes, first.first, first.last), (30, true, false));
}
