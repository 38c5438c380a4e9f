//! Replacing keys (draft-porfiri-tsvwg-sctp-dtls-handshake, "Rekeying"): when an exchange begins,
//! and what becomes of one that fails.

use polypath_proto::protection::{ProtectionFailure, Role};
use polypath_proto::time::Time;

use super::under_way::UnderWay;
use super::{Phase, Session, message};

impl Session {
    /// When [`rekey`](Self::rekey) has something to do.
    pub(super) fn rekey_due(&self) -> Time {
        match &self.under_way {
            Some(exchange) if exchange.has_keys() => Time::MAX,
            Some(exchange) => exchange.until,
            // Two epochs at a time: the old keys must have gone.
            None if self.keys.has_old() => Time::MAX,
            None => self.keys.due().max(self.retry.at),
        }
    }

    /// Begins an exchange if our keys are old, or gives up one that takes too long.
    pub(super) fn rekey(&mut self, now: Time) {
        if self.phase != Phase::Established || now < self.rekey_due() {
            return;
        }
        if self.under_way.is_some() {
            self.give_up(now);
        } else {
            self.begin(now, Role::Client);
        }
    }

    /// The exchange under way ends without keys that are used; those that there are go on.
    fn give_up(&mut self, now: Time) {
        if let Some(exchange) = self.under_way.take()
            && exchange.has_keys()
        {
            self.keys.withdraw_read(exchange.epoch);
        }
        self.retry.failed(now);
    }

    /// The exchange under way failed, or a message had no place in any. One that replaces keys is
    /// tried again later; not with somebody else.
    pub(super) fn exchange_failed(&mut self, now: Time, failure: ProtectionFailure) {
        self.end_exchange(now, failure, false);
    }

    /// The same; `told`: the peer knows.
    pub(super) fn end_exchange(&mut self, now: Time, failure: ProtectionFailure, told: bool) {
        if !told {
            self.tell_peer(&failure);
        }
        if self.phase != Phase::Established || failure == ProtectionFailure::PeerChanged {
            self.fail(failure);
        } else if self.under_way.is_some() {
            self.give_up(now);
        }
    }

    /// The peer must learn that the exchange under way has failed, or it would wait for its end: a
    /// client that has keys does not give up. Only an alert has no answer.
    fn tell_peer(&mut self, failure: &ProtectionFailure) {
        let told = self.flush() || matches!(failure, ProtectionFailure::Refused(_));
        if let Some(exchange) = self.under_way.as_ref().filter(|_| !told) {
            self.messages.push_back(message::decode_error(exchange.epoch));
        }
    }

    /// Whether a ClientHello of the peer is ignored because of ours: both began at once. That of
    /// the end with the client's role counts ("Simultaneous Rekey Resolution"). Drops our attempt
    /// if the peer's counts.
    pub(super) fn resolve_collision(&mut self) -> bool {
        let ours = self.under_way.as_ref().is_some_and(|exchange| exchange.role == Role::Client);
        if !ours || self.phase != Phase::Established {
            return false;
        }
        // One that comes after the server's flight is none of the same moment: the peer gave our
        // attempt up, and never came to use what was agreed on.
        let has_keys = self.under_way.as_ref().is_some_and(UnderWay::has_keys);
        if self.role == Role::Client && !has_keys {
            return true;
        }
        if let Some(exchange) = self.under_way.take()
            && has_keys
        {
            self.keys.withdraw_read(exchange.epoch);
        }
        false
    }
}
