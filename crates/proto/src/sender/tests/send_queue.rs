//! The books of the send queues when messages leave them unsent, or the send buffer.

use bytes::Bytes;

use super::Rig;
use crate::config::CmtConfig;
use crate::ids::{MessageId, StreamId};
use crate::policy::FirstCome;
use crate::sender::{Reliability, SendOptions};

fn enqueue(rig: &mut Rig, stream: u16, bytes: usize, unordered: bool) -> MessageId {
    let options = SendOptions { unordered, ..SendOptions::default() };
    let data = Bytes::from(vec![0; bytes]);
    rig.tx.enqueue(rig.now, StreamId(stream), data, options, &mut FirstCome).unwrap()
}

/// Unsent bytes and messages of all streams, and free bytes of the buffer.
fn books(rig: &Rig) -> (u64, u64, u64) {
    (rig.tx.queue.unsent(), rig.tx.queue.messages(), rig.tx.free())
}

#[test]
fn streams_that_negotiation_takes_away_leave_nothing_behind() {
    let mut rig = Rig::new(1, CmtConfig::default());
    enqueue(&mut rig, 1, 100, false);
    let before = books(&rig);
    let gone = [enqueue(&mut rig, 2, 200, false), enqueue(&mut rig, 5, 300, true)];
    let dropped = rig.tx.limit_streams(2);
    assert_eq!(dropped, [(gone[0], StreamId(2)), (gone[1], StreamId(5))]);
    assert_eq!(books(&rig), before);
    let heads: Vec<_> = rig.tx.queue.heads().heads.iter().map(|head| head.stream).collect();
    assert_eq!(heads, [StreamId(1)]);
}

#[test]
fn a_message_that_is_removed_unsent_leaves_nothing_behind() {
    let mut rig = Rig::new(1, CmtConfig::default());
    enqueue(&mut rig, 1, 100, false);
    let (unsent, messages, _) = books(&rig);
    let id = enqueue(&mut rig, 1, 200, false);
    assert_eq!(rig.tx.queue.unsent_of(StreamId(1), id), 200);
    let removed = rig.tx.queue.remove(StreamId(1), id, &mut FirstCome).unwrap();
    assert_eq!((removed.bytes, removed.tail.is_some()), (200, false));
    assert_eq!((rig.tx.queue.unsent(), rig.tx.queue.messages()), (unsent, messages));
    let info = rig.tx.queue.info();
    assert_eq!((info[0].unsent_bytes, info[0].unsent_messages), (100, 1));
    assert!(rig.tx.queue.remove(StreamId(1), id, &mut FirstCome).is_none(), "it is gone");
}

#[test]
fn a_message_that_is_removed_when_part_of_it_was_sent_ends_with_an_empty_chunk() {
    for unordered in [false, true] {
        let mut rig = Rig::new(1, CmtConfig::default());
        let id = enqueue(&mut rig, 1, 250, unordered);
        let sent = rig.tx.queue.dequeue_fragment(StreamId(1), 100, &mut FirstCome).unwrap();
        let removed = rig.tx.queue.remove(StreamId(1), id, &mut FirstCome).unwrap();
        let tail = removed.tail.unwrap();
        assert_eq!((removed.bytes, tail.payload.len(), tail.number), (150, 0, sent.number));
        let flags = (tail.flags.beginning, tail.flags.ending, tail.flags.unordered);
        assert_eq!(flags, (false, true, unordered));
        assert_eq!((rig.tx.queue.has_begun(), rig.tx.queue.messages()), (false, 0));
    }
}

#[test]
fn what_is_acknowledged_has_left_the_stream() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.send(&[0, 0]);
    assert_eq!(rig.tx.queue.info()[0].unacked_bytes, 2000);
    rig.sack(0, 1, &[]);
    assert_eq!(rig.tx.queue.info()[0].unacked_bytes, 1000);
    rig.sack(0, 2, &[]);
    assert_eq!(rig.tx.queue.info()[0].unacked_bytes, 0);
}

#[test]
fn stats_name_the_streams_that_were_used() {
    let mut rig = Rig::new(1, CmtConfig::default());
    enqueue(&mut rig, 3, 100, false);
    enqueue(&mut rig, 1, 100, false);
    enqueue(&mut rig, 3, 100, false);
    let stats = rig.tx.stream_stats();
    let told: Vec<_> = stats.iter().map(|stats| (stats.stream, stats.messages)).collect();
    assert_eq!(told, [(1, 1), (3, 2)]);
}

#[test]
fn the_next_chunk_is_described_as_it_will_be() {
    let mut rig = Rig::new(1, CmtConfig::default());
    enqueue(&mut rig, 1, 150, true);
    let meta = rig.tx.queue.peek(StreamId(1), 100).unwrap();
    assert_eq!((meta.first, meta.last, meta.ordered, meta.bytes), (true, false, false, 100));
    rig.tx.queue.dequeue_fragment(StreamId(1), 100, &mut FirstCome).unwrap();
    let meta = rig.tx.queue.peek(StreamId(1), 100).unwrap();
    assert_eq!((meta.first, meta.last, meta.ordered, meta.bytes), (false, true, false, 50));
    enqueue(&mut rig, 2, 100, false);
    let meta = rig.tx.queue.peek(StreamId(2), 100).unwrap();
    assert_eq!((meta.first, meta.last, meta.ordered), (true, true, true));
}

#[test]
fn fragments_and_unordered_messages_take_no_number_of_an_ordered_one() {
    let mut rig = Rig::new(1, CmtConfig::default());
    let stream = StreamId(1);
    enqueue(&mut rig, 1, 40_000, false);
    for _ in 0..39_999 {
        rig.tx.queue.dequeue_fragment(stream, 1, &mut FirstCome).unwrap();
    }
    assert!(rig.tx.queue.may_begin(stream, 0, 100), "one message is under way");
    rig.tx.queue.dequeue_fragment(stream, 1, &mut FirstCome).unwrap();
    for _ in 0..40_000 {
        rig.tx.queue.push_message(
            rig.now,
            stream,
            Bytes::from_static(&[0]),
            SendOptions { unordered: true, ..SendOptions::default() },
            &mut FirstCome,
        );
        rig.tx.queue.dequeue_fragment(stream, 1, &mut FirstCome).unwrap();
    }
    assert!(rig.tx.queue.may_begin(stream, 0, 100), "SSNs are not used up");
}

#[test]
fn an_interleaved_message_is_under_way_until_it_ends() {
    let mut rig = Rig::new(1, CmtConfig::default());
    rig.tx.set_interleaving(true);
    enqueue(&mut rig, 1, 150, false);
    assert!(!rig.tx.queue.has_begun());
    rig.tx.queue.dequeue_fragment(StreamId(1), 100, &mut FirstCome).unwrap();
    assert!(rig.tx.queue.has_begun());
    rig.tx.queue.dequeue_fragment(StreamId(1), 100, &mut FirstCome).unwrap();
    assert!(!rig.tx.queue.has_begun());
}

#[test]
fn what_may_be_given_up_takes_more_memory_while_it_is_listed() {
    let memory = |reliability| {
        let mut rig = Rig::new(1, CmtConfig::default());
        let options = SendOptions { reliability, ..SendOptions::default() };
        let before = rig.tx.memory();
        for _ in 0..3 {
            let (data, stream) = (Bytes::from_static(&[0; 100]), StreamId(0));
            rig.tx.enqueue(rig.now, stream, data, options, &mut FirstCome).unwrap();
        }
        let held = rig.tx.memory() - before;
        rig.tx.drain_undelivered();
        assert_eq!(rig.tx.memory(), before, "all is given back");
        held
    };
    let listed = memory(Reliability::Priority(1)) - memory(Reliability::Full);
    assert!((3 * 100..3 * 200).contains(&listed), "{listed} bytes for three entries");
}
