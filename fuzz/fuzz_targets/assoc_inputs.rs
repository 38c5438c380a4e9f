//! An association is fed datagrams, time and API calls of any kind: it never panics and its books add up.

#![no_main]

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use polypath_proto::config::{AssocConfig, NrSack, PfConfig};
use polypath_proto::ids::StreamId;
use polypath_proto::time::Duration;
use polypath_proto::view::PathAdmin;
use polypath_proto::{PathId, RecvFrom, SendOptions};
use polypath_testkit::invariants;
use polypath_testkit::packet::PacketBuilder;
use polypath_testkit::puppet::Puppet;
use polypath_wire::chunk::kind;
use polypath_wire::{DataChunk, DataFlags, GapBlock, Parameter, SackRepr, ShutdownChunk, Ssn, Tsn};

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
    Shutdown {
        cum: i16,
    },
    ShutdownAck,
    ShutdownComplete,
    CookieAck,
}

fuzz_target!(|input: Input| {
    let config = config(&input.switches);
    let extensions = [Parameter::SupportedExtensions(&[kind::NR_SACK])];
    let mut p = Puppet::connect_with(config.clone(), 1, extensions.into_iter().collect());
    let first = p.tsn;
    for step in input.steps.iter().take(200) {
        perform(&mut p, first, step);
        p.events.clear();
        let now = p.now;
        let Some(assoc) = p.victim.association(p.handle) else { return };
        if let Err(wrong) = invariants::check(assoc, &config, now) {
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
    if !switches.heartbeats {
        config.heartbeat_interval = None;
    }
    config
}

fn perform(p: &mut Puppet, first: Tsn, step: &Step) {
    let now = p.now;
    match step {
        Step::Datagram(bytes) => drop(p.deliver(bytes)),
        Step::Packet(parts) => {
            let builder = parts.iter().take(20).fold(p.packet(), |b, part| add(b, p, first, part));
            p.deliver(&builder.build());
        }
        Step::Wait { ms } => drop(p.advance(Duration::from_millis(u64::from(*ms % 600_000)))),
        Step::Send { stream, bytes, unordered } => {
            let data = Bytes::from(vec![1; usize::from(*bytes)]);
            let options = SendOptions { unordered: *unordered, ..SendOptions::default() };
            let _ = p.assoc().send(now, StreamId((*stream).into()), data, options);
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
            p.deliver(&echo);
        }
    }
    // API calls may have something to send.
    p.advance(Duration::ZERO);
    let now = p.now;
    drop(polypath_testkit::puppet::drain(&mut p.victim, now));
}

fn add(b: PacketBuilder, p: &Puppet, first: Tsn, part: &Part) -> PacketBuilder {
    let near = |from: Tsn, by: i32| Tsn(from.0.wrapping_add_signed(by));
    match part {
        Part::Raw { kind, flags, lie: Some(length), value } => b.lie(*kind, *flags, *length, value),
        Part::Raw { kind, flags, lie: None, value } => b.raw(*kind, *flags, value),
        Part::Data { ahead, stream, ssn, flags, payload } => b.chunk(&DataChunk {
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
        Part::Shutdown { cum } => {
            b.chunk(&ShutdownChunk { cumulative_tsn: near(p.victim_tsn, (*cum).into()) })
        }
        Part::ShutdownAck => b.raw(kind::SHUTDOWN_ACK, 0, &[]),
        Part::ShutdownComplete => b.raw(kind::SHUTDOWN_COMPLETE, 0, &[]),
        Part::CookieAck => b.raw(kind::COOKIE_ACK, 0, &[]),
    }
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
        return b.chunk(&SackRepr { flags: 0, cumulative_tsn, a_rwnd, gap_blocks, duplicates });
    }
    let (gap_blocks, nr_gap_blocks) = blocks.split_at(blocks.len() / 2);
    b.chunk(&polypath_wire::NrSackRepr {
        flags: 0,
        cumulative_tsn,
        a_rwnd,
        gap_blocks,
        nr_gap_blocks,
        duplicates: &[],
    })
}
