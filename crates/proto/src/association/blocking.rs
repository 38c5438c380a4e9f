//! Chunk rescheduling (Dreibholz et al., GLOBECOM 2010): when what a path delivered fills half of a buffer and cannot leave,
//! because a chunk in flight on another path is missing, that chunk moves to the path that is ready to send.

use super::output::Next;
use super::{Association, assoc_view};
use crate::ids::PathId;
use crate::time::Time;
use crate::view::{AssocView, PathView};

impl Association {
    /// At the beginning of a send attempt: the move of the lowest TSN, if it is due.
    pub(super) fn plan_move(&mut self, now: Time) {
        self.planned_move = None;
        if !self.config.recovery.rescheduling.watches_blocking() {
            return;
        }
        let Some((_, from, sent)) = self.tx.blocking_chunk() else { return };
        let view = assoc_view(now, &self.paths, &self.tx, &self.config);
        let ready = |p: &&PathView| {
            p.usable && p.has_room() && !p.in_recovery && !self.is_held_back(now, p.id)
        };
        // A chunk in its own path's flight has two round trips before the others complain.
        let late = |p: &PathView| now.since(sent) > 2 * p.srtt.unwrap_or(p.rto);
        let blocked = view.paths.iter().filter(ready).find(|p| self.is_blocked(&view, p));
        self.planned_move = blocked.map(|p| p.id).filter(|&p| p != from);
        if blocked.is_some_and(|p| p.id == from && late(p)) {
            self.planned_move = view.usable().find(|p| p.id != from && p.has_room()).map(|p| p.id);
        }
    }

    /// Half of the buffer that the path may use is taken by what it delivered.
    fn is_blocked(&self, view: &AssocView<'_>, p: &PathView) -> bool {
        let queued: u64 = view.paths.iter().map(|p| p.queued).sum();
        let share = self.policies.buffer.share(view, p.id);
        let limit = view.send_buffer.limit.min(view.peer_rwnd + queued).min(share);
        2 * p.queued.saturating_sub(p.outstanding_payload) >= limit
    }

    /// The planned move, while it is still possible.
    pub(super) fn decide_move(&self, packet: Option<PathId>) -> Option<Next> {
        let to = self.planned_move.filter(|&to| packet.is_none_or(|p| p == to))?;
        let (chunk, from, _) = self.tx.blocking_chunk()?;
        let open = self.paths.view(to).is_some_and(|v| v.usable && v.has_room());
        (open && from != to).then_some(Next::Copy { from, to, chunk })
    }

    /// The copy of a planned move went out: the original counts as lost. Where that is no news, the path pauses for a round trip.
    pub(super) fn complete_move(&mut self, now: Time, tsn: u64) {
        self.planned_move = None;
        let Some((from, losses)) = self.tx.complete_move(now, tsn, &mut self.paths) else { return };
        if losses.react {
            self.cut_window(now, from, losses);
        } else if !self.is_held_back(now, from)
            && let Some((view, path)) = self.paths.both_mut(from)
        {
            path.held_back_until = now + view.srtt.unwrap_or(view.rto);
            self.timers.scheduler = self.timers.scheduler.min(path.held_back_until);
        }
    }

    /// Whether `p` takes no new data for a while.
    pub(super) fn is_held_back(&self, now: Time, p: PathId) -> bool {
        self.paths.get(p).is_some_and(|path| now < path.held_back_until)
    }
}
