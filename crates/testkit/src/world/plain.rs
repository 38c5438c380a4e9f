//! What of a packet leaves in plain that must not, where all associations are protected.

use polypath_proto::protection::KEY_MANAGEMENT_PPID;
use polypath_wire::{Chunk, DataChunk, IDataChunk, PacketView, chunk::kind};

/// What `packet` has in plain that it must not: anything but one DTLS chunk, what sets an
/// association up, key management's messages, and what is answered to strangers.
pub(super) fn find_plain(packet: &PacketView<'_>) -> Option<String> {
    let kinds: Vec<u8> = packet.chunks().flatten().map(|raw| raw.kind).collect();
    if kinds.contains(&kind::DTLS) {
        return (kinds.len() != 1).then(|| format!("chunks {kinds:?}"));
    }
    packet.chunks().flatten().find_map(|raw| match raw.decode() {
        Ok(chunk) => (!may_be_plain(&chunk)).then(|| format!("{chunk:?}")),
        Err(error) => Some(error.to_string()),
    })
}

const fn may_be_plain(chunk: &Chunk<'_>) -> bool {
    match chunk {
        Chunk::Init(_)
        | Chunk::InitAck(_)
        | Chunk::CookieEcho(_)
        | Chunk::CookieAck
        | Chunk::Sack(_)
        | Chunk::NrSack(_)
        | Chunk::Heartbeat(_)
        | Chunk::HeartbeatAck(_)
        | Chunk::Abort(_)
        | Chunk::ShutdownComplete { .. }
        | Chunk::Error(_) => true,
        Chunk::Data(DataChunk { stream, ppid, .. }) => {
            stream.0 == 0 && *ppid == KEY_MANAGEMENT_PPID
        }
        Chunk::IData(IDataChunk { stream, ppid_or_fsn, flags, .. }) => {
            stream.0 == 0 && (!flags.beginning || *ppid_or_fsn == KEY_MANAGEMENT_PPID)
        }
        _ => false,
    }
}
