//! Numbers that start anew (RFC 6525): those of streams' messages, and TSNs.

use super::Sender;
use super::chunk::Ring;
use crate::ids::{StreamId, Tsn};
use crate::policy::StreamScheduler;
use crate::tsn_map::wire;

/// SACKs older than a reset of TSNs can speak of so many TSNs before it.
const OLD_TSNS: u32 = 1 << 17;

/// They are not expected any more once so many TSNs were acknowledged since.
const NEW_TSNS: u64 = 1 << 20;

/// Where TSNs jumped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    /// The TSN that would have been the next.
    from: Tsn,
    /// The first one after the jump.
    to: u64,
}

impl Sender {
    /// Everything sent is cum-acked, and skipped what was given up.
    pub(crate) fn has_nothing_in_flight(&self) -> bool {
        self.ring.is_empty()
    }

    /// The messages of these streams (none: of all) start at number 0 again, and those held back go.
    pub(crate) fn reset_streams(
        &mut self,
        streams: &[StreamId],
        scheduler: &mut dyn StreamScheduler,
    ) {
        self.queue.renumber(streams);
        self.queue.release(streams, scheduler);
    }

    /// The next chunk gets TSN `next`. Nothing is in flight.
    pub(crate) fn restart_tsns(&mut self, next: Tsn) {
        let from = wire(self.ring.next());
        let to = self.ring.next() + u64::from(next.0.wrapping_sub(from.0));
        self.ring = Ring::new(to);
        self.acked.advance(to);
        self.nr_acked.advance(to);
        self.forward = None;
        (self.reset_point, self.numbered_to) = (None, to - 1);
        self.jump = Some(Jump { from, to });
    }

    /// Whether a cumulative TSN was sent before TSNs were reset: half the number space away, so that it might pass for a new one.
    pub(crate) fn is_before_jump(&mut self, cum: Tsn) -> bool {
        let Some(jump) = self.jump else { return false };
        if self.ring.base() > jump.to + NEW_TSNS {
            self.jump = None;
            return false;
        }
        (1..=OLD_TSNS).contains(&jump.from.0.wrapping_sub(cum.0))
    }

    /// A request to reset streams is under way: numbers of messages up to TSN `last` and behind it must not be told together.
    pub(crate) fn note_reset_point(&mut self, last: u64) {
        self.reset_point = Some(last);
    }

    /// It was answered; where it was `performed`, the peer has everything up to that TSN.
    pub(crate) fn clear_reset_point(&mut self, performed: Option<u64>) {
        self.reset_point = None;
        self.numbered_to = self.numbered_to.max(performed.unwrap_or(0));
    }
}
