//! The keys of one association that are agreed on by exchanges of messages
//! (draft-porfiri-tsvwg-sctp-dtls-handshake): the first exchange, and those that replace keys.

mod allowance;
mod fixed;
mod keyring;
mod message;
mod protection;
mod rekey;
mod retry;
mod steps;
mod under_way;

use std::collections::VecDeque;
use std::sync::Arc;

use allowance::Allowance;
use bytes::Bytes;
pub use fixed::{FixedKeys, RecordKeys};
pub(crate) use keyring::Keyring;
use polypath_proto::protection::{Agreed, FIRST_EPOCH, ProtectionEvent, ProtectionFailure, Role};
use polypath_proto::time::{Duration, Time};
use retry::Retry;
use under_way::UnderWay;

use crate::exchange::Exchanges;
use crate::policy::RekeyPolicy;

/// How long the first exchange may take, from when the association is set up.
const FIRST_EXCHANGE: Duration = Duration::from_secs(20);

/// The keys of one association.
#[derive(Debug)]
pub(crate) struct Session {
    exchanges: Arc<dyn Exchanges>,
    /// Both ends' parameters, the client's first.
    context: Box<[u8]>,
    /// Ours in the first exchange. In others, who begins is client; this one then decides who of
    /// two that begin at once.
    role: Role,
    keys: Keyring,
    /// Who the peer proved to be in the first exchange.
    peer: Option<Box<[u8]>>,
    under_way: Option<UnderWay>,
    retry: Retry,
    /// Exchanges that the peer may begin beside the first.
    allowance: Allowance,
    messages: VecDeque<Bytes>,
    events: VecDeque<ProtectionEvent>,
    phase: Phase,
    enforced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first exchange, which may take until then; before the association is set up T1 bounds
    /// it.
    First(Time),
    /// Both ends have keys and use them.
    Established,
    /// It has ended, and was told so.
    Failed,
}

impl Session {
    /// Both ends have agreed on the method of `exchanges`.
    pub(crate) fn new(
        now: Time,
        agreed: &Agreed,
        exchanges: Arc<dyn Exchanges>,
        policy: RekeyPolicy,
    ) -> Self {
        let mut session = Self {
            exchanges,
            context: agreed.parameters.concat().into(),
            role: agreed.role,
            keys: Keyring::new(policy),
            peer: None,
            under_way: None,
            retry: Retry::default(),
            allowance: Allowance::default(),
            messages: VecDeque::new(),
            events: VecDeque::new(),
            phase: Phase::First(Time::MAX),
            enforced: false,
        };
        if agreed.role == Role::Client {
            session.begin(now, Role::Client);
        }
        session
    }

    /// The epoch that the exchange under way is for, or the next one would be.
    fn awaited(&self) -> u64 {
        let next = || self.keys.newest().map_or(FIRST_EPOCH, |epoch| epoch + 1);
        self.under_way.as_ref().map_or_else(next, |exchange| exchange.epoch)
    }

    /// An exchange begins, in which we have this role.
    fn begin(&mut self, now: Time, role: Role) {
        let epoch = self.awaited();
        let known = self.peer.as_deref();
        let exchange = match role {
            Role::Client => self.exchanges.client(&self.context, known),
            Role::Server => self.exchanges.server(&self.context, known),
        };
        self.under_way = Some(UnderWay::new(now, epoch, role, exchange));
        self.flush();
    }

    /// What the exchange under way has to say becomes messages. False if that is nothing.
    fn flush(&mut self) -> bool {
        let Some(exchange) = &mut self.under_way else { return false };
        let before = self.messages.len();
        while let Some(records) = exchange.exchange.poll() {
            self.messages.push_back(message::records(exchange.epoch, &records));
        }
        self.messages.len() > before
    }

    /// The association must end.
    fn fail(&mut self, failure: ProtectionFailure) {
        if self.phase == Phase::Failed {
            return;
        }
        self.phase = Phase::Failed;
        self.under_way = None;
        self.events.push_back(ProtectionEvent::Failed(failure));
    }
}

#[cfg(test)]
mod tests;
