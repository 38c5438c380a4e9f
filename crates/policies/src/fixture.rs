//! Views for the tests of policies.

use polypath_proto::PathId;
use polypath_proto::ids::{StreamId, Tsn};
use polypath_proto::policy::PathScheduler;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, ChunkMeta, LossKind, PathState, PathView, RtxMeta};

/// `n` active paths with MTU 1500 and windows wide open.
pub(crate) fn paths(n: u8) -> Vec<PathView> {
    let path = |i| {
        let mut p = PathView::new(PathId(i), 1500, 1468, Duration::from_secs(1));
        p.state = PathState::Active;
        (p.usable, p.sendable) = (true, true);
        (p.cwnd, p.ssthresh) = (1 << 20, 1 << 20);
        p
    };
    (0..n).map(path).collect()
}

pub(crate) fn view(paths: &[PathView]) -> AssocView<'_> {
    let mut view = AssocView::new(Time::from_secs(1), paths);
    view.peer_rwnd_max = 65_536;
    view.peer_rwnd = 65_536;
    view
}

pub(crate) const fn chunk(stream: u16, bytes: u32) -> ChunkMeta {
    ChunkMeta::whole(StreamId(stream), bytes)
}

/// One packet with one chunk of new data goes out.
pub(crate) fn send(
    paths: &mut [PathView],
    scheduler: &mut dyn PathScheduler,
    id: PathId,
    bytes: u32,
) {
    let p = &mut paths[id.index()];
    p.outstanding += u64::from(bytes) + 16;
    p.outstanding_payload += u64::from(bytes);
    scheduler.sent(&view(paths), id, &chunk(0, bytes), true);
}

/// A chunk whose only transmission, on path `last`, was lost.
pub(crate) const fn lost_on(last: u8) -> RtxMeta {
    RtxMeta::new(Tsn(1), PathId(last), 1, 1468, LossKind::FastRetransmit)
}
