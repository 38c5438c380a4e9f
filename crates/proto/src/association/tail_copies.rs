//! Copies at the end of what there is to send, or of what the peer's window takes.
//!
//! While data waits, a chunk on a slow path costs little: others are under way meanwhile. At the end
//! of a file, or of a message that somebody waits for, it is all that is waited for, and the faster
//! paths have nothing to do. What would arrive sooner there goes out there as well (MPTCP in Linux
//! reinjects so, Raiciu et al., NSDI 2012, section 4.2).

use super::send_attempt::Transmission;
use super::send_decision::SendDecision;

/// No packet carries more (RFC 791, RFC 8200).
const LARGEST: u64 = u16::MAX as u64;

impl SendDecision<'_> {
    /// The next chunk in flight that the path scheduler wants on another path, too, while nothing
    /// waits to be sent, or the peer's window takes nothing.
    pub(super) fn next_tail_copy(&mut self) -> Option<Transmission> {
        let window = self.tx.peer_rwnd();
        let waits = self.tx.queue.messages() > 0;
        // Most often there is room for any packet.
        if waits && window >= LARGEST || self.tx.bytes_in_flight() == 0 {
            return None;
        }
        let view = self.tx.view(self.now, self.paths);
        let packet = view.usable().map(|path| path.pmdcs).max().unwrap_or(0);
        if waits && window >= packet.into() {
            return None;
        }
        let used = view.usable().filter(|path| path.outstanding > 0);
        let scheduler = &mut self.policies.path_scheduler;
        let (from, to, chunk) = used.into_iter().find_map(|path| {
            let (chunk, sent) = self.tx.outstanding.lowest_alone(path.id)?;
            let to = scheduler.pick_for_copy(&view, path.id, sent, chunk.bytes)?;
            Some((path.id, to, chunk))
        })?;
        let paid = self.tx.copies.take_tail_credit(chunk.bytes.into());
        paid.then_some(Transmission::Duplicate { from, to, chunk })
    }
}
