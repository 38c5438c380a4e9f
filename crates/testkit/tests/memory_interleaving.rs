//! Memory, counted by the allocator, under I-DATA that never becomes messages: open messages
//! without number, fragments without an end, messages that wait for ever.

mod counting;

use counting::{KIB, held};
use polypath_proto::State;
use polypath_proto::config::{AssocConfig, ExtensionConfig};
use polypath_testkit::scripted_peer::ScriptedPeer;
use polypath_wire::chunk::kind;
use polypath_wire::{DataFlags, IDataChunk, Mid, Parameter, ParamsBuf, StreamId};

const BUFFER: u32 = 64 << 10;

fn victim(partial_delivery: Option<u32>) -> ScriptedPeer {
    let config = AssocConfig {
        receive_buffer: BUFFER,
        heartbeat_interval: None,
        extensions: ExtensionConfig { interleaving: true, ..ExtensionConfig::NONE },
        partial_delivery,
        ..AssocConfig::default()
    };
    let mut params = ParamsBuf::default();
    params.push(&Parameter::SupportedExtensions(&[kind::I_DATA]));
    let mut scripted_peer = ScriptedPeer::connect_with(config, 1, params);
    assert!(scripted_peer.assoc().is_interleaving());
    scripted_peer
}

/// The i-th chunk: stream, MID, FSN, flags.
type Make = fn(u32) -> (u16, u32, u32, DataFlags);

const fn flags(beginning: bool, ending: bool, unordered: bool) -> DataFlags {
    DataFlags { beginning, ending, unordered, immediate: false }
}

const ATTACKS: [(&str, Make); 6] = [
    ("unordered messages begun", |i| ((i % 16) as u16, i / 16, 0, flags(true, false, true))),
    ("ordered messages begun", |i| ((i % 16) as u16, i / 16, 0, flags(true, false, false))),
    ("middles of messages", |i| ((i % 16) as u16, i / 16, 7, flags(false, false, true))),
    ("a message without an end", |i| (0, 0, i, flags(i == 0, false, false))),
    ("a message backwards", |i| (0, 0, 1_000_000 - i, flags(false, false, false))),
    ("messages that wait for the first", |i| (0, 1 + i, 0, flags(true, true, false))),
];

#[test]
fn i_data_that_never_becomes_messages_stays_within_the_memory_bound() {
    for (name, make) in ATTACKS {
        for gap in [false, true] {
            for point in [None, Some(1 << 20)] {
                let worst = worst_case(make, gap, point);
                // Twice the buffer and 64 KiB are granted; sets of TSNs and streams take a constant
                // beside them.
                let bound = 2 * i64::from(BUFFER) + 64 * KIB + 32 * KIB;
                println!(
                    "{name}, gap {gap}, parts {point:?}: {worst} bytes at most, {bound} allowed"
                );
                assert!(worst < bound, "{name}, gap {gap}: {worst} bytes held, {bound} allowed");
            }
        }
    }
}

/// What the victim holds at most while 60,000 chunks of one byte arrive, behind a missing TSN or
/// not, and nobody reads.
fn worst_case(make: Make, gap: bool, point: Option<u32>) -> i64 {
    let mut p = victim(point);
    let start = held();
    if gap {
        p.tsn = p.tsn.next();
    }
    let mut worst = 0;
    for i in 0..60_000 {
        let (stream, mid, fsn, flags) = make(i);
        let (tsn, stream, mid) = (p.tsn, StreamId(stream), Mid(mid));
        p.tsn = p.tsn.next();
        let chunk = IDataChunk { tsn, stream, mid, ppid_or_fsn: fsn, flags, payload: b"x" };
        drop(p.send_chunk(&chunk));
        p.events.clear();
        worst = worst.max(held() - start);
        if p.assoc().state() == State::Closed {
            break;
        }
    }
    worst
}
