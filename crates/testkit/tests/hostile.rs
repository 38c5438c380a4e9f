//! What hostile packets may and may not do to an association (RFC 9260 sections 8.5 and 12.4, RFC
//! 5062).

use std::collections::VecDeque;

use polypath_proto::config::{AssocConfig, EndpointConfig, NrSack};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{CloseReason, Endpoint, Event, RecvFrom, State};
use polypath_testkit::packet::{PacketBuilder, reseal_checksum};
use polypath_testkit::scripted_peer::{
    PORTS, ScriptedPeer, abort_cause, count_chunks, data_tsns, drain_packets, show_packets,
};
use polypath_testkit::world::{HostId, address, tuple};
use polypath_wire::chunk::kind;
use polypath_wire::{
    AbortChunk, Causes, CausesBuf, DataChunk, DataFlags, GapBlock, HeartbeatRepr, NrSackRepr,
    Parameter, ParamsBuf, SackRepr, ShutdownChunk, Tsn,
};
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

fn scripted_peer() -> ScriptedPeer {
    ScriptedPeer::connect(quiet(), 1)
}

/// No heartbeats, so that whatever is sent is an answer.
fn quiet() -> AssocConfig {
    AssocConfig { heartbeat_interval: None, ..AssocConfig::default() }
}

fn sack(cumulative_tsn: Tsn, a_rwnd: u32, gap_blocks: &[GapBlock]) -> SackRepr<'_> {
    SackRepr { flags: 0, cumulative_tsn, a_rwnd, gap_blocks, duplicates: &[] }
}

fn no_causes() -> CausesBuf {
    CausesBuf::new()
}

fn abort(causes: Causes<'_>, reflected: bool) -> AbortChunk<'_> {
    AbortChunk { reflected, causes }
}

fn cwnd(p: &mut ScriptedPeer) -> u64 {
    let now = p.now;
    p.assoc().view(now).paths[0].cwnd
}

fn is_well(p: &mut ScriptedPeer) -> bool {
    let data = p.data(9, 0, b"still there?");
    let answers = p.send_chunk(&data);
    let late = p.advance_time(SECOND);
    let acked = count_chunks(&answers, kind::SACK) + count_chunks(&late, kind::SACK);
    p.assoc().state() == State::Established && acked == 1
}

#[test]
fn acknowledging_what_was_never_sent_ends_in_abort_13() {
    let gap = [GapBlock { start: 2, end: 9 }];
    for (name, beyond, gaps) in [("cum", 5, &[][..]), ("gap", 0, &gap[..])] {
        let mut p = scripted_peer();
        p.make_it_send(100);
        let cum = p.victim_tsn.prev().add(beyond);
        let answers = p.send_chunk(&sack(cum, 1 << 20, gaps));
        assert_eq!(abort_cause(&answers), Some(13), "{name}: {}", show_packets(&answers));
        let end = Event::Closed(CloseReason::ProtocolViolation { cause: 13 });
        assert!(p.events.contains(&end), "{name}: {:?}", p.events);
    }
}

#[test]
fn an_nr_sack_for_what_was_never_sent_ends_in_abort_13() {
    let mut config = quiet();
    config.cmt.nr_sack = NrSack::Delivered;
    let params: ParamsBuf =
        [Parameter::SupportedExtensions(&[kind::NR_SACK])].into_iter().collect();
    let mut p = ScriptedPeer::connect_with(config, 1, params);
    p.make_it_send(100);
    let lie = NrSackRepr {
        flags: 0,
        cumulative_tsn: p.victim_tsn.prev(),
        a_rwnd: 1 << 20,
        gap_blocks: &[],
        nr_gap_blocks: &[GapBlock { start: 2, end: 9 }],
        duplicates: &[],
    };
    let answers = p.send_chunk(&lie);
    assert_eq!(abort_cause(&answers), Some(13), "{}", show_packets(&answers));
}

#[test]
fn a_shutdown_for_what_was_never_sent_ends_in_abort_13_while_data_is_under_way() {
    let mut p = scripted_peer();
    p.make_it_send(100);
    let cumulative_tsn = p.victim_tsn.add(5);
    let answers = p.send_chunk(&ShutdownChunk { cumulative_tsn });
    assert_eq!(abort_cause(&answers), Some(13), "{}", show_packets(&answers));
}

#[test]
fn an_unnegotiated_nr_sack_stops_the_packet() {
    let mut p = scripted_peer();
    p.make_it_send(100);
    let lie = NrSackRepr {
        flags: 0,
        cumulative_tsn: p.victim_tsn,
        a_rwnd: 1 << 20,
        gap_blocks: &[],
        nr_gap_blocks: &[],
        duplicates: &[],
    };
    let packet = p.packet().push_chunk(&lie).push_chunk(&HeartbeatRepr { info: b"x" }).build();
    assert!(p.deliver_packet(&packet).is_empty());
    let now = p.now;
    assert!(p.assoc().view(now).outstanding > 0, "it acknowledged nothing");
}

#[test]
fn data_without_user_data_ends_in_abort_9() {
    let mut p = scripted_peer();
    let empty = p.data(0, 0, b"");
    let answers = p.send_chunk(&empty);
    assert_eq!(abort_cause(&answers), Some(9), "{}", show_packets(&answers));
}

#[test]
fn malformed_gap_blocks_do_no_harm() {
    let blocks = [
        ([GapBlock { start: 1, end: 1 }, GapBlock { start: 3, end: 2 }], 2),
        ([GapBlock { start: 0, end: 0 }, GapBlock { start: 2, end: 2 }], 1),
        ([GapBlock { start: 4, end: 5 }, GapBlock { start: 2, end: 3 }], 0),
        ([GapBlock { start: 2, end: 5 }, GapBlock { start: 3, end: 4 }], 0),
    ];
    for (gaps, impossible) in blocks {
        let mut p = scripted_peer();
        let sent =
            [(); 2].map(|()| data_tsns(&p.make_it_send(4000)).len() as u32).iter().sum::<u32>();
        let cum = p.victim_tsn.prev();
        let answers = p.send_chunk(&sack(cum, 1 << 20, &gaps));
        // Those that cannot be true are counted and passed over; those that name what was never
        // sent are a violation.
        let state = p.assoc().state();
        let sent_all = gaps.iter().all(|gap| u32::from(gap.end) <= sent);
        assert_eq!(abort_cause(&answers), (!sent_all).then_some(13), "{gaps:?}");
        if sent_all {
            assert_eq!(state, State::Established);
            assert_eq!(p.assoc().stats().impossible_gap_blocks, impossible, "{gaps:?}");
        }
    }
}

#[test]
fn as_many_gap_blocks_as_fit_are_borne() {
    let mut p = scripted_peer();
    for _ in 0..20 {
        p.make_it_send(1400);
    }
    let blocks: Vec<_> = (0..16_000).map(|_| GapBlock { start: 2, end: 2 }).collect();
    let cum = p.victim_tsn.prev();
    for _ in 0..20 {
        p.send_chunk(&sack(cum, 1 << 20, &blocks));
    }
    let now = p.now;
    let outstanding = p.assoc().view(now).outstanding;
    assert!(p.assoc().state() == State::Closed || outstanding > 0);
}

#[test]
fn counts_and_lengths_that_lie_are_dropped() {
    let mut p = scripted_peer();
    p.make_it_send(100);
    let cum = p.victim_tsn.0.to_be_bytes();
    // 65535 gap blocks, and no room for one.
    let mut value = [cum, [0, 0, 255, 255]].concat();
    value.extend_from_slice(&[255, 255, 0, 0]);
    let lies = [
        p.packet().push_raw(kind::SACK, 0, &value).build(),
        p.packet().push_raw(kind::SACK, 0, &value[..7]).build(),
        p.packet().push_lying(kind::DATA, 3, 0, &[0; 20]).build(),
        p.packet().push_lying(kind::DATA, 3, 3, &[0; 20]).build(),
        p.packet().push_lying(kind::DATA, 3, 60_000, &[0; 20]).build(),
        p.packet().push_raw(kind::DATA, 3, &[0; 8]).build(),
        p.packet().push_raw(kind::HEARTBEAT, 0, &[0, 1, 255, 255, 1, 2, 3, 4]).build(),
        p.packet().push_raw(kind::SHUTDOWN, 0, &[1]).build(),
        p.packet().push_raw(kind::ERROR, 0, &[0, 6, 255, 255]).build(),
        p.packet().build(),
    ];
    for lie in lies {
        let answers = p.deliver_packet(&lie);
        assert!(answers.is_empty(), "{}: {}", show_packets(&[lie]), show_packets(&answers));
    }
    let now = p.now;
    assert!(p.assoc().view(now).outstanding > 0, "no lie acknowledged anything");
    assert!(is_well(&mut p));
}

#[test]
fn unknown_chunks_do_as_their_top_bits_say() {
    // (type, the chunks behind it are processed, it is reported)
    for (unknown, goes_on, reported) in
        [(0x2a, false, false), (0x6a, false, true), (0xaa, true, false), (0xea, true, true)]
    {
        let mut p = scripted_peer();
        let data = p.data(0, 0, b"behind");
        let packet = p.packet().push_raw(unknown, 0, b"????").push_chunk(&data).build();
        let answers = p.deliver_packet(&packet);
        let acked = count_chunks(&answers, kind::SACK) > 0;
        let error = count_chunks(&answers, kind::ERROR) > 0;
        assert_eq!((acked, error), (goes_on, reported), "{unknown:#x}: {}", show_packets(&answers));
        assert!(answers.len() <= 2, "{}", show_packets(&answers));
    }
}

#[test]
fn ecne_and_cwr_stop_the_packet() {
    for reserved in [12, 13] {
        let mut p = scripted_peer();
        let data = p.data(0, 0, b"behind");
        let packet = p.packet().push_raw(reserved, 0, &[0; 4]).push_chunk(&data).build();
        assert!(p.deliver_packet(&packet).is_empty());
    }
}

#[test]
fn many_requests_in_one_packet_get_one_answer() {
    let mut p = scripted_peer();
    let heartbeats =
        (0..40).fold(p.packet(), |b, _| b.push_chunk(&HeartbeatRepr { info: &[1; 12] }));
    let answers = p.deliver_packet(&heartbeats.build());
    assert_eq!((answers.len(), count_chunks(&answers, kind::HEARTBEAT_ACK)), (1, 1));
    let unknown = (0..200).fold(p.packet(), |b, _| b.push_raw(0xea, 0, &[]));
    let request = unknown.build();
    let answers = p.deliver_packet(&request);
    assert_eq!(answers.len(), 1, "{}", show_packets(&answers));
    assert!(answers[0].len() <= request.len(), "the storm is not amplified");
}

#[test]
fn blind_packets_with_a_wrong_tag_change_nothing() {
    let mut p = scripted_peer();
    let (wrong, own, cum) = (p.tag ^ 1, p.own_tag, p.victim_tsn.prev());
    let causes = no_causes();
    let data = p.data(0, 0, b"blind");
    p.tsn = data.tsn;
    let builder = |tag| PacketBuilder::new(PORTS.0, PORTS.1, tag);
    let blind = [
        builder(wrong).push_chunk(&abort(causes.as_causes(), false)).build(),
        builder(wrong).push_chunk(&abort(causes.as_causes(), true)).build(),
        builder(own).push_chunk(&abort(causes.as_causes(), false)).build(),
        builder(0).push_chunk(&abort(causes.as_causes(), true)).build(),
        builder(wrong).push_chunk(&data).build(),
        builder(wrong).push_chunk(&ShutdownChunk { cumulative_tsn: cum }).build(),
        builder(wrong).push_chunk(&sack(cum.add(100), 0, &[])).build(),
        builder(own).push_raw(kind::SHUTDOWN_COMPLETE, 1, &[]).build(),
    ];
    for packet in blind {
        let answers = p.deliver_packet(&packet);
        assert!(answers.is_empty(), "{}", show_packets(&answers));
        assert_eq!(p.assoc().state(), State::Established, "{}", show_packets(&[packet]));
    }
    assert!(is_well(&mut p));
}

#[test]
fn a_blind_abort_with_tag_0_does_not_end_a_set_up() {
    let config = EndpointConfig {
        port: PORTS.1,
        addresses: vec![address(HostId::SERVER, 0)],
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(config, Rng::from_u64(1));
    let path = tuple(HostId::SERVER, 0);
    let handle = endpoint
        .connect(Time::ZERO, &[path], PORTS.0, AssocConfig::default().into())
        .expect("nothing speaks against it");
    drain_packets(&mut endpoint, Time::ZERO);
    let causes = no_causes();
    for reflected in [false, true] {
        let packet = PacketBuilder::new(PORTS.0, PORTS.1, 0)
            .push_chunk(&abort(causes.as_causes(), reflected))
            .build();
        endpoint.handle_datagram(Time::ZERO, path, &packet);
        let state = endpoint.association(handle).map(polypath_proto::Association::state);
        assert_eq!(state, Some(State::CookieWait), "T = {reflected}");
    }
}

#[test]
fn a_replayed_cookie_echo_is_acknowledged_and_changes_nothing() {
    let mut p = scripted_peer();
    let first = p.data(0, 0, b"before");
    p.send_chunk(&first);
    let echo = p.cookie_echo.clone();
    let answers = p.deliver_packet(&echo);
    assert_eq!(count_chunks(&answers, kind::COOKIE_ACK), 1, "{}", show_packets(&answers));
    assert_eq!(p.victim.associations().count(), 1);
    assert!(!p.events.contains(&Event::Restarted));
    assert!(is_well(&mut p), "the TSNs go on");
    // With a changed port or tag it belongs to nobody.
    for at in [1, 7] {
        let mut forged = echo.clone();
        forged[at] ^= 1;
        reseal_checksum(&mut forged);
        p.deliver_packet(&forged);
        assert_eq!(p.victim.associations().count(), 1);
    }
}

#[test]
fn a_message_that_never_ends_is_bounded() {
    let config = AssocConfig { receive_buffer: 64 << 10, ..quiet() };
    let mut p = ScriptedPeer::connect(config, 1);
    let payload = [1; 1400];
    for i in 0..2000_u32 {
        let flags = DataFlags { beginning: i == 0, ..DataFlags::default() };
        let data = DataChunk { flags, ..p.data(0, 0, &payload) };
        p.send_chunk(&data);
        let (held, _) = p.assoc().receive_buffer();
        assert!(held <= (64 << 10) + 1400, "{held} bytes held");
        if p.assoc().state() == State::Closed {
            return;
        }
    }
    let (_, out_of_order) = p.assoc().receive_buffer();
    assert_eq!(out_of_order, 0, "the window is closed");
}

#[test]
fn tiny_chunks_out_of_order_are_bounded() {
    let config = AssocConfig { receive_buffer: 16 << 10, ..quiet() };
    let mut p = ScriptedPeer::connect(config, 1);
    p.tsn = p.tsn.next();
    for i in 0..60_000_u16 {
        // Every other TSN, one byte each: as many gaps and as much bookkeeping as can be.
        let tiny = p.data(i % 16, i / 16, b"x");
        p.tsn = p.tsn.next();
        p.send_chunk(&tiny);
    }
    let (held, _) = p.assoc().receive_buffer();
    assert!(held <= 16 << 10, "{held} bytes held");
}

/// The window stays shut for 20,000 s; of the probes those are answered whose number `answered`
/// says. Gives how many there were.
fn shut_for_hours(p: &mut ScriptedPeer, answered: impl Fn(usize) -> bool) -> usize {
    let first = p.make_it_send(50_000);
    let mut cum = *data_tsns(&first).last().expect("it sends");
    p.send_chunk(&sack(cum, 0, &[]));
    let mut probes = 0;
    for _ in 0..2000 {
        // It may believe in what was in flight when the window closed; from then on only probes are
        // due.
        let sent = p.advance_time(10 * SECOND);
        let seen = data_tsns(&sent);
        assert!(seen.len() <= 20, "{}", show_packets(&sent));
        probes += usize::from(!seen.is_empty());
        cum = if probes < 3 { seen.last().copied().unwrap_or(cum) } else { cum };
        if answered(probes) {
            let answers = p.send_chunk(&sack(cum, 0, &[]));
            assert!(
                data_tsns(&answers).is_empty(),
                "the window is closed: {}",
                show_packets(&answers)
            );
        }
    }
    probes
}

#[test]
fn a_window_that_stays_closed_is_probed_for_ever() {
    let mut p = scripted_peer();
    let probes = shut_for_hours(&mut p, |_| true);
    assert_eq!(p.assoc().state(), State::Established, "a peer that answers is not given up");
    assert!(probes > 50, "{probes} probes in 20000 s");
}

#[test]
fn probes_of_a_closed_window_that_are_lost_now_and_then_do_not_add_up() {
    let mut p = scripted_peer();
    // RFC 9260 section 6.1 A: who answers at all is there.
    let probes = shut_for_hours(&mut p, |probe| probe % 3 != 0);
    assert_eq!(p.assoc().state(), State::Established, "after {probes} probes");
    assert!(probes > 50, "{probes} probes in 20000 s");
}

#[test]
fn a_closed_window_without_answers_ends_the_association() {
    let mut p = scripted_peer();
    let first = p.make_it_send(50_000);
    let cum = *data_tsns(&first).last().expect("it sends");
    p.send_chunk(&sack(cum, 0, &[]));
    p.advance_time(3600 * SECOND);
    assert!(p.events.contains(&Event::Closed(CloseReason::Unreachable)), "{:?}", p.events);
}

#[test]
fn split_and_repeated_acks_earn_no_more_than_they_acknowledge() {
    let mut p = scripted_peer();
    let start = cwnd(&mut p);
    let mut sent = VecDeque::from(data_tsns(&p.make_it_send(1 << 20)));
    let mut acked = 0;
    while let Some(cum) = sent.pop_front().filter(|_| acked < 500_000) {
        // Windows count DATA chunks with their headers.
        acked += 1468;
        // Every chunk is acknowledged by itself, three times over.
        for _ in 0..3 {
            let answers = p.send_chunk(&sack(cum, 1 << 20, &[]));
            sent.extend(data_tsns(&answers));
        }
        let cwnd = cwnd(&mut p);
        assert!(cwnd <= start + acked + 1500, "cwnd {cwnd} after {acked} bytes");
    }
    assert!(acked >= 500_000, "the transfer went on: {acked} bytes");
}

#[test]
fn reneging_for_ever_neither_stops_nor_swells_the_sender() {
    let mut p = scripted_peer();
    let sent = data_tsns(&p.make_it_send(60_000));
    let cum = p.victim_tsn.prev();
    let last = sent.last().expect("it sends").distance(cum) as u16;
    assert!(last >= 2, "more than one chunk is in flight");
    for round in 0..1000 {
        let gap = [GapBlock { start: 2, end: last }];
        let gaps = if round % 2 == 0 { &gap[..] } else { &[] };
        p.send_chunk(&sack(cum, 1 << 20, gaps));
        let now = p.now;
        let view = p.assoc().view(now);
        assert!(view.send_buffer.used == 60_000, "nothing may leave the buffer");
        let cwnd = view.paths[0].cwnd;
        assert!(cwnd <= 60_000, "cwnd {cwnd} grows by reneging");
    }
    assert_eq!(p.assoc().state(), State::Established);
}

#[test]
fn tsns_far_outside_the_window_are_dropped() {
    let mut p = scripted_peer();
    for ahead in [65_536, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, u32::MAX - 1] {
        let here = p.tsn;
        let far = DataChunk { tsn: here.add(ahead), ..p.data(0, 0, b"far") };
        p.tsn = here;
        p.send_chunk(&far);
        let (held, _) = p.assoc().receive_buffer();
        assert_eq!(held, 0, "{ahead} ahead");
    }
    assert!(is_well(&mut p));
}

#[test]
fn tsns_and_ssns_wrap_around() {
    for start in [u32::MAX - 20, u32::MAX, 0] {
        let mut p = ScriptedPeer::connect_from(quiet(), 1, ParamsBuf::new(), Tsn(start));
        for i in 0..66_000_u32 {
            let payload = i.to_be_bytes();
            // Pairs arrive the wrong way round, so that the wrap meets a gap.
            let (one, two) =
                (p.data(3, (2 * i) as u16, &payload), p.data(3, (2 * i + 1) as u16, &payload));
            p.send_chunk(&two);
            p.send_chunk(&one);
            let now = p.now;
            for _ in 0..2 {
                let message = p.assoc().recv(now, RecvFrom::Any).expect("both are complete");
                assert_eq!(message.data, payload[..], "message {i} from {start}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_dropped(mut noise in prop::collection::vec(any::<u8>(), 0..300), seal: bool) {
        let mut p = scripted_peer();
        if seal {
            reseal_checksum(&mut noise);
        }
        let answers = p.deliver_packet(&noise);
        prop_assert!(answers.len() <= 1);
        prop_assert!(is_well(&mut p));
    }

    #[test]
    fn random_chunks_behind_the_right_tag_do_no_harm(
        chunks in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u16>(), prop::collection::vec(any::<u8>(), 0..80)), 1..6),
    ) {
        let mut p = scripted_peer();
        p.make_it_send(3000);
        let build = |b: PacketBuilder, (kind, flags, length, value): &(u8, u8, u16, Vec<u8>)| {
            // Half of the lengths tell the truth.
            if length % 2 == 0 {
                    b.push_raw(*kind, *flags, value)
                } else {
                    b.push_lying(*kind, *flags, *length, value)
                }
        };
        let packet = chunks.iter().fold(p.packet(), build).build();
        for _ in 0..3 {
            p.deliver_packet(&packet);
            p.advance_time(SECOND);
        }
        let now = p.now;
        let assoc = p.assoc();
        prop_assert_eq!(polypath_testkit::invariants::check_books(assoc, &quiet(), now), Ok(()));
    }

    #[test]
    fn truncated_packets_do_no_harm(keep in 0_usize..120, seal: bool) {
        let mut p = scripted_peer();
        let (one, two) = (p.data(0, 0, &[1; 40]), p.data(0, 1, &[2; 40]));
        let mut packet = p.packet().push_chunk(&one).push_chunk(&two).build();
        packet.truncate(keep);
        if seal {
            reseal_checksum(&mut packet);
        }
        p.deliver_packet(&packet);
        p.tsn = one.tsn;
        let whole = p.packet().push_chunk(&one).push_chunk(&two).build();
        p.tsn = two.tsn.next();
        p.deliver_packet(&whole);
        let now = p.now;
        let mut got = Vec::new();
        while let Some(message) = p.assoc().recv(now, RecvFrom::Any) {
            got.push(message.data);
        }
        prop_assert_eq!(got, [vec![1; 40], vec![2; 40]]);
    }
}
