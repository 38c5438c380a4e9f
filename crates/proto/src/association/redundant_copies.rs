//! Copies of chunks in flight on a second path: those of a path that fell silent, and those that a
//! redundant scheduler asks for.

use super::send_attempt::Transmission;
use super::send_decision::SendDecision;
use crate::ids::PathId;
use crate::view::PathView;

impl SendDecision<'_> {
    /// The next chunk in flight on the silent path `from`, on the fastest other path once it has
    /// room.
    pub(super) fn next_copy_of_silent_path(
        &self,
        from: PathId,
        packet: Option<PathId>,
    ) -> Option<Transmission> {
        let chunk = self.tx.outstanding.lowest_uncopied(from)?;
        // Should `from` lose the chunk, its copy takes its place. On a path of a longer round trip
        // than this one's timeout it would come later than what the timeout sends again.
        let timeout = self.paths.view(from)?.rto;
        let soon = |v: &PathView| v.srtt.is_none_or(|srtt| srtt < timeout);
        let open = |v: &&PathView| v.usable && v.id != from && soon(v);
        // A near path may be thin. One that is full has room with its next SACK.
        let view = self.tx.view(self.now, self.paths);
        let scheduler = &self.policies.path_scheduler;
        let trip = |v: &PathView| scheduler.expected_trip(&view, v, chunk.bytes).or(v.srtt);
        let fastest = self.paths.views.iter().filter(open).min_by_key(|v| (trip(v), v.id))?;
        let is_open = fastest.has_room() && self.tx.may_copy_to(fastest);
        let may_go = packet.is_none_or(|p| p == fastest.id) && is_open;
        may_go.then_some(Transmission::Duplicate { from, to: fastest.id, chunk })
    }

    /// The copy that a redundant scheduler asked for and that is next, on a path with room.
    pub(super) fn next_redundant_copy(&mut self, packet: Option<PathId>) -> Option<Transmission> {
        if !self.tx.copies.has_wanted() {
            return None;
        }
        for to in self.paths.ids().filter(|&p| packet.is_none_or(|q| q == p)) {
            let taken = self.tx.copies.lingering(self.now, to);
            let open = |v: &PathView| v.usable && v.outstanding + taken < v.cwnd;
            if self.paths.view(to).is_some_and(open)
                && let Some((from, chunk)) = self.tx.next_wanted_copy(to)
            {
                return Some(Transmission::Duplicate { from, to, chunk });
            }
        }
        None
    }
}
