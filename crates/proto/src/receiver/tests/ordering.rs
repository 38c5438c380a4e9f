//! Reassembly and order of delivery.

use super::*;
use crate::event::Part;

fn receiver() -> Receiver {
    Receiver::new(settings(), Tsn(1))
}

#[test]
fn ordered_messages_wait_for_their_predecessors_and_unordered_ones_do_not() {
    let mut rx = receiver();
    receive(&mut rx, data(2, 1, b"second"));
    receive(&mut rx, flagged(data(3, 9, b"urgent"), "BEU"));
    receive(&mut rx, on_stream(data(4, 0, b"other"), 1));
    assert_eq!(texts(&mut rx), ["urgent", "other"]);
    receive(&mut rx, data(1, 0, b"first"));
    assert_eq!(rx.readable(), 2);
    assert_eq!(texts(&mut rx), ["first", "second"]);
    assert_eq!(rx.cumulative_tsn(), Tsn(4));
}

#[test]
fn a_message_carries_what_its_first_chunk_says_and_when_it_became_deliverable() {
    let mut rx = receiver();
    let at = Time::from_millis;
    let chunk = DataChunk { ppid: 51, ..on_stream(data(2, 1, b"late"), 3) };
    rx.data(at(1), PathId(3), &chunk);
    rx.data(at(5), PathId(1), &on_stream(data(1, 0, b"early"), 3));
    assert_eq!(rx.recv(RecvFrom::Any).unwrap().tsn, Tsn(1));
    let expected = Message {
        stream: StreamId(3),
        ppid: 51,
        unordered: false,
        path: PathId(3),
        tsn: Tsn(2),
        delivered: at(5),
        part: Part::WHOLE,
        data: Bytes::from_static(b"late"),
    };
    assert_eq!(rx.recv(RecvFrom::Any), Some(expected));
    assert_eq!(rx.recv(RecvFrom::Any), None);
}

#[test]
fn fragments_may_come_in_any_order() {
    let parts = [(1, "B", "one "), (2, "", "two "), (3, "", "three "), (4, "E", "four")];
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 3, 1], [1, 3, 0, 2], [2, 0, 3, 1]];
    for order in orders {
        let mut rx = receiver();
        for (tsn, flags, text) in order.map(|i: usize| parts[i]) {
            assert_eq!(rx.readable(), 0);
            let chunk = flagged(data(tsn, 0, text.as_bytes()), flags);
            assert_eq!(receive(&mut rx, chunk), DataVerdict::New);
        }
        assert_eq!(texts(&mut rx), ["one two three four"], "{order:?}");
        assert_eq!((rx.held(), rx.out_of_order()), (0, 0));
    }
}

#[test]
fn a_stream_can_be_read_out_of_turn() {
    let mut rx = receiver();
    for tsn in 1..=6u32 {
        let text = tsn.to_string();
        let ssn = ((tsn - 1) / 2) as u16;
        receive(&mut rx, on_stream(data(tsn, ssn, text.as_bytes()), (tsn % 2) as u16));
    }
    let text = |m: Option<Message>| m.map(|m| String::from_utf8_lossy(&m.data).into_owned());
    assert_eq!(text(rx.recv(RecvFrom::Stream(StreamId(0)))).as_deref(), Some("2"));
    assert_eq!(text(rx.recv(RecvFrom::Stream(StreamId(0)))).as_deref(), Some("4"));
    assert_eq!(text(rx.recv(RecvFrom::Any)).as_deref(), Some("1"));
    assert_eq!(text(rx.recv(RecvFrom::Stream(StreamId(7)))), None);
    assert_eq!(texts(&mut rx), ["3", "5", "6"]);
}

#[test]
fn reading_one_stream_only_leaves_no_trace_of_growing_size() {
    let mut rx = receiver();
    receive(&mut rx, on_stream(data(1, 0, b"stays"), 1));
    for i in 0..10_000u32 {
        receive(&mut rx, data(i + 2, i as u16, b"goes"));
        assert!(rx.recv(RecvFrom::Stream(StreamId(0))).is_some());
    }
    assert!(rx.delivery.turns() < 200, "{} turns", rx.delivery.turns());
    assert_eq!(texts(&mut rx), ["stays"]);
}

#[test]
fn tsns_and_ssns_wrap() {
    let mut rx = Receiver::new(settings(), Tsn(u32::MAX - 70_000));
    let mut expected = 0u32;
    for pair in 0..70_000u32 {
        for i in [2 * pair + 1, 2 * pair] {
            let (tsn, bytes) = ((u32::MAX - 70_000).wrapping_add(i), i.to_be_bytes());
            assert_eq!(receive(&mut rx, data(tsn, i as u16, &bytes)), DataVerdict::New);
        }
        while let Some(message) = rx.recv(RecvFrom::Any) {
            assert_eq!(*message.data, expected.to_be_bytes());
            expected += 1;
        }
    }
    assert_eq!(expected, 140_000);
    assert_eq!(rx.cumulative_tsn(), Tsn((u32::MAX - 70_000).wrapping_add(139_999)));
}

#[test]
fn a_chunk_without_data_or_of_no_stream_is_told_apart() {
    let mut rx = receiver();
    assert_eq!(receive(&mut rx, data(1, 0, b"")), DataVerdict::NoUserData);
    assert_eq!(rx.cumulative_tsn(), Tsn(0));
    let foreign = on_stream(data(1, 0, b"lost"), 10);
    assert_eq!(receive(&mut rx, foreign), DataVerdict::InvalidStream(StreamId(10)));
    assert_eq!((rx.cumulative_tsn(), rx.readable(), rx.held()), (Tsn(1), 0, 0));
    assert_eq!(receive(&mut rx, foreign), DataVerdict::Duplicate);
}

#[test]
fn broken_fragmentation_and_order_are_violations() {
    let cases: &[(&str, &[DataChunk<'_>])] = &[
        ("same SSN waits already", &[data(3, 1, b"x"), data(4, 1, b"x")]),
        ("same SSN was delivered", &[data(1, 0, b"x"), data(2, 0, b"x")]),
        ("SSN skipped", &[data(1, 1, b"x")]),
        ("no beginning", &[flagged(data(1, 0, b"x"), "E")]),
        ("continues a whole message", &[data(1, 0, b"x"), flagged(data(2, 1, b"x"), "E")]),
        ("never ends", &[flagged(data(1, 0, b"x"), "B"), data(2, 1, b"x")]),
        ("followed by a whole message", &[data(2, 1, b"x"), flagged(data(1, 0, b"x"), "B")]),
        (
            "B after a middle fragment",
            &[flagged(data(3, 0, b"x"), ""), flagged(data(4, 1, b"x"), "B")],
        ),
        (
            "E before a middle fragment",
            &[flagged(data(4, 0, b"x"), ""), flagged(data(3, 0, b"x"), "BE")],
        ),
        ("other SSN", &[flagged(data(1, 0, b"x"), "B"), flagged(data(2, 1, b"x"), "E")]),
        (
            "other stream",
            &[flagged(data(2, 0, b"x"), "E"), flagged(on_stream(data(1, 0, b"x"), 1), "B")],
        ),
        ("other U bit", &[flagged(data(1, 0, b"x"), "BU"), flagged(data(2, 0, b"x"), "E")]),
    ];
    for (name, chunks) in cases {
        let mut rx = receiver();
        let verdicts: Vec<_> = chunks.iter().map(|chunk| receive(&mut rx, *chunk)).collect();
        let (last, before) = verdicts.split_last().unwrap();
        assert!(before.iter().all(|v| *v == DataVerdict::New), "{name}: {verdicts:?}");
        assert!(matches!(last, DataVerdict::Violation(_)), "{name}: {verdicts:?}");
    }
}

#[test]
fn unordered_fragments_may_differ_in_ssn() {
    let mut rx = receiver();
    receive(&mut rx, flagged(data(1, 7, b"a"), "BU"));
    assert_eq!(receive(&mut rx, flagged(data(2, 8, b"b"), "EU")), DataVerdict::New);
    assert_eq!(texts(&mut rx), ["ab"]);
}

#[test]
fn a_message_above_the_limit_is_a_violation() {
    let mut rx = Receiver::new(ReceiverSettings { max_message: 250, ..settings() }, Tsn(1));
    assert_eq!(receive(&mut rx, data(1, 0, &[0; 250])), DataVerdict::New);
    assert!(matches!(receive(&mut rx, data(2, 1, &[0; 251])), DataVerdict::TooLarge(..)));
    assert_eq!(receive(&mut rx, flagged(data(4, 1, &[0; 100]), "B")), DataVerdict::New);
    assert_eq!(receive(&mut rx, flagged(data(6, 1, &[0; 100]), "")), DataVerdict::New);
    let middle = flagged(data(5, 1, &[0; 100]), "");
    assert!(matches!(receive(&mut rx, middle), DataVerdict::TooLarge(..)));
}

#[test]
fn counters_add_up_per_stream() {
    let mut rx = receiver();
    receive(&mut rx, data(1, 0, b"abc"));
    receive(&mut rx, data(1, 0, b"abc"));
    receive(&mut rx, on_stream(data(2, 0, b"de"), 4));
    receive(&mut rx, on_stream(data(4, 2, b"later"), 4));
    receive(&mut rx, data(70_000, 1, b"far"));
    let stats = rx.stats();
    assert_eq!((stats.chunks, stats.bytes, stats.duplicates), (5, 16, 1));
    assert_eq!((stats.messages_delivered, stats.bytes_delivered), (2, 5));
    assert_eq!(stats.dropped_range, 1);
    let per_stream: Vec<_> = rx.stream_stats().map(|s| (s.stream, s.messages, s.bytes)).collect();
    assert_eq!(per_stream, [(0, 1, 3), (4, 1, 2)]);
}
