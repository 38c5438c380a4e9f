//! Where one packet ends and the next begins, for schedulers that decide per packet.

use polypath_proto::PathId;
use polypath_proto::view::{AssocView, ChunkMeta};

/// Header of a DATA chunk (RFC 9260 section 3.3.1).
const DATA_HEADER: u32 = 16;

/// The packet under construction. The engine asks for a path chunk by chunk; whoever changes the
/// path at a wrong moment breaks up packets that could have been bundled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenPacket(Option<(PathId, u32)>);

impl OpenPacket {
    /// `chunk` went out on `path`.
    pub(super) fn on_sent(
        &mut self,
        view: &AssocView<'_>,
        path: PathId,
        chunk: &ChunkMeta,
        new_packet: bool,
    ) {
        let full = view.path(path).map_or(0, |p| p.pmdcs);
        let before = match self.0 {
            Some((open, room)) if open == path && !new_packet => room,
            _ => full,
        };
        self.0 = Some((path, before.saturating_sub(chunk_len(chunk))));
    }

    /// The path whose packet still has room for `next`.
    pub(super) fn path_for(&self, next: &ChunkMeta) -> Option<PathId> {
        self.0.filter(|&(_, room)| chunk_len(next) <= room).map(|(path, _)| path)
    }

    /// The packet went out: the next chunk begins another.
    pub(super) fn close(&mut self) {
        self.0 = None;
    }
}

fn chunk_len(chunk: &ChunkMeta) -> u32 {
    chunk.bytes.saturating_add(DATA_HEADER).next_multiple_of(4)
}
