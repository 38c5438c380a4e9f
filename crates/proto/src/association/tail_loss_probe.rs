//! Tail-loss probes on their way out (RFC 8985 section 7.3): the one packet that may ignore the
//! congestion window.

use super::send_attempt::Transmission;
use super::send_decision::SendDecision;
use crate::ids::PathId;
use crate::policy::{PathPick, Trigger};
use crate::trace::Stop;
use crate::view::ChunkMeta;

impl SendDecision<'_> {
    /// The probe that is due, after all that the windows allow was sent: new data if there is any
    /// and every other rule lets it go, else the highest TSN in flight on the path.
    pub(super) fn next_tail_loss_probe(&mut self) -> Option<Transmission> {
        while let Some(path) = self.tx.recovery.find_due_probe() {
            if let Some(chunk) = self.new_data_as_probe(path) {
                let size = self.tx.chunk_size(chunk.bytes);
                return Some(Transmission::NewData { path, chunk, size });
            }
            if let Some(chunk) = self.tx.probe_candidate(self.now, path) {
                return Some(Transmission::TailLossProbe { path, chunk });
            }
            self.tx.recovery.drop_probe(path);
        }
        None
    }

    /// A send attempt for a single packet on `p`, in which no path but `p` is open.
    fn new_data_as_probe(&mut self, p: PathId) -> Option<ChunkMeta> {
        if !self.paths.view(p).is_some_and(|v| v.usable) {
            return None;
        }
        self.attempt.request(Trigger::Timer);
        self.begin_attempt()?;
        self.policies.stream_scheduler.packet_started();
        let chunk = self.pick_chunk_for_probe(p);
        if chunk.is_none() {
            self.end_attempt(Stop::Paths);
        }
        chunk
    }

    fn pick_chunk_for_probe(&mut self, p: PathId) -> Option<ChunkMeta> {
        for (_, path) in self.paths.iter_mut() {
            path.burst_left = 0;
        }
        let chunk = self.peek_chunk(&[])?;
        if !self.tx.has_tsn_room() || !self.tx.window_admits(&chunk) {
            return None;
        }
        self.refresh_sendable(chunk.bytes, None);
        let view = self.tx.view(self.now, self.paths);
        if !self.policies.buffer.may_take(&view, p, chunk.bytes) {
            return None;
        }
        self.paths.view_mut(p)?.sendable = true;
        let view = self.tx.view(self.now, self.paths);
        let pick = self.policies.path_scheduler.pick_path(&view, &chunk);
        (pick == PathPick::Use(p)).then_some(chunk)
    }
}
