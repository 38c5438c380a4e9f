//! What goes out again: marked chunks, and chunks in flight as tail-loss probes.

use polypath_wire::PacketWriter;

use super::outstanding::{ChunkState, TxChunk};
use super::recovery::{ProbeTimer, Sent};
use super::sending_half::Sender;
use super::types::{ChunkInFlight, Losses};
use crate::config::AssocConfig;
use crate::ids::{PathId, StreamId};
use crate::path::PathSet;
use crate::time::Time;
use crate::tsn_map::wire;
use crate::view::{LossKind, RtxMeta};

impl Sender {
    /// T3-rtx of `p` expired (RFC 9260 section 6.3.3). Gives how many chunks are lost.
    pub(crate) fn on_timeout(
        &mut self,
        now: Time,
        p: PathId,
        paths: &mut PathSet,
        config: &AssocConfig,
    ) -> u32 {
        self.recovery.on_timeout(now, p, &mut self.outstanding, paths, config)
    }

    /// The reordering timer of `p` (RFC 8985 section 6.2): what is to do if it expired.
    pub(crate) fn expire_reordering_timer(
        &mut self,
        now: Time,
        p: PathId,
        paths: &mut PathSet,
    ) -> Losses {
        self.recovery.expire_reordering_timer(now, p, &mut self.outstanding, paths)
    }

    /// PTO of `p` (RFC 8985 section 7.3): whether it expired, and a probe is due.
    pub(crate) fn expire_probe_timer(
        &mut self,
        now: Time,
        p: PathId,
        paths: &mut PathSet,
    ) -> ProbeTimer {
        self.recovery.expire_probe_timer(now, p, &self.outstanding, paths)
    }

    /// Where no new data could be sent, retransmissions wait no longer for the answer to a timeout
    /// in doubt (RFC 5682 section 3.1, step 2b). Gives whether any may go now.
    pub(crate) fn release_retransmissions(&mut self, paths: &PathSet) -> bool {
        self.recovery.release_retransmissions(&self.outstanding, paths)
    }

    /// The lowest marked chunk among those last sent on `p`.
    pub(crate) fn marked_head(&self, p: PathId) -> Option<RtxMeta> {
        let tsn = self.outstanding.lowest_marked(p)?;
        let chunk = self.outstanding.get(tsn)?;
        let ChunkState::Marked(cause) = chunk.state() else { return None };
        let (nth, bytes) = (u32::from(chunk.transmissions), chunk.size() as u32);
        Some(RtxMeta::new(wire(tsn), p, nth, bytes, cause))
    }

    /// Stream and payload bytes of a chunk, for traces.
    pub(crate) fn describe_chunk(&self, tsn: u64) -> (StreamId, u32) {
        self.outstanding.get(tsn).map_or((StreamId(0), 0), |c| (c.stream, c.bytes))
    }

    /// Sends the lowest marked chunk of `from` again, on `to`. Gives its TSN and cause; `None` if
    /// it does not fit.
    pub(crate) fn send_again(
        &mut self,
        now: Time,
        from: PathId,
        to: PathId,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
    ) -> Option<(u64, LossKind)> {
        let tsn = self.outstanding.lowest_marked(from)?;
        let chunk = self.outstanding.get(tsn).filter(|c| c.is_marked())?;
        writer.push(&chunk.encode(tsn)).ok()?;
        if let Some(watch) = self.ns2.as_mut().filter(|_| from != to) {
            watch.chunk_moved(from);
        }
        let cause = self.outstanding.retransmit(now, tsn, to, paths)?;
        let what = Sent::Retransmission { from, cause };
        self.recovery.on_sent(now, tsn, to, what, &mut self.outstanding, paths);
        Some((tsn, cause))
    }

    /// The highest TSN in flight on `p`, whose acknowledgement says most about the others.
    pub(crate) fn probe_candidate(&mut self, now: Time, p: PathId) -> Option<ChunkInFlight> {
        let tsn = self.outstanding.highest_unacked(p)?;
        let chunk = self.outstanding.get(tsn).filter(|c| c.is_in_flight())?;
        if self.partial_reliability.as_ref().is_some_and(|partial| !partial.may_repeat(now, chunk))
        {
            return None;
        }
        Some(ChunkInFlight { tsn, bytes: chunk.size() as u32 })
    }

    /// Sends a chunk that is in flight on `p` once more there. It stays counted as outstanding
    /// once. False if it does not fit, or was acknowledged meanwhile.
    pub(crate) fn send_probe(
        &mut self,
        now: Time,
        tsn: u64,
        p: PathId,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
    ) -> bool {
        let sendable = |c: &&TxChunk| c.path == p && c.is_in_flight();
        if self.outstanding.get(tsn).is_some_and(|c| sendable(&c)) {
            // A probe is there for its SACK: the I bit asks not to delay it (RFC 7053).
            self.outstanding.set_immediate(tsn);
        }
        let chunk = self.outstanding.get(tsn).filter(sendable);
        if chunk.is_none_or(|chunk| writer.push(&chunk.encode(tsn)).is_err()) {
            self.recovery.drop_probe(p);
            return false;
        }
        self.outstanding.resend_as_probe(now, tsn, paths);
        self.recovery.on_sent(now, tsn, p, Sent::TailLossProbe, &mut self.outstanding, paths);
        true
    }
}
