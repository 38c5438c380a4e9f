//! Copies at the end of what there is to send.
//!
//! While data waits, a chunk on a slow path costs little: others are under way meanwhile. At the end
//! of a file, or of a message that somebody waits for, it is all that is waited for, and the faster
//! paths have nothing to do. What would arrive sooner there goes out there as well (MPTCP in Linux
//! reinjects so, Raiciu et al., NSDI 2012, section 4.2).

use super::send_attempt::Transmission;
use super::send_decision::SendDecision;

impl SendDecision<'_> {
    /// The next chunk in flight that the path scheduler wants on another path, too, while nothing
    /// waits to be sent.
    pub(super) fn next_tail_copy(&mut self) -> Option<Transmission> {
        if self.tx.queue.messages() > 0 || self.tx.bytes_in_flight() == 0 {
            return None;
        }
        let view = self.tx.view(self.now, self.paths);
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
