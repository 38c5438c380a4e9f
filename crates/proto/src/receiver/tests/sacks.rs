//! What SACKs say, and when the receiver as a whole asks for them.

use super::*;

fn receiver(dac: bool, nr_sack: NrSack) -> Receiver {
    let mut rx = Receiver::new(ReceiverSettings { dac, nr_sack, ..settings() }, Tsn(1));
    receive(&mut rx, data(1, 0, b"first"));
    assert!(rx.sack_due(Time::ZERO));
    sack(&mut rx);
    rx
}

#[test]
fn a_sack_reports_gaps_window_and_duplicates_once() {
    let mut rx = receiver(false, NrSack::Off);
    packet(&mut rx, &[data(3, 2, b"xx"), data(4, 3, b"x"), data(7, 6, b"x"), data(3, 2, b"xx")]);
    assert!(rx.has_gaps() && rx.has_duplicates() && rx.sack_due(Time::ZERO));
    let expected = Sack {
        nr: false,
        dac: 0,
        cumulative: 1,
        a_rwnd: (1 << 20) - 9,
        renegable: vec![(2, 3), (6, 6)],
        non_renegable: vec![],
        duplicates: vec![3],
    };
    assert_eq!(sack(&mut rx), expected);
    assert!(!rx.sack_pending() && !rx.has_duplicates());
    assert_eq!(sack(&mut rx), Sack { duplicates: vec![], ..expected });
    assert_eq!((rx.out_of_order(), rx.held()), (4, 9));
}

#[test]
fn nr_sack_delivered_tells_delivered_from_waiting() {
    let mut rx = receiver(false, NrSack::Delivered);
    receive(&mut rx, data(3, 2, b"waits"));
    receive(&mut rx, on_stream(data(4, 0, b"goes"), 1));
    receive(&mut rx, flagged(data(5, 0, b"goes"), "BEU"));
    receive(&mut rx, flagged(on_stream(data(6, 1, b"half"), 1), "B"));
    let s = sack(&mut rx);
    assert!(s.nr);
    assert_eq!((s.renegable, s.non_renegable), (vec![(2, 2), (5, 5)], vec![(3, 4)]));
    receive(&mut rx, flagged(on_stream(data(7, 1, b"half"), 1), "E"));
    let s = sack(&mut rx);
    assert_eq!((s.renegable, s.non_renegable), (vec![(2, 2)], vec![(3, 6)]));
    receive(&mut rx, data(2, 1, b"fills"));
    let s = sack(&mut rx);
    assert_eq!((s.cumulative, s.renegable, s.non_renegable), (7, vec![], vec![]));
}

#[test]
fn nr_sack_received_reports_all_as_non_renegable() {
    let mut rx = receiver(true, NrSack::Received);
    packet(&mut rx, &[data(3, 2, b"waits"), data(5, 4, b"waits")]);
    let s = sack(&mut rx);
    assert_eq!(
        (s.nr, s.dac, s.renegable, s.non_renegable),
        (true, 1, vec![], vec![(2, 2), (4, 4)])
    );
}

#[test]
fn a_sack_shrinks_to_what_fits_duplicates_first_then_the_highest_tsns() {
    for nr in [NrSack::Off, NrSack::Delivered, NrSack::Received] {
        let fixed = 12 + if nr == NrSack::Off { 16 } else { 20 };
        let mut rx = receiver(false, nr);
        for tsn in (3..43).step_by(2) {
            // Every other one is delivered at once.
            let chunk = data(tsn, (tsn - 1) as u16, b"x");
            receive(&mut rx, if tsn % 4 == 1 { flagged(chunk, "BEU") } else { chunk });
        }
        (0..5).for_each(|_| _ = receive(&mut rx, data(1, 0, b"again")));
        assert_eq!(sack_within(&mut rx.clone(), fixed - 4), None);
        for room in 0..=25 {
            let s = sack_within(&mut rx.clone(), fixed + 4 * room + 3).unwrap();
            let mut blocks = [s.renegable, s.non_renegable].concat();
            blocks.sort_unstable();
            let expected: Vec<_> = (1..=20).map(|i| (2 * i, 2 * i)).take(room).collect();
            assert_eq!(blocks, expected);
            assert_eq!(s.duplicates.len(), room.saturating_sub(20));
        }
    }
}

#[test]
fn the_answer_to_a_forward_tsn_that_comes_again_goes_where_it_came_from() {
    let mut rx = receiver(true, NrSack::Off);
    packet(&mut rx, &[data(1, 0, b"one")]);
    let mut forward = |path| rx.forward(Time::ZERO, PathId(path), Tsn(4), core::iter::empty());
    assert_eq!(forward(0), ForwardVerdict::Taken);
    sack(&mut rx);
    assert!(!rx.misses_sacks());
    // Its SACK was lost on the way that path 0 is.
    let mut forward = |path| rx.forward(Time::ZERO, PathId(path), Tsn(4), core::iter::empty());
    assert_eq!(forward(2), ForwardVerdict::Stale);
    assert!(rx.misses_sacks());
    assert_eq!((rx.last_data_path(), rx.round_robin_path()), (PathId(2), PathId(2)));
    sack(&mut rx);
    assert!(!rx.misses_sacks());
}

#[test]
fn a_sack_that_does_not_fit_changes_nothing() {
    let mut rx = receiver(true, NrSack::Off);
    packet(&mut rx, &[data(1, 0, b"again")]);
    assert_eq!(sack_within(&mut rx, 12 + 12), None);
    assert!(rx.sack_due(Time::ZERO) && rx.has_duplicates());
    assert_eq!(rx.stats().sacks, 1);
    assert_eq!(sack(&mut rx).dac, 1);
}

#[test]
fn gaps_force_sacks_without_dac_and_are_counted_with_dac() {
    for (dac, due) in [(false, [true, true, true]), (true, [false, true, false])] {
        let mut rx = receiver(dac, NrSack::Off);
        for (tsn, due) in [3, 5, 7].into_iter().zip(due) {
            receive(&mut rx, flagged(data(tsn, 0, b"x"), "BEU"));
            assert_eq!(rx.sack_due(Time::ZERO), due, "dac {dac}, tsn {tsn}");
            assert!(rx.sack_pending());
            if due {
                assert_eq!(sack(&mut rx).dac, if dac { 2 } else { 0 });
            }
        }
    }
}

#[test]
fn a_lone_packet_is_acknowledged_after_the_delay_or_on_request() {
    let mut rx = receiver(true, NrSack::Off);
    receive(&mut rx, data(2, 1, b"x"));
    assert_eq!(rx.sack_deadline(), Some(Time::from_millis(200)));
    assert!(!rx.sack_due(Time::from_millis(199)) && rx.sack_due(Time::from_millis(200)));
    rx.request_sack();
    assert!(rx.sack_due(Time::ZERO));
    sack(&mut rx);
    assert_eq!((rx.sack_deadline(), rx.sack_pending()), (None, false));
}

#[test]
fn paths_of_unacknowledged_data_are_known() {
    let mut rx = receiver(true, NrSack::Off);
    rx.data(Time::ZERO, PathId(2), &data(2, 1, b"x"));
    rx.data(Time::ZERO, PathId(1), &data(3, 2, b"x"));
    rx.packet_end(Time::ZERO);
    assert_eq!(rx.last_data_path(), PathId(1));
    assert_eq!(rx.data_paths().iter().collect::<Vec<_>>(), [PathId(1), PathId(2)]);
    assert_eq!(rx.round_robin_path(), PathId(1));
    rx.sack_sent_on(PathId(1), Time::ZERO, 20, (Duration::ZERO, Duration::ZERO), false);
    assert_eq!(rx.round_robin_path(), PathId(2));
    sack(&mut rx);
    assert!(rx.data_paths().is_empty());
}

#[test]
fn reading_a_quarter_of_the_buffer_asks_for_a_window_update() {
    let mut rx = Receiver::new(ReceiverSettings { buffer: 8_000, ..settings() }, Tsn(1));
    (0..4).for_each(|i| _ = receive(&mut rx, data(i + 1, i as u16, &[0; 1_000])));
    assert_eq!(sack(&mut rx).a_rwnd, 4_000);
    rx.recv(RecvFrom::Any);
    assert!(!rx.sack_pending());
    rx.recv(RecvFrom::Any);
    assert!(rx.sack_due(Time::ZERO));
    assert_eq!(sack(&mut rx).a_rwnd, 6_000);
}

#[test]
fn every_probe_of_a_closed_window_is_answered_and_its_opening_is_told() {
    let mut rx = Receiver::new(ReceiverSettings { buffer: 3_000, ..settings() }, Tsn(1));
    (0..3).for_each(|i| _ = receive(&mut rx, data(i + 1, i as u16, &[0; 1_000])));
    assert_eq!(sack(&mut rx).a_rwnd, 0);
    for _ in 0..3 {
        assert_eq!(receive(&mut rx, data(4, 3, &[0; 1_000])), DataVerdict::NoRoom);
        assert!(rx.sack_due(Time::ZERO));
        let s = sack(&mut rx);
        assert_eq!((s.cumulative, s.a_rwnd, s.renegable.len()), (3, 0, 0));
    }
    rx.recv(RecvFrom::Any);
    assert!(rx.sack_due(Time::ZERO), "a quarter was freed");
    assert_eq!(sack(&mut rx).a_rwnd, 1_000);
    assert_eq!(receive(&mut rx, data(4, 3, &[0; 1_000])), DataVerdict::New);
}

#[test]
fn what_is_too_far_ahead_is_dropped_and_answered() {
    let mut rx = receiver(true, NrSack::Off);
    assert_eq!(receive(&mut rx, data(65_537, 1, b"x")), DataVerdict::OutOfRange);
    assert!(rx.sack_due(Time::ZERO));
    assert_eq!(sack(&mut rx).renegable, []);
    assert_eq!(receive(&mut rx, flagged(data(65_536, 1, b"x"), "BEU")), DataVerdict::New);
    assert_eq!(sack(&mut rx).renegable, [(65_535, 65_535)]);
}

#[test]
fn a_sack_reports_so_many_blocks_at_most_the_lowest_first() {
    for (kind, most) in
        [(NrSack::Off, 3), (NrSack::Received, 3), (NrSack::Delivered, 3), (NrSack::Off, 0)]
    {
        let sack_config = SackConfig { max_gap_blocks: Some(most), ..SackConfig::default() };
        let settings = ReceiverSettings { sack: sack_config, nr_sack: kind, ..settings() };
        let mut rx = Receiver::new(settings, Tsn(1));
        // Every second one is missing; of those that came every second one can be delivered.
        for tsn in (2..=20).step_by(2) {
            let flags = if tsn % 4 == 0 { "BEU" } else { "BE" };
            receive(&mut rx, flagged(data(tsn, 1, b"x"), flags));
        }
        texts(&mut rx);
        let sack = sack(&mut rx);
        let mut blocks = [sack.renegable, sack.non_renegable].concat();
        blocks.sort_unstable();
        let lowest = [(2, 2), (4, 4), (6, 6)];
        assert_eq!(blocks, lowest[..most.into()], "{kind:?}");
    }
}

fn thinning_receiver() -> Receiver {
    let nr_sack = NrSack::Received;
    let thinned = ReceiverSettings { dac: true, nr_sack, thins_sacks: true, ..settings() };
    let mut rx = Receiver::new(thinned, Tsn(1));
    receive(&mut rx, data(1, 0, b"first"));
    sack(&mut rx);
    rx
}

#[test]
fn a_thinned_sack_leaves_out_what_three_have_told_until_one_tells_all() {
    let mut rx = thinning_receiver();
    receive(&mut rx, data(3, 2, b"early"));
    for told in 0..3u16 {
        receive(&mut rx, data(10 + 2 * u32::from(told), 9 + told, b"late"));
        assert_eq!(sack(&mut rx).non_renegable.first(), Some(&(2, 2)), "{told}");
    }
    assert_eq!(sack(&mut rx).non_renegable, [(11, 11), (13, 13)]);
    let all = [(2, 2), (9, 9), (11, 11), (13, 13)];
    let told_all = (0..8).filter(|_| sack(&mut rx).non_renegable == all).count();
    assert_eq!(told_all, 0, "their bytes were not paid for");
    receive(&mut rx, data(30, 20, &[0; 1452]));
    receive(&mut rx, data(32, 21, &[0; 1452]));
    assert_eq!(sack(&mut rx).non_renegable.len(), all.len() + 2);
}

#[test]
fn a_thinned_sack_that_answers_duplicates_tells_all() {
    let mut rx = thinning_receiver();
    receive(&mut rx, data(3, 2, b"early"));
    (0..4).for_each(|_| _ = sack(&mut rx));
    assert!(sack(&mut rx).non_renegable.is_empty());
    receive(&mut rx, data(3, 2, b"early"));
    assert_eq!(sack(&mut rx).non_renegable, [(2, 2)]);
}

#[test]
fn thinned_sacks_keep_their_distance_but_not_from_what_is_urgent() {
    let mut rx = thinning_receiver();
    let trip = Duration::from_millis(80);
    rx.sack_sent_on(PathId(0), Time::ZERO, 20, (trip, trip), true);
    receive(&mut rx, data(2, 1, b"x"));
    receive(&mut rx, data(3, 2, b"x"));
    assert!(!rx.sack_due(Time::from_millis(9)), "the second packet alone is no reason");
    let due = rx.sack_deadline().unwrap();
    assert!(due <= Time::from_millis(20) && rx.sack_due(due));
    receive(&mut rx, flagged(data(4, 3, b"x"), "BEI"));
    assert!(rx.sack_due(Time::ZERO));
}

#[test]
fn without_a_queue_sacks_keep_hardly_any_distance() {
    let mut rx = thinning_receiver();
    let trip = Duration::from_millis(128);
    rx.sack_sent_on(PathId(0), Time::ZERO, 20, (trip, trip), false);
    receive(&mut rx, data(2, 1, b"x"));
    receive(&mut rx, data(3, 2, b"x"));
    assert!(!rx.sack_due(Time::ZERO));
    assert_eq!(rx.sack_deadline(), Some(Time::from_millis(1)));
}
