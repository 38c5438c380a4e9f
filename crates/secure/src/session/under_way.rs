//! An exchange that has begun and not ended.

use polypath_proto::protection::{MAX_KEY_MESSAGE, ProtectionFailure, Role};
use polypath_proto::time::{Duration, Time};

use crate::aead::{KeyMaterial, Suite};
use crate::exchange::Exchange;

/// How long an exchange that replaces keys may take until it has them. From there on it is not
/// given up: the peer may seal with them at any moment, or already does.
const REPLACING: Duration = Duration::from_secs(30);

/// One exchange.
#[derive(Debug)]
pub(super) struct UnderWay {
    /// Of the keys that it ends with.
    pub(super) epoch: u64,
    /// Ours in it.
    pub(super) role: Role,
    pub(super) exchange: Box<dyn Exchange>,
    /// When it is given up.
    pub(super) until: Time,
    /// What the client will seal with, once the server said that it lets nothing else through.
    pub(super) write: Option<(Suite, KeyMaterial)>,
    /// Bytes of records that came.
    received: usize,
}

impl UnderWay {
    pub(super) fn new(now: Time, epoch: u64, role: Role, exchange: Box<dyn Exchange>) -> Self {
        Self { epoch, role, exchange, until: now + REPLACING, write: None, received: 0 }
    }

    /// Records of the peer.
    pub(super) fn handle(&mut self, records: &[u8]) -> Result<(), ProtectionFailure> {
        self.received = self.received.saturating_add(records.len());
        if self.received > MAX_KEY_MESSAGE {
            return Err(ProtectionFailure::Exchange("more than 64 KiB of messages".into()));
        }
        self.exchange.handle(records)
    }

    /// Whether we, as client, have keys and wait for the server's word to use them.
    pub(super) const fn has_keys(&self) -> bool {
        self.write.is_some()
    }
}
