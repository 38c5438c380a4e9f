//! Inbound streams that start at number 0 again (RFC 6525 section 5.2.2), and TSNs that start
//! elsewhere (section 5.2.4).
//!
//! A reset counts from a TSN on. Until everything up to it has arrived, what the streams bring
//! beyond it is kept aside, as chunks: their numbers mean something only afterwards.

use std::collections::BTreeMap;

use super::buffer::Charge;
use super::deferred_reset::{Deferred, Held, Jump};
use super::message::Incoming;
use super::verdict::{FinishedReset, ResetVerdict};
use super::{Receiver, log_delivery, note_delivery};
use crate::ids::{StreamId, Tsn};
use crate::time::Time;
use crate::tsn_map::wire;

/// TSNs that may be missing where the window is small: as many as a SACK can speak of.
const REPORTABLE: u64 = u16::MAX as u64;

/// FORWARD-TSNs from before a reset of TSNs can speak of so many TSNs.
const OLD_TSNS: u32 = 1 << 17;

/// They are not expected any more once so many TSNs have arrived since.
const NEW_TSNS: u64 = 1 << 20;

impl Receiver {
    /// The peer wants its streams (none: all) to start anew behind TSN `last`.
    pub(crate) fn reset_streams(
        &mut self,
        request: u32,
        last: Tsn,
        streams: Vec<StreamId>,
    ) -> ResetVerdict {
        if self.deferred.is_some() {
            return ResetVerdict::Busy;
        }
        let (last, cumulative) = (self.tracker.extend(last), self.tracker.cumulative());
        if last <= cumulative {
            self.restart_streams(&streams, u64::MAX);
            return ResetVerdict::Performed(streams);
        }
        if last - cumulative > self.buffer.size().max(REPORTABLE) {
            return ResetVerdict::TooFar;
        }
        let (done, held) = (false, BTreeMap::new());
        self.deferred = Some(Box::new(Deferred { request, last, streams, done, held }));
        ResetVerdict::Deferred
    }

    /// `first`: the TSN that new messages begin at.
    fn restart_streams(&mut self, streams: &[StreamId], first: u64) {
        let mut freed = self.delivery.restart(streams);
        if let Some(interleaved) = self.interleaved.as_deref_mut() {
            match streams {
                [] => freed += interleaved.restart(None, first),
                some => {
                    some.iter().for_each(|id| freed += interleaved.restart(Some(*id), first));
                }
            }
            self.buffer.set_overhead(interleaved.overhead());
        }
        self.buffer.free(freed);
    }

    /// Performs a deferred reset whose time has come, and takes in what was kept aside.
    pub(crate) fn take_finished_reset(&mut self, now: Time) -> Option<FinishedReset> {
        let cumulative = self.tracker.cumulative();
        let deferred = self.deferred.as_mut().filter(|deferred| deferred.last <= cumulative)?;
        deferred.done = true;
        let done = (deferred.request, core::mem::take(&mut deferred.streams));
        self.restart_streams(&done.1, u64::MAX);
        while let Some((tsn, held)) = self.deferred.as_mut().and_then(|d| d.held.pop_first()) {
            let Held { tsn: short, label, fsn, flags, data } = held;
            // It is booked anew.
            self.buffer.free(Charge::of(data.len()));
            let chunk = Incoming { tsn: short, label, fsn, flags, payload: &data };
            if let Err(why) = self.store(now, tsn, &chunk) {
                return Some(Err(why));
            }
        }
        self.deferred = None;
        Some(Ok(done))
    }

    /// While a reset waits: drops the chunk of the highest TSN above `tsn` that is kept aside for
    /// it, if nothing else that may be dropped is higher. Gives whether it did.
    pub(super) fn renege_held(&mut self, tsn: u64) -> bool {
        let Some(highest) = self.deferred.as_ref().and_then(|d| d.highest()) else { return false };
        let fragment = self.reassembly.highest();
        let waiting = self.delivery.highest_waiting(tsn).map(|(last, _)| last);
        let interleaved = self.interleaved.as_ref().and_then(|i| i.highest_renegable(tsn));
        let others = fragment.max(waiting).max(interleaved.map(|(last, _)| last));
        if others.max(Some(tsn)) > Some(highest) {
            return false;
        }
        let Some(charge) = self.deferred.as_mut().and_then(|d| d.drop_highest()) else {
            return false;
        };
        self.buffer.free(charge);
        self.tracker.renege(highest);
        self.note_reneged(highest);
        true
    }

    /// Whether the peer was asked to reset the association and has not answered. It may have, and
    /// its answer may be lost or late: its data may have new numbers already.
    pub(crate) fn doubt_numbers(&mut self, doubt: bool) {
        self.in_doubt = doubt.then_some(self.tracker.cumulative());
    }

    /// The peer had not begun to reset the association when its next TSN was `next`.
    pub(crate) fn trust_numbers_before(&mut self, next: Tsn) {
        let last = self.tracker.extend(next).saturating_sub(1);
        if let Some(trusted) = &mut self.in_doubt {
            *trusted = last.max(*trusted);
        }
    }

    /// Whether what is given up up to TSN `cum` may have old numbers or new ones. The peer says it
    /// again, after its answer: it cannot wait for us to believe it, for its answer that it is
    /// still at work settles the matter as well.
    pub(super) fn doubts(&self, cum: u64) -> bool {
        self.in_doubt.is_some_and(|trusted| cum > trusted)
    }

    /// Only what comes in the order of TSNs and is next in its stream is taken meanwhile: that is
    /// right by the old numbers, or by the new ones in a stream that had no old ones. The peer
    /// sends the rest again.
    pub(super) fn is_beyond_doubt(&self, tsn: u64, chunk: &Incoming<'_>) -> bool {
        let label = &chunk.label;
        let next = if label.unordered {
            // What was given up by the old numbers is dropped unseen.
            !self.interleaved.as_ref().is_some_and(|i| i.was_skipped(label))
        } else {
            self.delivery.ahead(label.stream, label.number) == 0
        };
        tsn == self.tracker.cumulative() + 1 && next
    }

    /// The peer asked for a reset of the association: its TSNs go on half the number space further
    /// (section 5.2.4, G1). Gives the first.
    pub(crate) fn restart_far(&mut self, now: Time) -> Tsn {
        let to = self.tracker.cumulative() + (1 << 31);
        self.restart(now, to);
        wire(to + 1)
    }

    /// The peer performed a reset that we asked for: its next TSN then was `next` (section 5.2.7,
    /// H5).
    pub(crate) fn restart_at(&mut self, now: Time, next: Tsn) {
        let to = self.tracker.extend(next) - 1;
        self.restart(now, to);
    }

    /// What came up to TSN `to` belongs to the past: what is incomplete of it is dropped, what
    /// waits is delivered, and all streams start at number 0 (section 5.2.4, G4 and G5), but for
    /// those that began after it.
    fn restart(&mut self, now: Time, to: u64) {
        let before = self.tracker.cumulative();
        self.in_doubt = None;
        // The peer may have asked to reset streams since.
        if let Some(mut deferred) = self.deferred.take_if(|deferred| deferred.last <= to) {
            while let Some(charge) = deferred.drop_highest() {
                self.buffer.free(charge);
            }
        }
        self.tracker.restart(to);
        self.drop_incomplete();
        let (stats, tracker) = (&mut self.stats, &mut self.tracker);
        let (mut interleaved, mut log) = (self.interleaved.as_deref_mut(), self.log.as_deref_mut());
        self.delivery.deliver_waiting(now, |message| {
            note_delivery(message, stats, tracker, interleaved.as_deref_mut());
            log_delivery(message, log.as_deref_mut());
        });
        self.delivery.keep_streams_from(to + 1);
        self.restart_streams(&[], to + 1);
        self.jump = (to > before).then(|| Jump { from: wire(before), to }.into());
    }

    /// Whether a cumulative TSN was sent before TSNs were reset: half the number space away, so
    /// that it might pass for a new one.
    pub(super) fn is_before_jump(&mut self, cum: Tsn) -> bool {
        let Some(jump) = self.jump.as_deref().copied() else { return false };
        if self.tracker.cumulative() > jump.to + NEW_TSNS {
            self.jump = None;
            return false;
        }
        jump.from.0.wrapping_sub(cum.0) < OLD_TSNS
    }

    /// Inbound streams were added.
    pub(crate) const fn set_inbound_streams(&mut self, streams: u16) {
        self.settings.inbound_streams = streams;
    }
}
