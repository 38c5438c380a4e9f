//! The steps of an exchange: what messages of the peer do.

use polypath_proto::protection::{ProtectionEvent, ProtectionFailure, Role};
use polypath_proto::time::Time;

use super::message::{self, Message, Payload};
use super::retry::Retry;
use super::{Phase, Session};
use crate::exchange::ExchangedKeys;

/// Where the epoch of a message stands.
enum Place {
    /// Of the exchange under way, or the next.
    Now,
    /// Of one that has ended: a late copy.
    Past,
    /// Of one that nobody can have begun.
    Future,
}

fn exchange_error(what: &str) -> ProtectionFailure {
    ProtectionFailure::Exchange(what.to_owned())
}

impl Session {
    /// A message of the peer.
    pub(super) fn message(&mut self, now: Time, message: &[u8]) {
        let message = match Message::parse(message) {
            Ok(message) => message,
            Err(what) => return self.exchange_failed(now, exchange_error(what)),
        };
        match self.place(message.epoch) {
            Place::Past => {}
            Place::Future => self.exchange_failed(now, exchange_error("a message of a far epoch")),
            Place::Now => match message.payload {
                Payload::Records(records) => self.records(now, records),
                Payload::Established => self.peer_established(now),
            },
        }
    }

    /// Whether we have the keys of the first exchange as client, and nothing tells yet that the
    /// server has them.
    pub(super) fn awaits_server(&self) -> bool {
        let has_keys = self.under_way.as_ref().is_some_and(|exchange| exchange.write.is_some());
        matches!(self.phase, Phase::First(_)) && has_keys
    }

    /// A server that lets us in says so protected. One that does not has no keys for its alert but
    /// TLS's own: of what comes in plain that alone counts.
    pub(super) fn plain_message_after_keys(&mut self, now: Time, message: &[u8]) {
        let Ok(Message { epoch, payload: Payload::Records(records) }) = Message::parse(message)
        else {
            return;
        };
        if matches!(self.place(epoch), Place::Now)
            && let Err(failure @ ProtectionFailure::Refused(_)) = self.handle(records)
        {
            self.exchange_failed(now, failure);
        }
    }

    /// Epochs of messages have 7 bits: half of those that differ lie behind us.
    fn place(&self, epoch: u8) -> Place {
        match epoch.wrapping_sub(self.awaited() as u8) & 0x7f {
            0 => Place::Now,
            1..0x40 => Place::Future,
            _ => Place::Past,
        }
    }

    fn records(&mut self, now: Time, records: &[u8]) {
        let hello = message::is_client_hello(records);
        if hello && self.resolve_collision() {
            return;
        }
        if self.under_way.is_none() {
            if message::is_alert(records) || self.phase == Phase::Established && !hello {
                // About an exchange that has ended here already. An answer would have one, too.
                return;
            }
            if !self.serve(now) {
                return;
            }
        }
        let mut result = self.handle(records);
        if result.is_err() && hello && self.may_begin_anew() {
            // The peer gave its attempt up and makes another, which the old one cannot follow.
            if !self.serve(now) {
                return;
            }
            result = self.handle(records);
        }
        // Of what TLS finds wrong it tells the peer itself.
        let told = self.flush() && result.is_err();
        if let Err(failure) = result.and_then(|()| self.take_keys(now)) {
            self.end_exchange(now, failure, told);
        }
    }

    /// Begins an exchange that the peer asks for, unless those are too many: then it is told that
    /// there is none, at less cost than to try.
    fn serve(&mut self, now: Time) -> bool {
        let admits = self.phase != Phase::Established || self.allowance.take(now);
        if admits {
            self.under_way = None;
            self.begin(now, Role::Server);
        } else {
            let epoch = self.awaited();
            self.messages.push_back(message::decode_error(epoch));
        }
        admits
    }

    fn handle(&mut self, records: &[u8]) -> Result<(), ProtectionFailure> {
        self.under_way.as_mut().map_or(Ok(()), |exchange| exchange.handle(records))
    }

    /// Whether we are the server of an exchange that replaces keys.
    fn may_begin_anew(&self) -> bool {
        self.phase == Phase::Established
            && self.under_way.as_ref().is_some_and(|exchange| exchange.role == Role::Server)
    }

    /// Installs keys, if the exchange has ended with them.
    fn take_keys(&mut self, now: Time) -> Result<(), ProtectionFailure> {
        let Some(exchange) = &mut self.under_way else { return Ok(()) };
        let Some(keys) = exchange.exchange.keys() else { return Ok(()) };
        let peer = exchange.exchange.peer();
        match self.phase {
            Phase::First(_) => self.peer = peer.map(Into::into),
            // The exchange itself has looked, too.
            _ if self.peer.as_deref() != peer => return Err(ProtectionFailure::PeerChanged),
            _ => {}
        }
        let (role, epoch) = (exchange.role, exchange.epoch);
        let installed = match role {
            Role::Client => self.client_has_keys(epoch, keys),
            Role::Server => self.server_has_keys(now, epoch, &keys),
        };
        if installed { Ok(()) } else { Err(exchange_error("keys of the wrong length")) }
    }

    /// The server may use the new keys from now on; we do once it says so, protected: what it has
    /// to say against us comes in plain.
    fn client_has_keys(&mut self, epoch: u64, keys: ExchangedKeys) -> bool {
        if !self.keys.install_read(epoch, keys.suite, &keys.server) {
            return false;
        }
        if let Some(exchange) = &mut self.under_way {
            exchange.write = Some((keys.suite, keys.client));
        }
        true
    }

    /// Both ends have keys, and we use them from now on: also for the message that says so.
    fn server_has_keys(&mut self, now: Time, epoch: u64, keys: &ExchangedKeys) -> bool {
        let installed = self.keys.install_read(epoch, keys.suite, &keys.client)
            && self.keys.install_write(now, epoch, keys.suite, &keys.server);
        if installed {
            self.enforced = true;
            self.messages.push_back(message::established(epoch));
            self.exchange_done(epoch);
        }
        installed
    }

    /// The server said that it lets nothing through without the new keys.
    fn peer_established(&mut self, now: Time) {
        let write = self.under_way.as_mut().and_then(|exchange| {
            exchange.write.take().map(|(suite, keys)| (exchange.epoch, suite, keys))
        });
        let Some((epoch, suite, keys)) = write else {
            return self.exchange_failed(now, exchange_error("established before there are keys"));
        };
        if self.keys.install_write(now, epoch, suite, &keys) {
            self.enforced = true;
            self.exchange_done(epoch);
        } else {
            self.exchange_failed(now, exchange_error("keys of the wrong length"));
        }
    }

    fn exchange_done(&mut self, epoch: u64) {
        self.under_way = None;
        self.retry = Retry::default();
        let first = matches!(self.phase, Phase::First(_));
        self.phase = Phase::Established;
        self.events.push_back(if first {
            ProtectionEvent::Established
        } else {
            ProtectionEvent::Rekeyed { epoch }
        });
    }
}
