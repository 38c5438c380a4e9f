//! What the lists of a path tell of its chunks in flight, marked, or still to be copied.

use super::OutstandingQueue;
use super::chunk::ChunkState;
use crate::ids::PathId;
use crate::sender::types::{ChunkInFlight, Class, lower};
use crate::time::Time;
use crate::view::LossKind;

impl OutstandingQueue {
    /// The pseudo-cum-ack of a class: its lowest unacknowledged TSN on `p`.
    #[inline]
    pub(crate) fn lowest_unacked(&mut self, p: PathId, class: Class) -> Option<u64> {
        self.lists.get_mut(p.index())?.lowest_unacked(&self.chunks, p, class)
    }

    /// The lowest unacknowledged TSN last sent on `p`.
    #[inline]
    pub(crate) fn lowest_unacked_of_any_class(&mut self, p: PathId) -> Option<u64> {
        let list = self.lists.get_mut(p.index())?;
        lower(
            list.lowest_unacked(&self.chunks, p, Class::NeverRetransmitted),
            list.lowest_unacked(&self.chunks, p, Class::Retransmitted),
        )
    }

    /// The highest unacknowledged TSN last sent on `p`.
    pub(crate) fn highest_unacked(&mut self, p: PathId) -> Option<u64> {
        self.lists.get_mut(p.index())?.highest_unacked(&self.chunks, p)
    }

    /// The chunk in flight on `p` that was sent first, and when.
    #[inline]
    pub(crate) fn earliest_sent(&mut self, p: PathId) -> Option<(u64, Time)> {
        self.lists.get_mut(p.index())?.earliest_sent(&self.chunks, p)
    }

    /// Appends to `out` the chunks in flight on `p` with TSNs below `limit`.
    pub(crate) fn list_in_flight_below(&mut self, p: PathId, limit: u64, out: &mut Vec<u64>) {
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.list_in_flight_below(&self.chunks, p, limit, out);
        }
    }

    /// Appends to `out` the chunks in flight on `p` that were sent before `limit`: (sent, TSN).
    pub(crate) fn list_in_flight_before(
        &mut self,
        p: PathId,
        limit: (Time, u64),
        out: &mut Vec<u64>,
    ) {
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.list_in_flight_before(&self.chunks, p, limit, out);
        }
    }

    /// The next chunk of `p` to be copied to another path, while its chunks are copied.
    pub(crate) fn lowest_uncopied(&self, p: PathId) -> Option<ChunkInFlight> {
        let list = self.lists.get(p.index())?;
        let tsn = list.lowest_uncopied(&self.chunks, p, list.copied_below?)?;
        self.chunks.get(tsn).map(|c| ChunkInFlight { tsn, bytes: c.size() as u32 })
    }

    /// The lowest TSN that is in flight on `p` and nowhere else, and when it was sent.
    pub(crate) fn lowest_alone(&self, p: PathId) -> Option<(ChunkInFlight, Time)> {
        let tsn =
            self.lists.get(p.index())?.lowest_uncopied(&self.chunks, p, self.chunks.base())?;
        let chunk = self.chunks.get(tsn)?;
        Some((ChunkInFlight { tsn, bytes: chunk.size() as u32 }, chunk.sent))
    }

    /// What is in flight on `p` is to be copied to other paths, lowest TSN first.
    pub(crate) fn begin_copying(&mut self, p: PathId) {
        let base = self.chunks.base();
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.copied_below = Some(base);
        }
    }

    /// `p` needs no copies any more.
    pub(crate) fn end_copying(&mut self, p: PathId) {
        if let Some(list) = self.lists.get_mut(p.index()) {
            list.copied_below = None;
        }
    }

    /// Whether anything waits to be retransmitted, or to be copied from a path that fell silent.
    #[inline]
    pub(crate) fn has_retransmissions(&self) -> bool {
        self.lists.iter().any(|l| !l.marked.is_empty() || l.copied_below.is_some())
    }

    /// Whether anything waits to be retransmitted.
    pub(crate) fn has_marked(&self) -> bool {
        self.lists.iter().any(|l| !l.marked.is_empty())
    }

    /// Whether a chunk last sent on `p` waits to be retransmitted.
    pub(crate) fn has_marked_on(&self, p: PathId) -> bool {
        self.lists.get(p.index()).is_some_and(|l| !l.marked.is_empty())
    }

    /// The lowest TSN among those last sent on `p` that waits to be retransmitted.
    pub(crate) fn lowest_marked(&self, p: PathId) -> Option<u64> {
        self.lists.get(p.index())?.marked.first().copied()
    }

    /// DATA chunk bytes last sent on `p` that wait to be retransmitted, and their number.
    pub(crate) fn marked_bytes(&self, p: PathId) -> (u64, u64) {
        let marked = self.lists.get(p.index()).into_iter().flat_map(|l| &l.marked);
        let sizes = marked.filter_map(|&tsn| self.chunks.get(tsn)).map(|chunk| chunk.size());
        sizes.fold((0, 0), |(bytes, number), size| (bytes + size, number + 1))
    }

    /// What waits to be retransmitted takes of the peer's window once it is sent again.
    pub(crate) fn marked_in_window(&self) -> u64 {
        let marked = self.lists.iter().flat_map(|l| &l.marked);
        let chunks = marked.filter_map(|&tsn| self.chunks.get(tsn));
        chunks.map(|chunk| self.window.cost(chunk.bytes)).sum()
    }

    /// The highest TSN last sent on `p` that waits to be retransmitted.
    pub(crate) fn highest_marked(&self, p: PathId) -> Option<u64> {
        self.lists.get(p.index())?.marked.last().copied()
    }

    /// The highest TSN last sent on `p` that does not wait to be retransmitted, gap-acked or not.
    pub(crate) fn highest_unmarked(&self, p: PathId) -> Option<u64> {
        let mut chunks = self.chunks.iter().rev();
        chunks.find(|(_, c)| c.path == p && !c.is_marked()).map(|(tsn, _)| tsn)
    }

    /// Whether a chunk last sent on `p` waits for its fast retransmission.
    pub(crate) fn awaits_fast_retransmit(&self, p: PathId) -> bool {
        let marked = self.lists.get(p.index()).into_iter().flat_map(|l| &l.marked);
        let fast = ChunkState::Marked(LossKind::FastRetransmit);
        marked.filter_map(|&tsn| self.chunks.get(tsn)).any(|chunk| chunk.state == fast)
    }

    /// Chunks of `p` that wait to be retransmitted.
    #[cfg(test)]
    pub(crate) fn marked_count(&self, p: PathId) -> usize {
        self.lists.get(p.index()).map_or(0, |l| l.marked.len())
    }
}
