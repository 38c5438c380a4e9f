//! A path is removed: what it has in flight is sent again elsewhere, and what it delivered belongs
//! to another path from then on.

use super::outstanding::TxChunk;
use super::sending_half::Sender;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::view::LossKind;

impl Sender {
    /// Takes every chunk from `p`, which is removed: those in flight wait to be sent again, on the
    /// account of `heir`. No window is cut for that: nothing was lost to congestion.
    pub(crate) fn remove_path(&mut self, p: PathId, heir: PathId, paths: &mut PathSet) {
        let of = |wanted: &dyn Fn(&TxChunk) -> bool| -> Vec<u64> {
            self.outstanding.iter().filter(|(_, c)| wanted(c)).map(|(tsn, _)| tsn).collect()
        };
        let copies = of(&|c| c.path != p && c.copies.iter().any(|copy| copy.path == p));
        let own = of(&|c| c.path == p);
        for tsn in copies {
            self.outstanding.lose_copy(tsn, p, paths);
        }
        for tsn in own {
            if self.outstanding.get(tsn).is_some_and(TxChunk::is_in_flight) {
                // A copy in flight elsewhere takes its place, if there is one.
                self.declare_lost(tsn, LossKind::FastRetransmit, paths);
            }
            self.outstanding.move_to(tsn, p, heir, paths);
        }
        self.forward.on_path_removed(p);
        self.outstanding.clear_path(p);
        self.recovery.clear_path(p);
        self.copies.clear_path(p);
    }

    /// A chunk in flight on `p`, for the first time or for the `nth`, never left: it waits to be
    /// sent again. No window is cut for that. Gives whether it was so.
    pub(crate) fn take_back(
        &mut self,
        tsn: u64,
        p: PathId,
        nth: bool,
        paths: &mut PathSet,
    ) -> bool {
        let there = |c: &&TxChunk| c.path == p && c.is_in_flight();
        let chunk = self.outstanding.get(tsn).filter(there);
        let found = chunk.is_some_and(|c| nth || c.transmissions == 1);
        if found {
            self.declare_lost(tsn, LossKind::FastRetransmit, paths);
            self.outstanding.retract_loss(tsn);
        }
        found
    }

    fn declare_lost(&mut self, tsn: u64, cause: LossKind, paths: &mut PathSet) {
        self.recovery.declare_lost(tsn, cause, &mut self.outstanding, paths);
    }
}
