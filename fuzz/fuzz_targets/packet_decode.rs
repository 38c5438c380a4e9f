//! Any bytes decode or are refused, and every field that can be read is read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use polypath_testkit::packet::render_packet;
use polypath_wire::{Causes, ChecksumCheck, Chunk, PacketView, Params};

fuzz_target!(|bytes: &[u8]| {
    let _ = PacketView::parse(bytes, ChecksumCheck::Verify);
    let Ok(packet) = PacketView::parse(bytes, ChecksumCheck::Skip) else { return };
    for raw in packet.chunks() {
        let Ok(chunk) = raw.and_then(|raw| raw.decode()) else { continue };
        read(&chunk);
    }
    let _ = render_packet(bytes);
});

fn read(chunk: &Chunk<'_>) {
    match chunk {
        Chunk::Init(init) => read_params(init.params),
        Chunk::InitAck(init) => read_params(init.params),
        Chunk::Heartbeat(heartbeat) => read_params(heartbeat.params),
        Chunk::Sack(sack) => {
            let blocks = sack.gap_blocks.iter().filter(|gap| gap.is_well_formed()).count();
            assert!(blocks <= sack.gap_blocks.len());
        }
        Chunk::Abort(abort) => read_causes(abort.causes),
        Chunk::Error(error) => read_causes(error.causes),
        _ => {}
    }
}

fn read_params(params: Params<'_>) {
    for param in params.iter().flatten() {
        let _ = param.decode();
    }
}

fn read_causes(causes: Causes<'_>) {
    for cause in causes.iter().flatten() {
        let _ = cause.decode();
    }
}
