//! Chunk rescheduling (Dreibholz et al., GLOBECOM 2010): when what a path delivered fills half of a
//! buffer and cannot leave, because a chunk in flight on another path is missing, that chunk moves
//! to the path that is ready to send.

use super::send_attempt::Transmission;
use super::send_decision::SendDecision;
use crate::ids::PathId;
use crate::view::{AssocView, PathView};

impl SendDecision<'_> {
    /// At the beginning of a send attempt: the move of the lowest TSN, if it is due.
    pub(super) fn plan_move(&mut self) {
        self.attempt.planned_move = None;
        if !self.config.recovery.rescheduling.watches_blocking() {
            return;
        }
        let Some((_, from, sent)) = self.tx.blocking_chunk() else { return };
        let now = self.now;
        let view = self.tx.view(now, self.paths);
        let ready = |p: &&PathView| {
            let held_back = self.paths.get(p.id).is_some_and(|path| path.is_held_back(now));
            p.usable && p.has_room() && !p.in_recovery && !held_back
        };
        // A chunk in its own path's flight has two round trips before the others complain.
        let late = |p: &PathView| now.since(sent) > 2 * p.srtt.unwrap_or(p.rto);
        let blocked = view.paths.iter().filter(ready).find(|p| self.is_blocked(&view, p));
        let mut to = blocked.map(|p| p.id).filter(|&p| p != from);
        if blocked.is_some_and(|p| p.id == from && late(p)) {
            to = view.usable().find(|p| p.id != from && p.has_room()).map(|p| p.id);
        }
        self.attempt.planned_move = to;
    }

    /// Half of the buffer that the path may use is taken by what it delivered.
    fn is_blocked(&self, view: &AssocView<'_>, p: &PathView) -> bool {
        let queued: u64 = view.paths.iter().map(|p| p.queued).sum();
        let share = self.policies.buffer.share_of(view, p.id);
        let limit = view.send_buffer.limit.min(view.peer_rwnd + queued).min(share);
        2 * p.queued.saturating_sub(p.outstanding_payload) >= limit
    }

    /// The planned move, while it is still possible.
    pub(super) fn next_rescheduled_chunk(&self, packet: Option<PathId>) -> Option<Transmission> {
        let to = self.attempt.planned_move.filter(|&to| packet.is_none_or(|p| p == to))?;
        let (chunk, from, _) = self.tx.blocking_chunk()?;
        let open = self.paths.view(to).is_some_and(|v| v.usable && v.has_room());
        (open && from != to).then_some(Transmission::Duplicate { from, to, chunk })
    }
}
