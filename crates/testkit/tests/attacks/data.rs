//! Data and acknowledgements that lie (numbers 10 to 15, 22, 23, 37).

use polypath_proto::State;
use polypath_proto::config::{AssocConfig, NrSack};
use polypath_testkit::scripted_peer::{ScriptedPeer, abort_cause, data_tsns};
use polypath_wire::chunk::kind;
use polypath_wire::{
    DataChunk, DataFlags, EncodeChunk, GapBlock, NrSackRepr, Parameter, SackRepr, ShutdownChunk,
    Ssn, StreamId, Tsn,
};

use super::counting::KIB;
use super::meter::{Bound, Meter, SILENCE, packets, tell};
use super::{SECOND, assert_well, quiet};

fn sack(cumulative_tsn: Tsn, a_rwnd: u32, gap_blocks: &[GapBlock]) -> SackRepr<'_> {
    SackRepr { flags: 0, cumulative_tsn, a_rwnd, gap_blocks, duplicates: &[] }
}

fn with_nr_sack() -> ScriptedPeer {
    let mut config = quiet();
    config.cmt.nr_sack = NrSack::Delivered;
    let params = [Parameter::SupportedExtensions(&[kind::NR_SACK])].into_iter().collect();
    ScriptedPeer::connect_with(config, 1, params)
}

fn alone(p: &ScriptedPeer, chunk: &impl EncodeChunk) -> Vec<u8> {
    p.packet().push_chunk(chunk).build()
}

#[test]
fn a10_acknowledging_what_was_never_sent() {
    let gap = [GapBlock { start: 2, end: 9 }];
    type Lie = fn(&ScriptedPeer, &[GapBlock]) -> Vec<u8>;
    let lies: [Lie; 5] = [
        |p, _| alone(p, &sack(p.victim_tsn.add(5), 1 << 20, &[])),
        |p, _| alone(p, &sack(p.victim_tsn.add(1 << 30), 1 << 20, &[])),
        |p, gap| alone(p, &sack(p.victim_tsn.prev(), 1 << 20, gap)),
        |p, _| alone(p, &ShutdownChunk { cumulative_tsn: p.victim_tsn.add(5) }),
        |p, gap| {
            let cumulative_tsn = p.victim_tsn.prev();
            alone(
                p,
                &NrSackRepr {
                    flags: 0,
                    cumulative_tsn,
                    a_rwnd: 1 << 20,
                    gap_blocks: &[],
                    nr_gap_blocks: gap,
                    duplicates: &[],
                },
            )
        },
    ];
    for lie in lies {
        let mut p = with_nr_sack();
        p.make_it_send(100);
        let mut m = Meter::new();
        let packet = lie(&p, &gap);
        let sent = packets(&m.hit(&mut p.victim, p.now, &packet));
        assert_eq!((sent.len(), abort_cause(&sent)), (1, Some(13)));
        assert_eq!(p.assoc().state(), State::Closed);
        let bound = Bound { packets_out: 1, bytes_out: 100, memory: 4 * KIB, work_per_packet: 20 };
        m.settle(10, "acknowledgement of what was never sent", bound);
    }
}

#[test]
fn a11_acknowledgements_in_pieces_and_again() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let sent = data_tsns(&p.make_it_send(1 << 20));
    let now = p.now;
    let before = p.assoc().view(now).paths[0].cwnd;
    let last = *sent.last().expect("it sends");
    let packet = alone(&p, &sack(last, 1 << 20, &[]));
    let mut m = Meter::new();
    let first = m.hit(&mut p.victim, p.now, &packet);
    let new = data_tsns(&packets(&first)).len();
    for _ in 0..10_000 {
        let again = m.hit(&mut p.victim, p.now, &packet);
        assert!(again.is_empty(), "a duplicate earns nothing: {}", tell(&again));
    }
    let cwnd = p.assoc().view(now).paths[0].cwnd;
    let acked = sent.len() as u64 * 1500;
    assert!(cwnd <= before + acked, "cwnd grew by {} for {acked} bytes", cwnd - before);
    let bytes_out = 1500 * new as u64;
    let bound = Bound { packets_out: new as u64, bytes_out, memory: 16 * KIB, work_per_packet: 4 };
    m.settle(11, "SACK repeated 10,000 times", bound);
}

#[test]
fn a12_as_many_gap_blocks_and_duplicates_as_fit() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    p.make_it_send(20_000);
    let blocks: Vec<_> = (0..8000).map(|_| GapBlock { start: 2, end: 2 }).collect();
    let duplicates: Vec<_> = (0..8000).map(|i| p.victim_tsn.add(i)).collect();
    let cumulative_tsn = p.victim_tsn.prev();
    let bomb = SackRepr {
        flags: 0,
        cumulative_tsn,
        a_rwnd: 1 << 20,
        gap_blocks: &blocks,
        duplicates: &duplicates,
    };
    let packet = alone(&p, &bomb);
    assert!(packet.len() > 60_000);
    let mut m = Meter::new();
    for _ in 0..200 {
        m.hit(&mut p.victim, p.now, &packet);
    }
    let bound = Bound { packets_out: 20, bytes_out: 30_000, memory: 32 * KIB, work_per_packet: 10 };
    m.settle(12, "8000 gap blocks and 8000 duplicates in a SACK", bound);
}

#[test]
fn a12_the_widest_gap_blocks() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    p.make_it_send(20_000);
    let blocks: Vec<_> = (0..15_000).map(|_| GapBlock { start: 1, end: u16::MAX }).collect();
    let packet = alone(&p, &sack(p.victim_tsn.prev(), 1 << 20, &blocks));
    let mut m = Meter::new();
    let sent = packets(&m.hit(&mut p.victim, p.now, &packet));
    assert_eq!(abort_cause(&sent), Some(13));
    let bound = Bound { packets_out: 1, bytes_out: 100, memory: 4 * KIB, work_per_packet: 20 };
    m.settle(12, "15,000 gap blocks of 65,535 TSNs", bound);
}

#[test]
fn a12_duplicates_without_end() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let data = p.data(0, 0, b"again");
    let one = alone(&p, &data);
    let full = (0..2500).fold(p.packet(), |b, _| b.push_chunk(&data)).build();
    p.deliver_packet(&one);
    let mut m = Meter::new();
    for _ in 0..100 {
        for packet in [&one, &full] {
            let sent = m.hit(&mut p.victim, p.now, packet);
            assert!(sent.len() <= 1, "{}", tell(&sent));
        }
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in);
    let bound = Bound { packets_out, bytes_out, memory: 8 * KIB, work_per_packet: 12 };
    m.settle(12, "duplicate DATA, 250,000 chunks", bound);
    assert_well(&mut p);
}

#[test]
fn a13_reneging_for_ever() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let sent = data_tsns(&p.make_it_send(60_000));
    let cum = p.victim_tsn.prev();
    let last = sent.last().expect("it sends").distance(cum) as u16;
    let mut m = Meter::new();
    for round in 0..40_000 {
        let gap = [GapBlock { start: 2, end: last }];
        let packet = alone(&p, &sack(cum, 1 << 20, if round % 2 == 0 { &gap } else { &[] }));
        m.hit(&mut p.victim, p.now, &packet);
        let now = p.now;
        assert_eq!(p.assoc().view(now).send_buffer.used, 60_000);
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, 1500 * m.cost.packets_in);
    let bound = Bound { packets_out, bytes_out, memory: 64 * KIB, work_per_packet: 20 };
    m.settle(13, "reneging, 10,000 times", bound);
}

#[test]
fn a14_a_window_that_never_opens() {
    for answers in [true, false] {
        let mut p = ScriptedPeer::connect(quiet(), 1);
        let first = p.make_it_send(50_000);
        let cum = *data_tsns(&first).last().expect("it sends");
        p.send_chunk(&sack(cum, 0, &[]));
        let (mut m, mut now) = (Meter::new(), p.now);
        for _ in 0..1000 {
            let sent = packets(&m.advance(&mut p.victim, &mut now, 10 * SECOND));
            if answers && p.assoc().state() == State::Established {
                // It takes nothing: what comes is a probe of the closed window.
                let packet = alone(&p, &sack(cum, 0, &[]));
                m.hit(&mut p.victim, now, &packet);
            }
            assert!(data_tsns(&sent).len() <= 24, "{} chunks in 10 s", data_tsns(&sent).len());
        }
        let state = p.assoc().state();
        assert_eq!(state == State::Established, answers, "{state:?}");
        let bound = Bound {
            packets_out: 1100,
            bytes_out: 1100 * 1500,
            memory: 64 * KIB,
            work_per_packet: if answers { 20 } else { 1000 },
        };
        let name = if answers { "window 0, SACKs come" } else { "window 0, silence" };
        m.settle(14, name, bound);
    }
}

#[test]
fn a15_tiny_chunks_and_messages_without_end() {
    const BUFFER: u32 = 64 << 10;
    // Twice the buffer and 64 KiB are granted to small chunks; sets of TSNs and streams take a
    // constant beside them.
    const MEMORY: i64 = 2 * BUFFER as i64 + 64 * KIB + 32 * KIB;
    let config = AssocConfig { receive_buffer: BUFFER, ..quiet() };
    for (name, size, stride, fragments) in [
        ("tiny messages out of order", 1, 2, false),
        ("tiny fragments out of order", 1, 2, true),
        ("fragments without end, in order", 1, 1, true),
        ("a message without end", 1400, 1, true),
    ] {
        let mut p = ScriptedPeer::connect(config.clone(), 1);
        let payload = vec![b'x'; size];
        if stride == 2 {
            p.tsn = p.tsn.next();
        }
        let mut m = Meter::new();
        for i in 0..60_000_u16 {
            let mut chunk = p.data(i % 16, i / 16, &payload);
            if fragments {
                let (stream, ssn) = (StreamId(0), Ssn(0));
                let flags = DataFlags { beginning: i == 0 && stride == 1, ..DataFlags::default() };
                chunk = DataChunk { flags, ssn, stream, ..chunk };
            }
            if stride == 2 {
                p.tsn = p.tsn.next();
            }
            let packet = alone(&p, &chunk);
            m.hit(&mut p.victim, p.now, &packet);
            if p.assoc().state() == State::Closed {
                break;
            }
        }
        let (packets_out, bytes_out) = (m.cost.packets_in, 1500 * m.cost.packets_in);
        let bound = Bound { packets_out, bytes_out, memory: MEMORY, work_per_packet: 12 };
        m.settle(15, name, bound);
    }
}

#[test]
fn a22_nr_sacks_without_agreement() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    p.make_it_send(100);
    let lie = NrSackRepr {
        flags: 0,
        cumulative_tsn: p.victim_tsn,
        a_rwnd: 1 << 20,
        gap_blocks: &[],
        nr_gap_blocks: &[],
        duplicates: &[],
    };
    let packet = alone(&p, &lie);
    let mut m = Meter::new();
    assert!(m.hit(&mut p.victim, p.now, &packet).is_empty());
    let now = p.now;
    assert!(p.assoc().view(now).outstanding > 0, "it acknowledged nothing");
    m.settle(22, "NR-SACK, not negotiated", SILENCE);
}

#[test]
fn a22_nr_sacks_that_overlap_and_withdraw() {
    let mut p = with_nr_sack();
    for _ in 0..3 {
        p.make_it_send(1400);
    }
    let say = |p: &ScriptedPeer, gaps: &[GapBlock], nr: &[GapBlock]| {
        let cumulative_tsn = p.victim_tsn.prev();
        alone(
            p,
            &NrSackRepr {
                flags: 0,
                cumulative_tsn,
                a_rwnd: 1 << 20,
                gap_blocks: gaps,
                nr_gap_blocks: nr,
                duplicates: &[],
            },
        )
    };
    let block = [GapBlock { start: 2, end: 3 }];
    let rounds = [(&block[..], &block[..]), (&[], &block), (&block, &[]), (&[], &[])];
    let mut m = Meter::new();
    let used = |p: &mut ScriptedPeer| {
        let now = p.now;
        p.assoc().view(now).send_buffer.used
    };
    for _ in 0..500 {
        for (gaps, nr) in rounds {
            let packet = say(&p, gaps, nr);
            m.hit(&mut p.victim, p.now, &packet);
            // What is non-renegable may leave the buffer; TSN 1 may not.
            assert!(p.assoc().state() == State::Established && used(&mut p) >= 1400);
        }
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, 1500 * m.cost.packets_in);
    let bound = Bound { packets_out, bytes_out, memory: 16 * KIB, work_per_packet: 20 };
    m.settle(22, "NR-SACK blocks overlapping, withdrawn", bound);
}

#[test]
fn a23_dac_counts_of_255() {
    let mut config = quiet();
    config.cmt.dac_unannounced = true;
    let mut p = ScriptedPeer::connect(config, 1);
    let sent = data_tsns(&p.make_it_send(4 * 1400));
    assert!(sent.len() >= 3, "{} chunks are in flight", sent.len());
    let gap = [GapBlock { start: 2, end: 2 }];
    let mut m = Meter::new();
    let forged = SackRepr { flags: 255, ..sack(p.victim_tsn.prev(), 1 << 20, &gap) };
    let packet = alone(&p, &forged);
    for _ in 0..100 {
        m.hit(&mut p.victim, p.now, &packet);
        assert_eq!(p.assoc().state(), State::Established);
    }
    let now = p.now;
    let stats = p.assoc().stats();
    assert!(stats.retransmissions_fast <= 1, "{stats:?}");
    assert!(p.assoc().view(now).paths[0].cwnd > 0);
    let bound = Bound { packets_out: 4, bytes_out: 6000, memory: 16 * KIB, work_per_packet: 10 };
    m.settle(23, "SACK flags (DAC) of 255", bound);
}

#[test]
fn a37_tsns_far_outside_the_window() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let mut m = Meter::new();
    let here = p.tsn;
    for ahead in [65_536, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, u32::MAX - 1] {
        let far = DataChunk { tsn: here.add(ahead), ..p.data(0, 0, b"far") };
        p.tsn = here;
        let packet = alone(&p, &far);
        for _ in 0..100 {
            m.hit(&mut p.victim, p.now, &packet);
        }
        assert_eq!(p.assoc().receive_buffer().0, 0, "{ahead} ahead");
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, 2 * m.cost.bytes_in);
    let bound = Bound { packets_out, bytes_out, memory: 8 * KIB, work_per_packet: 10 };
    m.settle(37, "TSNs far outside the window", bound);
    assert_well(&mut p);
}
