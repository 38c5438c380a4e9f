//! Nagle's rule, as RFC 6458 section 8.1.5 lets the user switch it: small messages wait for company while data is in flight.

use super::{Association, State};
use crate::policy::Trigger;

impl Association {
    /// Whether small messages are sent at once (SCTP_NODELAY).
    pub const fn nodelay(&self) -> bool {
        !self.nagle
    }

    /// Says whether small messages are sent at once (RFC 6458 section 8.1.5). Where they are not, what does not fill a packet waits while
    /// data is in flight: fewer packets, and up to a round trip and the peer's SACK delay more of latency. What waits goes out once it may.
    pub fn set_nodelay(&mut self, on: bool) {
        self.nagle = !on;
        self.trigger(Trigger::Write);
    }

    /// Whether no packet may begin with new data now (RFC 1122 section 4.2.3.4). The rest of a message never waits: what went out of it is
    /// worth nothing alone. Nor does anything once the association is about to end.
    pub(super) fn waits_for_company(&self) -> bool {
        if !self.nagle || self.state != State::Established {
            return false;
        }
        let packet = u64::from(self.paths.amdcs());
        self.tx.bytes_in_flight() > 0
            && !self.tx.queue.has_begun()
            && self.tx.queued_size() < packet
    }
}
