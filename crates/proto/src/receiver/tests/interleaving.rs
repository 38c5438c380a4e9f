//! I-DATA: fragments by stream, class, MID and FSN (RFC 8260).

use super::*;
use crate::event::Part;
use polypath_wire::IDataChunk;

pub(super) fn interleaving() -> ReceiverSettings {
    ReceiverSettings { interleaving: true, ..settings() }
}

fn receiver() -> Receiver {
    Receiver::new(interleaving(), Tsn(1))
}

/// Fragment `fsn` of message `mid` of stream 0, with these of the flags B, E and U.
fn fragment<'a>(tsn: u32, mid: u32, fsn: u32, flags: &str, payload: &'a [u8]) -> IDataChunk<'a> {
    let flags = flagged(data(0, 0, b""), flags).flags;
    let ppid_or_fsn = if flags.beginning { 51 } else { fsn };
    IDataChunk { tsn: Tsn(tsn), stream: StreamId(0), mid: Mid(mid), ppid_or_fsn, flags, payload }
}

fn of_stream(chunk: IDataChunk<'_>, stream: u16) -> IDataChunk<'_> {
    IDataChunk { stream: StreamId(stream), ..chunk }
}

fn take(rx: &mut Receiver, chunk: IDataChunk<'_>) -> DataVerdict {
    let verdict = rx.data(Time::ZERO, PathId(0), &chunk);
    rx.packet_end(Time::ZERO);
    verdict
}

fn take_all(rx: &mut Receiver, chunks: &[IDataChunk<'_>]) {
    for chunk in chunks {
        assert_eq!(take(rx, *chunk), DataVerdict::New, "{chunk:?}");
    }
}

fn violates(chunks: &[IDataChunk<'_>]) -> bool {
    let mut rx = receiver();
    let (last, before) = chunks.split_last().unwrap();
    take_all(&mut rx, before);
    matches!(take(&mut rx, *last), DataVerdict::Violation(_))
}

/// Text and part of what can be read.
fn parts(rx: &mut Receiver) -> Vec<(String, bool, bool)> {
    let next = || rx.recv(RecvFrom::Any);
    let text =
        |m: Message| (String::from_utf8_lossy(&m.data).into_owned(), m.part.first, m.part.last);
    core::iter::from_fn(next).map(text).collect()
}

#[test]
fn the_place_of_a_fragment_is_its_fsn_whatever_its_tsn() {
    let mut rx = receiver();
    take_all(
        &mut rx,
        &[
            fragment(1, 0, 2, "", b"three "),
            fragment(2, 0, 3, "E", b"four"),
            fragment(9, 0, 1, "", b"two "),
            fragment(5, 0, 0, "B", b"one "),
        ],
    );
    let message = rx.recv(RecvFrom::Any).unwrap();
    assert_eq!((&*message.data, message.ppid), (&b"one two three four"[..], 51));
    assert_eq!((message.tsn, message.part), (Tsn(5), Part::WHOLE));
    assert_eq!(rx.held(), 0);
}

#[test]
fn messages_of_streams_and_classes_are_interleaved() {
    let mut rx = receiver();
    take_all(
        &mut rx,
        &[
            fragment(1, 0, 0, "B", b"a"),
            of_stream(fragment(2, 0, 0, "B", b"x"), 3),
            fragment(3, 0, 0, "BU", b"u"),
            of_stream(fragment(4, 0, 1, "E", b"y"), 3),
            fragment(5, 0, 1, "EU", b"v"),
            fragment(6, 0, 1, "E", b"b"),
        ],
    );
    assert_eq!(texts(&mut rx), ["xy", "uv", "ab"]);
}

#[test]
fn ordered_messages_wait_for_lower_mids_and_mids_wrap() {
    let settings = ReceiverSettings { first_mid: Mid(u32::MAX - 1), ..interleaving() };
    let mut rx = Receiver::new(settings, Tsn(1));
    take_all(
        &mut rx,
        &[
            fragment(1, 1, 0, "BE", b"d"),
            fragment(2, 0, 0, "BE", b"c"),
            fragment(3, 0, 0, "BEU", b"now"),
            fragment(4, u32::MAX, 0, "BE", b"b"),
        ],
    );
    assert_eq!(texts(&mut rx), ["now"]);
    take_all(&mut rx, &[fragment(5, u32::MAX - 1, 0, "BE", b"a")]);
    assert_eq!(texts(&mut rx), ["a", "b", "c", "d"]);
    let past = fragment(6, u32::MAX, 0, "BE", b"again");
    assert!(matches!(take(&mut rx, past), DataVerdict::Violation(_)));
}

#[test]
fn broken_fragmentation_is_a_violation() {
    let b = fragment(1, 0, 0, "B", b"x");
    let e = fragment(2, 0, 2, "E", b"x");
    assert!(violates(&[b, fragment(3, 0, 0, "B", b"x")]), "two first fragments");
    assert!(violates(&[b, fragment(3, 0, 0, "BE", b"x")]), "and whole");
    assert!(violates(&[e, fragment(3, 0, 3, "E", b"x")]), "two last fragments");
    assert!(violates(&[e, fragment(3, 0, 3, "", b"x")]), "behind the last");
    assert!(violates(&[fragment(1, 0, 5, "", b"x"), fragment(3, 0, 3, "E", b"x")]), "last before");
    assert!(violates(&[e, fragment(3, 0, 2, "", b"x")]), "FSN twice");
    assert!(violates(&[b, fragment(3, 0, 1, "", b"x"), fragment(4, 0, 1, "", b"y")]), "FSN twice");
    assert!(violates(&[fragment(3, 0, 0, "", b"x")]), "FSN 0 without B");
    assert!(violates(&[b, fragment(3, 0, u32::MAX, "", b"x")]), "FSN of the past");
    assert!(violates(&[fragment(3, 1 << 31, 0, "BE", b"x")]), "MID of the past");
    let whole = fragment(1, 1, 0, "BE", b"x");
    assert!(violates(&[whole, fragment(3, 1, 0, "BE", b"x")]), "MID waits already");
    assert!(violates(&[whole, fragment(3, 1, 1, "", b"x")]), "complete already");
}

#[test]
fn a_tsn_that_came_before_is_a_retransmission_whatever_it_says() {
    let mut rx = receiver();
    take_all(&mut rx, &[fragment(1, 0, 0, "B", b"x")]);
    assert_eq!(take(&mut rx, fragment(1, 0, 0, "BU", b"x")), DataVerdict::Duplicate);
}

#[test]
fn a_message_beyond_the_bound_is_a_violation() {
    let settings = ReceiverSettings { max_message: 10, ..interleaving() };
    for last in ["", "E"] {
        let mut rx = Receiver::new(settings.clone(), Tsn(1));
        take_all(&mut rx, &[fragment(1, 0, 0, "B", &[0; 10])]);
        let verdict = take(&mut rx, fragment(2, 0, 1, last, &[0]));
        assert!(matches!(verdict, DataVerdict::TooLarge(..)));
    }
    let mut rx = Receiver::new(settings, Tsn(1));
    let verdict = take(&mut rx, fragment(1, 0, 0, "BE", &[0; 11]));
    assert!(matches!(verdict, DataVerdict::TooLarge(..)));
}

#[test]
fn open_messages_are_bounded_by_memory() {
    let mut rx = Receiver::new(ReceiverSettings { buffer: 64 << 10, ..interleaving() }, Tsn(1));
    let mut opened = 0;
    while take(&mut rx, fragment(1 + opened, opened, 0, "BU", b"x")) == DataVerdict::New {
        opened += 1;
    }
    // Twice the buffer and the slack, by a kilobyte and a chunk each.
    assert_eq!(opened, (3u32 * (64 << 10)).div_ceil(1024 + 192));
    assert_eq!(rx.a_rwnd(), 0);
}

#[test]
fn messages_that_are_given_up_leave_and_others_go_on() {
    let mut rx = receiver();
    take_all(
        &mut rx,
        &[
            fragment(1, 0, 0, "B", b"lost"),
            fragment(3, 1, 0, "BE", b"one"),
            fragment(5, 2, 1, "E", b"lost"),
            fragment(6, 3, 0, "BE", b"three"),
            fragment(7, 0, 0, "BU", b"kept"),
            fragment(9, 5, 0, "BE", b"five"),
        ],
    );
    rx.skip_to_mid(Time::ZERO, StreamId(0), false, Mid(2));
    assert_eq!(texts(&mut rx), ["one", "three"]);
    rx.skip_to_mid(Time::ZERO, StreamId(0), false, Mid(0));
    take_all(&mut rx, &[fragment(10, 4, 0, "BE", b"four"), fragment(11, 0, 1, "EU", b"!")]);
    assert_eq!(texts(&mut rx), ["four", "five", "kept!"]);
    take_all(&mut rx, &[fragment(12, 1, 0, "BU", b"lost")]);
    rx.skip_to_mid(Time::ZERO, StreamId(0), true, Mid(1));
    assert_eq!((rx.held(), rx.take_aborted_parts()), (0, vec![]));
}

#[test]
fn a_large_message_comes_in_parts() {
    let settings = ReceiverSettings { partial_delivery: Some(8), ..interleaving() };
    let mut rx = Receiver::new(settings, Tsn(1));
    take_all(&mut rx, &[fragment(1, 0, 0, "B", b"12345"), fragment(3, 0, 2, "", b"bcdef")]);
    assert_eq!(rx.readable(), 0, "the front has 5 bytes only");
    take_all(&mut rx, &[fragment(2, 0, 1, "", b"6789a"), fragment(4, 1, 0, "BE", b"next")]);
    take_all(&mut rx, &[of_stream(fragment(5, 0, 0, "BE", b"other"), 1)]);
    let first = ("123456789abcdef".to_owned(), true, false);
    assert_eq!(parts(&mut rx), [first, ("other".to_owned(), true, true)]);
    assert_eq!(rx.held(), 4, "what was read is free");
    take_all(&mut rx, &[fragment(6, 0, 3, "E", b"!")]);
    assert_eq!(parts(&mut rx), [("!".to_owned(), false, true), ("next".to_owned(), true, true)]);
    rx.abort_parts();
    assert_eq!(rx.take_aborted_parts(), []);
}

#[test]
fn small_messages_come_in_parts_only_when_together_they_hold_half_of_the_buffer() {
    let settings =
        ReceiverSettings { partial_delivery: Some(5000), buffer: 8000, ..interleaving() };
    let mut rx = Receiver::new(settings, Tsn(1));
    for stream in 0..3 {
        let chunk = fragment(1 + stream, 0, 0, "B", &[7; 1300]);
        take_all(&mut rx, &[of_stream(chunk, stream as u16)]);
    }
    assert_eq!(rx.readable(), 0);
    take_all(&mut rx, &[of_stream(fragment(4, 0, 1, "", &[7; 100]), 1)]);
    let part = rx.recv(RecvFrom::Any).unwrap();
    assert_eq!((part.stream, part.data.len()), (StreamId(1), 1400));
    assert_eq!(rx.recv(RecvFrom::Any), None, "the others hold less than half");
}

#[test]
fn of_unordered_messages_one_at_a_time_comes_in_parts() {
    let settings = ReceiverSettings { partial_delivery: Some(4), ..interleaving() };
    let mut rx = Receiver::new(settings, Tsn(1));
    take_all(&mut rx, &[fragment(1, 0, 0, "BU", b"1234"), fragment(2, 1, 0, "BU", b"abcd")]);
    assert_eq!(parts(&mut rx), [("1234".to_owned(), true, false)]);
    rx.skip_to_mid(Time::ZERO, StreamId(0), true, Mid(0));
    assert_eq!(rx.take_aborted_parts(), [(StreamId(0), true)]);
    take_all(&mut rx, &[fragment(3, 1, 1, "U", b"e")]);
    assert_eq!(parts(&mut rx), [("abcde".to_owned(), true, false)]);
    rx.abort_parts();
    assert_eq!(rx.take_aborted_parts(), [(StreamId(0), true)]);
}

#[test]
fn data_comes_in_parts_as_far_as_nothing_is_missing() {
    let settings = ReceiverSettings { partial_delivery: Some(8), ..settings() };
    let mut rx = Receiver::new(settings, Tsn(1));
    let chunk = |tsn, flags, text: &'static [u8]| flagged(data(tsn, 0, text), flags);
    receive(&mut rx, chunk(1, "B", b"12345"));
    receive(&mut rx, chunk(3, "", b"abcdefghi"));
    assert_eq!(rx.readable(), 0);
    receive(&mut rx, chunk(2, "", b"6789"));
    receive(&mut rx, chunk(4, "", b"j"));
    assert_eq!(parts(&mut rx), [("123456789abcdefghi".to_owned(), true, false)]);
    let stranger = flagged(data(5, 1, b"x"), "");
    assert!(matches!(receive(&mut rx.clone(), stranger), DataVerdict::Violation(_)));
    receive(&mut rx, chunk(5, "E", b"k"));
    receive(&mut rx, data(6, 1, b"next"));
    assert_eq!(parts(&mut rx), [("jk".to_owned(), false, true), ("next".to_owned(), true, true)]);
    assert_eq!((rx.held(), rx.take_aborted_parts()), (0, vec![]));
}

#[test]
fn a_message_of_data_in_parts_is_bounded_and_aborted() {
    let settings = ReceiverSettings { partial_delivery: Some(8), max_message: 20, ..settings() };
    let mut rx = Receiver::new(settings, Tsn(1));
    receive(&mut rx, flagged(data(1, 0, &[0; 10]), "BU"));
    receive(&mut rx, flagged(data(2, 0, &[0; 10]), "U"));
    rx.abort_parts();
    assert_eq!(rx.take_aborted_parts(), [(StreamId(0), true)]);
    let verdict = receive(&mut rx, flagged(data(3, 0, b"x"), "EU"));
    assert!(matches!(verdict, DataVerdict::TooLarge(..)));
}
