//! Views for the tests of policies.

use polypath_proto::PathId;
use polypath_proto::ids::{StreamId, Tsn};
use polypath_proto::policy::{AckedInfo, PathScheduler};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, ChunkMeta, LossKind, PathState, PathView, RtxMeta};

/// `n` active paths with MTU 1500 and windows wide open.
pub(crate) fn paths(n: u8) -> Vec<PathView> {
    let path = |i| {
        let mut p = PathView::new(PathId(i), 1500, 1468, Duration::from_secs(1));
        p.state = PathState::Active;
        (p.usable, p.sendable) = (true, true);
        (p.cwnd, p.ssthresh) = (1 << 20, 1 << 20);
        p.group = PathId(0);
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
    scheduler.on_sent(&view(paths), id, &chunk(0, bytes), true);
}

/// A chunk whose only transmission, on path `last`, was lost.
pub(crate) const fn lost_on(last: u8) -> RtxMeta {
    RtxMeta::new(Tsn(1), PathId(last), 1, 1468, LossKind::FastRetransmit)
}

/// Active paths of these windows (bytes) and smoothed round-trip times (ms), out of slow start.
pub(crate) fn measured(shape: &[(u64, u64)]) -> Vec<PathView> {
    let mut all = paths(shape.len() as u8);
    for (path, &(cwnd, ms)) in all.iter_mut().zip(shape) {
        (path.cwnd, path.ssthresh) = (cwnd, cwnd.min(3000));
        path.srtt = Some(Duration::from_millis(ms));
    }
    all
}

/// `bytes` of `outstanding_before` were acknowledged on a path that may grow.
pub(crate) const fn acked(path: PathId, bytes: u64, outstanding_before: u64) -> AckedInfo {
    let outstanding = outstanding_before.saturating_sub(bytes);
    AckedInfo {
        path,
        bytes,
        outstanding_before,
        outstanding,
        may_grow: true,
        rtt: None,
        sack_path: path,
    }
}

/// A path of 20 ms that is full, and a slower one that is open: their windows, bytes, and the RTT
/// of the slower one, ms.
pub(crate) fn full_fast_path([fast, slow]: [u64; 2], slow_ms: u64) -> Vec<PathView> {
    let mut p = paths(2);
    p[0].srtt = Some(Duration::from_millis(20));
    p[1].srtt = Some(Duration::from_millis(slow_ms));
    (p[0].cwnd, p[0].outstanding, p[0].sendable) = (fast, fast, false);
    p[1].cwnd = slow;
    p
}
