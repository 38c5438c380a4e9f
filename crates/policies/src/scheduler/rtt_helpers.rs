//! What the published schedulers ask of an association: which path is fastest, what waits, what the
//! window is.

use polypath_proto::view::{AssocView, ChunkMeta, PathView};

/// The smoothed RTT in seconds, RTO.Initial while there is none; never zero, as it is divided by.
pub(super) fn srtt_seconds(view: &AssocView<'_>, path: &PathView) -> f64 {
    path.srtt_or(view.rto_initial).max(1e-6)
}

/// The path of the least `key`; the first of several.
pub(super) fn least_by<'a>(
    paths: impl Iterator<Item = &'a PathView>,
    key: impl Fn(&PathView) -> f64,
) -> Option<&'a PathView> {
    paths.map(|p| (p, key(p))).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(p, _)| p)
}

/// The usable path of the smallest RTT, open or not: x_f.
pub(super) fn fastest_usable<'a>(view: &AssocView<'a>) -> Option<&'a PathView> {
    least_by(view.usable(), |p| srtt_seconds(view, p))
}

/// The open path of the smallest RTT: what `min-rtt` would take.
pub(super) fn fastest_open<'a>(view: &AssocView<'a>) -> Option<&'a PathView> {
    least_by(view.sendable(), |p| srtt_seconds(view, p))
}

/// Whether an acknowledgement is still to come: only then may a scheduler wait.
pub(super) fn in_flight(view: &AssocView<'_>) -> bool {
    view.paths.iter().any(|p| p.outstanding > 0)
}

/// What may be under way at once, payload bytes: the peer's window, or the send buffer where that
/// is smaller.
pub(super) fn joint_window(view: &AssocView<'_>) -> u64 {
    view.peer_rwnd.saturating_add(view.outstanding).min(view.send_buffer.limit)
}

/// Unsent bytes, `next` at least.
pub(super) fn unsent_bytes(view: &AssocView<'_>, next: &ChunkMeta) -> u64 {
    view.send_buffer.unsent.max(next.bytes.into())
}

/// The unsent bytes that the peer's window admits now, `next` at least. What is beyond the window
/// was never assigned to a path by the schedulers that queue per path.
pub(super) fn admitted_bytes(view: &AssocView<'_>, next: &ChunkMeta) -> u64 {
    view.send_buffer.unsent.min(view.peer_rwnd).max(next.bytes.into())
}
