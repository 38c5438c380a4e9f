//! Tail-loss probes on their way out (RFC 8985 section 7.3): the one packet that may ignore the congestion window.

use polypath_wire::PacketWriter;

use super::output::Next;
use super::{Association, assoc_view};
use crate::ids::PathId;
use crate::policy::{PathPick, Trigger};
use crate::time::Time;
use crate::trace::{Stop, StreamIdField, TraceEvent};
use crate::tsn_map::wire;
use crate::view::{ChunkMeta, LossKind};

impl Association {
    /// The probe that is due, after all that the windows allow was sent: new data if there is any and every other rule lets
    /// it go, else the highest TSN in flight on the path.
    pub(super) fn decide_probe(&mut self, now: Time) -> Option<Next> {
        while let Some(path) = self.tx.recovery.find_due_probe() {
            if let Some(chunk) = self.new_data_as_probe(now, path) {
                let size = self.tx.chunk_size(chunk.bytes);
                return Some(Next::New { path, chunk, size });
            }
            if let Some(chunk) = self.tx.probe_candidate(now, path) {
                return Some(Next::Probe { path, chunk });
            }
            self.tx.recovery.drop_probe(path);
        }
        None
    }

    /// A send attempt for a single packet on `p`, in which no path but `p` is open.
    fn new_data_as_probe(&mut self, now: Time, p: PathId) -> Option<ChunkMeta> {
        if !self.paths.view(p).is_some_and(|v| v.usable) {
            return None;
        }
        self.trigger(Trigger::Timer);
        self.begin_round(now)?;
        self.policies.stream_scheduler.packet_started();
        let chunk = self.pick_for_probe(now, p);
        if chunk.is_none() {
            self.end_round(now, Stop::Paths);
        }
        chunk
    }

    fn pick_for_probe(&mut self, now: Time, p: PathId) -> Option<ChunkMeta> {
        for (_, path) in self.paths.iter_mut() {
            path.burst_left = 0;
        }
        let chunk = self.next_chunk(&[])?;
        if !self.tx.has_tsn_room() || !self.tx.window_admits(&chunk) {
            return None;
        }
        self.refresh_sendable(now, chunk.bytes, None);
        let view = assoc_view(now, &self.paths, &self.tx, &self.config);
        if !self.policies.buffer.admit(&view, p, chunk.bytes) {
            return None;
        }
        self.paths.view_mut(p)?.sendable = true;
        let view = assoc_view(now, &self.paths, &self.tx, &self.config);
        let pick = self.policies.path_scheduler.pick(&view, &chunk);
        (pick == PathPick::Use(p)).then_some(chunk)
    }

    pub(super) fn write_probe(
        &mut self,
        now: Time,
        path: PathId,
        tsn: u64,
        writer: &mut PacketWriter<'_>,
    ) {
        if !self.tx.send_probe(now, tsn, path, writer, &mut self.paths) {
            return;
        }
        self.stats.retransmissions_fast += 1;
        let (stream, bytes) = self.tx.describe_chunk(tsn);
        self.tracer.emit(now, || TraceEvent::Sent {
            path,
            tsn: wire(tsn).0,
            stream: StreamIdField(stream),
            bytes,
            retransmission: Some(LossKind::FastRetransmit),
        });
    }
}
