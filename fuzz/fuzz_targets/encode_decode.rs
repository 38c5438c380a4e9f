//! What decodes encodes to a packet that decodes to the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use polypath_testkit::packet::PacketBuilder;
use polypath_testkit::packet::raw_chunks;
use polypath_wire::{ChecksumCheck, Chunk, EncodeChunk, PacketView, RawChunk};

fuzz_target!(|bytes: &[u8]| {
    let Ok(packet) = PacketView::parse(bytes, ChecksumCheck::Skip) else { return };
    for raw in packet.chunks().flatten() {
        let Ok(chunk) = raw.decode() else { continue };
        let Some(again) = encode(&chunk, &raw) else { continue };
        let mut decoded = raw_chunks(&again);
        let back = decoded.next().expect("it encodes to a chunk").decode().expect("it decodes");
        assert_eq!(same(&chunk), same(&back));
        assert!(decoded.next().is_none(), "one chunk stays one");
    }
});

fn encode(chunk: &Chunk<'_>, raw: &RawChunk<'_>) -> Option<Vec<u8>> {
    fn packet(chunk: &impl EncodeChunk) -> Vec<u8> {
        PacketBuilder::new(1, 2, 3).push_chunk(chunk).build()
    }
    Some(match chunk {
        Chunk::Data(c) => packet(c),
        Chunk::IData(c) => packet(c),
        Chunk::Init(c) => packet(c),
        Chunk::InitAck(c) => packet(c),
        Chunk::Sack(c) => packet(c),
        Chunk::NrSack(c) => packet(c),
        Chunk::Heartbeat(c) => packet(c),
        Chunk::HeartbeatAck(c) => packet(c),
        Chunk::Abort(c) => packet(c),
        Chunk::Error(c) => packet(c),
        Chunk::Shutdown(c) => packet(c),
        Chunk::CookieEcho(c) => packet(c),
        Chunk::Unknown(_) => packet(raw),
        _ => return None,
    })
}

/// The chunk without its place in the packet.
fn same(chunk: &Chunk<'_>) -> String {
    match chunk {
        Chunk::Unknown(raw) => format!("{:?}", raw.bytes()),
        Chunk::Init(c) => format!("{:?} {:?}", c.fixed, c.params.as_bytes()),
        Chunk::InitAck(c) => format!("{:?} {:?}", c.fixed, c.params.as_bytes()),
        Chunk::Heartbeat(c) => format!("{:?}", c.params.as_bytes()),
        Chunk::HeartbeatAck(c) => format!("{:?}", c.params.as_bytes()),
        Chunk::Abort(c) => format!("{} {:?}", c.reflected, c.causes.as_bytes()),
        Chunk::Error(c) => format!("{:?}", c.causes.as_bytes()),
        other => format!("{other:?}"),
    }
}
