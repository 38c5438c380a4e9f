//! A path goes: what it has in flight is sent again elsewhere, and what it delivered belongs to another path from then on.

use super::Sender;
use super::chunk::{ChunkState, TxChunk};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::view::LossKind;

impl Sender {
    /// Takes every chunk from `p`, which is removed: those in flight wait to be sent again, on the account of `heir`. No window is
    /// cut for that: nothing was lost to congestion.
    pub(crate) fn rehome(&mut self, p: PathId, heir: PathId, paths: &mut PathSet) {
        let of = |wanted: &dyn Fn(&TxChunk) -> bool| -> Vec<u64> {
            self.ring.iter().filter(|(_, c)| wanted(c)).map(|(tsn, _)| tsn).collect()
        };
        let copies = of(&|c| c.path != p && c.copies.iter().any(|copy| copy.path == p));
        let own = of(&|c| c.path == p);
        for tsn in copies {
            self.lose_copy(tsn, p, paths);
        }
        for tsn in own {
            if self.ring.get(tsn).is_some_and(|c| c.state == ChunkState::InFlight) {
                // A copy in flight elsewhere takes its place, if there is one.
                self.mark(tsn, LossKind::FastRetransmit, paths);
            }
            self.give(tsn, p, heir, paths);
        }
        self.forward_path_gone(p);
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.clear();
        }
    }

    /// A chunk in flight on `p`, for the first time or for the `nth`, never left: it waits to be sent again. No window is cut for that. Gives
    /// whether it was so.
    pub(crate) fn take_back(
        &mut self,
        tsn: u64,
        p: PathId,
        nth: bool,
        paths: &mut PathSet,
    ) -> bool {
        let there = |c: &&TxChunk| c.path == p && c.state == ChunkState::InFlight;
        let found = self.ring.get(tsn).filter(there).is_some_and(|c| nth || c.sends == 1);
        if found {
            self.mark(tsn, LossKind::FastRetransmit, paths);
        }
        found
    }

    fn give(&mut self, tsn: u64, p: PathId, heir: PathId, paths: &mut PathSet) {
        let Some(chunk) = self.ring.get_mut(tsn).filter(|c| c.path == p) else { return };
        chunk.path = heir;
        chunk.moved = true;
        if chunk.state.is_given_up() {
            // Whether it is lost will not be known.
            chunk.state = ChunkState::Abandoned;
            return;
        }
        let (state, class, bytes) = (chunk.state, chunk.class(), u64::from(chunk.bytes));
        if state != ChunkState::NrAcked {
            self.rebook(p, heir, bytes, paths);
        }
        let Some(list) = self.paths.get_mut(heir.index()) else { return };
        if matches!(state, ChunkState::Marked(_)) {
            list.inherit(tsn, class);
        }
    }
}
