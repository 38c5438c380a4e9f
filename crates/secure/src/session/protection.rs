//! A session as the core sees it.

use core::ops::Range;

use bytes::Bytes;
use polypath_proto::PathId;
use polypath_proto::protection::{
    OpenError, Protection, ProtectionEvent, ProtectionFailure, ProtectionStats,
};
use polypath_proto::time::{Duration, Time};

use super::{FIRST_EXCHANGE, Phase, Session};

impl Protection for Session {
    fn association_is_up(&mut self, now: Time) {
        if matches!(self.phase, Phase::First(_)) {
            self.phase = Phase::First(now + FIRST_EXCHANGE);
        }
    }

    fn handle_message(&mut self, now: Time, _rto: Duration, message: &[u8], protected: bool) {
        if self.phase == Phase::Failed || !protected && self.enforced {
            return;
        }
        if !protected && self.awaits_server() {
            self.plain_message_after_keys(now, message);
        } else {
            self.message(now, message);
        }
    }

    fn poll_message(&mut self) -> Option<Bytes> {
        let message = self.messages.pop_front()?;
        if self.messages.is_empty() {
            // The next ones are an hour away.
            self.messages.shrink_to_fit();
        }
        Some(message)
    }

    fn poll_event(&mut self) -> Option<ProtectionEvent> {
        let event = self.events.pop_front()?;
        if self.events.is_empty() {
            self.events.shrink_to_fit();
        }
        Some(event)
    }

    fn next_timeout(&self) -> Time {
        match self.phase {
            Phase::First(until) => until,
            Phase::Established => self.keys.next_timeout().min(self.rekey_due()),
            Phase::Failed => Time::MAX,
        }
    }

    fn handle_timeout(&mut self, now: Time, rto: Duration) {
        self.keys.handle_timeout(now, rto);
        match self.phase {
            Phase::First(until) if now >= until => self.fail(ProtectionFailure::TimedOut),
            _ => self.rekey(now),
        }
    }

    fn seals(&self) -> bool {
        self.keys.seals()
    }

    fn is_enforced(&self) -> bool {
        self.enforced
    }

    fn seal(&mut self, now: Time, packet: &mut Vec<u8>, at: usize) -> bool {
        let sealed = self.keys.seal(now, packet, at);
        if !sealed && self.keys.is_exhausted() {
            self.fail(ProtectionFailure::Exhausted);
        }
        sealed
    }

    fn open(
        &mut self,
        now: Time,
        path: Option<PathId>,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        let result = self.keys.open(now, path, chunk);
        if result.is_ok() {
            // Who seals its packets never goes back.
            self.enforced = true;
        } else if self.keys.is_exhausted() {
            self.fail(ProtectionFailure::Exhausted);
        }
        result
    }

    fn open_own(&self, chunk: &[u8], out: &mut Vec<u8>) -> bool {
        self.keys.open_own(chunk, out)
    }

    fn forget_path(&mut self, path: PathId) {
        self.keys.forget_path(path);
    }

    fn peer(&self) -> Option<&[u8]> {
        self.peer.as_deref()
    }

    fn stats(&self) -> ProtectionStats {
        self.keys.stats()
    }
}
