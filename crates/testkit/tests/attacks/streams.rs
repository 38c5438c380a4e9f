//! Messages that are skipped and streams that are reset, by those who mean no good (numbers 16,
//! 17).

use polypath_proto::State;
use polypath_proto::config::{AssocConfig, ExtensionConfig};
use polypath_testkit::packet::raw_chunks;
use polypath_testkit::scripted_peer::{ScriptedPeer, abort_cause, count_chunks};
use polypath_wire::chunk::kind;
use polypath_wire::param::{AddStreams, OutgoingReset, ReconfigResponse, ReconfigResult};
use polypath_wire::{
    Chunk, DataChunk, DataFlags, ForwardTsnRepr, ItemsBuf, Parameter, ParamsBuf, ReconfigChunk,
    SkippedStream, Ssn, StreamId, Tsn,
};

use super::counting::KIB;
use super::meter::{Bound, Meter, packets, tell};
use super::{assert_well, quiet};

fn skipping() -> ScriptedPeer {
    let extensions = ExtensionConfig { partial_reliability: true, ..ExtensionConfig::NONE };
    let params = [Parameter::ForwardTsnSupported].into_iter().collect();
    ScriptedPeer::connect_with(AssocConfig { extensions, ..quiet() }, 1, params)
}

fn forward(p: &ScriptedPeer, new_cumulative_tsn: Tsn, skipped: &[SkippedStream]) -> Vec<u8> {
    p.packet().push_chunk(&ForwardTsnRepr { new_cumulative_tsn, skipped }).build()
}

#[test]
fn a16_forward_tsn_that_nobody_agreed_on() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let packet = forward(&p, p.tsn.add(10), &[]);
    let mut m = Meter::new();
    for _ in 0..1000 {
        let sent = packets(&m.hit(&mut p.victim, p.now, &packet));
        assert_eq!((sent.len(), count_chunks(&sent, kind::ERROR)), (1, 1));
    }
    // A cause quotes the chunk: 4 bytes for the ERROR chunk and 4 for the cause more than came.
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in + 8 * m.cost.packets_in);
    let bound = Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 12 };
    m.settle(16, "FORWARD-TSN, not negotiated", bound);
    assert_well(&mut p);
}

#[test]
fn a16_jumps_over_more_than_can_have_been_sent() {
    for jump in [(1 << 20) + 1, 1 << 30, (1 << 31) - 1] {
        let mut p = skipping();
        let packet = forward(&p, p.tsn.prev().add(jump), &[]);
        let mut m = Meter::new();
        let sent = packets(&m.hit(&mut p.victim, p.now, &packet));
        assert_eq!((sent.len(), abort_cause(&sent)), (1, Some(13)), "{jump}");
        let bound = Bound { packets_out: 1, bytes_out: 120, memory: 4 * KIB, work_per_packet: 20 };
        m.settle(16, "FORWARD-TSN over more than the window holds", bound);
        assert_eq!(p.assoc().state(), State::Closed);
    }
}

#[test]
fn a16_jumps_as_wide_as_the_window_without_end() {
    let mut p = skipping();
    let mut m = Meter::new();
    let mut cum = p.tsn.prev();
    // Every one wraps a part of the way to 2^32: ten times round.
    for _ in 0..40_000_u32 {
        cum = cum.add(1 << 20);
        let packet = forward(&p, cum, &[]);
        m.hit(&mut p.victim, p.now, &packet);
    }
    p.tsn = cum.next();
    let (packets_out, bytes_out) = (m.cost.packets_in, 48 * m.cost.packets_in);
    let bound = Bound { packets_out, bytes_out, memory: 8 * KIB, work_per_packet: 4 };
    m.settle(16, "FORWARD-TSN as wide as the window", bound);
    let data = p.data(3, 0, b"here");
    p.send_chunk(&data);
    assert_eq!(p.assoc().receive_buffer().0, 4);
}

#[test]
fn a16_messages_half_sent_and_skipped_and_streams_that_are_not() {
    let mut p = skipping();
    let mut m = Meter::new();
    for i in 0..5000_u16 {
        let flags = DataFlags { beginning: true, ..DataFlags::default() };
        let half = DataChunk { flags, ..p.data(3, i, &[7; 100]) };
        let packet = p.packet().push_chunk(&half).build();
        m.hit(&mut p.victim, p.now, &packet);
        let skipped = [
            SkippedStream { stream: StreamId(3), ssn: Ssn(i) },
            SkippedStream { stream: StreamId(u16::MAX), ssn: Ssn(9) },
            SkippedStream { stream: StreamId(30_000 + i), ssn: Ssn(0) },
        ];
        let (cum, _) = (p.tsn, p.data(0, 0, b""));
        let packet = forward(&p, cum, &skipped);
        m.hit(&mut p.victim, p.now, &packet);
    }
    assert_eq!(p.assoc().receive_buffer().0, 0);
    let (packets_out, bytes_out) = (m.cost.packets_in, 60 * m.cost.packets_in);
    let bound = Bound { packets_out, bytes_out, memory: 32 * KIB, work_per_packet: 12 };
    m.settle(16, "messages half sent, then skipped", bound);
    assert_eq!(p.assoc().state(), State::Established);
}

fn resetting(config: AssocConfig) -> ScriptedPeer {
    let extensions = ExtensionConfig { stream_reconfiguration: true, ..ExtensionConfig::NONE };
    let params = [Parameter::SupportedExtensions(&[kind::RECONFIG])].into_iter().collect();
    ScriptedPeer::connect_with(AssocConfig { extensions, ..config }, 1, params)
}

fn reconfig(p: &ScriptedPeer, asked: &[Parameter<'_>]) -> Vec<u8> {
    let params: ParamsBuf = asked.iter().copied().collect();
    p.packet().push_chunk(&ReconfigChunk { params: params.as_params() }).build()
}

fn reset(request: u32, last_tsn: Tsn, streams: &ItemsBuf<StreamId, 2>) -> Parameter<'_> {
    let streams = streams.as_items();
    Parameter::OutgoingReset(OutgoingReset { request, response: 0, last_tsn, streams })
}

#[test]
fn a17_resets_without_end() {
    let mut p = resetting(quiet());
    let none = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    let (first, last) = (p.tsn.0, p.tsn.prev());
    let mut m = Meter::new();
    for i in 0..10_000 {
        let packet = reconfig(&p, &[reset(first.wrapping_add(i), last, &none)]);
        let sent = packets(&m.hit(&mut p.victim, p.now, &packet));
        assert_eq!((sent.len(), count_chunks(&sent, kind::RECONFIG)), (1, 1));
    }
    // A SACK goes along.
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in + 16 * m.cost.packets_in);
    let bound = Bound { packets_out, bytes_out, memory: 8 * KIB, work_per_packet: 20 };
    m.settle(17, "RE-CONFIG, 10,000 resets", bound);
    // Numbers of the past and of the future: called so, and nothing else.
    m.begin();
    for i in 0..10_000_u32 {
        let number = first.wrapping_add(i.wrapping_mul(429_497).wrapping_add(20_000));
        let packet = reconfig(&p, &[reset(number, last, &none)]);
        let sent = m.hit(&mut p.victim, p.now, &packet);
        assert_eq!(sent.len(), 1, "{}", tell(&sent));
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in + 16 * m.cost.packets_in);
    let bound = Bound { packets_out, bytes_out, memory: 8 * KIB, work_per_packet: 20 };
    m.settle(17, "RE-CONFIG with numbers from elsewhere", bound);
    assert_eq!(p.assoc().state(), State::Established);
}

/// The number of the request for streams in a packet.
fn wish(packet: &[u8]) -> Option<u32> {
    raw_chunks(packet).find_map(|raw| match raw.decode() {
        Ok(Chunk::Reconfig(asked)) => {
            asked.params.iter().flatten().find_map(|param| match param.decode() {
                Ok(Parameter::AddOutgoingStreams(add)) => Some(add.request),
                _ => None,
            })
        }
        _ => None,
    })
}

#[test]
fn a17_more_and_more_streams() {
    let mut p = resetting(quiet());
    let first = p.tsn.0;
    let mut m = Meter::new();
    for i in 0..2000_u32 {
        let add = AddStreams { request: first.wrapping_add(i), count: 100 };
        let asked = if i % 2 == 0 {
            Parameter::AddOutgoingStreams(add)
        } else {
            Parameter::AddIncomingStreams(add)
        };
        let packet = reconfig(&p, &[asked]);
        for (_, said) in m.hit(&mut p.victim, p.now, &packet) {
            if let Some(request) = wish(&said) {
                let yes = ReconfigResponse {
                    response: request,
                    result: ReconfigResult::PERFORMED,
                    next_tsns: None,
                };
                let packet = reconfig(&p, &[Parameter::ReconfigResponse(yes)]);
                m.hit(&mut p.victim, p.now, &packet);
            }
        }
    }
    let (outgoing, incoming) = p.assoc().streams();
    assert!(outgoing > 60_000 && incoming <= 2048, "{outgoing} and {incoming} streams");
    // An answer to each request, and the victim's own for what it was asked to ask for.
    let packets_out = 2 * m.cost.packets_in;
    let bound =
        Bound { packets_out, bytes_out: 80 * packets_out, memory: 64 * KIB, work_per_packet: 20 };
    m.settle(17, "streams added without end", bound);
    assert_eq!(p.assoc().state(), State::Established);
}

#[test]
fn a17_what_waits_for_a_reset_that_cannot_come_yet() {
    const BUFFER: u32 = 64 << 10;
    let mut p = resetting(AssocConfig { receive_buffer: BUFFER, ..quiet() });
    let none = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    // The reset waits for a TSN that never comes, and behind it lies what belongs to the time
    // after.
    let packet = reconfig(&p, &[reset(p.tsn.0, p.tsn.add(10), &none)]);
    let mut m = Meter::new();
    m.hit(&mut p.victim, p.now, &packet);
    p.tsn = p.tsn.add(11);
    for i in 0..60_000_u32 {
        let data = p.data((i % 10) as u16, (i / 10) as u16, b"x");
        let packet = p.packet().push_chunk(&data).build();
        m.hit(&mut p.victim, p.now, &packet);
        if p.assoc().state() == State::Closed {
            break;
        }
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, 1500 * m.cost.packets_in);
    // As of all that waits to be put in order (number 15).
    let memory = 2 * i64::from(BUFFER) + 96 * KIB;
    let bound = Bound { packets_out, bytes_out, memory, work_per_packet: 12 };
    m.settle(17, "data that waits for a reset", bound);
}
