//! What the sender has given up (RFC 3758 section 3.6): TSNs that will not come, messages that will
//! never be complete, and those that waited for them.

use super::ack::Outcome;
use super::verdict::{ForwardVerdict, GivenUpTo};
use super::{Receiver, log_delivery, note_delivery};
use crate::ids::{PathId, StreamId, Tsn};
use crate::time::Time;
use crate::trace::TraceEvent;
use crate::tsn_map::wire;

/// TSNs that may be skipped at once where the window is small: as many as a SACK can speak of.
const REPORTABLE: u64 = u16::MAX as u64;

impl Receiver {
    /// Takes a FORWARD-TSN or I-FORWARD-TSN: nothing up to `cum` is waited for, and in these
    /// streams nothing up to these numbers.
    pub(crate) fn forward(
        &mut self,
        now: Time,
        path: PathId,
        cum: Tsn,
        skipped: impl Iterator<Item = (StreamId, GivenUpTo)>,
    ) -> ForwardVerdict {
        if self.is_before_jump(cum) {
            self.ack.request();
            return ForwardVerdict::Stale;
        }
        let (before, cum) = (self.tracker.cumulative(), self.tracker.extend(cum));
        if cum <= before {
            // The SACK that answered it did not arrive: as with a duplicate, the next one goes
            // where this came from.
            self.paths.repeated(path, now);
            self.ack.request();
            return ForwardVerdict::Stale;
        }
        if self.doubts(cum) {
            return ForwardVerdict::Stale;
        }
        // Every TSN was sent, in a chunk of at least a byte.
        let passed = cum - before;
        if passed > self.buffer.size().max(REPORTABLE) {
            return ForwardVerdict::TooFar;
        }
        self.paths.data(path, now);
        self.ack.chunk(Outcome::New, false);
        self.tracker.skip_to(cum);
        self.drop_incomplete();
        let streams = self.settings.inbound_streams;
        for (stream, number) in skipped.filter(|(stream, _)| stream.0 < streams) {
            self.skip_messages(now, stream, number, passed);
        }
        if let Some(log) = &mut self.log {
            log.push(TraceEvent::Skipped { cumulative_tsn: wire(cum).0 });
        }
        ForwardVerdict::Taken
    }

    /// DATA that misses a TSN which will not come.
    pub(super) fn drop_incomplete(&mut self) {
        let cumulative = self.tracker.cumulative();
        let (freed, aborted) = self.reassembly.skip_to(cumulative);
        self.buffer.free(freed);
        if let Some((stream, unordered)) = aborted {
            self.partial.abort(stream, unordered);
        }
        if let Some(interleaved) = self.interleaved.as_deref_mut() {
            interleaved.advance(cumulative);
        }
    }

    /// Every message that is given up had a TSN among those `passed`: a number further ahead is one
    /// of the past.
    fn skip_messages(&mut self, now: Time, stream: StreamId, number: GivenUpTo, passed: u64) {
        match number {
            GivenUpTo::Ssn(ssn) => {
                if self.delivery.ahead(stream, ssn.0.into()) >= passed {
                    return;
                }
                let (stats, tracker) = (&mut self.stats, &mut self.tracker);
                let mut log = self.log.as_deref_mut();
                self.delivery.skip(now, stream, ssn.0.into(), |message| {
                    note_delivery(message, stats, tracker, None);
                    log_delivery(message, log.as_deref_mut());
                });
            }
            GivenUpTo::Mid { unordered, mid } => {
                if unordered || self.delivery.ahead(stream, mid.0) < passed {
                    self.skip_to_mid(now, stream, unordered, mid);
                }
            }
        }
    }
}
