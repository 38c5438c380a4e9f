//! Tests of the receiving half as a whole.

mod hostile;
mod interleaving;
mod interleaving_model;
mod model;
mod ordering;
mod reneging;
mod sacks;

use polypath_wire::{
    ChecksumCheck, ChecksumMode, Chunk, DataChunk, DataFlags, GapBlock, PacketView, dac_count,
};

use super::*;
use crate::ids::Ssn;

/// A large buffer, ten streams, RFC 9260's delays.
fn settings() -> ReceiverSettings {
    ReceiverSettings {
        buffer: 1 << 20,
        chunk_charge: 0,
        max_message: 1 << 20,
        partial_delivery: None,
        interleaving: false,
        skips: false,
        first_mid: Mid(0),
        inbound_streams: 10,
        sack: SackConfig::default(),
        dac: false,
        thins_sacks: false,
        nr_sack: NrSack::Off,
    }
}

/// A whole ordered message of stream 0.
fn data(tsn: u32, ssn: u16, payload: &[u8]) -> DataChunk<'_> {
    let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
    DataChunk { tsn: Tsn(tsn), stream: StreamId(0), ssn: Ssn(ssn), ppid: 0, flags, payload }
}

/// The same with these of the flags B, E, U and I.
fn flagged<'a>(chunk: DataChunk<'a>, flags: &str) -> DataChunk<'a> {
    let flags = DataFlags {
        beginning: flags.contains('B'),
        ending: flags.contains('E'),
        unordered: flags.contains('U'),
        immediate: flags.contains('I'),
    };
    DataChunk { flags, ..chunk }
}

fn on_stream(chunk: DataChunk<'_>, stream: u16) -> DataChunk<'_> {
    DataChunk { stream: StreamId(stream), ..chunk }
}

/// One packet with these chunks, on path 0 at time 0.
fn packet(rx: &mut Receiver, chunks: &[DataChunk<'_>]) -> Vec<DataVerdict> {
    let verdicts = chunks.iter().map(|chunk| rx.data(Time::ZERO, PathId(0), chunk)).collect();
    rx.packet_end(Time::ZERO);
    verdicts
}

/// One chunk in a packet of its own.
fn receive(rx: &mut Receiver, chunk: DataChunk<'_>) -> DataVerdict {
    let verdict = rx.data(Time::ZERO, PathId(0), &chunk);
    rx.packet_end(Time::ZERO);
    verdict
}

fn texts(rx: &mut Receiver) -> Vec<String> {
    let next = || rx.recv(RecvFrom::Any);
    core::iter::from_fn(next).map(|m| String::from_utf8_lossy(&m.data).into_owned()).collect()
}

/// A SACK or NR-SACK as its receiver sees it.
#[derive(Debug, PartialEq, Eq)]
struct Sack {
    nr: bool,
    dac: u8,
    cumulative: u32,
    a_rwnd: u32,
    renegable: Vec<(u16, u16)>,
    non_renegable: Vec<(u16, u16)>,
    duplicates: Vec<u32>,
}

/// Writes a SACK into a packet of at most `limit` bytes and reads it back.
fn sack_within(rx: &mut Receiver, limit: usize) -> Option<Sack> {
    let mut buf = Vec::new();
    let mut writer = PacketWriter::new(&mut buf, limit, 1, 2, 3);
    if !rx.write_sack(PathId(0), false, false, &mut writer) {
        return None;
    }
    writer.finish(ChecksumMode::Zero);
    assert!(buf.len() <= limit);
    let packet = PacketView::parse(&buf, ChecksumCheck::Skip).unwrap();
    let chunk = packet.chunks().next().unwrap().unwrap().decode().unwrap();
    let span = |block: GapBlock| (block.start, block.end);
    Some(match chunk {
        Chunk::Sack(sack) => Sack {
            nr: false,
            dac: dac_count(sack.flags),
            cumulative: sack.cumulative_tsn.0,
            a_rwnd: sack.a_rwnd,
            renegable: sack.gap_blocks.iter().map(span).collect(),
            non_renegable: Vec::new(),
            duplicates: sack.duplicates.iter().map(|tsn| tsn.0).collect(),
        },
        Chunk::NrSack(sack) => Sack {
            nr: true,
            dac: dac_count(sack.flags),
            cumulative: sack.cumulative_tsn.0,
            a_rwnd: sack.a_rwnd,
            renegable: sack.gap_blocks.iter().map(span).collect(),
            non_renegable: sack.nr_gap_blocks.iter().map(span).collect(),
            duplicates: sack.duplicates.iter().map(|tsn| tsn.0).collect(),
        },
        other => panic!("not an acknowledgement: {other:?}"),
    })
}

fn sack(rx: &mut Receiver) -> Sack {
    sack_within(rx, 1472).unwrap()
}
