//! A key exchange without an association: for checks against other programs, fuzzing and measuring.

use polypath_proto::protection::ProtectionFailure;

use super::{Exchange, ExchangedKeys};
use crate::aead::{KeyMaterial, Suite};

/// One key exchange, and nothing around it.
#[derive(Debug)]
pub struct BareExchange(Box<dyn Exchange>);

/// What one ends with. Each direction has a key, a key for numbers, and an initialization vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BareKeys {
    /// The cipher.
    pub suite: Suite,
    /// What the client seals with.
    pub client: [Vec<u8>; 3],
    /// What the server seals with.
    pub server: [Vec<u8>; 3],
}

impl BareExchange {
    pub(crate) fn new(exchange: Box<dyn Exchange>) -> Self {
        Self(exchange)
    }

    /// Takes the TLS records of one message.
    ///
    /// # Errors
    /// Why the exchange has failed. What [`poll`](Self::poll) has then should still be sent.
    pub fn handle(&mut self, records: &[u8]) -> Result<(), ProtectionFailure> {
        self.0.handle(records)
    }

    /// The TLS records of the next message to send.
    pub fn poll(&mut self) -> Option<Vec<u8>> {
        self.0.poll()
    }

    /// The keys, given once.
    pub fn keys(&mut self) -> Option<BareKeys> {
        let ExchangedKeys { suite, client, server } = self.0.keys()?;
        let parts =
            |keys: &KeyMaterial| [keys.key.clone(), keys.number_key.clone(), keys.iv.to_vec()];
        Some(BareKeys { suite, client: parts(&client), server: parts(&server) })
    }

    /// The peer's SubjectPublicKeyInfo (DER), once it has proved it.
    #[must_use]
    pub fn peer(&self) -> Option<&[u8]> {
        self.0.peer()
    }
}
