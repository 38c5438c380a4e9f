//! Messages that the peer gave up, by MID (I-FORWARD-TSN, RFC 8260 section 2.3.1).

use super::{Receiver, log_delivery, note_delivery};
use crate::ids::{Mid, StreamId};
use crate::time::Time;

/// Half of the MIDs are in the future (RFC 1982).
const HALF: u32 = 1 << 31;

impl Receiver {
    /// The peer gave up the messages of `stream`, ordered or unordered, up to `mid`: fragments of
    /// them are dropped, and messages that waited for them are delivered. An old `mid` changes
    /// nothing. The TSNs are not touched.
    pub(crate) fn skip_to_mid(&mut self, now: Time, stream: StreamId, unordered: bool, mid: Mid) {
        if stream.0 >= self.settings.inbound_streams {
            return;
        }
        let Some(interleaved) = self.interleaved.as_deref_mut() else { return };
        let old = |number: u32| mid.0.wrapping_sub(number) < HALF;
        let (freed, aborted) = interleaved.give_up(stream, unordered, old);
        self.buffer.free(freed);
        self.buffer.set_overhead(interleaved.overhead());
        if aborted {
            self.partial.abort(stream, unordered);
        }
        if unordered {
            interleaved.skip_unordered(stream, mid.0);
            return;
        }
        let (stats, tracker) = (&mut self.stats, &mut self.tracker);
        let mut log = self.log.as_deref_mut();
        self.delivery.skip(now, stream, mid.0, |message| {
            note_delivery(message, stats, tracker, Some(&mut *interleaved));
            log_delivery(message, log.as_deref_mut());
        });
    }
}
