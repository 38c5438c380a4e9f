//! Keys that have failed: how the association ends for it.

use polypath_wire::ErrorCause;

use crate::association::{Association, State};
use crate::event::CloseReason;
use crate::protection::ProtectionFailure;

impl Association {
    /// There will be no keys: the association ends, once what is to be said of it was sent.
    pub(super) fn protection_failed(&mut self, failure: ProtectionFailure) {
        if let Some(state) = self.protection.as_mut().filter(|state| state.failure.is_none()) {
            state.failure = Some(Box::new(failure));
        }
    }

    /// Keys have failed, and key management's last message, which tells the peer why, has left.
    #[inline]
    pub(in crate::association) fn has_told_of_failure(&self) -> bool {
        self.protection.as_ref().is_some_and(|state| {
            state.failure.is_some() && state.waiting.is_empty() && !self.tx.queue.has_key_messages()
        })
    }

    /// Ends the association if its keys have failed: what its application has queued must not go
    /// out any more.
    pub(in crate::association) fn end_if_unprotectable(&mut self) {
        let Some(failure) = self.take_failure() else { return };
        let words = failure.to_string();
        let cause = ErrorCause::UserInitiatedAbort(self.quotable(words.as_bytes()));
        self.send_abort(&cause);
        self.close(CloseReason::Unprotected(failure));
    }

    /// A packet could not be sealed: the keys are used up, so no ABORT can leave either.
    pub(super) fn end_without_words(&mut self) {
        if let Some(failure) = self.take_failure() {
            self.control.clear();
            self.close(CloseReason::Unprotected(failure));
        }
    }

    fn take_failure(&mut self) -> Option<Box<ProtectionFailure>> {
        if self.state == State::Closed {
            return None;
        }
        self.protection.as_mut()?.failure.take()
    }

    /// Why the association ends, if the peer's ABORT came before we could say that keys have
    /// failed: what is behind the ABORT.
    pub(in crate::association) fn with_failure_of_keys(
        &mut self,
        reason: CloseReason,
    ) -> CloseReason {
        let failure = self.protection.as_mut().and_then(|state| state.failure.take());
        match (reason, failure) {
            (CloseReason::PeerAbort { .. }, Some(failure)) => CloseReason::Unprotected(failure),
            (reason, _) => reason,
        }
    }
}
