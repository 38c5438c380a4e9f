//! What may still be handed in, and what the peer's window takes: of both buffers, a part is kept
//! for streams of low delay, once there are some.

use super::memory::Room;
use super::sending_half::Sender;
use crate::ids::StreamId;
use crate::needs::StreamNeeds;
use crate::view::ChunkMeta;

impl Sender {
    /// What `stream` may still add.
    pub(crate) fn room_on(&self, stream: StreamId) -> u64 {
        self.room_with(stream, Room::default())
    }

    /// The same, once `freed` is free as well.
    pub(super) fn room_with(&self, stream: StreamId, freed: Room) -> u64 {
        let ahead = self.room_ahead(stream).map_or(0, |ahead| self.payload(ahead.and(freed)));
        self.payload_on(stream, self.room_beside((0, 0)).and(freed)).max(ahead)
    }

    /// What a new message of `stream` may take.
    #[inline]
    pub(super) fn room(&self, stream: StreamId) -> u64 {
        self.payload_on(stream, self.room_beside((0, 0)))
    }

    /// The same of this `room`.
    #[inline]
    fn payload_on(&self, stream: StreamId, room: Room) -> u64 {
        let free = self.payload(room);
        if !self.queue.has_urgent_streams() || !self.keeps_room_from(self.queue.needs(stream)) {
            return free;
        }
        free.saturating_sub(reserve(self.limit))
    }

    /// Whether a part of both buffers is kept free for other streams than one with these `needs`:
    /// those of low delay must not wait behind a full buffer.
    fn keeps_room_from(&self, needs: StreamNeeds) -> bool {
        self.queue.has_urgent_streams() && !needs.is_urgent()
    }

    /// Free bytes of the send buffer.
    pub(crate) fn free(&self) -> u64 {
        self.payload(self.room_beside((0, 0)))
    }

    /// The peer's window takes `chunk`; resets the back-off of probes if so.
    pub(crate) fn window_admits(&mut self, chunk: &ChunkMeta) -> bool {
        let window = self.outstanding.window();
        let kept = if self.keeps_room_from(chunk.needs) { reserve(window.max()) } else { 0 };
        let marked = if self.keeps_marked { self.outstanding.marked_in_window() } else { 0 };
        self.outstanding.window_mut().admit(chunk.bytes, kept + marked)
    }
}

/// What of a buffer of `limit` bytes is kept for streams of low delay, once there are some.
const fn reserve(limit: u64) -> u64 {
    if limit == u64::MAX { 0 } else { limit / 16 }
}
