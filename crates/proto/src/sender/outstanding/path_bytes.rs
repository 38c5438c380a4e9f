//! The bytes that a path's view shows: in flight against its congestion window (RFC 9260 section
//! 6.1 B), and in the send buffer for the buffer policies.

use crate::ids::PathId;
use crate::path::{Path, PathSet};
use crate::time::Time;
use crate::view::PathView;

/// A chunk of `size` bytes with so much payload is in flight on the path.
#[inline]
pub(super) fn add_chunk(view: &mut PathView, size: u64, payload: u32) {
    view.outstanding += size;
    view.outstanding_payload += u64::from(payload);
}

/// It is so no more.
#[inline]
pub(super) fn remove_chunk(view: &mut PathView, size: u64, payload: u32) {
    view.outstanding -= size;
    view.outstanding_payload -= u64::from(payload);
}

/// A copy of a chunk of `size` bytes is in flight on the path.
pub(super) fn add_copy(view: &mut PathView, size: u64) {
    view.outstanding += size;
    view.duplicate_bytes_in_flight += size;
}

/// It is so no more.
pub(super) fn remove_copy(view: &mut PathView, size: u64) {
    view.outstanding -= size;
    view.duplicate_bytes_in_flight -= size;
}

/// A chunk of `size` bytes, last sent at `sent`, was declared lost on the path.
pub(super) fn count_loss(view: &mut PathView, path: &mut Path, sent: Time, size: u64) {
    view.lost_chunks += 1;
    view.lost += size;
    path.delivery_rate.note_lost(sent, size, view);
}

/// The payload of a chunk in the send buffer belongs to another path.
pub(super) fn move_queued(from: PathId, to: PathId, bytes: u64, paths: &mut PathSet) {
    if from != to {
        if let Some(view) = paths.view_mut(from) {
            view.queued -= bytes;
        }
        if let Some(view) = paths.view_mut(to) {
            view.queued += bytes;
        }
    }
}

/// A chunk with so much payload goes out on the path, for the first time or again. `added`: by how
/// much that raised the bytes in flight.
#[inline]
pub(super) fn count_transmission(
    now: Time,
    view: &mut PathView,
    path: &mut Path,
    payload: u32,
    added: u64,
) {
    path.delivery_rate.note_sent(now, added, view);
    view.data_chunks += 1;
    view.last_data = now;
    path.idle_since = now;
    path.ns2.iter_mut().for_each(|own| own.degrade_at = now + view.rto);
    path.stats.data_chunks += 1;
    path.stats.payload_bytes += u64::from(payload);
}
