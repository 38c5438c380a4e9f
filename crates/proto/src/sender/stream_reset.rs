//! Numbers that start anew (RFC 6525): those of streams' messages, and TSNs.

use super::sending_half::Sender;
use super::types::TsnJump;
use crate::ids::{StreamId, Tsn};
use crate::policy::StreamScheduler;
use crate::tsn_map::wire;

/// SACKs older than a reset of TSNs can speak of so many TSNs before it.
const OLD_TSNS: u32 = 1 << 17;

/// They are not expected any more once so many TSNs were acknowledged since.
const NEW_TSNS: u64 = 1 << 20;

impl Sender {
    /// Everything sent is cum-acked, and skipped what was given up.
    pub(crate) fn has_nothing_in_flight(&self) -> bool {
        self.outstanding.is_empty()
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
        let from = wire(self.outstanding.next_tsn());
        let to = self.outstanding.next_tsn() + u64::from(next.0.wrapping_sub(from.0));
        self.outstanding.restart_at(to);
        self.forward.restart(to);
        self.jump = Some(TsnJump { from, to });
    }

    /// Whether a cumulative TSN was sent before TSNs were reset: half the number space away, so that it might pass for a new one.
    pub(crate) fn is_before_jump(&mut self, cum: Tsn) -> bool {
        let Some(jump) = self.jump else { return false };
        if self.outstanding.base() > jump.to + NEW_TSNS {
            self.jump = None;
            return false;
        }
        (1..=OLD_TSNS).contains(&jump.from.0.wrapping_sub(cum.0))
    }
}
