//! Copies on their way out, and paths that fall silent: their data goes out once more elsewhere, at once, while a
//! heartbeat asks whether they live. A path that is only slow loses nothing but the time until it is heard of again.

use polypath_wire::PacketWriter;

use super::Association;
use super::output::Next;
use crate::ids::PathId;
use crate::policy::Trigger;
use crate::sender::{ChunkInFlight, SackOutcome};
use crate::time::Time;
use crate::trace::TraceEvent;
use crate::tsn_map::wire;
use crate::view::{PathState, PathView};

impl Association {
    /// After a SACK that brought news: which paths should have been in it, and were not?
    pub(super) fn watch_silence(&mut self, now: Time, outcome: &SackOutcome) {
        if !self.config.recovery.rescheduling.watches_silence() {
            return;
        }
        for p in self.paths.ids() {
            if self.tx.is_silent(now, p, outcome, &self.paths) {
                self.suspect(now, p);
            }
        }
    }

    /// `p` is silent: no data on it while there is a better path, its chunks go out on others, and it is asked for a sign.
    pub(super) fn suspect(&mut self, now: Time, p: PathId) {
        let sound = |v: &PathView| v.usable && !v.suspect && v.state == PathState::Active;
        let replaceable = self.paths.views.iter().any(|v| v.id != p && sound(v));
        if !replaceable || !self.paths.view(p).is_some_and(sound) {
            return;
        }
        self.paths.suspect(p);
        self.tx.begin_copying(p);
        self.data_given_up(now, p);
        self.tracer.emit(now, || TraceEvent::Suspect { path: p, silent: true });
        if self.state.sends_heartbeats() {
            self.send_heartbeat(now, p);
        }
        self.trigger(Trigger::Path);
    }

    /// `p` was heard of: it needs no copies any more.
    pub(super) fn end_suspicion(&mut self, now: Time, p: PathId) {
        if self.paths.view(p).is_some_and(|v| v.suspect) {
            self.tx.outstanding.end_copying(p);
            self.tracer.emit(now, || TraceEvent::Suspect { path: p, silent: false });
            self.trigger(Trigger::Path);
        }
    }

    /// Where a copy of a chunk of `from` goes: the fastest other path with room.
    pub(super) fn copy_path(&self, from: PathId, packet: Option<PathId>) -> Option<PathId> {
        let open = |v: &&PathView| v.usable && v.id != from && v.has_room();
        let fastest = self.paths.views.iter().filter(open).min_by_key(|v| (v.srtt, v.id))?;
        let ours = packet.is_none_or(|p| p == fastest.id) && self.tx.may_copy_to(fastest);
        ours.then_some(fastest.id)
    }

    pub(super) fn decide_copy(&self, from: PathId, packet: Option<PathId>) -> Option<Next> {
        let chunk = self.tx.outstanding.lowest_uncopied(from)?;
        Some(Next::Copy { from, to: self.copy_path(from, packet)?, chunk })
    }

    /// The copy that a redundant scheduler asked for and that is next, on a path with room.
    pub(super) fn decide_wanted(&mut self, now: Time, packet: Option<PathId>) -> Option<Next> {
        if !self.tx.copies.has_wanted() {
            return None;
        }
        for to in self.paths.ids().filter(|&p| packet.is_none_or(|q| q == p)) {
            let taken = self.tx.copies.lingering(now, to);
            let open = |v: &PathView| v.usable && v.outstanding + taken < v.cwnd;
            if self.paths.view(to).is_some_and(open)
                && let Some((from, chunk)) = self.tx.next_wanted_copy(to)
            {
                return Some(Next::Copy { from, to, chunk });
            }
        }
        None
    }

    pub(super) fn write_copy(
        &mut self,
        now: Time,
        from: PathId,
        to: PathId,
        chunk: ChunkInFlight,
        writer: &mut PacketWriter<'_>,
    ) {
        if !self.tx.send_copy(now, chunk.tsn, to, writer, &mut self.paths) {
            return;
        }
        self.stats.copies += 1;
        if self.planned_move == Some(to) && self.tx.cum_ack() + 1 == chunk.tsn {
            self.complete_move(now, chunk.tsn);
        }
        let (_, bytes) = self.tx.describe_chunk(chunk.tsn);
        let tsn = wire(chunk.tsn).0;
        self.tracer.emit(now, || TraceEvent::Copied { path: to, from, tsn, bytes });
    }
}
