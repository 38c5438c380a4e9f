//! Packets that are blind, malformed, unknown, or ask for answers (numbers 1, 18 to 20, 25, 30).

use polypath_proto::config::{AssocConfig, EndpointConfig};
use polypath_proto::rng::Rng;
use polypath_proto::time::Time;
use polypath_proto::{Endpoint, FourTuple, State};
use polypath_testkit::packet::PacketBuilder;
use polypath_testkit::scripted_peer::{
    PORTS, ScriptedPeer, count_chunks, init, victim, victim_tuple,
};
use polypath_wire::chunk::kind;
use polypath_wire::{
    AbortChunk, CausesBuf, Chunk, HeartbeatRepr, Parameter, ParamsBuf, SackRepr, ShutdownChunk,
};

use super::counting::KIB;
use super::meter::{Bound, Meter, SILENCE, packets, tell};
use super::{assert_well, quiet};

#[test]
fn a01_blind_packets() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let (own, cum) = (p.own_tag, p.victim_tsn.prev());
    let causes = CausesBuf::new();
    let abort = |reflected| AbortChunk { reflected, causes: causes.as_causes() };
    let data = p.data(0, 0, b"blind");
    p.tsn = data.tsn;
    let sack = SackRepr {
        flags: 0,
        cumulative_tsn: cum.add(100),
        a_rwnd: 0,
        gap_blocks: &[],
        duplicates: &[],
    };
    let mut m = Meter::new();
    for guess in [0, 1, p.tag ^ 1, p.tag.wrapping_add(1), !p.tag, u32::MAX] {
        let blind = || PacketBuilder::new(PORTS.0, PORTS.1, guess);
        let packets = [
            blind().push_chunk(&abort(false)).build(),
            blind().push_chunk(&abort(true)).build(),
            blind().push_chunk(&data).build(),
            blind().push_chunk(&ShutdownChunk { cumulative_tsn: cum }).build(),
            blind().push_chunk(&sack).build(),
            blind().push_chunk(&HeartbeatRepr { info: b"x" }).build(),
            blind().push_raw(kind::SHUTDOWN_ACK, 0, &[]).build(),
            blind().push_raw(kind::SHUTDOWN_COMPLETE, 0, &[]).build(),
            blind().push_raw(kind::SHUTDOWN_COMPLETE, 1, &[]).build(),
            blind().push_raw(kind::COOKIE_ACK, 0, &[]).build(),
            // The peer's tag is right only with the T bit, and that is no guess.
            PacketBuilder::new(PORTS.0, PORTS.1, own).push_chunk(&abort(false)).build(),
        ];
        for packet in packets {
            let sent = m.hit(&mut p.victim, p.now, &packet);
            assert!(sent.is_empty(), "{}", tell(&sent));
        }
    }
    m.settle(1, "blind packets of every kind", SILENCE);
    assert_well(&mut p);
}

#[test]
fn a18_lengths_and_counts_that_lie() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    p.make_it_send(100);
    let cum = p.victim_tsn.0.to_be_bytes();
    let mut many_gaps = [cum, [0, 0, 255, 255]].concat();
    many_gaps.extend_from_slice(&[255, 255, 255, 255]);
    let zeros = [0; 40];
    let mut lies = vec![p.packet().build(), p.packet().push_raw(kind::SACK, 0, &many_gaps).build()];
    for length in [0, 1, 2, 3, 5, 15, 19, 45, 1000, u16::MAX] {
        for kind in [kind::DATA, kind::SACK, kind::HEARTBEAT, kind::ERROR, kind::ABORT, 64, 193] {
            lies.push(p.packet().push_lying(kind, 3, length, &zeros).build());
        }
    }
    // Parameters and causes: too short, beyond their chunk, and one inside another.
    for inner in [[0, 1, 0, 0], [0, 1, 0, 3], [0, 1, 255, 255], [0, 6, 0, 60]] {
        let nested = [&[0, 6, 0, 12][..], &inner, &[0; 4]].concat();
        for kind in [kind::HEARTBEAT, kind::HEARTBEAT_ACK, kind::ERROR] {
            lies.push(p.packet().push_raw(kind, 0, &inner).build());
            lies.push(p.packet().push_raw(kind, 0, &nested).build());
        }
    }
    let mut m = Meter::new();
    for lie in &lies {
        m.hit(&mut p.victim, p.now, lie);
        assert_eq!(p.assoc().state(), State::Established, "{lie:?}");
    }
    let now = p.now;
    assert!(p.assoc().view(now).outstanding > 0, "no lie acknowledged anything");
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in);
    m.settle(
        18,
        "lengths and counts that lie",
        Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 10 },
    );
    assert_well(&mut p);
}

#[test]
fn a18_lies_in_an_init() {
    let mut endpoint = victim(quiet(), 1);
    let honest = init(5, [Parameter::ForwardTsnSupported].into_iter().collect());
    let mut m = Meter::new();
    let at = honest.len() - 2;
    for length in (0..4).chain(5..=64).chain([u16::MAX]) {
        let mut lie = honest.clone();
        lie[at..].copy_from_slice(&length.to_be_bytes());
        polypath_testkit::packet::reseal_checksum(&mut lie);
        let sent = packets(&m.hit(&mut endpoint, Time::ZERO, &lie));
        assert_eq!(count_chunks(&sent, kind::INIT_ACK), 0, "length {length}");
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, 2 * m.cost.bytes_in);
    m.settle(
        18,
        "parameter lengths that lie, INIT",
        Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 20 },
    );
}

#[test]
fn a19_storms_of_unknown_chunks() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let mut m = Meter::new();
    for kind in [0x6a_u8, 0xea] {
        for each in [0, 4, 60] {
            let storm =
                (0..64).fold(p.packet(), |b, _| b.push_raw(kind, 0, &vec![0; each])).build();
            let sent = m.hit(&mut p.victim, p.now, &storm);
            assert_eq!(sent.len(), 1, "{}", tell(&sent));
            assert!(sent[0].1.len() <= storm.len());
        }
    }
    for _ in 0..1000 {
        let one = p.packet().push_raw(0xea, 0, &[]).build();
        m.hit(&mut p.victim, p.now, &one);
    }
    // A lone empty chunk is quoted in a cause: 4 bytes for the ERROR chunk and 4 for the cause more
    // than came.
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in + 8 * m.cost.packets_in);
    m.settle(
        19,
        "unknown chunks, stormed",
        Bound { packets_out, bytes_out, memory: 8 * KIB, work_per_packet: 12 },
    );
    assert_well(&mut p);
}

#[test]
fn a20_two_hosts_that_answer_each_other() {
    let endpoint = |port, seed| {
        let config = EndpointConfig { port, refuse_other_ports: true, ..EndpointConfig::default() };
        Endpoint::new(config, Rng::from_u64(seed))
    };
    let causes = CausesBuf::new();
    let tag = 77;
    let from = |b: PacketBuilder| b.build();
    let start = || PacketBuilder::new(PORTS.0, PORTS.1, tag);
    let abort = |reflected| AbortChunk { reflected, causes: causes.as_causes() };
    let starts = [
        from(start().push_chunk(&abort(true))),
        from(start().push_chunk(&abort(false))),
        from(start().push_chunk(&Chunk::ShutdownComplete { reflected: true })),
        from(start().push_chunk(&Chunk::ShutdownAck)),
        from(start().push_chunk(&Chunk::CookieAck)),
        from(start().push_chunk(&HeartbeatRepr { info: b"x" })),
        from(start().push_raw(kind::ERROR, 0, &[0, 3, 0, 8, 0, 0, 0, 1])),
        from(start().push_raw(kind::ERROR, 0, &[0, 6, 0, 4])),
        from(start().push_raw(kind::DATA, 3, &[0; 16])),
        from(start().push_raw(0xea, 0, &[])),
        init(5, ParamsBuf::new()),
    ];
    let mut m = Meter::new();
    let attacks = starts.len() as u64;
    for start in starts {
        let (mut a, mut b) = (endpoint(PORTS.1, 1), endpoint(PORTS.0, 2));
        let there = victim_tuple();
        let back = FourTuple { local: there.remote, remote: there.local };
        let mut next = packets(&m.hit_from(&mut a, Time::ZERO, there, &start));
        let mut said = next.len();
        let mut turn = (&mut b, back);
        let mut other = (&mut a, there);
        while !next.is_empty() {
            let answers = next.iter().flat_map(|p| m.pass_on(turn.0, Time::ZERO, turn.1, p));
            next = answers.map(|(_, packet)| packet).collect();
            said += next.len();
            // INIT, INIT ACK, ABORT is the longest.
            assert!(said <= 2, "{start:?} keeps two hosts talking");
            core::mem::swap(&mut turn, &mut other);
        }
    }
    let bound = Bound {
        packets_out: 2 * attacks,
        bytes_out: 4 * m.cost.bytes_in,
        memory: 4 * KIB,
        work_per_packet: 20,
    };
    m.settle(20, "two hosts that answer each other", bound);
}

#[test]
fn a25_reserved_and_expired_chunks() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let mut m = Meter::new();
    for (reserved, goes_on) in [(12, false), (13, false), (129, true)] {
        let data = p.data(0, 0, b"behind");
        let packet = p.packet().push_raw(reserved, 0, &[0; 4]).push_chunk(&data).build();
        p.tsn = data.tsn;
        let sent = m.hit(&mut p.victim, p.now, &packet);
        let acked = count_chunks(&packets(&sent), kind::SACK) > 0;
        assert_eq!((acked, sent.len()), (goes_on, usize::from(goes_on)), "{reserved}");
        p.tsn = if goes_on { data.tsn.next() } else { data.tsn };
    }
    let bound = Bound { packets_out: 1, bytes_out: 100, memory: 4 * KIB, work_per_packet: 10 };
    m.settle(25, "ECNE, CWR and PKTDROP", bound);
    assert_well(&mut p);
}

#[test]
fn a30_one_packet_one_answer() {
    for path_mtu in [1500, 576, 120] {
        let mut p = ScriptedPeer::connect(AssocConfig { path_mtu, ..quiet() }, 1);
        let mut m = Meter::new();
        let requests = (0..20).fold(p.packet(), |b, _| {
            b.push_chunk(&HeartbeatRepr { info: &[1; 12] }).push_raw(0xea, 0, &[0; 8])
        });
        let requests = requests.build();
        for _ in 0..100 {
            let sent = m.hit(&mut p.victim, p.now, &requests);
            assert_eq!(sent.len(), 1, "path MTU {path_mtu}: {}", tell(&sent));
        }
        // An answer that does not fit is not split into several.
        let large = p.packet().push_chunk(&HeartbeatRepr { info: &[1; 8000] }).build();
        for _ in 0..100 {
            assert!(m.hit(&mut p.victim, p.now, &large).len() <= 1);
        }
        let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in);
        m.settle(
            30,
            &format!("many requests in a packet, path MTU {path_mtu}"),
            Bound { packets_out, bytes_out, memory: 16 * KIB, work_per_packet: 12 },
        );
        assert_eq!(p.assoc().state(), State::Established);
    }
}
