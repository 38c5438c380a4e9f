//! Path MTU discovery (RFC 8899) of an association: probes out, answers in, and what follows for
//! its packets.

use polypath_wire::chunk::kind;
use polypath_wire::{EncodeChunk, HeartbeatRepr, PadRepr};

use super::control::Encoded;
use super::{Association, Bundling, State};
use crate::auth::Auth;
use crate::event::Event;
use crate::ids::PathId;
use crate::path::{HeartbeatInfo, MtuStep};
use crate::policy::Trigger;
use crate::rng::Rng;
use crate::stats::PathMtuStats;
use crate::time::{Duration, Time};
use crate::view::PathState;

/// PROBE_TIMER must not be shorter (RFC 8899 section 5.1.1).
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// Bytes of a chunk's or parameter's header.
const TLV: usize = 4;

impl Association {
    /// What is known of the size of packets on path `p`: the size that is configured, where nothing
    /// is found out.
    pub fn path_mtu(&self, p: PathId) -> Option<PathMtuStats> {
        let (view, path) = (self.paths.view(p)?, self.paths.get(p)?);
        let found = path.mtu.as_ref().map_or(PathMtuStats::default(), |search| search.stats());
        Some(PathMtuStats { mtu: view.mtu, ..found })
    }

    /// Discovery begins on `p` once the path is confirmed and the association set up, and again
    /// when the path is back.
    pub(super) fn start_mtu_search(&mut self, now: Time, p: PathId) {
        let ready = self.state.sends_heartbeats()
            && !self.is_exchanging_keys()
            && self.paths.view(p).is_some_and(|v| v.state == PathState::Active);
        if let Some(search) = self.paths.get_mut(p).and_then(|path| path.mtu.as_mut())
            && ready
        {
            search.start(now);
        }
    }

    /// Probes that are due, or lost. A lost one counts neither against the path nor for congestion
    /// control (RFC 8899 section 3).
    pub(super) fn on_mtu_timers(&mut self, now: Time) {
        for p in self.paths.ids() {
            if self.paths.get(p).is_some_and(|path| path.mtu_timer() <= now) {
                self.on_mtu_timer(now, p);
            }
        }
    }

    fn on_mtu_timer(&mut self, now: Time, p: PathId) {
        let connected = self.state.sends_heartbeats() && !self.is_exchanging_keys();
        let Some((view, path)) = self.paths.both_mut(p) else { return };
        let Some(search) = &mut path.mtu else { return };
        if !connected {
            return search.stop();
        }
        if view.state == PathState::Inactive && search.path_failed() {
            return;
        }
        let MtuStep { probe, black_hole } = search.expired(now);
        self.adopt_mtu(p);
        if black_hole {
            self.trigger(Trigger::Path);
        }
        if let Some(size) = probe {
            self.send_mtu_probe(now, p, size);
        }
    }

    fn send_mtu_probe(&mut self, now: Time, p: PathId, size: u32) {
        let Some((view, path)) = self.paths.view(p).zip(self.paths.get(p)) else { return };
        // Without the back-off: data that is too large backs it off.
        let wait = self.config.path_mtu_discovery.map_or(Duration::ZERO, |on| on.probe_timer);
        let deadline = now + wait.max(SHORTEST_WAIT).max(path.rto_estimate);
        let round = now + view.srtt.unwrap_or(path.rto_estimate);
        // The packet limit follows PLPMTU; the headers are what they differ by.
        let headers = view.mtu as usize - self.paths.packet_limit(p).min(view.mtu as usize);
        let headers = headers + polypath_wire::COMMON_HEADER_LEN + self.probe_reserve();
        let chunks = (size as usize).saturating_sub(headers) & !3;
        let nonce = self.rng.with(Rng::next_u64);
        let info = HeartbeatInfo { path: p, nonce }.encode();
        let mut bytes = Vec::with_capacity(chunks);
        HeartbeatRepr { info: &info }.encode(&mut bytes);
        let len = chunks.saturating_sub(bytes.len() + TLV);
        PadRepr { len }.encode(&mut bytes);
        self.send_control(p, &Encoded(&bytes), Bundling::Probe);
        if let Some(search) = self.paths.get_mut(p).and_then(|path| path.mtu.as_mut()) {
            search.sent(nonce, round, deadline);
        }
    }

    /// Bytes that an AUTH chunk, or protection, takes of a probe.
    pub(super) fn probe_reserve(&self) -> usize {
        let demanded = |auth: &&Auth| auth.demands(kind::HEARTBEAT) || auth.demands(kind::PAD);
        let auth = self.auth.as_deref().filter(demanded).map_or(0, Auth::overhead);
        if self.seals() { self.protection_reserve() } else { auth }
    }

    /// A HEARTBEAT ACK that answers a probe proves that its size passes, and that the path lives.
    pub(super) fn mtu_probe_answered(&mut self, now: Time, info: HeartbeatInfo) -> bool {
        let p = info.path;
        let Some((view, path)) = self.paths.both_mut(p) else { return false };
        let Some(search) = &mut path.mtu else { return false };
        if !search.answered(now, info.nonce) {
            return false;
        }
        let active = view.state == PathState::Active;
        self.adopt_mtu(p);
        if active && self.heartbeat_clears() {
            self.errors = 0;
            if let Some(view) = self.paths.view_mut(p) {
                view.errors = 0;
            }
        }
        true
    }

    /// Packets of `p` are as large as discovery says from now on.
    fn adopt_mtu(&mut self, p: PathId) {
        let search = self.paths.get(p).and_then(|path| path.mtu.as_ref());
        let Some(mtu) = search.map(|search| search.plpmtu()) else { return };
        if self.paths.set_mtu(p, mtu) {
            self.events.push_back(Event::PathMtu { path: p, mtu });
            self.trigger(Trigger::Path);
        }
    }

    /// Data of `p` was given up for lost: perhaps because its packets are too big.
    pub(super) fn data_given_up(&mut self, now: Time, p: PathId) {
        // It may have been one time too many.
        if self.state == State::Closed || self.doubts_key_after_loss() {
            return;
        }
        let Some(path) = self.paths.get_mut(p) else { return };
        let found = path.black_hole.data_given_up();
        let Some(search) = &mut path.mtu else {
            if let Some(view) = self.paths.view(p).filter(|_| found) {
                self.events.push_back(Event::PacketsTooBig { path: p, mtu: view.mtu });
            }
            return;
        };
        if found {
            search.black_hole(now);
            self.adopt_mtu(p);
        } else if search.doubt(now) && self.state.sends_heartbeats() && path.heartbeat.is_none() {
            // A small packet beside the large one: do both vanish, or only the large?
            self.send_heartbeat(now, p);
        }
    }

    /// A router, in a message that proved to be about a packet of ours, or the system here says
    /// what `p` carries.
    pub(crate) fn path_carries(&mut self, now: Time, p: PathId, mtu: u32) -> bool {
        let Some((view, path)) = self.paths.both_mut(p) else { return false };
        if let Some(search) = &mut path.mtu {
            let sensible = search.too_big(now, mtu);
            self.adopt_mtu(p);
            return sensible;
        }
        let v4 = path.tuple.remote.is_ipv4();
        let smaller = mtu >= crate::config::smallest_mtu(v4) && mtu < view.mtu;
        // IPv4 must carry 576 bytes; smaller packets would hardly hold data.
        if smaller && self.paths.set_mtu(p, mtu.max(if v4 { 576 } else { 1280 })) {
            let mtu = self.paths.view(p).map_or(mtu, |v| v.mtu);
            self.events.push_back(Event::PathMtu { path: p, mtu });
        }
        smaller
    }

    /// Somebody says that `p` carries packets of `mtu` bytes at most, about a packet that anybody
    /// may have seen: what is tried gives way to that, but what is known to pass is only asked for
    /// anew (RFC 8899 section 4.6.1). Where nothing is searched for, nothing can tell.
    pub(crate) fn doubt_path_mtu(&mut self, now: Time, p: PathId, mtu: u32) -> bool {
        let Some((view, path)) = self.paths.both_mut(p) else { return false };
        let Some(search) = &mut path.mtu else { return false };
        if mtu >= view.mtu {
            return search.too_big(now, mtu);
        }
        let doubted = search.doubt_for_report(now);
        if doubted && self.state.sends_heartbeats() && path.heartbeat.is_none() {
            self.send_heartbeat(now, p);
        }
        doubted
    }

    /// The system here refused to send `packet` on `p` because of its size; perhaps it says what
    /// `p` carries.
    pub(crate) fn packet_refused(
        &mut self,
        now: Time,
        p: PathId,
        packet: &[u8],
        carried: Option<u32>,
    ) {
        let Some((view, path)) = self.paths.both_mut(p) else { return };
        let limit = view.pmdcs as usize + polypath_wire::COMMON_HEADER_LEN;
        let headers = (view.mtu as usize).saturating_sub(limit);
        let (size, before) = (u32::try_from(packet.len() + headers).unwrap_or(u32::MAX), view.mtu);
        if let Some(search) = &mut path.mtu {
            search.refused(now, size);
            self.adopt_mtu(p);
        } else if let Some(mtu) = carried {
            self.path_carries(now, p, mtu);
        }
        let mtu = self.paths.view(p).map_or(before, |view| view.mtu);
        if mtu < size || self.is_mtu_unknown(p) {
            let newly = mtu < before;
            let reopened = self.reopen_packet(packet);
            let packet = reopened.as_deref().unwrap_or(packet);
            if self.tx.take_back_packet(p, packet, newly, &mut self.paths) {
                self.trigger(Trigger::Path);
            }
        }
    }

    /// Whether IP must help with any packet on `p`: not even the base size passes.
    pub(super) fn is_mtu_unknown(&self, p: PathId) -> bool {
        let search = self.paths.get(p).and_then(|path| path.mtu.as_ref());
        search.is_some_and(|search| search.is_in_error())
    }
}
