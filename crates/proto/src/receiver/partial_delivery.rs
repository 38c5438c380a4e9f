//! Partial delivery: the beginning of a message is handed over before the rest has come (RFC 9260
//! section 6.9, RFC 6458 section 8.1.21), so that a message may be larger than the receive buffer.
//! And what differs where data comes as I-DATA.

use super::Receiver;
use super::buffer::Charge;
use super::interleaved::Interleaved;
use super::message::{Incoming, Label};
use crate::ids::StreamId;
use crate::time::Time;

/// MIDs ahead of the next one, at most (RFC 8260 section 2.1).
const FURTHEST_MID: u64 = (1 << 31) - 1;

impl Receiver {
    /// A fragment of I-DATA, for which there is room.
    pub(super) fn store_interleaved(
        &mut self,
        now: Time,
        tsn: u64,
        chunk: &Incoming<'_>,
    ) -> Result<(), &'static str> {
        let Some(interleaved) = self.interleaved.as_deref_mut() else { return Ok(()) };
        let label = chunk.label;
        let known = label.unordered || interleaved.has(&label);
        if self.settings.skips {
            // The rest of a message that the peer gave up may still be under way.
            let ahead = || self.delivery.ahead(label.stream, label.number);
            if interleaved.was_skipped(&label) || !label.unordered && ahead() > FURTHEST_MID {
                self.tracker.record(tsn, chunk.payload.len());
                interleaved.advance(self.tracker.cumulative());
                return Ok(());
            }
        }
        if !known && !self.delivery.expects(label.stream, label.number) {
            return Err("message identifier was used already");
        }
        // Booked even if it turns out to break the rules: the books may err on the safe side only.
        self.buffer.add(Charge::of(chunk.payload.len()));
        let renegable = tsn > self.tracker.cumulative() + 1;
        let complete = interleaved.insert(tsn, chunk, renegable)?;
        self.tracker.record(tsn, chunk.payload.len());
        if let Some(message) = complete {
            self.deliver(now, message, FURTHEST_MID)?;
        } else {
            self.deliver_part_of(now, &label)?;
        }
        let Some(interleaved) = self.interleaved.as_deref_mut() else { return Ok(()) };
        interleaved.advance(self.tracker.cumulative());
        self.buffer.set_overhead(interleaved.overhead());
        Ok(())
    }

    /// Drops the chunk of the highest TSN above `tsn` that was not delivered, as
    /// [`renege_above`](Self::renege_above).
    pub(super) fn renege_interleaved(&mut self, tsn: u64) -> bool {
        let Some(interleaved) = self.interleaved.as_deref_mut() else { return false };
        let Some((highest, (stream, unordered, mid))) = interleaved.highest_renegable(tsn) else {
            return false;
        };
        if !unordered && let Some(message) = self.delivery.take_back_number(stream, mid) {
            interleaved.reopen(message);
        }
        if let Some(charge) = interleaved.drop_chunk(highest) {
            self.buffer.free(charge);
        }
        self.buffer.set_overhead(interleaved.overhead());
        self.tracker.renege(highest);
        self.note_reneged(highest);
        true
    }

    /// The partial delivery point: at most half of the buffer. What lies above a gap can be dropped
    /// for what fills it, so with the other half a message always goes on.
    #[inline]
    fn delivery_point(&self) -> Option<u64> {
        self.partial.point.map(|point| u64::from(point).min(self.buffer.size() / 2).max(1))
    }

    /// After a fragment of DATA: delivers what is here of its message, if that is enough.
    #[inline]
    pub(super) fn deliver_part(&mut self, now: Time) -> Result<(), &'static str> {
        let Some(point) = self.delivery_point() else { return Ok(()) };
        match self.reassembly.take_part(self.tracker.cumulative(), point) {
            // All before it is complete, so it is the next one of its stream.
            Some(part) => self.deliver(now, part, 0),
            None => {
                self.relieve(now);
                Ok(())
            }
        }
    }

    /// The same of I-DATA.
    fn deliver_part_of(&mut self, now: Time, label: &Label) -> Result<(), &'static str> {
        let Some(point) = self.delivery_point() else { return Ok(()) };
        let in_turn = label.unordered || self.delivery.ahead(label.stream, label.number) == 0;
        let interleaved = self.interleaved.as_deref_mut().filter(|_| in_turn);
        let key = (label.stream, label.unordered, label.number);
        match interleaved.and_then(|interleaved| interleaved.take_part(key, point)) {
            Some(part) => self.deliver(now, part, 0),
            None => {
                self.relieve(now);
                Ok(())
            }
        }
    }

    /// Many incomplete messages may hold the buffer, each of less than the partial delivery point.
    /// When together they hold half of it and nothing else can be read, the one that frees most is
    /// delivered in part: else none of them might ever be completed. The same when the window is
    /// shut, because small chunks take more than their payload.
    pub(super) fn relieve(&mut self, now: Time) {
        if self.partial.point.is_none() || self.delivery.readable() > 0 {
            return;
        }
        let (half, shut) = (self.buffer.size() / 2, self.buffer.window() == 0);
        let part = match self.interleaved.as_deref_mut() {
            Some(interleaved) if shut || interleaved.fronts() >= half => {
                let delivery = &self.delivery;
                let next = |stream, mid| delivery.ahead(stream, mid) == 0;
                let key = interleaved.fullest(next);
                key.and_then(|key| interleaved.take_part(key, 1))
            }
            None if shut => self.reassembly.take_part(self.tracker.cumulative(), 1),
            _ => None,
        };
        let delivered = part.map_or(Ok(()), |part| self.deliver(now, part, 0));
        debug_assert!(delivered.is_ok(), "chosen because it is next");
    }

    /// The stream of the message that has the largest part of a full buffer, when a chunk of
    /// `stream` found no room.
    pub(super) fn fills_the_buffer(&self, stream: StreamId) -> StreamId {
        self.interleaved.as_deref().and_then(Interleaved::largest).unwrap_or(stream)
    }

    /// The association is over: no message that was delivered in part will go on.
    pub(crate) fn abort_parts(&mut self) {
        let begun = self.reassembly.parts();
        self.partial.aborted.extend(begun);
        if let Some(interleaved) = &self.interleaved {
            self.partial.aborted.extend(interleaved.parts());
        }
    }

    /// What was not read will not be: messages of which the application has the beginning, and
    /// whose end waits to be read, are aborted, too.
    pub(crate) fn abort_unread(&mut self) {
        self.partial.aborted.extend(self.delivery.unread_ends());
    }

    /// The streams whose message, unordered or not, was delivered in part and will not go on; each
    /// is told once.
    pub(crate) fn take_aborted_parts(&mut self) -> Vec<(StreamId, bool)> {
        core::mem::take(&mut self.partial.aborted)
    }
}
