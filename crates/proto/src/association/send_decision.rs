//! What goes out next, and where: one decision. Retransmissions go first (RFC 9260 section 6.1 C),
//! then new data, for which the stream scheduler names a stream and the path scheduler a path among
//! the [`sendable`](crate::view::PathView::sendable) ones.

use smallvec::SmallVec;

use super::congestion_windows;
use super::limits::Limits;
use super::send_attempt::{SendAttempt, Transmission};
use crate::config::{AssocConfig, Cuc};
use crate::ids::{PathId, StreamId};
use crate::path::{Pacers, PathSet};
use crate::policy::{PathPick, PolicySet, RtxPick};
use crate::sender::{OutstandingQueue, Sender};
use crate::time::{Duration, Time};
use crate::trace::{Stop, TraceEvent, Tracer};
use crate::view::{ChunkMeta, PathView};

/// The parts of an association that a decision looks at and changes, borrowed for one decision.
pub(super) struct SendDecision<'a> {
    pub(super) now: Time,
    /// Small messages wait for company now (see `nagle`).
    pub(super) delays_small_messages: bool,
    pub(super) config: &'a AssocConfig,
    pub(super) paths: &'a mut PathSet,
    pub(super) tx: &'a mut Sender,
    pub(super) policies: &'a mut PolicySet,
    pub(super) attempt: &'a mut SendAttempt,
    pub(super) limits: &'a mut Limits,
    pub(super) pacers: Option<&'a mut Pacers>,
    /// Paths whose time to send has not come are closed, and retransmissions wait for it, too.
    pub(super) is_rate_based: bool,
    /// A packet may be written before its time and held until then.
    pub(super) may_hold: bool,
    /// When a zero-window probe may go out.
    pub(super) window_probe_timer: &'a mut Time,
    /// When the path scheduler is to be asked again.
    pub(super) scheduler_timer: &'a mut Time,
    pub(super) tracer: &'a mut Tracer,
}

impl SendDecision<'_> {
    /// What goes out next; `None`: nothing may, now. `packet`: the path of the packet under way,
    /// which alone is asked for.
    pub(super) fn next_transmission(&mut self, packet: Option<PathId>) -> Option<Transmission> {
        let again = if self.tx.outstanding.has_retransmissions() {
            self.next_retransmission(packet)
        } else {
            None
        };
        let again = again.or_else(|| self.next_redundant_copy(packet));
        let next = again.or_else(|| self.next_new_data(packet));
        if next.is_some() || packet.is_some() {
            return next;
        }
        if self.tx.release_retransmissions(self.paths) {
            return self.next_retransmission(None);
        }
        self.next_tail_copy().or_else(|| self.next_tail_loss_probe())
    }

    /// The lowest marked chunk whose path, as the policy chooses it now, may send. Chunks last sent
    /// on one path share their fate: if the head of the group must wait, so must the rest. So do
    /// chunks in flight on a path that fell silent, which are copied to other paths.
    fn next_retransmission(&mut self, packet: Option<PathId>) -> Option<Transmission> {
        let (tx, paths) = (&self.tx.outstanding, &self.paths);
        let mut groups: SmallVec<[(u64, PathId, bool); 4]> =
            paths.ids().filter_map(|p| Some((tx.lowest_marked(p)?, p, false))).collect();
        groups.extend(paths.ids().filter_map(|p| Some((tx.lowest_uncopied(p)?.tsn, p, true))));
        groups.sort_unstable();
        for (_, from, copy) in groups {
            let next = if copy {
                self.next_copy_of_silent_path(from, packet)
            } else {
                self.retransmission_from(from, packet)
            };
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// The lowest marked chunk of `from`, if the path that the policy names for it may send now.
    fn retransmission_from(
        &mut self,
        from: PathId,
        packet: Option<PathId>,
    ) -> Option<Transmission> {
        let meta = self.tx.marked_head(from)?;
        let view = self.tx.view(self.now, self.paths);
        let PolicySet { retransmission, path_scheduler, .. } = &mut *self.policies;
        let trip = |path: &PathView| path_scheduler.expected_trip(&view, path, meta.bytes);
        let RtxPick::Use(to) = retransmission.pick_path_by_trips(&view, &meta, &trip) else {
            return None;
        };
        if self.tx.recovery.holds_retransmissions(from, to) {
            return None;
        }
        let to = path_that_fits(self.paths, to, meta.bytes);
        let path = self.paths.view(to)?;
        let in_packet = packet == Some(to) && path.has_room();
        if packet.is_none() && self.paths.must_wait(to) {
            return None;
        }
        let ns2 = &self.config.reproduction.ns2;
        let allowed = if ns2.allowance_of_target { to } else { from };
        if ns2.allowance_of_target && self.tx.recovery.is_closed(to) && !in_packet {
            return None;
        }
        if self.attempt.is_limited() && !in_packet && self.is_burst_resent() {
            return None;
        }
        let may_go = path.has_room() || in_packet || self.tx.recovery.has_allowance(allowed);
        let may_go = path.usable && may_go;
        if self.is_rate_based && may_go && packet != Some(to) && !self.pacer_admits(to) {
            return None;
        }
        may_go.then_some(Transmission::Retransmit { from, to, bytes: meta.bytes })
    }

    /// ns-2's limit of retransmissions: once a path has sent one packet more than Max.Burst, no
    /// path sends any until the next SACK.
    fn is_burst_resent(&self) -> bool {
        let burst = self.config.max_burst.unwrap_or(u32::MAX);
        let owns = self.paths.iter().filter_map(|(_, path)| path.ns2.as_ref());
        owns.into_iter().any(|own| own.resent_packets > burst)
    }

    /// The next new chunk and its path, within a send attempt.
    fn next_new_data(&mut self, packet: Option<PathId>) -> Option<Transmission> {
        if !self.attempt.is_active() {
            let begun = self.begin_attempt();
            if let Some(next) = self.next_rescheduled_chunk(packet) {
                return Some(next);
            }
            begun?;
        }
        if packet.is_none() && self.must_wait_for_company() {
            self.end_attempt(Stop::Company);
            return None;
        }
        if packet.is_none() {
            // Before the stream scheduler is asked: it may change streams only now (RFC 8260
            // section 3.3).
            self.policies.stream_scheduler.packet_started();
        }
        match self.pick_chunk_and_path(packet) {
            Ok(next) => Some(next),
            Err(stop) => {
                // A packet under way may be full for this chunk only; the attempt goes on with the
                // next packet.
                if packet.is_none() {
                    self.end_attempt(stop);
                }
                None
            }
        }
    }

    /// Begins a send attempt, if one was asked for and there is data.
    pub(super) fn begin_attempt(&mut self) -> Option<()> {
        let why = self.attempt.take_request()?;
        self.plan_move();
        if self.tx.queue.messages() == 0 {
            self.mark_limited_paths(Stop::NoData);
            self.limits.note_stop(self.now, Stop::NoData, self.tx, self.paths);
            self.attempt.skip();
            return None;
        }
        self.attempt.begin(self.now, why, self.paths, self.pacers.is_some(), self.config);
        self.decay_idle_windows();
        self.refresh_sendable(1, None);
        let view = self.tx.view(self.now, self.paths);
        self.policies.path_scheduler.begin_attempt(&view, why);
        Some(())
    }

    /// Ends the send attempt under way, and notes what stopped it.
    pub(super) fn end_attempt(&mut self, stop: Stop) {
        let Some((trigger, packets)) = self.attempt.end() else { return };
        if self.config.cmt.cuc == Cuc::Off && self.paths.iter().any(|(_, p)| p.burst_left == 0) {
            self.attempt.end_limit();
        }
        self.mark_limited_paths(stop);
        self.limits.note_stop(self.now, stop, self.tx, self.paths);
        let view = self.tx.view(self.now, self.paths);
        self.policies.path_scheduler.end_attempt(&view);
        self.tracer.emit(self.now, || TraceEvent::Round { trigger, packets, stop });
    }

    /// Paths that may send and do not are application-limited (draft-ietf-ccwg-bbr): for want of
    /// data, or since a policy leaves them idle. The peer's window and the pacer count as the
    /// network.
    fn mark_limited_paths(&mut self, stop: Stop) {
        if matches!(stop, Stop::PeerWindow | Stop::Pacing) {
            return;
        }
        let outstanding = &self.tx.outstanding;
        let pacers = self.pacers.as_deref().filter(|_| self.is_rate_based);
        for (view, own) in self.paths.iter_mut() {
            let waits = pacers.is_some_and(|pacers| pacers.holds(view.id, self.now));
            let may_send = view.has_room() && own.burst_left > 0 && !waits;
            let idle = stop == Stop::NoData || may_send;
            if view.has_room() && idle && !outstanding.has_marked_on(view.id) {
                own.delivery_rate.mark_app_limited(view);
            }
        }
    }

    /// The next chunk by the stream scheduler, its path by the path scheduler, or what stands in
    /// the way.
    fn pick_chunk_and_path(&mut self, packet: Option<PathId>) -> Result<Transmission, Stop> {
        let mut skipped: SmallVec<[StreamId; 8]> = SmallVec::new();
        loop {
            let Some(chunk) = self.peek_chunk(&skipped) else {
                return Err(if skipped.is_empty() { Stop::NoData } else { Stop::Paths });
            };
            if !self.tx.has_tsn_room() {
                return Err(Stop::PeerWindow);
            }
            if let Some(next) = self.next_word_of_keys(&chunk, packet) {
                return Ok(next);
            }
            let probe = !self.tx.window_admits(&chunk);
            if probe && !self.may_probe_window() {
                return Err(Stop::PeerWindow);
            }
            if !self.refresh_sendable(chunk.bytes, packet) {
                return Err(self.why_closed());
            }
            let view = self.tx.view(self.now, self.paths);
            match self.policies.path_scheduler.pick_path(&view, &chunk) {
                PathPick::Use(path) if view.path(path).is_some_and(|p| p.sendable) => {
                    self.trace_decision(Some(path));
                    // A choice that must wait is not made anew for another path: that would take
                    // data from where the scheduler knows it belongs, for a millisecond.
                    if packet != Some(path)
                        && !self.keeps_tsns_together(path)
                        && !self.pacer_admits(path)
                    {
                        return Err(Stop::Pacing);
                    }
                    let size = self.tx.chunk_size(chunk.bytes);
                    return Ok(Transmission::NewData { path, chunk, size });
                }
                PathPick::Skip => {
                    // A message under way cannot be overtaken by another stream's (no I-DATA).
                    if self.tx.queue.in_progress().is_some() {
                        return Err(Stop::Paths);
                    }
                    skipped.push(chunk.stream);
                }
                PathPick::WaitUntil(at) => {
                    *self.scheduler_timer = at.max(self.now + Duration::from_nanos(1));
                    return Err(Stop::Scheduler);
                }
                PathPick::Use(_) | PathPick::Wait => {
                    self.trace_decision(None);
                    return Err(Stop::Scheduler);
                }
            }
        }
    }

    /// The next chunk of the stream that is next.
    pub(super) fn peek_chunk(&mut self, skipped: &[StreamId]) -> Option<ChunkMeta> {
        let (tx, pmdcs) = (&*self.tx, self.paths.amdcs());
        let stream = match tx.queue.in_progress() {
            Some(stream) => stream,
            None if tx.queue.leads_with_key_message() && !skipped.contains(&StreamId(0)) => {
                StreamId(0)
            }
            None => {
                let eligible = |s: StreamId| !skipped.contains(&s) && tx.may_begin(s, pmdcs);
                self.policies.stream_scheduler.peek_stream(&tx.queue.heads(), &eligible)?
            }
        };
        tx.peek(stream, pmdcs)
    }

    /// A few bytes of key management go at once, whatever windows and policies say: without them
    /// the peer can acknowledge nothing that would open the windows.
    fn next_word_of_keys(&self, chunk: &ChunkMeta, packet: Option<PathId>) -> Option<Transmission> {
        const WORD: u32 = 16;
        if chunk.bytes > WORD || !self.tx.queue.leads_with_key_message() {
            return None;
        }
        let path = self.paths.preferred();
        let fits = packet.is_none_or(|packet| packet == path);
        let size = self.tx.chunk_size(chunk.bytes);
        fits.then_some(Transmission::NewData { path, chunk: *chunk, size })
    }

    /// A window too small for the next chunk may be probed with one, when nothing is in flight, and
    /// not before an RTO passed (RFC 9260 section 6.1 A). One probe in the whole association, not
    /// one per path.
    fn may_probe_window(&mut self) -> bool {
        if self.tx.bytes_in_flight() > 0 || self.tx.outstanding.has_marked() {
            return false;
        }
        if self.tx.outstanding.window().is_probe_allowed() {
            return true;
        }
        if *self.window_probe_timer == Time::MAX {
            let (path, limits) = (self.paths.preferred(), &self.config.rto);
            let rto = self.paths.view(path).map_or(limits.initial, |v| v.rto);
            let delay = self.tx.outstanding.window().probe_delay(rto, limits.max);
            *self.window_probe_timer = self.now + delay;
        }
        false
    }

    /// Whether a packet may leave on `path` now.
    fn pacer_admits(&mut self, path: PathId) -> bool {
        let pacer = self.pacers.as_mut().and_then(|p| p.of(path));
        pacer.is_none_or(|pacer| pacer.admits(self.now))
    }

    /// Whether a packet for `path` is written now, although it may have to be held: other paths' data
    /// that is sent meanwhile must not come between its TSNs.
    fn keeps_tsns_together(&self, path: PathId) -> bool {
        self.may_hold
            && !self.is_rate_based
            && self.policies.path_scheduler.keeps_tsns_together(path)
    }

    /// What closes all paths: that of one whose time has not come is pacing.
    fn why_closed(&self) -> Stop {
        let pacers = self.pacers.as_deref().filter(|_| self.is_rate_based);
        let waits = |v: &PathView| {
            v.usable && v.has_room() && pacers.is_some_and(|pacers| pacers.holds(v.id, self.now))
        };
        if self.paths.views.iter().any(waits) { Stop::Pacing } else { Stop::Paths }
    }

    #[inline]
    fn trace_decision(&mut self, path: Option<PathId>) {
        if self.tracer.is_on() {
            self.emit_decision(path);
        }
    }

    #[inline(never)]
    fn emit_decision(&mut self, path: Option<PathId>) {
        let state = self.policies.path_scheduler.trace_values();
        let open = self.paths.views.iter().filter(|v| v.sendable);
        let sendable = open.fold(0, |mask, v| mask | 1 << v.id.0);
        self.tracer.emit(self.now, || TraceEvent::Decision { path, sendable, state });
    }

    /// Sets `sendable` of every path for a chunk of `bytes` (view.rs says when it holds). Gives
    /// whether any path is.
    pub(super) fn refresh_sendable(&mut self, bytes: u32, packet: Option<PathId>) -> bool {
        let mut refused = None;
        let (mut sendable, mut before) = (0_u32, 0_u32);
        let buffer = &self.policies.buffer;
        let view = buffer.restricts().then(|| self.tx.view(self.now, self.paths));
        let (config, outstanding) = (self.config, &self.tx.outstanding);
        let fills_by_marked = |path: &PathView| is_filled_by_marked(path, config, outstanding);
        let mut pacers = self.pacers.as_deref_mut().filter(|_| self.is_rate_based);
        let mut waits = |p: PathId| {
            let pacer = pacers.as_mut().and_then(|pacers| pacers.of(p));
            pacer.is_some_and(|pacer| !pacer.admits(self.now))
        };
        for (path, own) in self.paths.iter() {
            let p = path.id;
            before |= u32::from(path.sendable) << p.0;
            let begins = packet != Some(p);
            let open = path.usable
                && path.has_room()
                && !(begins && (own.burst_left == 0 || own.must_wait(path)))
                && self.now >= own.held_back_until;
            let open = open && !(begins && waits(p)) && !fills_by_marked(path);
            if open && view.as_ref().is_none_or(|view| buffer.may_take(view, p, bytes)) {
                sendable |= 1 << p.0;
            } else if open && refused.is_none() {
                refused = Some(p);
            }
        }
        // No buffer policy can dead-lock a transfer: with nothing in flight, one packet may go.
        if let Some(p) = refused
            && sendable == 0
            && self.tx.bytes_in_flight() == 0
            && !self.tx.outstanding.has_marked()
        {
            sendable = 1 << p.0;
        }
        // Once for each chunk, and most change nothing.
        if sendable != before {
            for path in &mut self.paths.views {
                path.sendable = sendable >> path.id.0 & 1 == 1;
            }
        }
        sendable != 0
    }

    /// RFC 9260 section 7.2.1: a path that sent nothing for an RTO loses part of its window, once
    /// per RTO.
    fn decay_idle_windows(&mut self) {
        if self.config.reproduction.ns2.idle_halves_alone {
            return;
        }
        let mut decayed = false;
        for p in self.paths.ids() {
            let Some((view, own)) = self.paths.both_mut(p) else { continue };
            if view.outstanding > 0 || view.data_chunks == 0 {
                continue;
            }
            // Bounded: the window reaches its floor after a few halvings.
            let mut halvings = 0;
            while self.now.since(own.idle_since) > view.rto && halvings < 16 {
                own.idle_since += view.rto;
                halvings += 1;
            }
            for _ in 0..halvings {
                let view = self.tx.view(self.now, self.paths);
                self.policies.congestion.on_idle(&view, p);
            }
            decayed |= halvings > 0;
        }
        if decayed {
            let congestion = &*self.policies.congestion;
            congestion_windows::refresh(self.now, congestion, self.paths, self.tx, self.tracer);
        }
    }
}

/// `to`, or another open path that a chunk of `bytes` fits when it does not fit there (RFC 9260
/// section 6.9: chunks that were sent keep their size).
fn path_that_fits(paths: &PathSet, to: PathId, bytes: u32) -> PathId {
    if paths.view(to).is_none_or(|v| v.pmdcs >= bytes) {
        return to;
    }
    let open = |v: &&PathView| v.usable && v.has_room() && v.pmdcs >= bytes;
    let fitting = paths.views.iter().filter(open).min_by_key(|v| (v.srtt, v.id));
    fitting.map_or(to, |v| v.id)
}

/// ns-2: what waits to be retransmitted fills the window of `path` for new data. Without CMT,
/// anything that waits shuts it.
fn is_filled_by_marked(
    path: &PathView,
    config: &AssocConfig,
    outstanding: &OutstandingQueue,
) -> bool {
    if !config.reproduction.ns2.marked_stay_outstanding {
        return false;
    }
    let (bytes, number) = outstanding.marked_bytes(path.id);
    path.outstanding + bytes >= path.cwnd || config.cmt.cuc == Cuc::Off && number > 0
}
