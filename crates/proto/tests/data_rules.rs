//! Sending and acknowledging, rule by rule (RFC 9260 section 6), seen from outside; what needs no
//! association is shown in `src/tx` and `src/rx`.

use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, CcConfig, RecoveryConfig, Rescheduling};
use polypath_proto::ids::{PathId, StreamId};
use polypath_proto::policy::{
    PathPick, PathScheduler, Policy, PolicyFactory, PolicySet, RetransmissionPolicy, RtxPick,
};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, ChunkMeta, RtxMeta};
use polypath_proto::{Association, SendError, SendOptions, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;
use polypath_wire::{
    ChecksumCheck, Chunk, DataChunk, DataFlags, GapBlock, PacketView, SackRepr, Ssn, Tsn,
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// Payload of the largest chunk: 1500 less IP, common and DATA header.
pub(crate) const AMDCS_PAYLOAD: usize = 1500 - 20 - 12 - 16;

/// One DATA chunk as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    at: Time,
    pub(crate) tsn: u32,
    ssn: u16,
    ppid: u32,
    flags: DataFlags,
    len: usize,
}

fn chunks(packet: &Packet) -> Vec<Seen> {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
    let seen = view.chunks().filter_map(|raw| match raw.unwrap().decode() {
        Ok(Chunk::Data(d)) => Some(Seen {
            at: packet.at,
            tsn: d.tsn.0,
            ssn: d.ssn.0,
            ppid: d.ppid,
            flags: d.flags,
            len: d.payload.len(),
        }),
        _ => None,
    });
    seen.collect()
}

pub(crate) fn sent(packets: &[Packet]) -> Vec<Seen> {
    packets.iter().flat_map(chunks).collect()
}

/// A client over one path, whose server only the test plays from here on.
pub(crate) struct Solo {
    pub(crate) pair: Pair,
    tag: u32,
    /// The client's first TSN.
    first: u32,
}

impl Solo {
    pub(crate) fn new(config: AssocConfig) -> Self {
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &[]), endpoint(SERVER_PORT, &[]));
        let path = [client_paths()[0]];
        pair.client.endpoint.connect(pair.now, &path, SERVER_PORT, config.into()).unwrap();
        pair.run_for(SECOND);
        let init = &pair.log[0];
        let tag = read_init(init);
        let first = u32::from_be_bytes(init.data[28..32].try_into().unwrap());
        pair.lose_packets(|_| Verdict::Lose);
        Self { pair, tag, first }
    }

    pub(crate) fn assoc(&mut self) -> &mut Association {
        let h = self.pair.client.handle();
        self.pair.client.endpoint.association_mut(h).unwrap()
    }

    /// Hands in messages; gives what goes out at once.
    pub(crate) fn send(&mut self, count: usize, bytes: usize, options: SendOptions) -> Vec<Seen> {
        let (now, before) = (self.pair.now, self.pair.log.len());
        for _ in 0..count {
            let data = Bytes::from(vec![5; bytes]);
            self.assoc().send(now, StreamId(0), data, options).unwrap();
        }
        self.pair.exchange_packets();
        sent(self.pair.sent_since(before))
    }

    /// The server acknowledges the first `cum` chunks and these ranges; gives what goes out at
    /// once.
    pub(crate) fn sack(&mut self, cum: u32, a_rwnd: u32, gaps: &[(u16, u16)]) -> Vec<Seen> {
        let before = self.pair.log.len();
        let cumulative_tsn = Tsn(self.first.wrapping_add(cum).wrapping_sub(1));
        let blocks: Vec<_> = gaps.iter().map(|&(start, end)| GapBlock { start, end }).collect();
        let sack =
            SackRepr { flags: 0, cumulative_tsn, a_rwnd, gap_blocks: &blocks, duplicates: &[] };
        let packet = to_client(self.tag, &[&chunk(sack)]);
        self.pair.inject_packet(Way::ToClient, client_paths()[0], &packet);
        sent(self.pair.sent_since(before))
    }

    /// What goes out within `span`.
    pub(crate) fn run(&mut self, span: Duration) -> Vec<Seen> {
        let before = self.pair.log.len();
        self.pair.run_for(span);
        sent(self.pair.sent_since(before))
    }

    /// The number of a chunk, counted from 1.
    pub(crate) fn number(&self, chunk: &Seen) -> u32 {
        chunk.tsn.wrapping_sub(self.first) + 1
    }
}

pub(crate) fn no_burst_limit() -> AssocConfig {
    AssocConfig { max_burst: None, ..AssocConfig::default() }
}

#[test]
fn messages_are_cut_at_the_largest_chunk_and_arrive_whole() {
    for unordered in [false, true] {
        for bytes in
            [1, AMDCS_PAYLOAD - 1, AMDCS_PAYLOAD, AMDCS_PAYLOAD + 1, 65_535, 65_536, 65_537]
        {
            let mut pair = Pair::connected();
            let (now, before) = (pair.now, pair.log.len());
            let h = pair.client.handle();
            let assoc = pair.client.endpoint.association_mut(h).unwrap();
            let data = Bytes::from((0..bytes).map(|i| i as u8).collect::<Vec<_>>());
            let options = SendOptions { unordered, ppid: 0xfeed, ..SendOptions::default() };
            assoc.send(now, StreamId(3), data.clone(), options).unwrap();
            pair.run_for(5 * SECOND);
            assert_eq!(pair.server.received.len(), 1, "{bytes}");
            assert_eq!(
                (&pair.server.received[0].data, pair.server.received[0].ppid),
                (&data, 0xfeed)
            );
            let mut pieces = sent(pair.sent_since(before));
            pieces.sort_by_key(|p| p.tsn);
            let count = bytes.div_ceil(AMDCS_PAYLOAD);
            assert_eq!(pieces.len(), count, "{bytes}");
            for (i, piece) in pieces.iter().enumerate() {
                assert_eq!(piece.tsn, pieces[0].tsn.wrapping_add(i as u32), "one after the other");
                assert_eq!((piece.ssn, piece.ppid), (0, 0xfeed), "the same in each");
                let expected = DataFlags {
                    unordered,
                    beginning: i == 0,
                    ending: i + 1 == count,
                    immediate: false,
                };
                assert_eq!(piece.flags, expected);
            }
            assert!(pair.sent_since(before).iter().all(|p| p.data.len() <= 1480));
        }
    }
}

#[test]
fn ssns_count_ordered_messages_of_a_stream_from_0() {
    let mut solo = Solo::new(no_burst_limit());
    let (ordered, unordered) =
        (SendOptions::default(), SendOptions { unordered: true, ..SendOptions::default() });
    let mut seen = Vec::new();
    for options in [ordered, unordered, ordered, unordered, ordered] {
        seen.extend(solo.send(1, 10, options));
    }
    let ssns: Vec<_> = seen.iter().filter(|c| !c.flags.unordered).map(|c| c.ssn).collect();
    assert_eq!(ssns, [0, 1, 2]);
    assert_eq!(seen.len(), 5);
}

#[test]
fn what_cannot_be_sent_is_refused_at_once() {
    let mut solo = Solo::new(AssocConfig::default());
    let now = solo.pair.now;
    let mut refuse = |stream, bytes| {
        let data = Bytes::from(vec![0; bytes]);
        solo.assoc().send(now, StreamId(stream), data, SendOptions::default()).unwrap_err()
    };
    let invalid = SendError::InvalidStream { stream: StreamId(10), streams: 10 };
    assert_eq!(refuse(10, 1), invalid);
    assert!(matches!(refuse(0, 0), SendError::BadSize { bytes: 0, .. }));
    assert!(matches!(refuse(0, (1 << 20) + 1), SendError::BadSize { .. }));
}

#[test]
fn a_full_window_takes_one_packet_more_and_then_none() {
    let mut solo = Solo::new(no_burst_limit());
    // cwnd is 4404 bytes; a chunk of 1016 makes a packet.
    let first = solo.send(20, 1000, SendOptions::default());
    assert_eq!(first.len(), 5, "4064 bytes leave room, 5080 do not");
    assert_eq!(solo.run(SECOND / 2).len(), 0);
    // Two acknowledged chunks of 2032 bytes, and slow start: 1468 at most.
    let next = solo.sack(2, 100_000, &[]);
    let outstanding = 1016 * (5 - 2 + next.len());
    let full = 4404 + 1468;
    assert!((full..full + 1468).contains(&outstanding), "{outstanding}");
}

#[test]
fn max_burst_limits_the_packets_of_one_attempt() {
    let mut solo = Solo::new(AssocConfig::default());
    let mut seen = solo.send(400, AMDCS_PAYLOAD, SendOptions::default()).len();
    for acked in 1..40 {
        seen += solo.sack(acked, 1 << 20, &[]).len();
    }
    let now = solo.pair.now;
    let cwnd = solo.assoc().view(now).paths[0].cwnd;
    assert!(cwnd > 8 * 1468, "{cwnd}");
    let burst = solo.sack(seen as u32, 1 << 20, &[]);
    assert_eq!(burst.len(), 4);
}

#[test]
fn a_window_too_small_for_the_next_chunk_is_closed() {
    let mut solo = Solo::new(no_burst_limit());
    let sent = solo.send(10, AMDCS_PAYLOAD, SendOptions::default()).len() as u32;
    // 1000 bytes could carry part of a chunk; none is made so small (silly window).
    assert_eq!(solo.sack(sent, 1000, &[]).len(), 0);
    // One that takes it opens it.
    assert_eq!(solo.sack(sent, AMDCS_PAYLOAD as u32, &[]).len(), 1);
}

#[test]
fn a_closed_window_is_probed_by_one_chunk_after_an_rto_and_ever_more_rarely() {
    let mut config = no_burst_limit();
    config.heartbeat_interval = None;
    let mut solo = Solo::new(config);
    let before = solo.send(10, AMDCS_PAYLOAD, SendOptions::default()).len() as u32;
    // What is in flight is not acknowledged: nothing is probed, T3-rtx is in charge.
    assert_eq!(solo.sack(before - 1, 0, &[]).len(), 0);
    assert_eq!(solo.run(SECOND / 2).len(), 0);
    assert_eq!(solo.sack(before, 0, &[]).len(), 0);
    let closed = solo.pair.now;
    let mut probes = Vec::new();
    while probes.len() < 4 {
        for probe in solo.run(SECOND / 10) {
            probes.push(probe.at);
            // The peer is there, but takes nothing.
            solo.sack(before, 0, &[]);
        }
    }
    let rto = SECOND;
    let first = probes[0] - closed;
    assert!(first >= rto && first <= rto * 12 / 10, "{first:?}");
    let waits: Vec<_> = probes.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(waits.windows(2).all(|w| w[1] > w[0] * 3 / 2), "{waits:?}");
    let now = solo.pair.now;
    assert_eq!(solo.assoc().view(now).paths[0].errors, 0);
    assert_eq!(solo.assoc().state(), State::Established);
}

/// RFC 9260 section 6.1 A: one chunk may always be in flight.
#[test]
fn a_window_that_no_chunk_fits_when_it_is_all_open_takes_one_chunk_at_a_time() {
    let mut server = endpoint(SERVER_PORT, &server_addresses());
    let small = AssocConfig { receive_buffer: 1_500, path_mtu: 9_000, ..AssocConfig::default() };
    server.assoc = Arc::new(small);
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    pair.connect_with(AssocConfig { path_mtu: 9_000, ..AssocConfig::default() });
    let h = pair.client.handle();
    for _ in 0..20 {
        let (now, data) = (pair.now, Bytes::from(vec![7; 2_500]));
        let assoc = pair.client.endpoint.association_mut(h).unwrap();
        assoc.send(now, StreamId(0), data, SendOptions::default()).unwrap();
    }
    pair.run_for(5 * SECOND);
    assert_eq!(pair.server.received.len(), 20);
}

#[test]
fn what_is_lost_goes_out_before_what_is_new() {
    let mut solo = Solo::new(no_burst_limit());
    solo.send(60, AMDCS_PAYLOAD, SendOptions::default());
    solo.sack(1, 1 << 20, &[]);
    solo.sack(2, 1 << 20, &[]);
    // The third is missing: three SACKs that report later ones make it lost.
    let mut answer = Vec::new();
    for end in 2..=4 {
        assert!(answer.iter().all(|c| solo.number(c) > 3), "not lost yet");
        answer = solo.sack(2, 1 << 20, &[(2, end)]);
    }
    assert_eq!(solo.number(&answer[0]), 3, "{answer:?}");
    assert!(answer[1..].iter().all(|c| solo.number(c) > 3));
}

/// RFC 9260 section 7.2.4: what a SACK acknowledges counts before what it shows to be lost. The
/// first packet of a fast retransmit then goes, although the window is full.
#[test]
fn a_sack_that_shows_a_loss_first_earns_what_it_acknowledges() {
    let mut config = no_burst_limit();
    config.reproduction.fast_retransmit_after = 1;
    let mut solo = Solo::new(config);
    solo.send(60, AMDCS_PAYLOAD, SendOptions::default());
    for cum in 1..=9 {
        solo.sack(cum, 1 << 20, &[]);
    }
    let window = |solo: &mut Solo| {
        let now = solo.pair.now;
        let view = solo.assoc().view(now).paths[0];
        (view.cwnd, view.outstanding)
    };
    let (before, _) = window(&mut solo);
    let answer = solo.sack(10, 1 << 20, &[(2, 2)]);
    let (after, outstanding) = window(&mut solo);
    assert_eq!(after, (before + 1468) / 2);
    assert!(outstanding > after, "{outstanding} in flight");
    assert_eq!(answer.iter().map(|c| solo.number(c)).collect::<Vec<_>>(), [11]);
}

#[test]
fn after_a_timeout_one_packet_alone_is_in_flight_until_something_is_acknowledged() {
    // Whole packets, and chunks of which many make one.
    for bytes in [AMDCS_PAYLOAD, 300] {
        let mut solo = Solo::new(no_burst_limit());
        solo.send(12, bytes, SendOptions::default());
        let before = solo.pair.log.len();
        solo.run(SECOND * 11 / 10);
        assert_eq!(solo.pair.log.len(), before + 1);
        let again = sent(solo.pair.sent_since(before));
        assert_eq!(solo.number(&again[0]), 1);
        let now = solo.pair.now;
        let view = solo.assoc().view(now).paths[0];
        assert_eq!((view.cwnd, view.rto), (1468, 2 * SECOND));
        assert!(!solo.sack(1, 1 << 20, &[]).is_empty(), "then it goes on");
    }
    // As the named profiles have it: one beside what the window takes.
    let mut config = no_burst_limit();
    config.reproduction.limit_to_one_packet_after_t3 = false;
    let mut solo = Solo::new(config);
    solo.send(12, AMDCS_PAYLOAD, SendOptions::default());
    assert_eq!(solo.run(SECOND * 11 / 10).len(), 2);
}

#[test]
fn control_comes_before_data_and_data_in_the_order_of_its_tsns() {
    let all = RecoveryConfig { rescheduling: Rescheduling::Both, ..RecoveryConfig::MODERN };
    for recovery in [RecoveryConfig::OFF, all] {
        let config = AssocConfig { recovery, ..AssocConfig::default() };
        let mut server = endpoint(SERVER_PORT, &server_addresses());
        server.assoc = Arc::new(config.clone());
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
        pair.connect_with(config);
        pair.run_for(SECOND);
        let mut n = 0_u32;
        pair.lose_packets(move |p| {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // The second path is slower.
            let slow = p.tuple.local.ip() == ip("10.0.1.2") || p.tuple.local.ip() == ip("10.0.1.1");
            match n >> 28 {
                0 => Verdict::Lose,
                _ if slow => Verdict::Delay(Duration::from_millis(35)),
                _ => Verdict::Deliver,
            }
        });
        for _ in 0..20 {
            let now = pair.now;
            for _ in 0..20 {
                pair.client.send(now, &[1; 300]);
                pair.server.send(now, &[2; 500]);
            }
            pair.run_for(SECOND / 4);
        }
        pair.run_for(60 * SECOND);
        let now = pair.now;
        pair.client.shutdown(now);
        pair.run_for(60 * SECOND);
        assert_eq!((pair.server.received.len(), pair.client.received.len()), (400, 400));
        let mut bundled = [0, 0];
        for packet in &pair.log {
            let kinds = packet.kinds();
            let lonely = |k: &u8| matches!(*k, INIT | INIT_ACK | SHUTDOWN_COMPLETE | ABORT);
            assert!(kinds.len() == 1 || !kinds.iter().any(lonely), "{kinds:?}");
            let data = kinds.iter().position(|k| *k == kind::DATA).unwrap_or(kinds.len());
            assert!(kinds[data..].iter().all(|k| *k == kind::DATA), "{kinds:?}");
            let tsns: Vec<u32> = chunks(packet).iter().map(|c| c.tsn).collect();
            let ascending = tsns.windows(2).all(|w| (w[1].wrapping_sub(w[0]) as i32) > 0);
            assert!(ascending, "{tsns:?}");
            bundled[0] += usize::from(tsns.len() > 1);
            bundled[1] += usize::from(kinds.contains(&SACK) && !tsns.is_empty());
        }
        assert!(bundled[0] > 20 && bundled[1] > 20, "chunks and SACKs share packets: {bundled:?}");
    }
}

/// New chunks take two paths in turn; what the first lost waits until the second sends again, and
/// then goes along; or it takes the path that lost it, if the policy is faithful.
#[derive(Clone, Debug, Default)]
struct Fickle {
    turn: u8,
    ready: bool,
    faithful: bool,
}

impl Policy for Fickle {
    fn name(&self) -> &'static str {
        "fickle"
    }
}

impl PathScheduler for Fickle {
    fn pick_path(&mut self, view: &AssocView<'_>, _: &ChunkMeta) -> PathPick {
        let turn = PathId(self.turn);
        let sendable = view.path(turn).is_some_and(|p| p.sendable);
        PathPick::Use(if self.faithful && !sendable { PathId(1 - self.turn) } else { turn })
    }

    fn on_sent(&mut self, _: &AssocView<'_>, _: PathId, _: &ChunkMeta, _: bool) {
        self.turn = 1 - self.turn;
    }
}

impl RetransmissionPolicy for Fickle {
    fn pick_path(&mut self, _: &AssocView<'_>, chunk: &RtxMeta) -> RtxPick {
        if self.faithful {
            return RtxPick::Use(chunk.last);
        }
        self.ready |= chunk.last == PathId(1);
        if self.ready { RtxPick::Use(PathId(1)) } else { RtxPick::Wait }
    }
}

impl PolicyFactory for Fickle {
    fn build(&self, cc: &CcConfig, _: &mut Rng) -> PolicySet {
        let (path_scheduler, retransmission) = (Box::new(self.clone()), Box::new(self.clone()));
        PolicySet { path_scheduler, retransmission, ..PolicySet::rfc9260(cc) }
    }
}

#[test]
fn a_packet_never_steps_back_whatever_the_policies_want() {
    let config = AssocConfig { policies: Arc::new(Fickle::default()), ..no_burst_limit() };
    let mut pair = Pair::new();
    pair.connect_with(config);
    pair.run_for(SECOND);
    pair.lose_packets(|_| Verdict::Lose);
    let now = pair.now;
    for _ in 0..4 {
        pair.client.send(now, &[7; 300]);
    }
    pair.exchange_packets();
    let before = pair.log.len();
    // T3-rtx of both paths expires in the same instant. What the second lost, chunk 2, is asked for
    // first; chunk 1 would fit behind it.
    pair.run_for(SECOND * 11 / 10);
    let packets: Vec<_> =
        pair.sent_since(before).iter().map(chunks).filter(|c| !c.is_empty()).collect();
    assert!(!packets.is_empty());
    for packet in packets {
        let tsns: Vec<u32> = packet.iter().map(|c| c.tsn).collect();
        assert!(tsns.windows(2).all(|w| (w[1].wrapping_sub(w[0]) as i32) > 0), "{tsns:?}");
    }
}

#[test]
fn data_for_a_stream_that_does_not_exist_is_acknowledged_and_reported() {
    let mut pair = Pair::connected();
    let tag = read_init_ack(&pair.last_with(INIT_ACK)).0;
    let tsn = u32::from_be_bytes(pair.log[0].data[28..32].try_into().unwrap());
    pair.lose_packets(|_| Verdict::Lose);
    let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
    let data = |tsn: u32, stream| DataChunk {
        tsn: Tsn(tsn),
        stream: StreamId(stream),
        ssn: Ssn(0),
        ppid: 0,
        flags,
        payload: b"x",
    };
    let before = pair.log.len();
    let packet = to_server(
        tag,
        &[
            &chunk(data(tsn, 60_000)),
            &chunk(data(tsn.wrapping_add(1), 60_001)),
            &chunk(data(tsn.wrapping_add(2), 0)),
        ],
    );
    pair.inject_packet(Way::ToServer, at_server(), &packet);
    let answers = pair.sent_since(before);
    assert_eq!(answers.len(), 1, "one packet, and one report for any number of them");
    assert_eq!(answers[0].kinds(), [ERROR, SACK]);
    let view = PacketView::parse(&answers[0].data, ChecksumCheck::Verify).unwrap();
    let mut chunks = view.chunks().map(|raw| raw.unwrap().decode().unwrap());
    let Some(Chunk::Error(error)) = chunks.next() else { panic!("ERROR expected") };
    assert_eq!(error.causes.iter().next().unwrap().unwrap().code, 1);
    let Some(Chunk::Sack(sack)) = chunks.next() else { panic!("SACK expected") };
    assert_eq!(sack.cumulative_tsn, Tsn(tsn.wrapping_add(2)));
    assert_eq!(pair.server.texts(), [b"x"]);
}

#[test]
fn the_i_bit_goes_out_when_asked_for_and_is_answered_at_once() {
    let mut pair = Pair::connected();
    let say = |pair: &mut Pair, immediate| {
        let (now, before) = (pair.now, pair.log.len());
        let h = pair.client.handle();
        let assoc = pair.client.endpoint.association_mut(h).unwrap();
        let options = SendOptions { immediate, ..SendOptions::default() };
        assoc.send(now, StreamId(0), Bytes::from_static(b"x"), options).unwrap();
        pair.run_for(SECOND);
        let log = pair.sent_since(before);
        let sack = log.iter().find(|p| p.kinds().contains(&SACK)).expect("a SACK");
        (chunks(&log[0])[0].flags.immediate, sack.at - log[0].at)
    };
    // The first DATA of an association is answered at once anyway.
    say(&mut pair, false);
    assert_eq!(say(&mut pair, false), (false, Duration::from_millis(210)));
    assert_eq!(say(&mut pair, true), (true, Duration::from_millis(10)));
}

#[test]
fn a_sack_waits_for_a_second_packet_but_not_for_long() {
    let mut pair = Pair::connected();
    let now = pair.now;
    pair.client.send(now, b"first of all");
    let before = pair.log.len();
    pair.exchange_packets();
    pair.run_for(Duration::from_millis(15));
    assert_eq!(pair.sent_since(before).len(), 2, "the very first DATA is acknowledged at once");
    pair.run_for(SECOND);
    let before = pair.log.len();
    for _ in 0..2 {
        let now = pair.now;
        pair.client.send(now, &[1; 1400]);
        pair.run_for(Duration::from_millis(15));
    }
    let kinds: Vec<u8> = pair.sent_since(before).iter().map(Packet::first_kind).collect();
    assert_eq!(kinds, [kind::DATA, kind::DATA, SACK], "a SACK for two packets");
}

#[test]
fn a_stale_sack_changes_nothing() {
    let mut solo = Solo::new(no_burst_limit());
    solo.send(3, AMDCS_PAYLOAD, SendOptions::default());
    solo.sack(2, 100_000, &[]);
    let now = solo.pair.now;
    let before = solo.assoc().view(now).outstanding;
    assert_eq!(solo.sack(1, 0, &[]).len(), 0);
    assert_eq!(solo.assoc().view(now).outstanding, before);
    assert_eq!(solo.assoc().view(now).peer_rwnd, 100_000 - before);
}

#[test]
fn padding_and_what_may_be_skipped_are_skipped_without_a_word() {
    let mut pair = Pair::connected();
    let tag = read_init_ack(&pair.last_with(INIT_ACK)).0;
    let tsn = u32::from_be_bytes(pair.log[0].data[28..32].try_into().unwrap());
    let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
    let data = DataChunk {
        tsn: Tsn(tsn),
        stream: StreamId(0),
        ssn: Ssn(0),
        ppid: 0,
        flags,
        payload: b"behind",
    };
    let pad = chunk(polypath_wire::PadRepr { len: 40 });
    // PKTDROP, an expired draft's.
    let dropped = |w: &mut polypath_wire::PacketWriter<'_>| w.push(&Raw(&[129, 0, 0, 4])).unwrap();
    let before = pair.log.len();
    let packet = to_server(tag, &[&pad, &dropped, &pad, &chunk(data)]);
    pair.inject_packet(Way::ToServer, at_server(), &packet);
    let kinds: Vec<_> = pair.sent_since(before).iter().map(Packet::kinds).collect();
    assert_eq!(kinds, [[SACK]]);
    assert_eq!(pair.server.texts(), [b"behind"]);
}

#[test]
fn a_chunk_of_unknown_type_is_quoted_with_its_padding() {
    let mut pair = Pair::connected();
    let tag = read_init_ack(&pair.last_with(INIT_ACK)).0;
    // A type that asks for a report; five bytes, then three of padding that are not zero, as they
    // should be.
    let strange = |w: &mut polypath_wire::PacketWriter<'_>| {
        w.push(&Raw(&[0xf7, 1, 0, 5, 9, 1, 1, 1])).unwrap();
    };
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&strange]));
    let error = pair.last_with(ERROR);
    // ERROR of 16 bytes; the cause of 12 counts the padding, which is zero.
    let said = [ERROR, 0, 0, 16, 0, 6, 0, 12, 0xf7, 1, 0, 5, 9, 0, 0, 0];
    assert_eq!(error.data[12..], said);
    // One that is too long to be quoted whole is cut.
    let long = |w: &mut polypath_wire::PacketWriter<'_>| {
        let header = [0xf7, 0, (3001_u16 >> 8) as u8, 3001_u16 as u8];
        w.push(&Raw(&[&header[..], &[7; 3000]].concat())).unwrap();
    };
    pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&long]));
    let error = pair.last_with(ERROR);
    let len = error.data.len();
    assert!(len <= 1480 && len.is_multiple_of(4), "{len} bytes");
    assert!(u16::from_be_bytes([error.data[14], error.data[15]]).is_multiple_of(4));
}

struct Raw<'a>(&'a [u8]);

impl polypath_wire::EncodeChunk for Raw<'_> {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}

#[test]
fn an_idle_window_shrinks_by_half_per_rto_but_not_below_four_chunks() {
    let mut config = no_burst_limit();
    config.heartbeat_interval = None;
    let mut solo = Solo::new(config);
    let cwnd = |solo: &mut Solo| {
        let now = solo.pair.now;
        solo.assoc().view(now).paths[0].cwnd
    };
    let mut sent = solo.send(40, AMDCS_PAYLOAD, SendOptions::default()).len();
    for acked in 1..40 {
        sent += solo.sack(acked, 1 << 20, &[]).len();
    }
    assert_eq!(sent, 40);
    solo.sack(40, 1 << 20, &[]);
    let grown = cwnd(&mut solo);
    assert!(grown > 30_000, "{grown}");
    // The RTO is 1 s.
    solo.run(SECOND * 15 / 10);
    solo.send(1, 10, SendOptions::default());
    assert_eq!(cwnd(&mut solo), grown / 2);
    solo.sack(41, 1 << 20, &[]);
    solo.run(60 * SECOND);
    solo.send(1, 10, SendOptions::default());
    assert_eq!(cwnd(&mut solo), 4 * 1468);
}

/// Nagle's rule (RFC 6458 section 8.1.5).
#[test]
fn small_messages_wait_for_company_while_data_is_in_flight() {
    let config = AssocConfig { nagle: true, ..no_burst_limit() };
    let options = SendOptions::default();
    let mut solo = Solo::new(config);
    assert!(!solo.assoc().nodelay());
    assert_eq!(solo.send(1, 100, options).len(), 1, "nothing is in flight");
    assert_eq!(solo.send(12, 100, options), []);
    // 13 chunks of 116 bytes are more than a packet of 1468 takes: 12 go, and one waits again.
    assert_eq!(solo.send(1, 100, options).len(), 12);
    assert_eq!(solo.sack(5, 1 << 20, &[]), [], "some of it is in flight still");
    assert_eq!(solo.sack(13, 1 << 20, &[]).len(), 1);
    // A message that began is never left without its end.
    assert_eq!(solo.send(1, AMDCS_PAYLOAD + 1, options).len(), 2);
    // The setting can be changed at any time.
    assert_eq!(solo.send(1, 100, options), []);
    solo.assoc().set_nodelay(true);
    assert_eq!(solo.run(Duration::ZERO).len(), 1);
    assert_eq!(solo.send(1, 100, options).len(), 1);
    solo.assoc().set_nodelay(false);
    assert_eq!(solo.send(1, 100, options), []);
    // Nor does anything wait once the end was asked for.
    let now = solo.pair.now;
    solo.assoc().shutdown(now);
    assert_eq!(solo.run(Duration::ZERO).len(), 1);
}

#[test]
fn small_messages_that_wait_go_with_what_a_timeout_sends_again() {
    let mut solo = Solo::new(AssocConfig { nagle: true, ..no_burst_limit() });
    solo.send(1, 100, SendOptions::default());
    assert_eq!(solo.send(2, 100, SendOptions::default()), []);
    let numbers: Vec<_> = solo.run(SECOND * 11 / 10).iter().map(|c| solo.number(c)).collect();
    assert_eq!(numbers, [1, 2, 3]);
}
