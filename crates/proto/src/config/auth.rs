//! Settings of chunk authentication (RFC 4895).

use core::fmt;

/// Who may send what only with a proof that it knows a key. Matters where
/// [`ExtensionConfig::authentication`](super::ExtensionConfig::authentication) is on.
#[derive(Clone, Debug)]
pub struct AuthConfig {
    /// Endpoint pair shared keys. Without any there is one: empty, with id 0. It protects from all
    /// who did not see the handshake.
    pub keys: Vec<AuthKey>,
    /// The key that what we send is authenticated with; the first one if there is none with this
    /// id.
    pub active: u16,
    /// Chunk types that we accept from the peer only if they are authenticated, besides those that
    /// dynamic addresses need. What is listed in one form counts in its other one, too, where that
    /// is offered: DATA and I-DATA, FORWARD-TSN and I-FORWARD-TSN, SACK and NR-SACK. If there are
    /// any, a peer that cannot authenticate gets no association. INIT, INIT ACK, SHUTDOWN COMPLETE
    /// and AUTH cannot be authenticated and are ignored here (RFC 4895 section 3.2).
    pub chunks: Vec<u8>,
    /// The HMACs that the peer may use, the best first. SHA-1, which nobody may leave out, is
    /// appended where it is missing.
    pub hmacs: Vec<HmacAlgorithm>,
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            active: 0,
            chunks: Vec::new(),
            hmacs: vec![HmacAlgorithm::Sha256, HmacAlgorithm::Sha1],
        }
    }
}

/// An endpoint pair shared key.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthKey {
    /// Its number, which is no secret.
    pub id: u16,
    /// The key, bytes of any length.
    pub secret: Vec<u8>,
}

impl fmt::Debug for AuthKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// An HMAC of RFC 4895 section 3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HmacAlgorithm {
    /// Identifier 1.
    Sha1,
    /// Identifier 3.
    Sha256,
}

impl HmacAlgorithm {
    /// Its identifier.
    pub const fn id(self) -> u16 {
        match self {
            Self::Sha1 => 1,
            Self::Sha256 => 3,
        }
    }

    /// The algorithm with that identifier.
    pub const fn from_id(id: u16) -> Option<Self> {
        match id {
            1 => Some(Self::Sha1),
            3 => Some(Self::Sha256),
            _ => None,
        }
    }

    /// Bytes of its result.
    pub const fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Never: every HMAC has bytes.
    pub const fn is_empty(self) -> bool {
        false
    }
}
