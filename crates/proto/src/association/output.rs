//! The way out: may anything be sent, what, and where. One function decides, another writes.

use polypath_wire::{PacketWriter, StreamId};

use super::control::Encoded;
use super::{Association, Bundling, State, assoc_view};
use crate::config::{BurstRule, SackPath};
use crate::ids::{FourTuple, PathId};
use crate::policy::{PathPick, RtxPick, Trigger};
use crate::sender::{CopyOf, Departure, Probe};
use crate::time::{Duration, Time};
use crate::trace::{Stop, StreamIdField, TraceEvent};
use crate::tsn_map::wire;
use crate::view::{ChunkMeta, PathView};

/// A packet that was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) path: PathId,
    pub(crate) tuple: FourTuple,
    pub(crate) len: usize,
    pub(crate) size: PacketSize,
}

/// What the size of a packet asks of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketSize {
    /// It fits the path as far as is known.
    Fits,
    /// It cannot be made smaller: IP may fragment it.
    TooLarge,
    /// Whether its size fits is what it shall find out.
    Probe,
}

/// A path without DATA for so long, or for a round trip, may be dead.
const LIVING: Duration = Duration::from_millis(50);

/// A path is in doubt when no DATA came along it for so long, or for an eighth of its round trip.
const DOUBT: Duration = Duration::from_millis(10);

/// The round trip of a path that is still nearly as fast.
fn slower(srtt: Duration) -> Duration {
    srtt * 5 / 4
}

/// A send attempt: from an event that may allow sending until nothing more can go (CMT-OUT's "round").
#[derive(Debug, Default)]
pub(crate) struct Round {
    requested: Option<Trigger>,
    active: Option<Trigger>,
    began: Time,
    packets: u32,
    /// Max.Burst applies to this attempt.
    limited: bool,
    fast_retransmission_acked: bool,
}

impl Round {
    /// Asks for a send attempt. A SACK is the more telling reason when several come together.
    pub(crate) fn request(&mut self, why: Trigger) {
        if self.requested != Some(Trigger::Sack) {
            self.requested = Some(why);
        }
    }

    pub(crate) const fn sack(&mut self, fast_retransmission_acked: bool) {
        self.fast_retransmission_acked = fast_retransmission_acked;
    }
}

/// What goes out next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// The lowest marked chunk of path `from`, on `to`.
    Again { from: PathId, to: PathId, bytes: u32 },
    /// A new chunk of a stream, of `size` bytes with its header.
    New { path: PathId, chunk: ChunkMeta, size: u64 },
    /// A chunk in flight on `from`, on `to` as well.
    Copy { from: PathId, to: PathId, chunk: CopyOf },
    /// A chunk in flight once more, as a tail-loss probe.
    Probe { path: PathId, chunk: Probe },
}

impl Next {
    const fn path(&self) -> PathId {
        match self {
            Self::Again { to, .. } | Self::Copy { to, .. } => *to,
            Self::New { path, .. } | Self::Probe { path, .. } => *path,
        }
    }

    /// Bytes of the data chunk, padded.
    const fn size(&self) -> usize {
        match self {
            Self::Again { bytes, .. } => *bytes as usize,
            Self::New { size, .. } => *size as usize,
            Self::Copy { chunk, .. } => chunk.bytes as usize,
            Self::Probe { chunk, .. } => chunk.bytes as usize,
        }
    }
}

impl Association {
    /// Appends the next packet to `buf`; `None` when there is nothing to send now.
    pub(crate) fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Packet> {
        // Once it is over nothing is in flight any more, which is not to say that all was acknowledged.
        if self.state != State::Closed {
            self.give_up(now);
            self.advance_requests(now);
        }
        if let Some(path) = self.control.front().map(|c| c.path) {
            return self.control_packet(now, path, buf);
        }
        if self.rx.sack_due(now) && self.acknowledges() {
            let path = self.sack_path(now);
            return self.data_packet(now, path, None, true, buf);
        }
        let next = self.decide(now, None);
        let path = next.map_or_else(|| self.forward_path(), |next| Some(next.path()))?;
        self.data_packet(now, path, next, false, buf)
    }

    /// SACKs go out once the association is set up, until it is over.
    const fn acknowledges(&self) -> bool {
        !matches!(self.state, State::Closed | State::CookieWait | State::CookieEchoed)
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
        let mut writer = PacketWriter::new(buf, limit, self.local.port, self.peer.port, tag);
        writer.push(&Encoded(&first.bytes)).ok()?;
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
            if self.rx.sack_due(now) && self.acknowledges() && self.sack_path(now) == path {
                self.write_sack(now, path, &mut writer);
            }
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
        let len = writer.finish(checksum);
        let packet = self.packet_sent(path, len, size)?;
        Some(Packet { tuple: first.to.map_or(packet.tuple, |to| *to), ..packet })
    }

    /// A packet with a SACK, DATA, or both.
    fn data_packet(
        &mut self,
        now: Time,
        path: PathId,
        next: Option<Next>,
        sack: bool,
        buf: &mut Vec<u8>,
    ) -> Option<Packet> {
        let fitting = self.paths.packet_limit(path).saturating_sub(self.data_reserve());
        // A chunk that was cut for a larger MTU keeps its size; it goes alone (RFC 9260 section 6.9).
        let needed = next.map_or(0, |next| next.size() + polypath_wire::COMMON_HEADER_LEN);
        let limit = fitting.max(needed);
        let fits = limit == fitting;
        let (from, to) = (self.local.port, self.peer.port);
        let mut writer = PacketWriter::new(buf, limit, from, to, self.peer.tag);
        // A pending SACK rides along with DATA on its own path (RFC 9260 section 6.1).
        if sack || fits && self.rx.sack_pending() && self.sack_path(now) == path {
            self.write_sack(now, path, &mut writer);
        }
        if fits && self.tx.forward_due() && self.may_forward_on(path) {
            self.tx.write_forward(now, path, &mut writer, &mut self.paths);
        }
        let mut data = false;
        let mut highest = 0;
        let mut next = next.or_else(|| self.more(now, path, &writer));
        while let Some(chunk) = next {
            // DATA goes in the order of its TSNs (RFC 9260 section 6.10): what would step back opens a packet of its own.
            let tsn = self.tsn_sent(&chunk).unwrap_or(u64::MAX);
            if chunk.path() != path || chunk.size() > writer.remaining() || tsn < highest {
                break;
            }
            self.write_chunk(now, chunk, !data, &mut writer);
            (data, highest) = (true, tsn.min(self.tx.highest_sent()));
            next = self.more(now, path, &writer);
        }
        if let Some(view) = self.paths.view_mut(path).filter(|_| data) {
            view.data_packets += 1;
        }
        if data {
            self.pace(now, path, limit - writer.remaining());
        }
        self.authenticate(&mut writer);
        let known = fits && !self.is_mtu_unknown(path);
        let size = if known { PacketSize::Fits } else { PacketSize::TooLarge };
        let checksum = self.checksum(writer.chunk_area());
        let len = writer.finish(checksum);
        self.packet_sent(path, len, size)
    }

    /// The extended TSN that `next` was sent with; a new chunk gets one above all others.
    fn tsn_sent(&self, next: &Next) -> Option<u64> {
        match next {
            Next::New { .. } => None,
            Next::Again { from, .. } => Some(self.tx.marked_tsn(*from).unwrap_or(0)),
            Next::Copy { chunk, .. } => Some(chunk.tsn),
            Next::Probe { chunk, .. } => Some(chunk.tsn),
        }
    }

    /// Whether a packet may leave on `path` now. A choice that must wait is not made anew for another path: a scheduler that
    /// knows where data belongs shall not be led astray by a millisecond.
    fn may_depart(&mut self, now: Time, path: PathId) -> bool {
        let pacer = self.pacers.as_mut().and_then(|p| p.of(path));
        pacer.is_none_or(|pacer| pacer.admits(now))
    }

    /// The next packet on `path` waits for this one of `bytes`.
    fn pace(&mut self, now: Time, path: PathId, bytes: usize) {
        let Some(pacer) = self.pacers.as_mut().and_then(|p| p.of(path)) else { return };
        let view = assoc_view(now, &self.paths, &self.tx, &self.config);
        if let Some(rate) = self.policies.congestion.pacing_rate(&view, path) {
            pacer.sent(now, bytes, rate);
        }
    }

    /// Another chunk for a packet on `path` that is under way, if one could fit at all.
    fn more(&mut self, now: Time, path: PathId, writer: &PacketWriter<'_>) -> Option<Next> {
        let smallest = self.tx.chunk_size(1) as usize;
        if writer.remaining() < smallest { None } else { self.decide(now, Some(path)) }
    }

    fn packet_sent(&mut self, path: PathId, len: usize, size: PacketSize) -> Option<Packet> {
        self.stats.packets_sent += 1;
        let own = self.paths.get_mut(path)?;
        own.stats.packets_sent += 1;
        own.stats.bytes_sent += len as u64;
        Some(Packet { path, tuple: own.tuple, len, size })
    }

    fn write_sack(&mut self, now: Time, path: PathId, writer: &mut PacketWriter<'_>) {
        let start = writer.chunk_area().len();
        let copy = self.sack_copy_path(path);
        if !self.rx.write_sack(writer) {
            return;
        }
        self.rx.sack_sent_on(path, now);
        if let (Some(path), Some(bytes)) = (copy, writer.chunk_area().get(start..)) {
            self.rx.sack_copied();
            self.send_control(path, &Encoded(bytes), Bundling::Free);
        }
    }

    /// The path for a second copy of a SACK that goes out on `path`: a faster one, left aside because no DATA comes on it. It
    /// may be dead, or the sender may only have nothing for it; heartbeats will tell. Until then neither is waited for.
    fn sack_copy_path(&self, path: PathId) -> Option<PathId> {
        if self.config.sack.path != SackPath::SmallestSrtt {
            return None;
        }
        let measured = |v: &&PathView| v.usable && v.srtt.is_some();
        let fastest = self.paths.views.iter().filter(measured).min_by_key(|v| v.srtt)?;
        // A little sooner is not worth a packet.
        let sooner = |srtt| fastest.srtt.is_some_and(|fastest| fastest + fastest / 4 < srtt);
        let slower = self.paths.view(path)?.srtt.is_none_or(sooner);
        (fastest.id != path && slower).then_some(fastest.id)
    }

    /// Which path the SACK takes (config::SackPath), confirmed paths only.
    fn sack_path(&self, now: Time) -> PathId {
        let confirmed = |p: PathId| self.paths.is_confirmed(p);
        let last = self.rx.last_data_path();
        let choice = match self.config.sack.path {
            SackPath::LastData => Some(last),
            SackPath::FirstData => Some(self.rx.first_data_path()),
            // Duplicates say that SACKs do not arrive there; an end that only receives may never hear of it otherwise.
            SackPath::Primary if self.rx.misses_sacks() => Some(last),
            SackPath::Primary => Some(self.paths.primary),
            SackPath::RoundRobin => Some(self.rx.round_robin_path()),
            SackPath::SmallestSrtt => self.fastest_living_path(now),
        };
        choice
            .filter(|p| confirmed(*p))
            .or_else(|| Some(last).filter(|p| confirmed(*p)))
            .unwrap_or_else(|| self.paths.preferred())
    }

    /// The path of the smallest SRTT among those that DATA keeps coming on: an end that only receives has no other way to
    /// notice that a path died; while it is in doubt, another one that is nearly as fast. Duplicates say
    /// that SACKs do not arrive: then none (RFC 9260 section 6.4).
    fn fastest_living_path(&self, now: Time) -> Option<PathId> {
        if self.rx.misses_sacks() {
            return None;
        }
        let heard = |v: &PathView, age: fn(Duration) -> Duration| {
            v.srtt.is_some_and(|srtt| self.rx.heard_within(v.id, now, age(srtt)))
        };
        // An end that only receives measures by heartbeats alone: too few samples for an average to follow.
        let trip = |v: &PathView| v.last_rtt.or(v.srtt);
        let usable = self.paths.views.iter().filter(|v| v.usable);
        let living = usable.filter(|v| heard(v, |srtt| srtt.max(LIVING)));
        let fastest = living.clone().min_by_key(|v| trip(v))?;
        let sure = living.filter(|v| heard(v, |srtt| (srtt / 8).max(DOUBT)));
        let stand_in =
            sure.min_by_key(|v| trip(v)).filter(|v| trip(v) <= trip(fastest).map(slower));
        Some(stand_in.unwrap_or(fastest).id)
    }

    /// What goes out next, and where; retransmissions first (RFC 9260 section 6.1 C). `packet`: the path of the packet
    /// under way.
    fn decide(&mut self, now: Time, packet: Option<PathId>) -> Option<Next> {
        if !self.state.may_send_data() {
            return None;
        }
        let urgent = self.tx.has_marked() || self.tx.is_copying();
        let again = if urgent { self.decide_again(now, packet) } else { None };
        let again = again.or_else(|| self.decide_wanted(now, packet));
        let next = again.or_else(|| self.decide_new(now, packet));
        if next.is_some() || packet.is_some() {
            return next;
        }
        if self.tx.release_holds(&self.paths) {
            return self.decide_again(now, None);
        }
        self.decide_probe(now)
    }

    /// The lowest marked chunk whose path, as the policy chooses it now, may send. Chunks last sent on one path share their
    /// fate: if the head of the group must wait, so must the rest. So do chunks in flight on a path that fell silent.
    fn decide_again(&mut self, now: Time, packet: Option<PathId>) -> Option<Next> {
        let mut groups: smallvec::SmallVec<[(u64, PathId, bool); 4]> =
            self.paths.ids().filter_map(|p| Some((self.tx.marked_tsn(p)?, p, false))).collect();
        let copies = self.paths.ids().filter_map(|p| Some((self.tx.copy_head(p)?.tsn, p, true)));
        groups.extend(copies);
        groups.sort_unstable();
        for (_, from, copy) in groups {
            if copy {
                match self.decide_copy(from, packet) {
                    Some(next) => return Some(next),
                    None => continue,
                }
            }
            let Some(meta) = self.tx.marked_head(from) else { continue };
            let view = assoc_view(now, &self.paths, &self.tx, &self.config);
            let RtxPick::Use(to) = self.policies.retransmission.pick(&view, &meta) else {
                continue;
            };
            if self.tx.holds(from, to) {
                continue;
            }
            let to = self.path_that_fits(to, meta.bytes);
            let Some(path) = self.paths.view(to) else { continue };
            let in_packet = packet == Some(to) && path.has_room();
            if packet.is_none() && self.paths.must_wait(to) {
                continue;
            }
            if path.usable && (path.has_room() || in_packet || self.tx.allowance(from)) {
                return Some(Next::Again { from, to, bytes: meta.bytes });
            }
        }
        None
    }

    /// The next new chunk and its path, within a send attempt.
    fn decide_new(&mut self, now: Time, packet: Option<PathId>) -> Option<Next> {
        if self.round.active.is_none() {
            let begun = self.begin_round(now);
            if let Some(next) = self.decide_move(packet) {
                return Some(next);
            }
            begun?;
        }
        if packet.is_none() && self.waits_for_company() {
            self.end_round(now, Stop::Company);
            return None;
        }
        if packet.is_none() {
            // Before the stream scheduler is asked: it may change streams only now (RFC 8260 section 3.3).
            self.policies.stream_scheduler.packet_started();
        }
        match self.pick_new(now, packet) {
            Ok(next) => Some(next),
            Err(stop) => {
                // A packet under way may be full for this chunk only; the attempt goes on with the next packet.
                if packet.is_none() {
                    self.end_round(now, stop);
                }
                None
            }
        }
    }

    pub(super) fn begin_round(&mut self, now: Time) -> Option<()> {
        let why = self.round.requested.take()?;
        self.plan_move(now);
        if self.tx.queue.messages() == 0 {
            self.note_limit(now, Stop::NoData);
            self.round.fast_retransmission_acked = false;
            return None;
        }
        // A write in the same instant continues the attempt that the SACK began: Max.Burst counts for both.
        let fresh =
            why != Trigger::Write || now > self.round.began || self.round.began == Time::ZERO;
        self.round.active = Some(why);
        self.round.began = now;
        self.round.packets = 0;
        self.round.limited = match self.config.max_burst_rule {
            BurstRule::Always | BurstRule::PerAcked => true,
            BurstRule::AfterFastRetransmit => self.round.fast_retransmission_acked,
        };
        self.round.fast_retransmission_acked = false;
        if fresh {
            let burst = self.config.max_burst.unwrap_or(u32::MAX);
            let burst = if self.round.limited { burst } else { u32::MAX };
            let per_acked = self.config.max_burst_rule == BurstRule::PerAcked;
            for (view, path) in self.paths.iter_mut() {
                let acked = core::mem::take(&mut path.acked);
                // SACKs come for every second packet (RFC 9260 section 6.2).
                let sacks = if per_acked { acked / u64::from(2 * view.pmdcs.max(1)) } else { 1 };
                let sacks = u32::try_from(sacks).unwrap_or(u32::MAX).max(1);
                path.burst_left = burst.saturating_mul(sacks);
            }
        }
        self.decay_idle_windows(now);
        self.refresh_sendable(now, 1, None);
        let view = assoc_view(now, &self.paths, &self.tx, &self.config);
        self.policies.path_scheduler.round_begin(&view, why);
        Some(())
    }

    pub(super) fn end_round(&mut self, now: Time, stop: Stop) {
        let Some(trigger) = self.round.active.take() else { return };
        self.note_limit(now, stop);
        let view = assoc_view(now, &self.paths, &self.tx, &self.config);
        self.policies.path_scheduler.round_end(&view);
        let packets = self.round.packets;
        self.tracer.emit(now, || TraceEvent::Round { trigger, packets, stop });
    }

    /// The next chunk by the stream scheduler, its path by the path scheduler, or what stands in the way.
    fn pick_new(&mut self, now: Time, packet: Option<PathId>) -> Result<Next, Stop> {
        let mut skipped: smallvec::SmallVec<[StreamId; 8]> = smallvec::SmallVec::new();
        loop {
            let Some(chunk) = self.next_chunk(&skipped) else {
                return Err(if skipped.is_empty() { Stop::NoData } else { Stop::Paths });
            };
            if !self.tx.has_tsn_room() {
                return Err(Stop::PeerWindow);
            }
            let probe = !self.tx.window_admits(&chunk);
            if probe && !self.may_probe(now) {
                return Err(Stop::PeerWindow);
            }
            if !self.refresh_sendable(now, chunk.bytes, packet) {
                return Err(Stop::Paths);
            }
            let view = assoc_view(now, &self.paths, &self.tx, &self.config);
            match self.policies.path_scheduler.pick(&view, &chunk) {
                PathPick::Use(path) if view.path(path).is_some_and(|p| p.sendable) => {
                    self.trace_decision(now, Some(path));
                    if packet != Some(path) && !self.may_depart(now, path) {
                        return Err(Stop::Pacing);
                    }
                    let size = self.tx.chunk_size(chunk.bytes);
                    return Ok(Next::New { path, chunk, size });
                }
                PathPick::Skip => {
                    // A message under way cannot be overtaken by another stream's (no I-DATA).
                    if self.tx.queue.in_progress().is_some() {
                        return Err(Stop::Paths);
                    }
                    skipped.push(chunk.stream);
                }
                PathPick::WaitUntil(at) => {
                    self.timers.scheduler = at.max(now + crate::time::Duration::from_nanos(1));
                    return Err(Stop::Scheduler);
                }
                PathPick::Use(_) | PathPick::Wait => {
                    self.trace_decision(now, None);
                    return Err(Stop::Scheduler);
                }
            }
        }
    }

    #[inline]
    fn trace_decision(&mut self, now: Time, path: Option<PathId>) {
        if self.tracer.is_on() {
            self.emit_decision(now, path);
        }
    }

    #[inline(never)]
    fn emit_decision(&mut self, now: Time, path: Option<PathId>) {
        let state = self.policies.path_scheduler.state();
        let open = self.paths.views.iter().filter(|v| v.sendable);
        let sendable = open.fold(0, |mask, v| mask | 1 << v.id.0);
        self.tracer.emit(now, || TraceEvent::Decision { path, sendable, state });
    }

    pub(super) fn next_chunk(&mut self, skipped: &[StreamId]) -> Option<ChunkMeta> {
        let (tx, pmdcs) = (&self.tx, self.paths.amdcs());
        let stream = match tx.queue.in_progress() {
            Some(stream) => stream,
            None => {
                let eligible = |s: StreamId| !skipped.contains(&s) && tx.may_begin(s, pmdcs);
                self.policies.stream_scheduler.peek(&tx.queue.heads(), &eligible)?
            }
        };
        self.tx.peek(stream, pmdcs)
    }

    /// A window too small for the next chunk may be probed with one, when nothing is in flight, and not before an RTO
    /// passed (RFC 9260 section 6.1 A). One probe in the whole association, not one per path.
    fn may_probe(&mut self, now: Time) -> bool {
        if self.tx.outstanding() > 0 || self.tx.has_marked() {
            return false;
        }
        if self.tx.window_probe_allowed() {
            return true;
        }
        if self.timers.probe == Time::MAX {
            let rto = self.rto(self.paths.preferred());
            self.timers.probe = now + self.tx.probe_delay(rto, self.config.rto.max);
        }
        false
    }

    /// Sets `sendable` of every path for a chunk of `bytes` (view.rs says when it holds). Gives whether any path is.
    pub(super) fn refresh_sendable(
        &mut self,
        now: Time,
        bytes: u32,
        packet: Option<PathId>,
    ) -> bool {
        let mut refused = None;
        let mut sendable = 0_u32;
        let view = assoc_view(now, &self.paths, &self.tx, &self.config);
        for (path, own) in self.paths.iter() {
            let p = path.id;
            let begins = packet != Some(p);
            let open = path.usable
                && path.has_room()
                && !(begins && (own.burst_left == 0 || own.must_wait(path)))
                && now >= own.held_back_until;
            if open && self.policies.buffer.admit(&view, p, bytes) {
                sendable |= 1 << p.0;
            } else if open && refused.is_none() {
                refused = Some(p);
            }
        }
        // No buffer policy can dead-lock a transfer: with nothing in flight, one packet may go.
        if let Some(p) = refused
            && sendable == 0
            && self.tx.outstanding() == 0
            && !self.tx.has_marked()
        {
            sendable = 1 << p.0;
        }
        for (path, bit) in self.paths.views.iter_mut().zip(0..) {
            path.sendable = sendable >> bit & 1 == 1;
        }
        sendable != 0
    }

    /// RFC 9260 section 7.2.1: a path that sent nothing for an RTO loses part of its window, once per RTO.
    fn decay_idle_windows(&mut self, now: Time) {
        let mut decayed = false;
        for p in self.paths.ids() {
            let Some((view, own)) = self.paths.both_mut(p) else { continue };
            if view.outstanding > 0 || view.data_chunks == 0 {
                continue;
            }
            // Bounded: the window reaches its floor after a few halvings.
            let mut halvings = 0;
            while now.since(own.idle_since) > view.rto && halvings < 16 {
                own.idle_since += view.rto;
                halvings += 1;
            }
            for _ in 0..halvings {
                let view = assoc_view(now, &self.paths, &self.tx, &self.config);
                self.policies.congestion.idle(&view, p);
            }
            decayed |= halvings > 0;
        }
        if decayed {
            self.refresh_windows(now);
        }
    }

    fn write_chunk(
        &mut self,
        now: Time,
        next: Next,
        new_packet: bool,
        writer: &mut PacketWriter<'_>,
    ) {
        match next {
            Next::Again { from, to, .. } => self.write_again(now, from, to, writer),
            Next::New { path, chunk, .. } => self.write_new(now, path, &chunk, new_packet, writer),
            Next::Copy { from, to, chunk } => self.write_copy(now, from, to, chunk, writer),
            Next::Probe { path, chunk } => self.write_probe(now, path, chunk.tsn, writer),
        }
    }

    fn write_again(&mut self, now: Time, from: PathId, to: PathId, writer: &mut PacketWriter<'_>) {
        if !self.paths.view(to).is_some_and(|v| v.has_room()) {
            self.tx.use_allowance(from);
        }
        let sent = self.tx.send_again(now, from, to, writer, &mut self.paths);
        let Some((tsn, cause)) = sent else { return };
        match cause {
            crate::view::LossKind::FastRetransmit => self.stats.retransmissions_fast += 1,
            crate::view::LossKind::Timeout => self.stats.retransmissions_timeout += 1,
        }
        let (stream, bytes) = self.tx.describe(tsn);
        self.tracer.emit(now, || TraceEvent::Sent {
            path: to,
            tsn: wire(tsn).0,
            stream: StreamIdField(stream),
            bytes,
            retransmission: Some(cause),
        });
    }

    fn write_new(
        &mut self,
        now: Time,
        path: PathId,
        chunk: &ChunkMeta,
        new_packet: bool,
        writer: &mut PacketWriter<'_>,
    ) {
        if new_packet {
            self.round.packets += 1;
            if let Some(own) = self.paths.get_mut(path) {
                own.burst_left = own.burst_left.saturating_sub(1);
            }
        }
        if self.tx.take_window_probe() {
            self.stats.window_probes += 1;
        }
        let view = assoc_view(now, &self.paths, &self.tx, &self.config);
        let immediate = self.policies.path_scheduler.wants_sack_at_once(&view, path, chunk)
            || self.tx.is_probe_due(path);
        let departure = Departure { path, stream: chunk.stream, bytes: chunk.bytes, immediate };
        let scheduler = &mut *self.policies.stream_scheduler;
        let sent = self.tx.send_new(now, departure, writer, &mut self.paths, scheduler);
        let Some(tsn) = sent else { return };
        self.stats.data_chunks_sent += 1;
        self.stats.data_bytes_sent += u64::from(chunk.bytes);
        let view = assoc_view(now, &self.paths, &self.tx, &self.config);
        self.policies.path_scheduler.sent(&view, path, chunk, new_packet);
        for also in self.policies.path_scheduler.copies(&view, path, chunk) {
            self.tx.want_copy(tsn, also);
        }
        self.tracer.emit(now, || TraceEvent::Sent {
            path,
            tsn: wire(tsn).0,
            stream: StreamIdField(chunk.stream),
            bytes: chunk.bytes,
            retransmission: None,
        });
    }
}
