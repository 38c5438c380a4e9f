//! Why there is no association, where keys are the reason. What to do about it is for whoever knows
//! how the user would say it.

use polypath_net::{Closed, ConnectError, ProtectionFailure, PublicKey};

/// Error causes of draft-ietf-tsvwg-sctp-dtls-chunk: the other end demands protection, or another
/// way to agree on keys.
const MISSING_DTLS_CHUNK: u16 = 100;
const NO_COMMON_KEY_MANAGEMENT: u16 = 101;
/// What an end in plain says to one that offers address changes without AUTH, as who encrypts does.
const NO_AUTH: &[u8] = b"AUTH is needed";
/// What a TLS alert says of a key that is right and not allowed.
const NOT_LET_IN: &str = "access denied";

/// What keys have to do with an attempt to connect that failed.
#[derive(Clone, Debug)]
pub enum KeyRefusal<'a> {
    /// The peer encrypts, and this end does not.
    WantsProtection,
    /// Both encrypt, one by keys and one by a shared secret.
    OtherMethod,
    /// The peer does not encrypt. Who expects a certain peer must not be led to give that up:
    /// somebody may have cut a parameter out of its INIT ACK.
    InPlain,
    /// The peer has a key that was not expected.
    Unexpected(PublicKey),
    /// The peer does not let this end's key in, in the words of a TLS alert.
    NotLetIn(&'a str),
    /// The peer broke the key exchange off for another reason, likewise.
    BrokenOff(&'a str),
    /// Something else went wrong with keys.
    Failed(&'a ProtectionFailure),
}

impl<'a> KeyRefusal<'a> {
    /// What this error has to do with keys, of an end that `protects` its packets or does not;
    /// `None`: nothing.
    pub fn of(error: &'a ConnectError, protects: bool) -> Option<Self> {
        match error {
            ConnectError::Closed(closed) => Self::of_end(closed),
            ConnectError::Rejected { cause: Some(MISSING_DTLS_CHUNK), .. } => {
                Some(Self::WantsProtection)
            }
            ConnectError::Rejected { cause: Some(NO_COMMON_KEY_MANAGEMENT), .. } => {
                Some(Self::OtherMethod)
            }
            // It speaks in plain, and wants proof of addresses that we offer to change: its INIT
            // ACK would have told the same.
            ConnectError::Rejected { reason, .. } if protects && *reason == NO_AUTH => {
                Some(Self::InPlain)
            }
            _ => None,
        }
    }

    fn of_end(closed: &'a Closed) -> Option<Self> {
        Some(match closed {
            Closed::NoProtection => Self::InPlain,
            Closed::Unprotected(failure) => match &**failure {
                ProtectionFailure::UnknownPeer { key } => {
                    Self::Unexpected(PublicKey::from_spki(key))
                }
                ProtectionFailure::Refused(why) if why == NOT_LET_IN => Self::NotLetIn(why),
                ProtectionFailure::Refused(why) => Self::BrokenOff(why),
                other => Self::Failed(other),
            },
            _ => return None,
        })
    }
}
