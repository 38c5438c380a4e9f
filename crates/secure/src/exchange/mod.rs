//! One key exchange: messages in and out, and keys at the end. Knows no association and no epoch.

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub(crate) mod bare;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub(crate) mod library;
pub(crate) mod stand_in;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub(crate) mod tls;

use polypath_proto::protection::ProtectionFailure;

use crate::aead::{KeyMaterial, Suite};

/// Makes key exchanges of one method.
pub(crate) trait Exchanges: core::fmt::Debug + Send + Sync {
    /// We speak first. `context` is both ends' DTLS Key Management Parameters one after the other,
    /// the client's first. `known`: the key (SubjectPublicKeyInfo, DER) that the peer had in the
    /// association's first exchange: any other ends this one with
    /// [`ProtectionFailure::PeerChanged`].
    fn client(&self, context: &[u8], known: Option<&[u8]>) -> Box<dyn Exchange>;

    /// The peer speaks first.
    fn server(&self, context: &[u8], known: Option<&[u8]>) -> Box<dyn Exchange>;
}

/// One key exchange.
pub(crate) trait Exchange: core::fmt::Debug + Send {
    /// TLS records of the peer: the payload of a key management message. Only whole ones.
    ///
    /// # Errors
    /// Why the exchange has failed. What [`poll`](Self::poll) has then (an alert) shall still be
    /// sent.
    fn handle(&mut self, records: &[u8]) -> Result<(), ProtectionFailure>;

    /// The next records to send, as the payload of one message.
    fn poll(&mut self) -> Option<Vec<u8>>;

    /// The keys, given once: to the client with the server's Finished verified (its own may still
    /// wait in [`poll`](Self::poll)), to the server with the client's Finished verified.
    fn keys(&mut self) -> Option<ExchangedKeys>;

    /// The peer's SubjectPublicKeyInfo (DER), once it has proved it.
    fn peer(&self) -> Option<&[u8]>;
}

/// What an exchange ends with.
#[derive(Debug)]
pub(crate) struct ExchangedKeys {
    pub(crate) suite: Suite,
    /// What the client of this exchange seals with.
    pub(crate) client: KeyMaterial,
    /// What its server seals with.
    pub(crate) server: KeyMaterial,
}
