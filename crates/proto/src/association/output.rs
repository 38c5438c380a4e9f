//! The way out: which packet is next, and what it holds. `send_decision` says what data goes where.

use polypath_wire::chunk::kind;
use polypath_wire::{COMMON_HEADER_LEN, PacketWriter};

use super::control::Encoded;
use super::packet_builder::{CommonHeader, Packet, PacketBuilder, PacketSize, Room, begin_packet};
use super::sack_path::SackPathChoice;
use super::send_attempt::{Transmission, burst_cost};
use super::send_decision::SendDecision;
use super::{Association, Bundling, State};
use crate::config::Cuc;
use crate::ids::PathId;
use crate::policy::Trigger;
use crate::sender::{ChunkInFlight, NewChunk};
use crate::time::Time;
use crate::trace::{StreamIdField, TraceEvent};
use crate::tsn_map::wire;
use crate::view::{ChunkMeta, LossKind};

/// Whether a packet with DATA has a SACK, too.
#[derive(Clone, Copy, Debug)]
enum WithSack {
    Always,
    /// Where one is pending that goes this way.
    IfPending,
    Never,
}

impl Association {
    /// Appends the next packet to `buf`; `None` when there is nothing to send now.
    pub(crate) fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Packet> {
        // Once it is over nothing is in flight any more, which is not to say that all was
        // acknowledged.
        if self.state != State::Closed {
            self.retry_key_messages(now);
            if self.has_told_of_failure() {
                self.end_if_unprotectable();
            }
            self.abandon_expired_messages(now);
            self.advance_requests(now);
        }
        if let Some(path) = self.control.front().map(|c| c.path) {
            return self.control_packet(now, path, buf);
        }
        if let Some(packet) = self.departing_packet(now, buf) {
            return Some(packet);
        }
        if self.rx.sack_due(now) && self.acknowledges() {
            let path = self.sack_path().choose(now);
            return self.data_packet(now, path, None, WithSack::Always, buf);
        }
        loop {
            let next = self.next_transmission(now, None);
            let Some(path) = next.map_or_else(|| self.forward_tsn_path(), |next| Some(next.path()))
            else {
                return self.last_words(now, buf);
            };
            let departs = next.map_or(Time::ZERO, |next| self.departure(&next));
            if departs <= now {
                return self.data_packet(now, path, next, WithSack::IfPending, buf);
            }
            // A SACK must not wait.
            let start = buf.len();
            let packet = self.data_packet(now, path, next, WithSack::Never, buf)?;
            self.held.get_or_insert_default().push(departs, packet, buf.split_off(start));
        }
    }

    /// When a packet that begins with `next` leaves: if that is later it is held until then, for the
    /// path scheduler keeps TSNs together. Key management waits for no pacer.
    fn departure(&self, next: &Transmission) -> Time {
        let Transmission::NewData { path, chunk, .. } = next else { return Time::ZERO };
        let of_keys = chunk.stream.0 == 0 && self.tx.queue.leads_with_key_message();
        if of_keys || self.policies.congestion.is_rate_based() {
            return Time::ZERO;
        }
        self.pacers.as_ref().map_or(Time::ZERO, |pacers| pacers.next(*path))
    }

    /// The next packet that was held, if its time has come; to where its path leads now.
    fn departing_packet(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Packet> {
        let held = self.held.as_mut()?;
        let start = buf.len();
        while let Some(packet) = held.take_due(now, buf) {
            if let Some(path) = self.paths.get_mut(packet.path) {
                return Some(Packet { tuple: path.tuple, ..packet });
            }
            // The path was removed, and its data goes elsewhere.
            buf.truncate(start);
        }
        self.held = self.held.take().filter(|held| held.deadline() != Time::MAX);
        None
    }

    /// Nothing is left to send: an association without keys ends, now that the peer was told why;
    /// so does one whose path scheduler failed.
    fn last_words(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Packet> {
        if self.state != State::Closed
            && let Some(why) = self.policies.path_scheduler.failure()
        {
            self.give_up_on_policy(why);
        }
        self.end_if_unprotectable();
        let path = self.control.front().map(|chunk| chunk.path)?;
        self.control_packet(now, path, buf)
    }

    /// The common header of packets to the peer.
    const fn header(&self) -> CommonHeader {
        CommonHeader {
            source_port: self.local.port,
            destination_port: self.peer.port,
            verification_tag: self.peer.tag,
        }
    }

    /// SACKs go out once the association is set up, until it is over.
    const fn acknowledges(&self) -> bool {
        !matches!(self.state, State::Closed | State::CookieWait | State::CookieEchoed)
    }

    fn sack_path(&self) -> SackPathChoice<'_> {
        SackPathChoice { rule: self.config.sack.path, paths: &self.paths, rx: &self.rx }
    }

    /// What data goes out next; within the packet under way on a path, or (`None`) in a new one.
    fn next_transmission(&mut self, now: Time, packet: Option<PathId>) -> Option<Transmission> {
        if !self.state.may_send_data() {
            return None;
        }
        // Nothing waits before a first packet was paced.
        let is_paced = self.pacers.is_some() && self.is_paced();
        let is_rate_based = is_paced && self.policies.congestion.is_rate_based();
        let mut decision = SendDecision {
            now,
            delays_small_messages: self.nagle
                && self.state == State::Established
                && !self.is_exchanging_keys(),
            config: &self.config,
            paths: &mut self.paths,
            tx: &mut self.tx,
            policies: &mut self.policies,
            attempt: &mut self.attempt,
            limits: &mut self.limits,
            is_rate_based,
            may_hold: self.held.as_ref().is_none_or(|held| !held.is_full()),
            pacers: self.pacers.as_deref_mut().filter(|_| is_paced),
            window_probe_timer: &mut self.timers.probe,
            scheduler_timer: &mut self.timers.scheduler,
            tracer: &mut self.tracer,
        };
        decision.next_transmission(packet)
    }

    fn control_packet(&mut self, now: Time, path: PathId, buf: &mut Vec<u8>) -> Option<Packet> {
        let first = self.control.pop_front()?;
        let tag = match first.bundling {
            Bundling::Init => 0,
            Bundling::Reflected(tag) => tag,
            _ => self.peer.tag,
        };
        // A COOKIE may be larger than the path MTU: IP fragments it (RFC 9260 section 5.1.3).
        let room = self.paths.packet_limit(path).saturating_sub(self.auth_reserve());
        let limit = room.max(first.bytes.len() + 16);
        let seals =
            self.seals() && !matches!(first.bundling, Bundling::Init | Bundling::Reflected(_));
        let reserve = if seals { self.protection_reserve() } else { 0 };
        let header = CommonHeader { verification_tag: tag, ..self.header() };
        let mut writer = begin_packet(buf, limit, reserve, header);
        writer.push(&Encoded(&first.bytes)).ok()?;
        if first.kind() == Some(kind::COOKIE_ECHO) {
            self.write_first_message(&mut writer);
        }
        if matches!(first.bundling, Bundling::Free | Bundling::First) {
            while let Some(next) = self.control.front() {
                if next.path != path || next.bundling != Bundling::Free {
                    break;
                }
                if writer.push(&Encoded(&next.bytes)).is_err() {
                    break;
                }
                self.control.pop_front();
            }
            self.control.release_if_empty();
            if self.rx.sack_due(now) && self.acknowledges() && self.sack_path().choose(now) == path
            {
                self.write_sack(now, path, &mut writer);
            }
        }
        if first.kind() == Some(kind::COOKIE_ACK) && self.is_exchanging_keys() && !seals {
            writer = self.write_key_answer(now, path, writer, limit);
        }
        let fits = limit == room && !self.is_mtu_unknown(path);
        let size = match first.bundling {
            Bundling::Probe => PacketSize::Probe,
            _ if fits => PacketSize::Fits,
            _ => PacketSize::TooLarge,
        };
        if !matches!(first.bundling, Bundling::Init | Bundling::Reflected(_)) {
            self.authenticate(&mut writer);
        }
        let checksum = self.checksum(writer.chunk_area());
        if seals {
            writer = self.seal(now, writer)?;
        }
        let len = writer.finish(checksum);
        let packet = self.count_packet(path, len, size)?;
        Some(Packet { tuple: first.to.map_or(packet.tuple, |to| *to), ..packet })
    }

    /// Key management's first message goes with the COOKIE ECHO, if there is room for it.
    fn write_first_message(&mut self, writer: &mut PacketWriter<'_>) {
        if writer.push(&Encoded(self.first_message_chunk())).is_err() {
            self.postpone_first_message();
        }
    }

    /// Key management's answer goes with the COOKIE ACK (RFC 9260 section 5.1 D), if there is room:
    /// in a packet of its own it may overtake it, and would not be taken (section 6).
    fn write_key_answer<'b>(
        &mut self,
        now: Time,
        path: PathId,
        writer: PacketWriter<'b>,
        limit: usize,
    ) -> PacketWriter<'b> {
        let mut packet = PacketBuilder::around(path, writer, limit);
        self.fill_packet(now, None, &mut packet);
        self.note_data_packet(now, &packet);
        packet.writer
    }

    /// A packet with a SACK, DATA, or both.
    fn data_packet(
        &mut self,
        now: Time,
        path: PathId,
        first: Option<Transmission>,
        sack: WithSack,
        buf: &mut Vec<u8>,
    ) -> Option<Packet> {
        let fitting = self.paths.packet_limit(path).saturating_sub(self.data_reserve());
        let seals = self.seals();
        let reserve = if seals { self.protection_reserve() } else { 0 };
        let room = Room { fitting, reserve };
        let mut packet = PacketBuilder::new(path, room, first.as_ref(), self.header(), buf);
        // A pending SACK rides along with DATA on its own path (RFC 9260 section 6.1).
        let along = || self.rx.sack_pending() && self.sack_path().choose(now) == path;
        let with_sack = match sack {
            WithSack::Always => true,
            WithSack::IfPending => packet.fits() && along(),
            WithSack::Never => false,
        };
        if with_sack {
            self.write_sack(now, path, &mut packet.writer);
        }
        if packet.fits() && self.tx.forward.is_due() && self.may_forward_on(path) {
            self.tx.write_forward_tsn(now, path, &mut packet.writer, &mut self.paths);
        }
        self.fill_packet(now, first, &mut packet);
        self.note_data_packet(now, &packet);
        self.authenticate(&mut packet.writer);
        let known = packet.fits() && !self.is_mtu_unknown(path);
        let size = if known { PacketSize::Fits } else { PacketSize::TooLarge };
        let checksum = self.checksum(packet.writer.chunk_area());
        let writer = if seals { self.seal(now, packet.writer)? } else { packet.writer };
        let len = writer.finish(checksum);
        self.count_packet(path, len, size)
    }

    fn note_data_packet(&mut self, now: Time, packet: &PacketBuilder<'_>) {
        if packet.has_data() {
            if let Some(view) = self.paths.view_mut(packet.path) {
                view.data_packets += 1;
            }
            self.pace_packet(now, packet.path, packet.len());
        }
    }

    /// Writes data chunks into a packet until nothing more goes there.
    fn fill_packet(
        &mut self,
        now: Time,
        first: Option<Transmission>,
        packet: &mut PacketBuilder<'_>,
    ) {
        let mut next = first.or_else(|| self.next_for_packet(now, packet));
        while let Some(chunk) = next {
            let tsn = self.tsn_sent(&chunk).unwrap_or(u64::MAX);
            if !packet.takes(&chunk, tsn) {
                break;
            }
            self.write_chunk(now, chunk, !packet.has_data(), &mut packet.writer);
            packet.note_chunk(tsn.min(self.tx.highest_sent()));
            next = self.next_for_packet(now, packet);
        }
    }

    /// The extended TSN that `next` was sent with; a new chunk gets one above all others.
    fn tsn_sent(&self, next: &Transmission) -> Option<u64> {
        match next {
            Transmission::NewData { .. } => None,
            Transmission::Retransmit { from, .. } => {
                Some(self.tx.outstanding.lowest_marked(*from).unwrap_or(0))
            }
            Transmission::Duplicate { chunk, .. } | Transmission::TailLossProbe { chunk, .. } => {
                Some(chunk.tsn)
            }
        }
    }

    /// Another chunk for a packet that is under way, if one could fit at all.
    fn next_for_packet(&mut self, now: Time, packet: &PacketBuilder<'_>) -> Option<Transmission> {
        let smallest = self.tx.chunk_size(1) as usize;
        if packet.writer.remaining() < smallest {
            None
        } else {
            self.next_transmission(now, Some(packet.path))
        }
    }

    /// Whether packets of a path leave one after the other. With SACK thinning always: spaced SACKs,
    /// copies of SACKs by a nearer path, and SACKs that took the way of their data each answer many
    /// packets at once, which would let as many leave together, and a short queue loses some.
    fn is_paced(&self) -> bool {
        self.config.pacing || self.config.sack.thinning || self.policies.congestion.is_rate_based()
    }

    /// The next packet on `path` waits for this one of `bytes`.
    fn pace_packet(&mut self, now: Time, path: PathId, bytes: usize) {
        if !self.is_paced() {
            return;
        }
        let view = self.tx.view(now, &self.paths);
        let Some(rate) = self.policies.congestion.pacing_rate(&view, path) else { return };
        // Against bunches alone, gently: twice as fast as the window lets it leave.
        let is_rate_based = self.policies.congestion.is_rate_based();
        let is_wanted = self.config.pacing || self.sacks_are_spaced || is_rate_based;
        let rate = if is_wanted { rate } else { rate.saturating_mul(2) };
        let bound = self.policies.path_scheduler.pacing_rate(path).filter(|_| !is_rate_based);
        let rate = bound.map_or(rate, |bound| rate.min(bound));
        // Such a rate is one of DATA chunks, as its samples are.
        let bytes = if is_rate_based { bytes.saturating_sub(COMMON_HEADER_LEN) } else { bytes };
        if let Some(pacer) = self.pacers.get_or_insert_default().of(path) {
            pacer.sent(now, bytes, rate);
        }
    }

    fn count_packet(&mut self, path: PathId, len: usize, size: PacketSize) -> Option<Packet> {
        self.stats.packets_sent += 1;
        let own = self.paths.get_mut(path)?;
        own.stats.packets_sent += 1;
        own.stats.bytes_sent += len as u64;
        Some(Packet { path, tuple: own.tuple, len, size })
    }

    fn write_sack(&mut self, now: Time, path: PathId, writer: &mut PacketWriter<'_>) {
        let start = writer.chunk_area().len();
        let copy = self.sack_path().choose_for_copy(now, path);
        let is_spaced = self.paths.spaces_sacks(now, path);
        let tells_all = copy.is_some_and(|path| !self.rx.was_copied_to(path));
        if !self.rx.write_sack(path, is_spaced, tells_all, writer) {
            return;
        }
        let bytes = writer.chunk_area().len() - start;
        let trips = self.sack_path().latest_trips(now).unwrap_or_default();
        self.rx.sack_sent_on(path, now, bytes, trips, is_spaced);
        self.rx.sack_copied(copy, now);
        if let (Some(path), Some(bytes)) = (copy, writer.chunk_area().get(start..)) {
            self.send_control(path, &Encoded(bytes), Bundling::Free);
        }
    }

    fn write_chunk(
        &mut self,
        now: Time,
        next: Transmission,
        new_packet: bool,
        writer: &mut PacketWriter<'_>,
    ) {
        if new_packet {
            self.note_restart(now, next.path());
        }
        match next {
            Transmission::Retransmit { from, to, .. } => {
                self.write_retransmission(now, from, to, writer);
            }
            Transmission::NewData { path, chunk, .. } => {
                self.write_new_data(now, path, &chunk, new_packet, writer);
            }
            Transmission::Duplicate { from, to, chunk } => {
                self.write_copy(now, from, to, chunk, writer);
            }
            Transmission::TailLossProbe { path, chunk } => {
                self.write_probe(now, path, chunk.tsn, writer);
            }
        }
    }

    /// Data goes out on a path that may have rested: a rate-based control wants to know.
    fn note_restart(&mut self, now: Time, path: PathId) {
        if !self.policies.congestion.is_rate_based() {
            return;
        }
        let Some((view, own)) = self.paths.both_mut(path) else { return };
        if view.outstanding == 0 {
            let is_app_limited = own.delivery_rate.is_app_limited();
            let view = self.tx.view(now, &self.paths);
            self.policies.congestion.on_restart(&view, path, is_app_limited);
        }
    }

    /// A packet begins with a retransmission: what may ignore cwnd is used up.
    fn note_packet_resent(&mut self, from: PathId, to: PathId) {
        let ns2 = &self.config.reproduction.ns2;
        if ns2.burst_limit_stays
            && let Some(own) = self.paths.get_mut(to).and_then(|path| path.ns2.as_mut())
        {
            own.resent_packets += 1;
        }
        if ns2.allowance_of_target {
            self.tx.recovery.note_packet_resent(to, self.config.cmt.cuc == Cuc::Off);
        } else if !self.paths.view(to).is_some_and(|v| v.has_room()) {
            self.tx.recovery.use_allowance(from);
        }
    }

    fn write_retransmission(
        &mut self,
        now: Time,
        from: PathId,
        to: PathId,
        writer: &mut PacketWriter<'_>,
    ) {
        self.note_packet_resent(from, to);
        let sent = self.tx.send_again(now, from, to, writer, &mut self.paths);
        let Some((tsn, cause)) = sent else { return };
        self.trace_losses(now);
        match cause {
            LossKind::FastRetransmit => self.stats.retransmissions_fast += 1,
            LossKind::Timeout => self.stats.retransmissions_timeout += 1,
        }
        let (stream, bytes) = self.tx.describe_chunk(tsn);
        self.tracer.emit(now, || TraceEvent::Sent {
            path: to,
            tsn: wire(tsn).0,
            stream: StreamIdField(stream),
            bytes,
            retransmission: Some(cause),
        });
    }

    fn write_new_data(
        &mut self,
        now: Time,
        path: PathId,
        chunk: &ChunkMeta,
        new_packet: bool,
        writer: &mut PacketWriter<'_>,
    ) {
        if new_packet {
            self.attempt.count_packet();
        }
        let packet = self.paths.view(path).filter(|_| new_packet).map_or(0, |view| view.pmdcs);
        let cost = burst_cost(self.config.reproduction.max_burst_rule, packet, chunk.bytes);
        if let Some(own) = self.paths.get_mut(path) {
            own.burst_left = own.burst_left.saturating_sub(cost);
        }
        if self.tx.outstanding.window_mut().take_probe() {
            self.stats.window_probes += 1;
        }
        let view = self.tx.view(now, &self.paths);
        let immediate = self.policies.path_scheduler.wants_sack_at_once(&view, path, chunk)
            || self.tx.recovery.is_probe_due(path);
        let of_keys = chunk.stream.0 == 0 && self.tx.queue.leads_with_key_message();
        let last_data = self.paths.view(path).map(|view| view.last_data);
        let new = NewChunk { path, stream: chunk.stream, bytes: chunk.bytes, immediate };
        let scheduler = &mut *self.policies.stream_scheduler;
        let sent = self.tx.send_new(now, new, writer, &mut self.paths, scheduler);
        let Some(tsn) = sent else { return };
        if let Some((view, last_data)) = self.paths.view_mut(path).zip(last_data)
            && of_keys
        {
            // A key exchange tells nothing of how much a path carries.
            view.last_data = last_data;
        }
        self.stats.data_chunks_sent += 1;
        self.stats.data_bytes_sent += u64::from(chunk.bytes);
        let view = self.tx.view(now, &self.paths);
        self.policies.path_scheduler.on_sent(&view, path, chunk, new_packet);
        for also in self.policies.path_scheduler.copy_paths(&view, path, chunk) {
            self.tx.copies.push_wanted(also, tsn);
        }
        self.tracer.emit(now, || TraceEvent::Sent {
            path,
            tsn: wire(tsn).0,
            stream: StreamIdField(chunk.stream),
            bytes: chunk.bytes,
            retransmission: None,
        });
    }

    /// Writes a chunk that is in flight on `from` for `to` as well.
    fn write_copy(
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
        if self.attempt.planned_move == Some(to) && self.tx.cum_ack() + 1 == chunk.tsn {
            self.complete_move(now, chunk.tsn);
        }
        let (_, bytes) = self.tx.describe_chunk(chunk.tsn);
        let tsn = wire(chunk.tsn).0;
        self.tracer.emit(now, || TraceEvent::Copied { path: to, from, tsn, bytes });
    }

    /// The copy of a planned move went out: the original counts as lost. Where that is no news, the
    /// path pauses for a round trip.
    fn complete_move(&mut self, now: Time, tsn: u64) {
        self.attempt.cancel_move();
        let Some((from, losses)) = self.tx.complete_move(now, tsn, &mut self.paths) else { return };
        if losses.react {
            self.cut_window(now, from, losses);
        } else if let Some((view, path)) = self.paths.both_mut(from)
            && !path.is_held_back(now)
        {
            path.held_back_until = now + view.srtt.unwrap_or(view.rto);
            self.timers.scheduler = self.timers.scheduler.min(path.held_back_until);
        }
    }

    /// Writes a chunk that is in flight on `path` once more, as a tail-loss probe.
    fn write_probe(&mut self, now: Time, path: PathId, tsn: u64, writer: &mut PacketWriter<'_>) {
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

    /// Whether small messages are sent at once (SCTP_NODELAY).
    pub const fn nodelay(&self) -> bool {
        !self.nagle
    }

    /// Says whether small messages are sent at once (RFC 6458 section 8.1.5). Where they are not,
    /// what does not fill a packet waits while data is in flight: fewer packets, and up to a round
    /// trip and the peer's SACK delay more of latency. What waits goes out once it may.
    pub fn set_nodelay(&mut self, on: bool) {
        self.nagle = !on;
        self.trigger(Trigger::Write);
    }
}
