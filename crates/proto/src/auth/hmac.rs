//! The two HMACs (RFC 2104) of RFC 4895.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use sha2::Sha256;
use smallvec::SmallVec;

use crate::config::HmacAlgorithm;

/// An HMAC that has its key.
#[derive(Clone)]
pub(super) enum Keyed {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
}

impl Keyed {
    pub(super) fn new(algorithm: HmacAlgorithm, key: &[u8]) -> Self {
        // HMAC takes keys of any length: the error that the trait allows for does not exist here.
        match algorithm {
            HmacAlgorithm::Sha1 => Self::Sha1(Hmac::new_from_slice(key).unwrap_or_else(|_| {
                unreachable!("HMAC takes keys of any length");
            })),
            HmacAlgorithm::Sha256 => Self::Sha256(Hmac::new_from_slice(key).unwrap_or_else(|_| {
                unreachable!("HMAC takes keys of any length");
            })),
        }
    }

    /// Takes in the next bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(mac) => mac.update(bytes),
            Self::Sha256(mac) => mac.update(bytes),
        }
    }

    /// The HMAC of all that was taken in.
    pub(super) fn finish(self) -> SmallVec<[u8; 32]> {
        match self {
            Self::Sha1(mac) => SmallVec::from_slice(&mac.finalize().into_bytes()),
            Self::Sha256(mac) => SmallVec::from_slice(&mac.finalize().into_bytes()),
        }
    }

    /// Whether `tag` is the whole HMAC; takes the same time wherever they differ.
    pub(super) fn verify(self, tag: &[u8]) -> bool {
        match self {
            Self::Sha1(mac) => mac.verify_slice(tag).is_ok(),
            Self::Sha256(mac) => mac.verify_slice(tag).is_ok(),
        }
    }
}
