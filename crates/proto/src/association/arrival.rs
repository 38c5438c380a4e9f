//! Where packets come from: known paths, new pairs of known addresses, and places that nobody
//! named, because a NAT gave the peer another port or address (RFC 6951), or it has an uplink
//! behind a NAT of its own.
//!
//! Such a place is not believed for the tag alone, 32 bits that somebody may have guessed. Where
//! both ends authenticate and addresses may change, HEARTBEAT and HEARTBEAT ACK are among the
//! chunks that must prove themselves (RFC 4895): an authentic HEARTBEAT makes a path of its source,
//! unproven like any address that the peer names, and whoever cannot write one is met with silence.
//! ASCONF with wildcards does the same (RFC 6951 section 5.7), but one at a time, and it has to be
//! asked for; heartbeats go out on every path by themselves, so that they tell at once of each
//! uplink, and again of each change, however often.
//!
//! Where nothing authenticates, another UDP port at an address of the peer is asked for a nonce,
//! and only heartbeats count there until it came back.

use polypath_wire::chunk::kind;
use polypath_wire::{Chunk, ChunkIter, PacketView, RawChunk};

use super::packet_state::PacketState;
use super::{Association, State};
use crate::auth::{Gate, Proof};
use crate::config::MAX_PATHS;
use crate::extension::asconf::Standing;
use crate::handshake::is_peer_address;
use crate::ids::{FourTuple, PathId};
use crate::path::Learned;
use crate::time::{Duration, Time};
use crate::view::PathState;

/// Places that nobody named and nobody proved yet, at most.
const MAX_UNPROVEN: usize = 4;

/// Before so long one of them does not give way to another: what a flood makes us send is bounded
/// by that.
const PATIENCE: Duration = Duration::from_secs(1);

impl Association {
    /// A packet came on the path `known`. Gives that path.
    #[inline]
    pub(super) fn note_path_activity(&mut self, now: Time, known: PathId) -> Option<PathId> {
        if self.state.sends_heartbeats() {
            self.paths.note_path_activity(now, known);
        }
        Some(known)
    }

    /// Looks at the packet's chunks, too, if its path is not known, or not to be believed yet.
    #[inline(never)]
    pub(super) fn find_arrival(
        &mut self,
        now: Time,
        packet: &PacketView<'_>,
        chunks: &mut ChunkIter<'_>,
        seen: &mut PacketState<'_>,
    ) -> Option<PathId> {
        let known = self.arrival_path(now, *seen.source);
        let known = known.filter(|p| !self.paths.is_tentative(*p));
        known.or_else(|| self.handle_packet_without_path(now, packet, chunks, seen))
    }

    /// A packet from where no path leads: the answer to our INIT, a change of addresses, or a peer
    /// whose NAT has changed its mind. Once that has made a path of it, it is a packet like others
    /// (RFC 5061 section 5.2, D2): gives that path.
    fn handle_packet_without_path(
        &mut self,
        now: Time,
        packet: &PacketView<'_>,
        chunks: &mut ChunkIter<'_>,
        seen: &mut PacketState<'_>,
    ) -> Option<PathId> {
        let tuple = *seen.source;
        if self.state.is_setup() {
            self.init_ack_from_elsewhere(now, tuple, packet);
            return None;
        }
        // It came to an address that is none of ours.
        self.local_standing(tuple.local.ip())?;
        if !self.proves_heartbeats() && self.peer.addresses.contains(&tuple.remote.ip()) {
            self.learn_path(now, tuple, true);
        }
        // Whoever sealed it is the peer: it is there now (RFC 6951 section 5.4 asks as much of
        // AUTH).
        if seen.sealed
            && let Some(path) = self.learn_path(now, tuple, false)
        {
            return Some(path);
        }
        // No path yet that could have proven anything.
        if !seen.sealed {
            seen.proof = Proof::None;
        }
        while let Some(Ok(raw)) = chunks.next() {
            match self.gate(None, packet, &raw, seen) {
                Gate::Pass => self.handle_chunk_without_path(now, &raw, seen),
                Gate::Skip => {}
                Gate::Stop => return None,
            }
            if self.state == State::Closed {
                return None;
            }
            let path = self.arrival_path(now, tuple).filter(|p| !self.paths.is_tentative(*p));
            if path.is_some() {
                return path;
            }
        }
        None
    }

    fn handle_chunk_without_path(
        &mut self,
        now: Time,
        raw: &RawChunk<'_>,
        seen: &mut PacketState<'_>,
    ) {
        match raw.decode() {
            Ok(Chunk::Asconf(chunk)) => {
                self.on_asconf(now, *seen.source, &chunk, &mut seen.answering);
            }
            Ok(Chunk::AsconfAck(ack)) => self.on_asconf_ack(now, &ack),
            Ok(Chunk::Heartbeat(heartbeat)) => {
                let authentic = seen.proof == Proof::Given && self.proves_heartbeats();
                let path = match self.paths.by_tuple(seen.source) {
                    None if authentic => self.learn_path(now, *seen.source, false),
                    known => known,
                };
                if let Some(path) = path.filter(|_| !seen.answered && self.answers_heartbeats()) {
                    seen.answered = true;
                    self.answer_heartbeat(now, path, &heartbeat);
                }
            }
            Ok(Chunk::HeartbeatAck(ack)) => self.on_heartbeat_ack(now, &ack),
            _ => {}
        }
    }

    /// The path a packet arrived on. A new pair of our and the peer's known addresses becomes a
    /// path, unconfirmed.
    pub(crate) fn arrival_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathId> {
        if let Some(known) = self.paths.by_tuple(&tuple) {
            return self.note_path_activity(now, known);
        }
        if !self.is_expected(tuple.remote) {
            return None;
        }
        match self.local_standing(tuple.local.ip()) {
            Some(Standing::Valid) => self.add_path(now, tuple, false),
            Some(Standing::Adding) => {
                let p = self.add_path(now, tuple, false)?;
                self.paths.make_dormant(p);
                Some(p)
            }
            // What arrives there still counts (RFC 5061 section 5.3, F4), but nothing goes back
            // that way.
            Some(Standing::Deleting) => Some(self.paths.preferred()),
            None => None,
        }
    }

    /// Whether the peer's heartbeats prove that they are its own.
    fn proves_heartbeats(&self) -> bool {
        self.auth.as_ref().is_some_and(|auth| auth.requires(kind::HEARTBEAT))
            || self.demands_protection()
    }

    /// The peer seems to be at a place that nobody named: `tentative` if its tag alone says so. It
    /// becomes a path, unproven.
    fn learn_path(&mut self, now: Time, tuple: FourTuple, tentative: bool) -> Option<PathId> {
        let known = self.paths.by_tuple(&tuple);
        if known.is_some() || !self.state.sends_heartbeats() {
            return known;
        }
        let remote = tuple.remote.ip();
        // Without UDP there is no NAT; but who seals its packets is where they come from.
        let may_move = tuple.remote.port() != 0 || self.demands_protection();
        let possible = is_peer_address(remote, remote) && may_move;
        if !possible
            || self.local_standing(tuple.local.ip()) != Some(Standing::Valid)
            || !self.make_room_for_learned_path(now)
        {
            return None;
        }
        let p = self.add_path(now, tuple, false)?;
        if let Some(path) = self.paths.get_mut(p) {
            path.last_packet = now;
            path.learned = Some(Box::new(Learned { since: now, tentative }));
        }
        self.addresses_changed();
        Some(p)
    }

    /// Whether there is room for one more such place; the one that was silent for longest may give
    /// way.
    fn make_room_for_learned_path(&mut self, now: Time) -> bool {
        let learned = |wanted: fn(PathState) -> bool| {
            let these = self.paths.iter().filter(move |(v, _)| wanted(v.state));
            these
                .filter(|(_, path)| path.learned.is_some())
                .map(|(v, path)| (path.last_packet, v.id))
        };
        let dead = |state| matches!(state, PathState::Unconfirmed | PathState::Inactive);
        let unproven = |state| state == PathState::Unconfirmed;
        let oldest = if learned(unproven).count() >= MAX_UNPROVEN {
            learned(unproven).min()
        } else if self.paths.live().count() >= MAX_PATHS {
            learned(dead).min()
        } else {
            return true;
        };
        let Some((_, p)) = oldest.filter(|(last_packet, _)| now.since(*last_packet) >= PATIENCE)
        else {
            return false;
        };
        self.remove_path(now, p);
        true
    }

    /// Set-up is done: heartbeats tell the peer of the paths on which it was not heard. A NAT may
    /// have made places of them that it does not know; it takes nothing from there before.
    pub(super) fn announce_paths(&mut self, now: Time) {
        if !self.caps.agreed.dynamic_addresses || !self.setup.opened {
            return;
        }
        for p in self.paths.ids() {
            let unanswered = self.paths.get(p).is_some_and(|path| path.heartbeat.is_none());
            if unanswered && p != self.setup.path && !self.paths.is_dormant(p) {
                self.send_heartbeat(now, p);
            }
        }
    }

    /// The answer to data on `p` is overdue. If a NAT has given us another place there, a heartbeat
    /// tells the peer.
    pub(super) fn probe_if_data_overdue(&mut self, now: Time, p: PathId) {
        let asked = self.paths.get(p).is_none_or(|path| path.heartbeat.is_some());
        if self.caps.agreed.dynamic_addresses && !asked && self.state.sends_heartbeats() {
            self.send_heartbeat(now, p);
        }
    }

    /// A path was proven. If it is one that nobody named, and another one from the same address of
    /// ours fell silent before: it may be that one, after its NAT gave it another end. It is asked;
    /// its data goes elsewhere at once where silent paths are given up.
    pub(super) fn check_replaced_paths(&mut self, now: Time, p: PathId) {
        let Some(learned) = self.paths.get_mut(p).and_then(|path| path.learned.as_mut()) else {
            return;
        };
        learned.tentative = false;
        for other in self.paths.ids() {
            if other == p || !self.paths.is_confirmed(other) || !self.was_replaced_by(other, p) {
                continue;
            }
            if self.config.recovery.rescheduling.watches_silence() {
                self.on_path_silent(now, other);
            }
            let asked = self.paths.get(other).is_some_and(|path| path.heartbeat.is_some());
            if !asked && self.state.sends_heartbeats() {
                self.send_heartbeat(now, other);
            }
        }
    }

    /// Whether nothing came on `old` since `new` was learned, which starts at the same address of
    /// ours. A path that our user named is his.
    fn was_replaced_by(&self, old: PathId, new: PathId) -> bool {
        let (Some(old), Some(new)) = (self.paths.get(old), self.paths.get(new)) else {
            return false;
        };
        let named = self.setup.opened && old.learned.is_none();
        let since = new.learned.as_ref().map(|learned| learned.since);
        !named
            && old.tuple.local == new.tuple.local
            && since.is_some_and(|since| old.last_packet < since)
    }

    /// Whether `p`, whose heartbeat is due, is a place where the peer is not, or not any more.
    /// `overdue`: it did not answer the last one.
    pub(super) fn should_be_removed(&self, p: PathId, overdue: bool) -> bool {
        let Some((view, path)) = self.paths.both(p) else { return false };
        let unproven = path.learned.is_some() && view.state == PathState::Unconfirmed;
        let given_up = unproven && !self.paths.may_probe(p, &self.config);
        self.paths.live().count() > 1 && (given_up || overdue && self.was_given_up_by_nat(p))
    }

    /// Whether `p`, which does not answer, is an end that the peer's NAT has given up: another path
    /// took its place, at the same address; or at another one, once `p` is inactive.
    fn was_given_up_by_nat(&self, p: PathId) -> bool {
        let Some((view, path)) = self.paths.both(p) else { return false };
        self.paths.iter().any(|(other, new)| {
            let same = new.tuple.remote.ip() == path.tuple.remote.ip();
            other.id != p
                && other.state == PathState::Active
                && (same || view.state == PathState::Inactive)
                && self.was_replaced_by(p, other.id)
        })
    }
}
