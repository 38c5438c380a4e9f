//! Why an association was not set up, where keys are the reason, and what to do.

use polypath_apps::keys::PublicKey;
use polypath_net::{Closed, ConnectError, ProtectionFailure};

use super::UNTRUSTED;
use super::client::ClientKeys;
use crate::failure::Failure;

/// Error causes of draft-ietf-tsvwg-sctp-dtls-chunk: the other end demands protection, or another
/// way to agree on keys.
const MISSING_DTLS_CHUNK: u16 = 100;
const NO_COMMON_KEY_MANAGEMENT: u16 = 101;
/// What an end in plain says to one that offers address changes without AUTH, as who encrypts does.
const NO_AUTH: &[u8] = b"AUTH is needed";

/// What a TLS alert says of a key that is right and not allowed.
pub(super) const NOT_LET_IN: &str = "access denied";

/// An end of an attempt to connect that has to do with keys.
pub(crate) enum KeyTrouble {
    /// The peer has a key that was not expected: [`ClientKeys::decide`] says what follows.
    Unexpected(PublicKey),
    /// Nothing can be done here.
    Failed(Failure),
}

/// Why somebody who connected was not let in.
pub(crate) fn explain_refusal(reason: &Closed) -> String {
    match reason {
        Closed::PeerAbort { .. } => {
            "left while keys were agreed on: it may not know this host's key yet".to_owned()
        }
        Closed::Unprotected(failure) => match &**failure {
            ProtectionFailure::UnknownPeer { key } => {
                let key = PublicKey::from_spki(key).fingerprint();
                format!("not let in: it has the key {key}")
            }
            other => format!("not let in: {other}"),
        },
        other => format!("not let in: {other}"),
    }
}

impl ClientKeys {
    /// What keys have to do with this error; `None`: nothing.
    pub(crate) fn explain(&self, error: &ConnectError) -> Option<KeyTrouble> {
        let text = match error {
            ConnectError::Closed(closed) => match self.explain_closed(closed)? {
                Ok(text) => text,
                Err(key) => return Some(KeyTrouble::Unexpected(key)),
            },
            ConnectError::Rejected { cause: Some(MISSING_DTLS_CHUNK), .. } => format!(
                "{} speaks with nobody who does not encrypt: leave --insecure out",
                self.names
            ),
            ConnectError::Rejected { cause: Some(NO_COMMON_KEY_MANAGEMENT), .. } => {
                self.other_method()
            }
            // It speaks in plain, and wants proof of addresses that we offer to change: its INIT
            // ACK would have told the same.
            ConnectError::Rejected { reason, .. } if self.protects() && *reason == NO_AUTH => {
                self.in_plain()
            }
            _ => return None,
        };
        Some(KeyTrouble::Failed(Failure::with_code(UNTRUSTED, text)))
    }

    /// In words, or the key of a peer that was not expected.
    fn explain_closed(&self, closed: &Closed) -> Option<Result<String, PublicKey>> {
        let names = &self.names;
        let text = match closed {
            Closed::NoProtection => self.in_plain(),
            Closed::Unprotected(failure) => match &**failure {
                ProtectionFailure::UnknownPeer { key } => {
                    return Some(Err(PublicKey::from_spki(key)));
                }
                ProtectionFailure::Refused(why) => match self.keys() {
                    Some(keys) if why == NOT_LET_IN => format!(
                        "{names} does not let this host in ({why}): its file of --allow has to name {}",
                        keys.identity.public().fingerprint()
                    ),
                    _ => format!("{names} broke the key exchange off ({why})"),
                },
                other => format!("{names}: {other}"),
            },
            _ => return None,
        };
        Some(Ok(text))
    }

    /// Who expects a certain peer must not be led to give that up by somebody who cuts a parameter
    /// out of INIT ACK.
    fn in_plain(&self) -> String {
        let names = &self.names;
        match self.expectation() {
            Some(why) => format!(
                "{names} does not encrypt, but {why}: somebody may stand in between, or it was started with --insecure"
            ),
            None => format!(
                "{names} does not encrypt: it runs with --insecure, or an old version; --insecure here, too, speaks with it, \
                 and everybody may read along"
            ),
        }
    }

    fn other_method(&self) -> String {
        let (here, there) = match self.keys() {
            Some(_) => ("keys", "--psk"),
            None => ("--psk", "keys"),
        };
        format!("{} encrypts with {there}, and this end with {here}", self.names)
    }
}
