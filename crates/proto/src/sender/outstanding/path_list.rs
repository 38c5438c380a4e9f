//! What a path knows of its own TSNs: the structures behind split fast retransmit (SFR), CUC and the
//! per-path timers.
//!
//! Lists are sorted by TSN and cleaned lazily: an entry counts only while [`TxChunk`] agrees that the chunk was last sent here, in
//! that class, and is not acknowledged. So an acknowledgement costs nothing here, and no SACK scans the whole window.

use std::collections::{BTreeSet, VecDeque};

use super::chunk::{ChunkRing, ChunkState, TxChunk};
use crate::ids::PathId;
use crate::sender::lists::{append, trim};
use crate::sender::types::{Class, lower};
use crate::time::Time;

/// Stale transmissions that are borne, beyond what a window holds, before they are looked for.
const SPARE: usize = 64;

/// The lists of one path.
#[derive(Debug, Default)]
pub(super) struct PathList {
    /// TSNs last sent here that were never retransmitted, and those that were, ascending.
    never_retransmitted: VecDeque<u64>,
    retransmitted: VecDeque<u64>,
    /// (TSN, when) of all transmissions here in the order of sending, for T3-rtx and RACK.
    by_send: VecDeque<(u64, Time)>,
    /// While chunks in flight here are to be copied to other paths: all below this TSN are.
    pub(super) copied_below: Option<u64>,
    /// Chunks last sent here that wait to be retransmitted.
    pub(super) marked: BTreeSet<u64>,
    /// Chunks on their way here whose messages were abandoned.
    pub(super) abandoned_in_flight: u32,
}

fn unacked(chunk: &TxChunk) -> bool {
    chunk.state.is_under_way() || matches!(chunk.state, ChunkState::Marked(_))
}

fn listed(ring: &ChunkRing, path: PathId, class: Class, tsn: u64) -> bool {
    ring.get(tsn).is_some_and(|c| c.path == path && unacked(c) && c.class() == class)
}

/// Whether the transmission of an entry of `by_send` is the chunk's latest on the path, and in flight.
fn in_flight(ring: &ChunkRing, path: PathId, tsn: u64, sent: Time) -> bool {
    ring.get(tsn).is_some_and(|c| c.in_flight_on(path) == Some(sent))
}

impl PathList {
    fn list_mut(&mut self, class: Class) -> &mut VecDeque<u64> {
        match class {
            Class::NeverRetransmitted => &mut self.never_retransmitted,
            Class::Retransmitted => &mut self.retransmitted,
        }
    }

    const fn list(&self, class: Class) -> &VecDeque<u64> {
        match class {
            Class::NeverRetransmitted => &self.never_retransmitted,
            Class::Retransmitted => &self.retransmitted,
        }
    }

    /// `tsn` goes out here for the `nth` time.
    pub(super) fn note_sent(&mut self, now: Time, tsn: u64, nth: u16) {
        append(&mut self.by_send, (tsn, now));
        if nth == 1 {
            // New TSNs ascend.
            append(&mut self.never_retransmitted, tsn);
        } else {
            self.insert_sorted(tsn, Class::Retransmitted);
        }
    }

    /// A copy of `tsn`, which is in flight on another path, goes out here.
    pub(super) fn note_copy_sent(&mut self, now: Time, tsn: u64) {
        append(&mut self.by_send, (tsn, now));
    }

    /// The copy of `tsn` here becomes its only transmission in flight.
    pub(super) fn note_copy_took_over(&mut self, tsn: u64) {
        self.insert_sorted(tsn, Class::Retransmitted);
    }

    /// Appends to `out` the chunks of which a copy is in flight here.
    pub(super) fn list_copies(&self, ring: &ChunkRing, path: PathId, out: &mut Vec<u64>) {
        let copy = |c: &TxChunk| c.path != path;
        let entries = self.by_send.iter().filter(|&&(tsn, sent)| in_flight(ring, path, tsn, sent));
        out.extend(entries.map(|e| e.0).filter(|&tsn| ring.get(tsn).is_some_and(copy)));
    }

    /// The lowest TSN from `from` on that is in flight here and nowhere else.
    pub(super) fn lowest_uncopied(&self, ring: &ChunkRing, path: PathId, from: u64) -> Option<u64> {
        let alone = |c: &TxChunk| c.state == ChunkState::InFlight && c.copies.is_empty();
        let first = |class: Class| {
            let list = self.list(class);
            let rest = list.range(list.partition_point(|&tsn| tsn < from)..);
            let mut listed = rest.copied().filter(|&tsn| listed(ring, path, class, tsn));
            listed.find(|&tsn| ring.get(tsn).is_some_and(alone))
        };
        lower(first(Class::NeverRetransmitted), first(Class::Retransmitted))
    }

    /// A chunk that waits to be retransmitted comes from a path that is gone.
    pub(super) fn take_over_marked(&mut self, tsn: u64, class: Class) {
        self.insert_sorted(tsn, class);
        self.marked.insert(tsn);
    }

    /// Puts `tsn` where it belongs in the list of its class, once.
    fn insert_sorted(&mut self, tsn: u64, class: Class) {
        let list = self.list_mut(class);
        if let Err(at) = list.binary_search(&tsn) {
            list.insert(at, tsn);
        }
    }

    /// A chunk that was gap-acked is in flight again: the peer reneged.
    pub(super) fn note_reneged(&mut self, tsn: u64, chunk: &TxChunk) {
        self.insert_sorted(tsn, chunk.class());
        append(&mut self.by_send, (tsn, chunk.sent));
    }

    /// Drops stale and repeated transmissions once there are more of them than a window of `ring`'s chunks explains: who reneges
    /// again and again enlists the same chunks again and again, behind one that is never acknowledged.
    pub(super) fn drop_stale_transmissions(&mut self, ring: &ChunkRing, path: PathId) {
        if self.by_send.len() <= 2 * ring.len() + SPARE {
            return;
        }
        let mut seen = BTreeSet::new();
        self.by_send.retain(|&(tsn, sent)| in_flight(ring, path, tsn, sent) && seen.insert(tsn));
    }

    /// The pseudo-cum-ack of a class: its lowest unacknowledged TSN on this path.
    pub(super) fn lowest_unacked(
        &mut self,
        ring: &ChunkRing,
        path: PathId,
        class: Class,
    ) -> Option<u64> {
        let list = self.list_mut(class);
        while let Some(&tsn) = list.front() {
            if listed(ring, path, class, tsn) {
                return Some(tsn);
            }
            list.pop_front();
        }
        None
    }

    /// The highest unacknowledged TSN last sent here.
    pub(super) fn highest_unacked(&mut self, ring: &ChunkRing, path: PathId) -> Option<u64> {
        let mut highest = None;
        for class in [Class::NeverRetransmitted, Class::Retransmitted] {
            let list = self.list_mut(class);
            while list.back().is_some_and(|&tsn| !listed(ring, path, class, tsn)) {
                list.pop_back();
            }
            highest = highest.max(list.back().copied());
        }
        highest
    }

    /// The chunk in flight here that was sent first.
    pub(super) fn earliest_sent(&mut self, ring: &ChunkRing, path: PathId) -> Option<(u64, Time)> {
        while let Some(&(tsn, sent)) = self.by_send.front() {
            if in_flight(ring, path, tsn, sent) {
                return Some((tsn, sent));
            }
            self.by_send.pop_front();
        }
        None
    }

    /// Appends to `out` the chunks whose latest transmission, here, is in flight and was before `limit`: (sent, TSN). Drops
    /// stale entries on the way, as [`in_flight_below`](Self::list_in_flight_below) does.
    pub(super) fn list_in_flight_before(
        &mut self,
        ring: &ChunkRing,
        path: PathId,
        limit: (Time, u64),
        out: &mut Vec<u64>,
    ) {
        let (mut kept, mut end) = (0, 0);
        while let Some(&(tsn, sent)) = self.by_send.get(end) {
            if in_flight(ring, path, tsn, sent) {
                if (sent, tsn) >= limit {
                    break;
                }
                out.push(tsn);
                self.by_send[kept] = (tsn, sent);
                kept += 1;
            }
            end += 1;
        }
        remove_range(&mut self.by_send, kept, end);
    }

    /// A chunk that was declared lost is in flight again, without having been sent again.
    pub(super) fn note_back_in_flight(&mut self, tsn: u64, sent: Time) {
        self.by_send.push_front((tsn, sent));
    }

    /// Appends to `out` the chunks in flight here with TSNs below `limit`, and drops stale entries on the way, so that the next
    /// call walks only what is still missing.
    pub(super) fn list_in_flight_below(
        &mut self,
        ring: &ChunkRing,
        path: PathId,
        limit: u64,
        out: &mut Vec<u64>,
    ) {
        for class in [Class::NeverRetransmitted, Class::Retransmitted] {
            // Nothing is missing below most limits: spare the search.
            if self.lowest_unacked(ring, path, class).is_none_or(|lowest| lowest >= limit) {
                continue;
            }
            let list = self.list_mut(class);
            let end = list.partition_point(|&tsn| tsn < limit);
            let mut kept = 0;
            for i in 0..end {
                let tsn = list[i];
                if listed(ring, path, class, tsn) {
                    list[kept] = tsn;
                    kept += 1;
                    if ring.get(tsn).is_some_and(|c| c.state.is_under_way()) {
                        out.push(tsn);
                    }
                }
            }
            remove_range(list, kept, end);
        }
    }

    /// Gives back what the lists do not need any more.
    #[inline]
    pub(super) fn trim(&mut self) {
        trim(&mut self.never_retransmitted);
        trim(&mut self.retransmitted);
        trim(&mut self.by_send);
    }

    /// Forgets everything: the association restarts.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Removes `list[from..to]` by moving the shorter side: here the front, which holds the few that are missing.
fn remove_range<T: Copy>(list: &mut VecDeque<T>, from: usize, to: usize) {
    let gone = to - from;
    if gone == 0 {
        return;
    }
    for i in (0..from).rev() {
        list[i + gone] = list[i];
    }
    list.drain(..gone);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_a_range_keeps_the_rest_in_order() {
        for (from, to) in [(0, 0), (0, 3), (2, 5), (5, 8), (3, 3)] {
            let mut list: VecDeque<u64> = (0..8).collect();
            remove_range(&mut list, from, to);
            let want: Vec<u64> = (0..from as u64).chain(to as u64..8).collect();
            assert_eq!(list.into_iter().collect::<Vec<_>>(), want);
        }
    }
}
