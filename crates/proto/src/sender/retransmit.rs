//! Retransmissions: what a timeout marks, and how marked chunks go out again.

use polypath_wire::PacketWriter;

use super::chunk::ChunkState;
use super::path_list::Class;
use super::{Sender, reserve};
use crate::config::AssocConfig;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::{Duration, Time};
use crate::tsn_map::wire;
use crate::view::{ChunkMeta, LossKind, RtxMeta};

impl Sender {
    /// T3-rtx of `p` expired: marks the chunks last sent on `p` (RFC 9260 section 6.3.3 E3). Gives how many.
    pub(crate) fn mark_timeout(
        &mut self,
        now: Time,
        p: PathId,
        paths: &mut PathSet,
        config: &AssocConfig,
    ) -> u32 {
        let Some(list) = self.paths.get_mut(p.index()) else { return 0 };
        let mut tsns = Vec::new();
        list.in_flight_below(&self.ring, p, u64::MAX, &mut tsns);
        let young = self.spared_age(p, paths, config);
        // RACK spares the young, but never the first (RFC 8985 section 6.3).
        let first = tsns.iter().min().copied().filter(|_| self.recovery.rack);
        tsns.retain(|&tsn| {
            let age = |c: &super::TxChunk| now.since(c.sent);
            Some(tsn) == first || self.ring.get(tsn).is_none_or(|c| age(c) >= young)
        });
        for &tsn in &tsns {
            self.mark(tsn, LossKind::Timeout, paths);
        }
        let copies = self.lose_copies(now, p, young, paths);
        let mut marked = tsns.len() as u32;
        if marked + copies == 0 {
            marked = self.mark_doubtful(p, paths);
        }
        if let Some(list) = self.paths.get_mut(p.index()) {
            let recovering = list.recovery_exit.take().is_some();
            list.allowance |= marked > 0;
            if marked > 0 {
                self.recovery_timed_out(now, p, tsns, recovering);
            }
        }
        if let Some((view, path)) = paths.both_mut(p) {
            view.in_recovery = false;
            if view.outstanding > 0 {
                path.t3 = now + view.rto;
            }
        }
        marked + copies
    }

    /// T3 ran although nothing was in flight: the peer may have reneged on gap-acked chunks of this path (see `sender::sack`).
    fn mark_doubtful(&mut self, p: PathId, paths: &mut PathSet) -> u32 {
        let doubtful = |(tsn, c): (u64, &super::TxChunk)| {
            (c.path == p && c.state == ChunkState::GapAcked).then_some(tsn)
        };
        let tsns: Vec<u64> = self.ring.iter().filter_map(doubtful).collect();
        for &tsn in &tsns {
            self.acked.remove(tsn);
            if let Some(chunk) = self.ring.get_mut(tsn) {
                chunk.reneged = true;
            }
            self.mark(tsn, LossKind::Timeout, paths);
            if let (Some(list), Some(chunk)) = (self.paths.get_mut(p.index()), self.ring.get(tsn)) {
                list.reneged(tsn, chunk);
            }
        }
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.tidy(&self.ring, p);
        }
        tsns.len() as u32
    }

    /// Whether anything waits to be retransmitted.
    pub(crate) fn has_marked(&self) -> bool {
        self.paths.iter().any(|l| !l.marked.is_empty())
    }

    /// The lowest marked chunk among those last sent on `p`.
    pub(crate) fn marked_head(&self, p: PathId) -> Option<RtxMeta> {
        let tsn = *self.paths.get(p.index())?.marked.first()?;
        let chunk = self.ring.get(tsn)?;
        let ChunkState::Marked(cause) = chunk.state else { return None };
        let bytes = chunk.size() as u32;
        Some(RtxMeta::new(wire(tsn), p, u32::from(chunk.sends), bytes, cause))
    }

    /// The extended TSN of the lowest marked chunk of `p`, for ordering.
    pub(crate) fn marked_tsn(&self, p: PathId) -> Option<u64> {
        self.paths.get(p.index())?.marked.first().copied()
    }

    /// Whether a packet of retransmissions of `p`'s losses may ignore cwnd.
    pub(crate) fn allowance(&self, p: PathId) -> bool {
        self.paths.get(p.index()).is_some_and(|l| l.allowance)
    }

    /// Stream and payload bytes of a chunk, for traces.
    pub(crate) fn describe(&self, tsn: u64) -> (crate::ids::StreamId, u32) {
        self.ring.get(tsn).map_or((crate::ids::StreamId(0), 0), |c| (c.stream, c.bytes))
    }

    /// A packet began with a retransmission of `p`'s losses.
    pub(crate) fn use_allowance(&mut self, p: PathId) {
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.allowance = false;
        }
    }

    /// Sends the lowest marked chunk of `from` again, on `to`. Gives its TSN and cause; `None` if it does not fit.
    pub(crate) fn send_again(
        &mut self,
        now: Time,
        from: PathId,
        to: PathId,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
    ) -> Option<(u64, LossKind)> {
        let tsn = self.marked_tsn(from)?;
        let chunk = self.ring.get_mut(tsn)?;
        let ChunkState::Marked(cause) = chunk.state else { return None };
        writer.push(&chunk.encode(tsn)).ok()?;
        chunk.state = ChunkState::InFlight;
        chunk.sends = chunk.sends.saturating_add(1).max(2);
        chunk.sent = now;
        chunk.missing = 0;
        chunk.path = to;
        chunk.moved |= from != to;
        let (size, bytes, sends) = (chunk.size(), chunk.bytes, chunk.sends);
        if let Some(list) = self.paths.get_mut(from.index()) {
            list.marked.remove(&tsn);
        }
        self.rebook(from, to, u64::from(bytes), paths);
        self.window.sent(bytes);
        let first = self.is_lowest(tsn, to);
        if let Some(list) = self.paths.get_mut(to.index()) {
            list.sent(now, tsn, sends);
        }
        let (view, path) = paths.both_mut(to)?;
        view.outstanding += size;
        view.outstanding_payload += u64::from(bytes);
        view.data_chunks += 1;
        view.last_data = now;
        path.idle_since = now;
        path.stats.data_chunks += 1;
        path.stats.payload_bytes += u64::from(bytes);
        match cause {
            LossKind::FastRetransmit => path.stats.retransmissions_fast += 1,
            LossKind::Timeout => path.stats.retransmissions_timeout += 1,
        }
        // RFC 9260 section 7.2.4, rule 4: the first outstanding chunk of an address goes out again with a fresh T3-rtx.
        if path.t3 == Time::MAX || cause == LossKind::FastRetransmit && first {
            path.t3 = now + view.rto;
        }
        self.recovery_sent_again(now, tsn, from, to, cause);
        Some((tsn, cause))
    }

    /// Whether `tsn` is below all that is unacknowledged on `p`.
    fn is_lowest(&mut self, tsn: u64, p: PathId) -> bool {
        let Some(list) = self.paths.get_mut(p.index()) else { return false };
        let once = list.lowest(&self.ring, p, Class::Once);
        let again = list.lowest(&self.ring, p, Class::Again);
        super::sack::lower(once, again).is_none_or(|lowest| tsn <= lowest)
    }

    /// The bytes of a moved chunk belong to its new path.
    pub(super) fn rebook(&self, from: PathId, to: PathId, bytes: u64, paths: &mut PathSet) {
        if from != to {
            if let Some(view) = paths.view_mut(from) {
                view.queued -= bytes;
            }
            if let Some(view) = paths.view_mut(to) {
                view.queued += bytes;
            }
        }
    }

    /// A zero-window probe may go out.
    pub(crate) fn allow_window_probe(&mut self) {
        self.window.probe_allowed = true;
    }

    /// Whether [`allow_window_probe`](Self::allow_window_probe) was called and no probe went out since.
    pub(crate) const fn window_probe_allowed(&self) -> bool {
        self.window.probe_allowed
    }

    /// Takes the permission for a zero-window probe.
    pub(crate) fn take_window_probe(&mut self) -> bool {
        let allowed = core::mem::take(&mut self.window.probe_allowed);
        self.window.probes += u32::from(allowed);
        allowed
    }

    /// How long to wait before the next zero-window probe: one RTO, doubled with every probe.
    pub(crate) fn probe_delay(&self, rto: Duration, max: Duration) -> Duration {
        rto.saturating_mul(1 << self.window.probes.min(16)).min(max)
    }

    /// The window takes `chunk`; resets the back-off of probes if so.
    pub(crate) fn window_admits(&mut self, chunk: &ChunkMeta) -> bool {
        let kept = if self.keeps_room_from(chunk.needs) { reserve(self.window.max()) } else { 0 };
        let admits =
            self.window.cost(chunk.bytes) + kept <= self.window.rwnd() || self.window.is_all_open();
        if admits {
            self.window.probes = 0;
            self.window.probe_allowed = false;
        }
        admits
    }

    /// A timeout now concerns a zero-window probe that the peer answers with SACKs that take nothing.
    pub(crate) const fn probing_window(&self) -> bool {
        self.window.shut_by_living_peer()
    }
}
