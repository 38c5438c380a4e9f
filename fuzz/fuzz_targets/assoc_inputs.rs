//! An association is fed datagrams, time and API calls of any kind: it never panics and its books add up.

#![no_main]

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use polypath_proto::config::{
    AssocConfig, NrSack, PathMtuDiscovery, PfConfig, StallDetectionConfig,
};
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::ids::StreamId;
use polypath_proto::time::Duration;
use polypath_proto::view::PathAdmin;
use polypath_proto::{PathId, RecvFrom, Reliability, SendOptions, StreamDirection};
use polypath_testkit::invariants;
use polypath_testkit::packet::PacketBuilder;
use polypath_testkit::scripted_peer::{PORTS, ScriptedPeer, victim_tuple};
use polypath_wire::chunk::kind;
use polypath_wire::param::{
    AddStreams, IncomingReset, OutgoingReset, ReconfigResponse, ReconfigResult,
};
use polypath_wire::{
    DataChunk, DataFlags, ForwardTsnRepr, GapBlock, IDataChunk, IForwardTsnRepr, ItemsBuf, Mid,
    Parameter, ParamsBuf, ReconfigChunk, SackRepr, ShutdownChunk, SkippedMessage, SkippedStream,
    Ssn, Tsn,
};

#[derive(Arbitrary, Debug)]
struct Input {
    switches: Switches,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
struct Switches {
    nr_sack: u8,
    potentially_failed: bool,
    small_buffers: bool,
    heartbeats: bool,
    dac: bool,
    interleaving: bool,
    partial_reliability: bool,
    reconfiguration: bool,
    partial_delivery: bool,
    discovery: bool,
    watch: bool,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// Bytes from nowhere.
    Datagram(Vec<u8>),
    /// Chunks behind the right tag and checksum.
    Packet(Vec<Part>),
    Wait {
        ms: u32,
    },
    Send {
        stream: u8,
        bytes: u16,
        unordered: bool,
        /// How often it may be sent again.
        times: Option<u8>,
    },
    SendPart {
        stream: u8,
        bytes: u16,
        last: bool,
    },
    Reset {
        stream: Option<u8>,
        direction: u8,
    },
    MoreStreams {
        count: u8,
    },
    /// A router says that this is too large.
    TooBig {
        mtu: u16,
    },
    Receive {
        stream: Option<u8>,
    },
    Admin {
        path: u8,
        admin: u8,
    },
    Primary {
        path: u8,
    },
    Shutdown,
    Abort,
    ReplayCookie,
}

#[derive(Arbitrary, Debug)]
enum Part {
    /// A chunk of any type; `lie` is its length field, if it lies.
    Raw {
        kind: u8,
        flags: u8,
        lie: Option<u16>,
        value: Vec<u8>,
    },
    /// TSN relative to what is awaited.
    Data {
        ahead: i8,
        stream: u8,
        ssn: u8,
        flags: u8,
        payload: u8,
    },
    /// Relative to the victim's first TSN.
    Sack {
        cum: i16,
        a_rwnd: u32,
        gaps: Vec<(u16, u16)>,
        nr: bool,
    },
    IData {
        ahead: i8,
        stream: u8,
        mid: u8,
        fsn: u8,
        flags: u8,
        payload: u8,
    },
    /// Streams and numbers that are skipped.
    Forward {
        cum: i16,
        skipped: Vec<(u8, u8)>,
        interleaved: bool,
    },
    /// Numbers relative to the first request.
    Reconfig {
        ask: u8,
        request: i8,
        last: i8,
        streams: Vec<u8>,
    },
    Shutdown {
        cum: i16,
    },
    ShutdownAck,
    ShutdownComplete,
    CookieAck,
}

fuzz_target!(|input: Input| {
    let config = config(&input.switches);
    let supported = [kind::NR_SACK, kind::I_DATA, kind::I_FORWARD_TSN, kind::RECONFIG];
    let extensions = [Parameter::SupportedExtensions(&supported), Parameter::ForwardTsnSupported];
    let mut p = ScriptedPeer::connect_with(config.clone(), 1, extensions.into_iter().collect());
    let first = p.tsn;
    for step in input.steps.iter().take(200) {
        perform(&mut p, first, step);
        p.events.clear();
        let now = p.now;
        let Some(assoc) = p.victim.association(p.handle) else { return };
        if let Err(wrong) = invariants::check_books(assoc, &config, now) {
            panic!("{step:?}: {wrong}");
        }
    }
});

fn config(switches: &Switches) -> AssocConfig {
    let mut config = AssocConfig::default();
    config.cmt.nr_sack =
        [NrSack::Off, NrSack::Delivered, NrSack::Received][usize::from(switches.nr_sack) % 3];
    config.cmt.dac = switches.dac;
    config.potentially_failed = switches.potentially_failed.then(PfConfig::default);
    if switches.small_buffers {
        (config.receive_buffer, config.send_buffer) = (3000, 3000);
    }
    let extensions = &mut config.extensions;
    extensions.interleaving = switches.interleaving;
    extensions.partial_reliability = switches.partial_reliability;
    extensions.stream_reconfiguration = switches.reconfiguration;
    config.partial_delivery = switches.partial_delivery.then_some(500);
    config.path_mtu_discovery = switches.discovery.then(PathMtuDiscovery::default);
    config.stall_detection = switches.watch.then(StallDetectionConfig::default);
    if !switches.heartbeats {
        config.heartbeat_interval = None;
    }
    config
}

fn perform(p: &mut ScriptedPeer, first: Tsn, step: &Step) {
    let now = p.now;
    match step {
        Step::Datagram(bytes) => drop(p.deliver_packet(bytes)),
        Step::Packet(parts) => {
            let builder = parts.iter().take(20).fold(p.packet(), |b, part| add(b, p, first, part));
            p.deliver_packet(&builder.build());
        }
        Step::Wait { ms } => drop(p.advance_time(Duration::from_millis(u64::from(*ms % 600_000)))),
        Step::Send { stream, bytes, unordered, times } => {
            let data = Bytes::from(vec![1; usize::from(*bytes)]);
            let reliability =
                times.map_or(Reliability::Full, |times| Reliability::Limited(times.into()));
            let options =
                SendOptions { unordered: *unordered, reliability, ..SendOptions::default() };
            let _ = p.assoc().send(now, StreamId((*stream).into()), data, options);
        }
        Step::SendPart { stream, bytes, last } => {
            let data = Bytes::from(vec![1; usize::from(*bytes)]);
            let stream = StreamId((*stream).into());
            let _ = p.assoc().send_part(now, stream, data, SendOptions::default(), *last);
        }
        Step::Reset { stream, direction } => {
            let directions =
                [StreamDirection::Outgoing, StreamDirection::Incoming, StreamDirection::Both];
            let direction = directions[usize::from(*direction) % 3];
            let streams: Vec<_> = stream.iter().map(|s| StreamId((*s).into())).collect();
            let _ = p.assoc().reset_streams(now, direction, &streams);
        }
        Step::MoreStreams { count } => {
            let _ = p.assoc().add_streams(now, (*count).into(), 1);
        }
        Step::TooBig { mtu } => {
            let quoted = PacketBuilder::new(PORTS.1, PORTS.0, p.own_tag).build();
            let report = IcmpReport::PacketTooBig { mtu: (*mtu).into() };
            p.victim.handle_icmp(now, victim_tuple(), &quoted, report);
        }
        Step::Receive { stream } => {
            let want = stream.map_or(RecvFrom::Any, |s| RecvFrom::Stream(StreamId(s.into())));
            drop(p.assoc().recv(now, want));
        }
        Step::Admin { path, admin } => {
            let wish = [PathAdmin::Active, PathAdmin::Backup, PathAdmin::Disabled];
            p.assoc().set_path_admin(now, PathId(*path), wish[usize::from(*admin) % 3]);
        }
        Step::Primary { path } => {
            let _ = p.assoc().set_primary(now, PathId(*path));
        }
        Step::Shutdown => p.assoc().shutdown(now),
        Step::Abort => p.assoc().abort(now, Bytes::new()),
        Step::ReplayCookie => {
            let echo = p.cookie_echo.clone();
            p.deliver_packet(&echo);
        }
    }
    // API calls may have something to send.
    p.advance_time(Duration::ZERO);
    let now = p.now;
    drop(polypath_testkit::scripted_peer::drain_packets(&mut p.victim, now));
}

fn add(b: PacketBuilder, p: &ScriptedPeer, first: Tsn, part: &Part) -> PacketBuilder {
    let near = |from: Tsn, by: i32| Tsn(from.0.wrapping_add_signed(by));
    match part {
        Part::Raw { kind, flags, lie: Some(length), value } => {
            b.push_lying(*kind, *flags, *length, value)
        }
        Part::Raw { kind, flags, lie: None, value } => b.push_raw(*kind, *flags, value),
        Part::Data { ahead, stream, ssn, flags, payload } => b.push_chunk(&DataChunk {
            tsn: near(first, (*ahead).into()),
            stream: StreamId((*stream).into()),
            ssn: Ssn((*ssn).into()),
            ppid: 0,
            flags: DataFlags::from_bits(*flags),
            payload: &[9; 255][..usize::from(*payload)],
        }),
        Part::Sack { cum, a_rwnd, gaps, nr } => {
            sack(b, near(p.victim_tsn, (*cum).into()), *a_rwnd, gaps, *nr)
        }
        Part::IData { ahead, stream, mid, fsn, flags, payload } => b.push_chunk(&IDataChunk {
            tsn: near(first, (*ahead).into()),
            stream: StreamId((*stream).into()),
            mid: Mid((*mid).into()),
            ppid_or_fsn: (*fsn).into(),
            flags: DataFlags::from_bits(*flags),
            payload: &[9; 255][..usize::from(*payload)],
        }),
        Part::Forward { cum, skipped, interleaved } => {
            forward(b, near(first, (*cum).into()), skipped, *interleaved)
        }
        Part::Reconfig { ask, request, last, streams } => {
            let of = |from: Tsn| near(from, (*request).into()).0;
            let numbers = (of(first), of(p.victim_tsn));
            reconfig(b, *ask, numbers, near(first, (*last).into()), streams)
        }
        Part::Shutdown { cum } => {
            b.push_chunk(&ShutdownChunk { cumulative_tsn: near(p.victim_tsn, (*cum).into()) })
        }
        Part::ShutdownAck => b.push_raw(kind::SHUTDOWN_ACK, 0, &[]),
        Part::ShutdownComplete => b.push_raw(kind::SHUTDOWN_COMPLETE, 0, &[]),
        Part::CookieAck => b.push_raw(kind::COOKIE_ACK, 0, &[]),
    }
}

fn forward(
    b: PacketBuilder,
    new_cumulative_tsn: Tsn,
    skipped: &[(u8, u8)],
    interleaved: bool,
) -> PacketBuilder {
    let of = |stream: u8| StreamId(stream.into());
    if interleaved {
        let message = |&(s, n): &(u8, u8)| SkippedMessage {
            stream: of(s),
            unordered: n % 2 == 1,
            mid: Mid(u32::from(n) / 2),
        };
        let skipped: Vec<_> = skipped.iter().map(message).collect();
        return b.push_chunk(&IForwardTsnRepr { new_cumulative_tsn, skipped: &skipped });
    }
    let number = |&(s, n): &(u8, u8)| SkippedStream { stream: of(s), ssn: Ssn(n.into()) };
    let skipped: Vec<_> = skipped.iter().map(number).collect();
    b.push_chunk(&ForwardTsnRepr { new_cumulative_tsn, skipped: &skipped })
}

/// Numbers of the scripted peer's requests and of the victim's.
fn reconfig(
    b: PacketBuilder,
    ask: u8,
    (request, response): (u32, u32),
    last_tsn: Tsn,
    streams: &[u8],
) -> PacketBuilder {
    let listed: ItemsBuf<StreamId, 2> =
        streams.iter().map(|stream| StreamId((*stream).into())).collect();
    let streams = listed.as_items();
    let add = AddStreams { request, count: u16::from(ask) / 8 };
    let asked = match ask % 6 {
        0 => Parameter::OutgoingReset(OutgoingReset { request, response, last_tsn, streams }),
        1 => Parameter::IncomingReset(IncomingReset { request, streams }),
        2 => Parameter::SsnTsnReset(request),
        3 => Parameter::AddOutgoingStreams(add),
        4 => Parameter::AddIncomingStreams(add),
        _ => Parameter::ReconfigResponse(ReconfigResponse {
            response,
            result: ReconfigResult(u32::from(ask) / 6 % 8),
            next_tsns: None,
        }),
    };
    let params: ParamsBuf = [asked].into_iter().collect();
    b.push_chunk(&ReconfigChunk { params: params.as_params() })
}

fn sack(
    b: PacketBuilder,
    cumulative_tsn: Tsn,
    a_rwnd: u32,
    gaps: &[(u16, u16)],
    nr: bool,
) -> PacketBuilder {
    let blocks: Vec<_> = gaps.iter().map(|&(start, end)| GapBlock { start, end }).collect();
    if !nr {
        let (gap_blocks, duplicates) = (&blocks[..], &[][..]);
        return b.push_chunk(&SackRepr {
            flags: 0,
            cumulative_tsn,
            a_rwnd,
            gap_blocks,
            duplicates,
        });
    }
    let (gap_blocks, nr_gap_blocks) = blocks.split_at(blocks.len() / 2);
    b.push_chunk(&polypath_wire::NrSackRepr {
        flags: 0,
        cumulative_tsn,
        a_rwnd,
        gap_blocks,
        nr_gap_blocks,
        duplicates: &[],
    })
}
