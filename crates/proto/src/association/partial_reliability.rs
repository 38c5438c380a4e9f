//! Partial reliability (RFC 3758, RFC 7496): messages that are given up, and what the peer and the application are told.

use polypath_wire::{ForwardTsnChunk, IForwardTsnChunk, Tsn};

use super::Association;
use crate::event::Event;
use crate::ids::{PathId, StreamId};
use crate::policy::Trigger;
use crate::receiver::{ForwardVerdict, GivenUpTo};
use crate::sender::{AbandonedMessage, Reliability};
use crate::stats::AbandonedMessages;
use crate::time::Time;

/// Cause code of ABORTs for impossible FORWARD-TSNs (RFC 9260 section 3.3.10.13).
const PROTOCOL_VIOLATION: u16 = 13;

impl Association {
    /// Messages of an outbound stream (`None`: of all) that were given up (RFC 7496 sections 4.3 and 4.4).
    pub fn abandoned(&self, stream: Option<StreamId>) -> AbandonedMessages {
        self.tx.abandoned(stream)
    }

    /// Whether the peer understands that messages are given up of which something was sent.
    pub(super) const fn skips_messages(&self) -> bool {
        let agreed = self.caps.agreed;
        if agreed.interleaving { agreed.i_forward_tsn } else { agreed.partial_reliability }
    }

    /// Room for a message may be made at the expense of less important ones. Costs nothing while there are none.
    #[inline]
    pub(super) fn make_room(
        &mut self,
        now: Time,
        stream: StreamId,
        bytes: usize,
        reliability: Reliability,
    ) {
        if self.tx.has_partial() {
            self.make_some_room(now, stream, bytes, reliability);
        }
    }

    #[inline(never)]
    fn make_some_room(
        &mut self,
        now: Time,
        stream: StreamId,
        bytes: usize,
        reliability: Reliability,
    ) {
        let scheduler = &mut *self.policies.stream_scheduler;
        let paths = &mut self.paths;
        let abandoned = self.tx.make_room(now, stream, bytes as u64, reliability, paths, scheduler);
        self.announce_abandoned(&abandoned);
    }

    /// Gives up what has expired or was lost too often. Costs nothing while there are no such messages.
    #[inline]
    pub(super) fn abandon_expired_messages(&mut self, now: Time) {
        if self.tx.may_abandon_some(now) {
            self.abandon_some(now);
        }
    }

    #[inline(never)]
    fn abandon_some(&mut self, now: Time) {
        let scheduler = &mut *self.policies.stream_scheduler;
        let abandoned = self.tx.abandon_expired_messages(now, &mut self.paths, scheduler);
        if abandoned.is_empty() {
            return;
        }
        self.announce_abandoned(&abandoned);
        self.announce_room();
        if self.tx.is_drained() {
            self.events.push_back(Event::SenderDry);
        }
        // What blocked others is gone.
        self.trigger(Trigger::Timer);
        self.check_shutdown_progress(now);
    }

    fn announce_abandoned(&mut self, abandoned: &[AbandonedMessage]) {
        for &AbandonedMessage { message, stream, sent } in abandoned {
            self.events.push_back(Event::Abandoned { message, stream, sent });
        }
    }

    /// The path for a FORWARD-TSN that is due and that no DATA takes along.
    pub(super) fn forward_tsn_path(&self) -> Option<PathId> {
        let due = self.state.may_send_data() && self.tx.forward.is_due();
        let path = due.then(|| self.tx.forward.choose_path(&self.paths))?;
        self.may_carry_control(path).then_some(path)
    }

    /// FORWARD-TSNs go to confirmed addresses only (RFC 3758 section 3.5, C3).
    pub(super) fn may_forward_on(&self, path: PathId) -> bool {
        self.state.may_send_data() && self.may_carry_control(path)
    }

    /// T3 of `p` expired and declared `chunks` lost. A FORWARD-TSN that is alone unanswered counts against the path and the
    /// association as lost data would; gives whether that was the case.
    pub(super) fn forward_timed_out(&mut self, now: Time, p: PathId, chunks: u32) -> bool {
        let alone = self.tx.forward.on_timeout(p, &self.tx.outstanding) && chunks == 0;
        if alone {
            self.stats.timeouts += 1;
            self.count_failure(now, p, true, true);
            self.trigger(Trigger::Timer);
        }
        alone
    }

    /// FORWARD-TSN came (RFC 3758 section 3.6). It goes with DATA alone (RFC 8260 section 2.3.1). `had_data`: it is acknowledged as DATA
    /// would be.
    pub(super) fn on_forward_tsn(
        &mut self,
        now: Time,
        path: PathId,
        forward: &ForwardTsnChunk<'_>,
        had_data: &mut bool,
    ) {
        if self.is_interleaving() {
            return self.mismatched_forward(now, "FORWARD-TSN although I-DATA was agreed on");
        }
        let skipped = forward.skipped.iter().map(|s| (s.stream, GivenUpTo::Ssn(s.ssn)));
        self.skip_messages(now, path, forward.new_cumulative_tsn, skipped, had_data);
    }

    /// I-FORWARD-TSN came. It goes with I-DATA alone.
    pub(super) fn on_i_forward_tsn(
        &mut self,
        now: Time,
        path: PathId,
        forward: &IForwardTsnChunk<'_>,
        had_data: &mut bool,
    ) {
        if !self.is_interleaving() || !self.caps.agreed.i_forward_tsn {
            return self.mismatched_forward(now, "I-FORWARD-TSN was not agreed on");
        }
        let number = |unordered, mid| GivenUpTo::Mid { unordered, mid };
        let skipped = forward.skipped.iter().map(|s| (s.stream, number(s.unordered, s.mid)));
        self.skip_messages(now, path, forward.new_cumulative_tsn, skipped, had_data);
    }

    fn mismatched_forward(&mut self, now: Time, why: &str) {
        if self.state.accepts_data() {
            self.protocol_violation(now, PROTOCOL_VIOLATION, why);
        }
    }

    fn skip_messages(
        &mut self,
        now: Time,
        path: PathId,
        cum: Tsn,
        skipped: impl Iterator<Item = (StreamId, GivenUpTo)>,
        had_data: &mut bool,
    ) {
        if !self.state.accepts_data() {
            return;
        }
        let verdict = self.rx.forward(now, path, cum, skipped);
        self.report_aborted_parts();
        *had_data |= verdict != ForwardVerdict::TooFar;
        if verdict == ForwardVerdict::TooFar {
            let why = "FORWARD-TSN skips more than can have been sent";
            self.protocol_violation(now, PROTOCOL_VIOLATION, why);
        }
    }
}
