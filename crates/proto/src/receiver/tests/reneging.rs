//! A closed window: what is refused, and what is dropped again.

use super::*;

const SIZE: usize = 1_000;

fn receiver(nr_sack: NrSack) -> Receiver {
    Receiver::new(ReceiverSettings { buffer: 3_000, nr_sack, ..settings() }, Tsn(1))
}

#[test]
fn one_chunk_may_overbook_a_window_that_is_not_closed() {
    let mut rx = receiver(NrSack::Off);
    receive(&mut rx, data(1, 0, &[0; 2_999]));
    assert_eq!(rx.a_rwnd(), 1);
    assert_eq!(receive(&mut rx, data(2, 1, &[0; SIZE])), DataVerdict::New);
    assert_eq!((rx.a_rwnd(), rx.held()), (0, 3_999));
    assert_eq!(receive(&mut rx, data(3, 2, b"x")), DataVerdict::NoRoom);
    assert_eq!(rx.stats().dropped_window, 1);
}

#[test]
fn a_gap_filler_takes_the_room_of_the_highest_tsn() {
    let mut rx = receiver(NrSack::Off);
    for tsn in 2..=4 {
        receive(&mut rx, data(tsn, tsn as u16 - 1, &[tsn as u8; SIZE]));
    }
    assert_eq!(sack(&mut rx).renegable, [(2, 4)]);
    assert_eq!(receive(&mut rx, data(5, 4, &[5; SIZE])), DataVerdict::NoRoom);
    assert_eq!(receive(&mut rx, data(1, 0, &[1; SIZE])), DataVerdict::New);
    assert_eq!((sack(&mut rx).cumulative, rx.stats().reneged, rx.held()), (3, 1, 3_000));
    assert_eq!(texts(&mut rx).len(), 3);
    assert_eq!(receive(&mut rx, data(4, 3, &[4; SIZE])), DataVerdict::New);
    assert_eq!(rx.recv(RecvFrom::Any).unwrap().data[0], 4);
    assert_eq!((rx.held(), rx.out_of_order()), (0, 0));
}

#[test]
fn as_many_are_dropped_as_the_filler_needs() {
    let mut rx = receiver(NrSack::Off);
    for tsn in 3..=12 {
        receive(&mut rx, data(tsn, tsn as u16 - 1, &[0; 300]));
    }
    assert_eq!(receive(&mut rx, data(2, 1, &[0; 800])), DataVerdict::New);
    assert_eq!((rx.stats().reneged, rx.a_rwnd()), (3, 100));
    assert_eq!(sack(&mut rx).renegable, [(2, 9)]);
}

#[test]
fn a_message_that_lost_its_tail_is_completed_again() {
    let mut rx = receiver(NrSack::Delivered);
    receive(&mut rx, flagged(data(2, 1, b"aa"), "B"));
    receive(&mut rx, flagged(data(3, 1, b"bb"), ""));
    receive(&mut rx, flagged(data(4, 1, &[b'c'; 2_996]), "E"));
    assert_eq!(receive(&mut rx, data(1, 0, b"first")), DataVerdict::New);
    assert_eq!((rx.cumulative_tsn(), rx.stats().reneged), (Tsn(3), 1));
    assert_eq!(texts(&mut rx), ["first"]);
    assert_eq!(receive(&mut rx, flagged(data(4, 1, b"cc"), "E")), DataVerdict::New);
    assert_eq!(texts(&mut rx), ["aabbcc"]);
}

#[test]
fn the_tail_of_an_incomplete_message_is_dropped_as_well() {
    let mut rx = receiver(NrSack::Off);
    receive(&mut rx, data(2, 1, &[0; SIZE]));
    receive(&mut rx, flagged(data(3, 2, &[0; SIZE]), "B"));
    receive(&mut rx, flagged(data(4, 2, &[0; SIZE]), ""));
    assert_eq!(receive(&mut rx, data(1, 0, &[0; SIZE])), DataVerdict::New);
    assert_eq!((rx.cumulative_tsn(), rx.stats().reneged), (Tsn(3), 1));
    assert_eq!(texts(&mut rx).len(), 2);
    receive(&mut rx, flagged(data(4, 2, &[0; SIZE]), ""));
    receive(&mut rx, flagged(data(5, 2, &[0; SIZE]), "E"));
    assert_eq!(texts(&mut rx).len(), 1);
}

#[test]
fn the_highest_tsn_goes_first_whether_its_message_is_complete_or_not() {
    for (low, high) in [("B", "BE"), ("BE", "B")] {
        let mut rx = receiver(NrSack::Off);
        receive(&mut rx, flagged(data(3, 2, &[0; 1_500]), low));
        receive(&mut rx, flagged(data(6, 4, &[0; 1_500]), high));
        assert_eq!(receive(&mut rx, data(1, 0, &[0; SIZE])), DataVerdict::New);
        assert_eq!((sack(&mut rx).renegable, rx.stats().reneged), (vec![(2, 2)], 1));
    }
}

#[test]
fn what_was_delivered_is_never_dropped() {
    let mut rx = receiver(NrSack::Delivered);
    for tsn in 2..=4 {
        receive(&mut rx, flagged(data(tsn, 0, &[0; SIZE]), "BEU"));
    }
    assert_eq!(sack(&mut rx).non_renegable, [(2, 4)]);
    assert_eq!(receive(&mut rx, data(1, 0, &[0; SIZE])), DataVerdict::NoRoom);
    assert_eq!(sack(&mut rx).non_renegable, [(2, 4)]);
    assert_eq!(texts(&mut rx).len(), 3);
    assert_eq!(receive(&mut rx, data(1, 0, &[0; SIZE])), DataVerdict::New);
}

#[test]
fn a_receiver_that_never_reneges_takes_the_filler_in_addition() {
    let mut rx = receiver(NrSack::Received);
    for tsn in 2..=4 {
        receive(&mut rx, data(tsn, tsn as u16 - 1, &[0; SIZE]));
    }
    assert_eq!(receive(&mut rx, data(5, 4, &[0; SIZE])), DataVerdict::NoRoom);
    assert_eq!(receive(&mut rx, data(1, 0, &[0; SIZE])), DataVerdict::New);
    assert_eq!((rx.cumulative_tsn(), rx.stats().reneged), (Tsn(4), 0));
}

#[test]
fn a_message_that_can_never_fit_the_buffer_is_a_violation() {
    let mut rx = receiver(NrSack::Off);
    receive(&mut rx, data(1, 0, &[0; SIZE]));
    receive(&mut rx, flagged(data(2, 1, &[0; SIZE]), "B"));
    receive(&mut rx, flagged(data(3, 1, &[0; SIZE]), ""));
    let next = flagged(data(4, 1, &[0; SIZE]), "");
    assert_eq!(receive(&mut rx, next), DataVerdict::NoRoom);
    rx.recv(RecvFrom::Any);
    assert_eq!(receive(&mut rx, next), DataVerdict::New);
    let next = flagged(data(5, 1, &[0; SIZE]), "");
    assert!(matches!(receive(&mut rx, next), DataVerdict::TooLarge(..)));
}

#[test]
fn the_charge_per_chunk_shrinks_the_window() {
    let config = ReceiverSettings { buffer: 3_000, chunk_charge: 500, ..settings() };
    let mut rx = Receiver::new(config, Tsn(1));
    receive(&mut rx, data(1, 0, &[0; SIZE]));
    receive(&mut rx, data(3, 2, &[0; SIZE]));
    assert_eq!((rx.a_rwnd(), rx.held()), (0, 2_000));
    rx.recv(RecvFrom::Any);
    assert_eq!(rx.a_rwnd(), 1_500);
}
