//! The end of an association: SHUTDOWN and its answers (RFC 9260 section 9.2), ABORT (section 9.1).

use polypath_wire::chunk::kind;
use polypath_wire::{AbortChunk, Chunk, ErrorCause, ShutdownChunk, Tsn};

use super::control::ControlChunk;
use super::{Association, Bundling, State};
use crate::event::{CloseReason, Event};
use crate::ids::PathId;
use crate::time::Time;
use crate::trace::TraceEvent;
use crate::tsn_map::extend;
use crate::view::PathView;

/// T5-shutdown-guard in RTO.Max (RFC 9260 section 16).
const GUARD_IN_RTO_MAX: u32 = 5;

impl Association {
    /// The application has nothing more to send.
    pub(crate) fn user_shutdown(&mut self, now: Time) {
        match self.state {
            State::CookieWait | State::CookieEchoed => self.setup.shutdown_wanted = true,
            State::Established if self.is_exchanging_keys() => self.setup.shutdown_wanted = true,
            State::Established => {
                self.state = State::ShutdownPending;
                self.guard_shutdown(now);
                self.check_shutdown_progress(now);
            }
            _ => {}
        }
    }

    /// The application wants the association gone, for this reason.
    pub(crate) fn user_abort(&mut self, _now: Time, reason: &[u8]) {
        if self.state == State::Closed {
            return;
        }
        let reason = self.quotable(reason);
        self.send_abort(&ErrorCause::UserInitiatedAbort(reason));
        self.close(CloseReason::LocalAbort);
    }

    /// Data was acknowledged: a shutdown that waited for that goes on.
    pub(crate) fn check_shutdown_progress(&mut self, now: Time) {
        if matches!(self.state, State::ShutdownPending | State::ShutdownReceived) {
            for (message, stream, sent) in self.tx.drop_what_waits_for_parts() {
                self.events.push_back(Event::SendFailed { message, stream, sent });
            }
        }
        match self.state {
            State::ShutdownPending if self.tx.is_drained() => {
                self.state = State::ShutdownSent;
                self.guard_shutdown(now);
                self.begin_closing();
                self.send_shutdown(now, self.paths.preferred());
            }
            State::ShutdownReceived if self.tx.is_drained() => {
                self.acknowledge_shutdown(now, self.paths.preferred());
            }
            _ => {}
        }
    }

    /// SHUTDOWN came: the peer has no more data and has received ours up to `cum_tsn`.
    pub(crate) fn on_shutdown(&mut self, now: Time, path: PathId, cum_tsn: Tsn) {
        if self.state.is_setup() || self.state == State::Closed {
            return;
        }
        let never_sent = extend(self.tx.cum_ack(), cum_tsn) > self.tx.highest_sent();
        if never_sent && self.tx.is_drained() {
            // All was acknowledged before, whatever this says: the end is a good one.
            self.stats.bad_shutdowns += 1;
            let cumulative_tsn = cum_tsn.0;
            self.tracer.emit(now, || TraceEvent::BadShutdown { path, cumulative_tsn });
        } else if !self.cumulative_ack(now, path, cum_tsn) {
            return;
        }
        match self.state {
            State::Established | State::ShutdownPending => {
                self.state = State::ShutdownReceived;
                self.events.push_back(Event::PeerShutdown);
                self.check_shutdown_progress(now);
            }
            // `cumulative_ack` may have begun the shutdown that was pending: the two cross then, as
            // in SHUTDOWN-SENT.
            State::ShutdownSent => self.acknowledge_shutdown(now, self.paths.preferred()),
            State::ShutdownAckSent => self.resend_shutdown_ack(now),
            _ => {}
        }
    }

    /// SHUTDOWN ACK came. In COOKIE-WAIT and COOKIE-ECHOED it is none of ours; the endpoint has
    /// answered it.
    pub(crate) fn on_shutdown_ack(&mut self, _now: Time, path: PathId) {
        if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            self.control.clear();
            let complete = Chunk::ShutdownComplete { reflected: false };
            self.send_control(path, &complete, Bundling::Alone);
            self.close(CloseReason::Shutdown);
        }
    }

    /// SHUTDOWN COMPLETE came.
    pub(crate) fn on_shutdown_complete(&mut self, _now: Time) {
        if self.state == State::ShutdownAckSent {
            self.control.clear();
            self.close(CloseReason::Shutdown);
        }
    }

    /// ABORT came. It is never answered; a malformed one does nothing (RFC 9260 section 3.3.7).
    pub(crate) fn on_abort(&mut self, _now: Time, abort: &AbortChunk<'_>) {
        if abort.causes.iter().any(|cause| cause.is_err()) {
            self.stats.malformed_chunks += 1;
            return;
        }
        let cause = self.note_abort(abort);
        self.control.clear();
        // With SHUTDOWN ACK sent, both sides have everything. A bare ABORT then is a peer that is
        // done and has forgotten us, and answers a packet that was under way on a slow path.
        let done = self.state == State::ShutdownAckSent && cause.is_none();
        let reason = if done { CloseReason::Shutdown } else { CloseReason::PeerAbort { cause } };
        self.close(reason);
    }

    /// Whether nothing was ever answered on `p`, perhaps a path of our user's to an address that
    /// the peer never named, while another one is alive. Who says from there that he knows nothing
    /// of us speaks for that address alone (RFC 9260 section 8.4, rule 3). He may even be the peer:
    /// an answer to a bare INIT lists no more of our addresses than may be sent to a stranger (RFC
    /// 5062 section 9), so that it knows us by fewer; or send from an address before its own
    /// association has it (usrsctp does), and take our question for a stranger's.
    pub(super) fn is_unanswered(&self, p: PathId) -> bool {
        // Set-up made the path primary on which it was answered.
        let answered = |v: &PathView| v.srtt.is_some() || v.id == self.paths.primary;
        let alive = |v: &PathView| v.usable && answered(v);
        let silent = self.paths.view(p).is_some_and(|v| !answered(v));
        silent && self.paths.views.iter().any(alive)
    }

    /// T2-shutdown expired.
    pub(crate) fn on_t2(&mut self, now: Time) {
        if !matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            return;
        }
        self.count_failure(now, self.setup.path, true, true);
        let path = self.paths.next_after(self.setup.path);
        match self.state {
            State::ShutdownSent => self.send_shutdown(now, path),
            State::ShutdownAckSent => self.send_shutdown_ack(now, path),
            // Given up.
            _ => {}
        }
    }

    /// T5-shutdown-guard expired: the peer sends on and on, or is silent; or it answers heartbeats,
    /// which resets all that is counted (section 8.1), and never acknowledges what a pending
    /// shutdown waits for. A peer of which no packet comes is left to Association.Max.Retrans.
    pub(crate) fn on_t5(&mut self, now: Time) {
        match self.state {
            State::ShutdownPending if !self.timers.packet_came => self.guard_shutdown(now),
            State::ShutdownPending | State::ShutdownSent => {
                self.send_abort(&ErrorCause::UserInitiatedAbort(b"shutdown takes too long"));
                self.close(CloseReason::ShutdownTimeout);
            }
            _ => {}
        }
    }

    /// (Re)starts T5: the shutdown begins, or its SHUTDOWN is sent.
    fn guard_shutdown(&mut self, now: Time) {
        self.timers.t5 = now + self.config.rto.max * GUARD_IN_RTO_MAX;
        self.timers.packet_came = false;
    }

    /// A SACK came, if only of a peer without room: a pending shutdown has all the time it needs.
    #[inline]
    pub(super) fn sack_in_shutdown(&mut self, now: Time) {
        if self.state == State::ShutdownPending {
            self.guard_shutdown(now);
        }
    }

    /// Any packet proves that the peer lives: it gets all the time it needs to send what it still
    /// has (RFC 9260 section 9.2). T2 runs on unless there is DATA to answer: restarted by every
    /// packet, it might never send a lost SHUTDOWN again.
    pub(super) fn restart_shutdown_guard(&mut self) {
        self.timers.packet_came = true;
        if self.state == State::ShutdownSent {
            self.errors = 0;
        }
    }

    /// A packet with DATA came in SHUTDOWN-SENT: the answer is SHUTDOWN with the new cum-ack, and a
    /// SACK if that does not say it all. T2 starts anew.
    pub(crate) fn data_in_shutdown_sent(&mut self, now: Time, path: PathId) {
        if self.rx.has_gaps() || self.rx.has_duplicates() {
            self.rx.request_sack();
        }
        let path = if self.may_carry_control(path) { path } else { self.paths.preferred() };
        self.send_shutdown(now, path);
    }

    /// SHUTDOWN ACK again, because the peer seems to have missed it.
    pub(crate) fn resend_shutdown_ack(&mut self, _now: Time) {
        let queued = self.control.contains(kind::SHUTDOWN_ACK);
        if self.state == State::ShutdownAckSent && !queued {
            self.send_control(self.setup.path, &Chunk::ShutdownAck, Bundling::Free);
        }
    }

    fn acknowledge_shutdown(&mut self, now: Time, path: PathId) {
        self.state = State::ShutdownAckSent;
        self.timers.t5 = Time::MAX;
        self.begin_closing();
        self.send_shutdown_ack(now, path);
    }

    /// No heartbeats from here on (RFC 9260 section 8.3), and the association's errors count anew.
    fn begin_closing(&mut self) {
        self.errors = 0;
        for (_, path) in self.paths.iter_mut() {
            path.heartbeat_at = Time::MAX;
            path.heartbeat = None;
        }
    }

    /// Sends SHUTDOWN with the present cum-ack and starts T2. One that still waits to go out says
    /// less than this one: it goes in its place.
    fn send_shutdown(&mut self, now: Time, path: PathId) {
        let chunk = ShutdownChunk { cumulative_tsn: self.rx.cumulative_tsn() };
        match self.control.find_mut(kind::SHUTDOWN) {
            Some(before) => *before = ControlChunk::new(path, &chunk, Bundling::Free),
            None => self.send_control(path, &chunk, Bundling::Free),
        }
        self.start_t2(now, path);
    }

    fn send_shutdown_ack(&mut self, now: Time, path: PathId) {
        self.send_control(path, &Chunk::ShutdownAck, Bundling::Free);
        self.start_t2(now, path);
    }

    fn start_t2(&mut self, now: Time, path: PathId) {
        self.setup.path = path;
        self.timers.t2 = now + self.rto(path);
    }
}
