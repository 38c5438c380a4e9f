//! Nagle's rule, as RFC 6458 section 8.1.5 lets the user switch it: small messages wait for company
//! while data is in flight.

use super::send_decision::SendDecision;

impl SendDecision<'_> {
    /// Whether no packet may begin with new data now (RFC 1122 section 4.2.3.4). The rest of a
    /// message never waits: what went out of it is worth nothing alone. Nor does anything once the
    /// association is about to end.
    pub(super) fn must_wait_for_company(&self) -> bool {
        if !self.delays_small_messages {
            return false;
        }
        let (tx, packet) = (&self.tx, u64::from(self.paths.amdcs()));
        tx.bytes_in_flight() > 0 && !tx.queue.has_begun() && tx.queued_size() < packet
    }
}
