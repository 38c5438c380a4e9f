//! Sends heartbeats as large as data where no data tells how thin a path is.

use polypath_wire::{EncodeChunk, HeartbeatRepr, PadRepr};

use super::{Association, Bundling};
use crate::control::Encoded;
use crate::ids::PathId;
use crate::path::{HeartbeatInfo, RateProbe};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::view::PathState;

/// Type and length of a chunk.
const TLV: usize = 4;

impl Association {
    /// A heartbeat on `p` took `unpadded`: a padded one follows if it is time for that.
    pub(super) fn probe_rate(&mut self, now: Time, p: PathId, unpadded: Duration) {
        // Whoever is called by strangers and says nothing spends neither packets nor memory on
        // that.
        let speaks = self.setup.opened || self.stats.data_chunks_sent > 0;
        if !self.config.rate_probes || !speaks || !self.state.sends_heartbeats() {
            return;
        }
        let packets: u64 = self.paths.views.iter().map(|view| view.data_packets).sum();
        let packets = packets / self.paths.views.len().max(1) as u64;
        let latest_data = self.paths.views.iter().map(|view| view.last_data).max();
        let Some((view, path)) = self.paths.both_mut(p) else { return };
        let idle =
            path.rate_probes.is_due(now, view.last_data, latest_data.unwrap_or_default(), packets);
        if view.state != PathState::Active || !idle {
            return;
        }
        let room = (view.pmdcs as usize).saturating_sub(self.probe_reserve()) & !3;
        let nonce = self.rng.with(Rng::next_u64);
        let info = HeartbeatInfo { path: p, nonce }.encode();
        let mut chunks = Vec::with_capacity(room);
        HeartbeatRepr { info: &info }.encode(&mut chunks);
        let bytes = room.saturating_sub(chunks.len());
        PadRepr { len: bytes.saturating_sub(TLV) }.encode(&mut chunks);
        self.send_control(p, &Encoded(&chunks), Bundling::Alone);
        let probe = RateProbe { nonce, sent: now, bytes: bytes as u64, unpadded };
        if let Some(path) = self.paths.get_mut(p) {
            path.rate_probes.sent(probe, packets);
        }
    }

    /// Gives whether a HEARTBEAT ACK answers a probe of the rate.
    pub(super) fn rate_probe_answered(&mut self, now: Time, info: HeartbeatInfo) -> bool {
        let Some(path) = self.paths.get_mut(info.path) else { return false };
        let Some(trip) = path.rate_probes.answered(now, info.nonce) else {
            return false;
        };
        let view = self.tx.view(now, &self.paths);
        self.policies.path_scheduler.on_rate_probe(&view, info.path, &trip);
        true
    }
}
