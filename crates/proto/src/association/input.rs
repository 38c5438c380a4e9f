//! Received packets: from the check of the verification tag (RFC 9260 section 8.5), which the
//! endpoint has made, to what each chunk sets off.

use polypath_wire::chunk::kind;
use polypath_wire::{Chunk, HeartbeatAckChunk, PacketView, RawChunk, WireError};

use super::packet_state::PacketState;
use super::{Association, State};
use crate::auth::{Gate, Proof};
use crate::event::Event;
use crate::ids::{FourTuple, PathId};
use crate::path::HeartbeatInfo;
use crate::policy::Trigger;
use crate::protection::KEY_MANAGEMENT_PPID;
use crate::receiver::{DataVerdict, Incoming};
use crate::time::Time;
use crate::trace::TraceEvent;
use crate::view::PathState;

impl Association {
    /// Processes a packet whose verification tag was checked, on the path it arrived on: `known`,
    /// if it was looked for already. `proof`: what is known of an AUTH chunk in front.
    pub(crate) fn handle_packet(
        &mut self,
        now: Time,
        tuple: &FourTuple,
        known: Option<PathId>,
        packet: &PacketView<'_>,
        proof: Proof,
    ) {
        if self.state == State::Closed {
            return;
        }
        let mut seen = PacketState::new(tuple, proof);
        if self.protection.is_some() && !seen.sealed && !self.admits_plain_packet(now, packet) {
            return;
        }
        let mut chunks = packet.chunks();
        let arrival = match known {
            Some(known) if !self.paths.is_tentative(known) => self.note_path_activity(now, known),
            _ => self.find_arrival(now, packet, &mut chunks, &mut seen),
        };
        let Some(path) = arrival else { return };
        seen.leaving = self.changes_addresses() && self.is_leaving(tuple.local.ip());
        self.note_packet_arrival(now, path);
        self.restart_shutdown_guard();
        let waiting = self.control.len();
        for raw in chunks {
            if !self.take_chunk(now, path, packet, raw, &mut seen) {
                break;
            }
        }
        if seen.had_data {
            self.finish_data_packet(now, path, &seen);
        }
        self.control.answer_in_one_packet(waiting, &self.paths);
    }

    /// A packet of the peer came on `path`.
    #[inline]
    fn note_packet_arrival(&mut self, now: Time, path: PathId) {
        self.stats.packets_received += 1;
        if let Some(own) = self.paths.get_mut(path) {
            own.stats.packets_received += 1;
            own.last_contact = now;
            own.last_packet = now;
        }
    }

    /// Takes one chunk, authenticated where it must be. False: the rest of the packet is dropped.
    #[inline]
    fn take_chunk(
        &mut self,
        now: Time,
        path: PathId,
        packet: &PacketView<'_>,
        raw: Result<RawChunk<'_>, WireError>,
        seen: &mut PacketState<'_>,
    ) -> bool {
        let Ok(raw) = raw else {
            self.stats.malformed_chunks += 1;
            return false;
        };
        if self.is_exchanging_keys() && !self.admits_before_keys(&raw, seen.sealed) {
            return true;
        }
        if !self.needs_no_proof(raw.kind) {
            match self.gate(Some(path), packet, &raw, seen) {
                Gate::Pass => {}
                Gate::Skip => return true,
                Gate::Stop => return false,
            }
        }
        self.handle_chunk(now, path, &raw, seen) && self.state != State::Closed
    }

    /// Handles one chunk. False: the rest of the packet is dropped.
    #[inline]
    fn handle_chunk(
        &mut self,
        now: Time,
        path: PathId,
        raw: &RawChunk<'_>,
        seen: &mut PacketState<'_>,
    ) -> bool {
        if let kind::DATA | kind::I_DATA = raw.kind {
            self.on_data(now, path, raw, seen);
            return true;
        }
        self.handle_other_chunk(now, path, raw, seen)
    }

    fn handle_other_chunk(
        &mut self,
        now: Time,
        path: PathId,
        raw: &RawChunk<'_>,
        seen: &mut PacketState<'_>,
    ) -> bool {
        let Ok(chunk) = raw.decode() else {
            self.stats.malformed_chunks += 1;
            return true;
        };
        match chunk {
            // Dealt with already.
            Chunk::Data(_) | Chunk::IData(_) => {}
            Chunk::Sack(sack) if self.state.accepts_sack() => self.on_sack(now, path, &sack),
            Chunk::NrSack(sack) if self.caps.agreed.nr_sack && self.state.accepts_sack() => {
                self.on_nr_sack(now, path, &sack);
            }
            // The top bits of type 16 say: an unaware receiver stops here.
            Chunk::NrSack(_) => return self.caps.agreed.nr_sack,
            Chunk::Heartbeat(heartbeat) => {
                if !seen.answered && !seen.leaving && self.answers_heartbeats() {
                    seen.answered = true;
                    if seen.sealed && self.is_exchanging_keys() {
                        self.answer_once_sealed(now, path, &heartbeat);
                    } else {
                        self.answer_heartbeat(now, path, &heartbeat);
                    }
                }
            }
            Chunk::HeartbeatAck(ack) => self.on_heartbeat_ack(now, &ack),
            Chunk::InitAck(init) => self.on_init_ack(now, path, &init),
            Chunk::CookieAck => self.on_cookie_ack(now),
            // About an address that we take back (RFC 5061 section 5.3, F4).
            Chunk::Abort(_) if seen.leaving => return false,
            Chunk::Abort(abort) if abort.reflected && self.is_unanswered(path) => {
                return false;
            }
            Chunk::Abort(abort) => {
                self.on_abort(now, &abort);
                return false;
            }
            Chunk::Shutdown(shutdown) => self.on_shutdown(now, path, shutdown.cumulative_tsn),
            Chunk::ShutdownAck => self.on_shutdown_ack(now, path),
            Chunk::ShutdownComplete { .. } => self.on_shutdown_complete(now),
            Chunk::Error(error) => self.on_error(now, &error),
            // One inside another, or none that was agreed on.
            Chunk::Dtls(_) if seen.sealed => return false,
            // The endpoint deals with INIT and COOKIE ECHO before the packet comes here.
            Chunk::Init(_) | Chunk::CookieEcho(_) => {}
            Chunk::Pad(_) => {}
            Chunk::Asconf(chunk) if self.caps.agreed.dynamic_addresses => {
                self.on_asconf(now, *seen.source, &chunk, &mut seen.answering);
            }
            Chunk::AsconfAck(ack) if self.caps.agreed.dynamic_addresses => {
                self.on_asconf_ack(now, &ack)
            }
            Chunk::ForwardTsn(forward) if self.caps.agreed.partial_reliability => {
                self.on_forward_tsn(now, path, &forward, &mut seen.had_data);
            }
            Chunk::IForwardTsn(forward) if self.caps.agreed.partial_reliability => {
                self.on_i_forward_tsn(now, path, &forward, &mut seen.had_data);
            }
            Chunk::Reconfig(reconfig) if self.caps.agreed.stream_reconfiguration => {
                self.on_reconfig(now, path, &reconfig, &mut seen.reconfigured);
            }
            // Not negotiated (extensions of a later time): what the type's top bits say.
            _ => return self.on_unknown_chunk(path, raw, seen),
        }
        true
    }

    fn on_unknown_chunk(
        &mut self,
        path: PathId,
        raw: &RawChunk<'_>,
        seen: &mut PacketState<'_>,
    ) -> bool {
        let action = RawChunk::unknown_action(raw.kind);
        if action.reports_item() && !seen.answered {
            seen.answered = true;
            self.report_unknown_chunk(path, raw);
        }
        !action.stops_processing()
    }

    /// DATA or I-DATA.
    #[inline]
    fn on_data(&mut self, now: Time, path: PathId, raw: &RawChunk<'_>, seen: &mut PacketState<'_>) {
        let Some(data) = Incoming::of(raw, path) else {
            self.stats.malformed_chunks += 1;
            return;
        };
        // DATA behind a COOKIE ECHO finds the association set up already; a lost COOKIE ACK is made
        // good by DATA only after T1-cookie (RFC 9260 section 5.1.5).
        if !self.state.accepts_data() {
            return;
        }
        let interleaved = raw.kind == kind::I_DATA;
        if interleaved != self.is_interleaving() {
            return self.mismatched_data(now, interleaved);
        }
        let begins_key_message =
            self.is_of_key_management(&data) && data.begins_on(0, KEY_MANAGEMENT_PPID);
        seen.had_data = true;
        if !self.is_of_key_management(&data) {
            seen.payload += data.payload().len() as u64;
        }
        let verdict = self.rx.take(now, path, &data);
        self.trace_arrival(now, path, &data, verdict);
        match verdict {
            DataVerdict::New if begins_key_message => self.note_key_message(),
            DataVerdict::InvalidStream(stream) if !seen.answered => {
                seen.answered = true;
                self.report_invalid_stream(path, stream);
            }
            DataVerdict::NoUserData => self.abort_no_user_data(now, data.tsn()),
            DataVerdict::TooLarge(stream, limit) => {
                self.events.push_back(Event::MessageTooLarge { stream, limit });
                self.protocol_violation(now, 13, "message is larger than this receiver takes");
            }
            DataVerdict::Violation(why) => self.protocol_violation(now, 13, why),
            _ => {}
        }
    }

    /// Whether the application knows nothing of this data; of I-DATA first fragments alone tell.
    #[inline]
    fn is_of_key_management(&self, data: &Incoming<'_>) -> bool {
        self.protection.is_some() && data.is_of(0, KEY_MANAGEMENT_PPID)
    }

    /// All chunks of a packet with DATA are taken: is a SACK due, and what can the application
    /// have?
    fn finish_data_packet(&mut self, now: Time, path: PathId, seen: &PacketState<'_>) {
        if let Some(own) = self.paths.get_mut(path) {
            own.stats.payload_received += seen.payload;
        }
        if self.state == State::Closed {
            return;
        }
        self.rx.packet_end(now);
        if self.protection.is_some() {
            self.take_key_messages(now, seen.sealed);
        }
        self.finish_deferred_reset(now, path);
        self.trace_receiver(now);
        self.tune_receive_buffer(now);
        if self.rx.readable() > 0 && !self.events.iter().any(|e| matches!(e, Event::Readable)) {
            self.events.push_back(Event::Readable);
        }
        if self.state == State::ShutdownSent {
            self.data_in_shutdown_sent(now, path);
        }
        let (held, out_of_order) = (self.rx.held(), self.rx.out_of_order());
        let a_rwnd = self.rx.a_rwnd();
        self.tracer.emit(now, || TraceEvent::ReceiveBuffer { held, out_of_order, a_rwnd });
    }

    /// Heartbeats are answered from COOKIE-ECHOED (client) or ESTABLISHED (server) on, until a
    /// shutdown chunk was sent.
    pub(super) const fn answers_heartbeats(&self) -> bool {
        matches!(
            self.state,
            State::CookieEchoed
                | State::Established
                | State::ShutdownPending
                | State::ShutdownReceived
        )
    }

    pub(super) fn on_heartbeat_ack(&mut self, now: Time, ack: &HeartbeatAckChunk<'_>) {
        let Some(info) = HeartbeatInfo::decode(ack.info()) else { return };
        if self.mtu_probe_answered(now, info) || self.rate_probe_answered(now, info) {
            return;
        }
        let Some(rtt) = self.paths.heartbeat_acked(now, info) else { return };
        let p = info.path;
        if let Some(received) = ack.received().filter(|_| self.caps.agreed.sack_thinning) {
            self.paths.note_heartbeat_received(now, p, now - rtt, received);
        }
        self.limits.answered(p);
        let clears = self.heartbeat_clears();
        if clears {
            self.paths.rtt_sample(now, p, rtt, &self.config.rto, &mut self.tracer);
            self.errors = 0;
        }
        if self.paths.confirm(now, p) {
            self.path_state_changed(now, p, PathState::Active);
            self.apply_peer_primary(now);
            self.check_replaced_paths(now, p);
        }
        if clears {
            self.revive(now, p);
        }
        self.rng.with(|rng| self.paths.schedule_heartbeat(now, p, &self.config, rng));
        self.probe_rate(now, p, rtt);
        self.trigger(Trigger::Path);
    }

    /// A heartbeat on `p` was answered: it works again, if it did not.
    fn revive(&mut self, now: Time, p: PathId) {
        let probed = self.config.potentially_failed.is_some_and(|pf| pf.probe.is_some());
        let was_failed = self.paths.view(p).is_some_and(|v| {
            v.state == PathState::PotentiallyFailed || probed && v.state == PathState::Inactive
        });
        let was_silent = self.paths.view(p).is_some_and(|v| v.silent);
        self.on_path_heard_again(now, p);
        if let Some(state) = self.paths.alive(p) {
            if was_failed && was_silent {
                self.take_back_timeout(now, p);
            }
            self.resume_path(now, p, was_failed);
            self.path_state_changed(now, p, state);
        }
    }

    /// A path of which nothing at all came back, while others did, was cut off. That tells nothing
    /// of congestion: it starts anew with a small window, but slow start may take it to where it
    /// was.
    fn take_back_timeout(&mut self, now: Time, p: PathId) {
        let view = self.tx.view(now, &self.paths);
        self.policies.congestion.on_spurious_timeout(&view, p);
        if let Some(path) = self.paths.get_mut(p) {
            path.idle_since = now;
        }
    }

    /// CMT-PF: a path that answers a heartbeat again starts with a small window, the one that an
    /// acknowledged retransmission would have given it.
    fn resume_path(&mut self, now: Time, p: PathId, was_failed: bool) {
        let Some(pf) = self.config.potentially_failed.filter(|_| was_failed) else { return };
        let view = self.tx.view(now, &self.paths);
        self.policies.congestion.on_resumed(&view, p, pf.return_mtus);
        self.tx.recovery.forget_probe(p);
        self.refresh_windows(now);
    }
}
