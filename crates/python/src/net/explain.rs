//! Why an association was not set up, and what to do: in the words of the command.

use polypath_apps::keys::PublicKey;
use polypath_net::{Closed, ConnectError, ProtectionFailure};

use super::errors::Trouble;
use super::keys::{ClientKeys, Mode, known_peers};

/// Error causes of draft-ietf-tsvwg-sctp-dtls-chunk: the other end demands protection, or another
/// way to agree on keys.
const MISSING_DTLS_CHUNK: u16 = 100;
const NO_COMMON_KEY_MANAGEMENT: u16 = 101;
/// What an end in plain says to one that offers address changes without AUTH, as who encrypts does.
const NO_AUTH: &[u8] = b"AUTH is needed";
/// What a TLS alert says of a key that is right and not allowed.
const NOT_LET_IN: &str = "access denied";

impl ClientKeys {
    /// What became of an attempt to connect.
    pub(super) fn explain(&self, error: &ConnectError) -> Trouble {
        let names = &self.names;
        let untrusted = |text| Trouble::Untrusted { text, key: None };
        match error {
            ConnectError::Closed(closed) => self.explain_closed(closed),
            ConnectError::Rejected { cause: Some(MISSING_DTLS_CHUNK), .. } => untrusted(format!(
                "{names} speaks with nobody who does not encrypt: leave insecure=True out"
            )),
            ConnectError::Rejected { cause: Some(NO_COMMON_KEY_MANAGEMENT), .. } => {
                untrusted(self.other_method())
            }
            // It speaks in plain, and wants proof of addresses that we offer to change: its INIT
            // ACK would have told the same.
            ConnectError::Rejected { reason, .. } if self.protects() && *reason == NO_AUTH => {
                untrusted(self.in_plain())
            }
            ConnectError::NoPath { .. } => Trouble::Argument(error.to_string()),
            other => Trouble::Connect(other.to_string()),
        }
    }

    fn explain_closed(&self, closed: &Closed) -> Trouble {
        let names = &self.names;
        let text = match closed {
            Closed::NoProtection => self.in_plain(),
            Closed::Unprotected(failure) => match (&**failure, &self.mode) {
                (ProtectionFailure::UnknownPeer { key }, _) => {
                    return self.judge(&PublicKey::from_spki(key));
                }
                (ProtectionFailure::Refused(why), Mode::Keys(own)) if why == NOT_LET_IN => {
                    format!(
                        "{names} does not let this host in ({why}): its allow= or file of --allow has to name {}",
                        own.public().fingerprint()
                    )
                }
                (ProtectionFailure::Refused(why), _) => {
                    format!("{names} broke the key exchange off ({why})")
                }
                (other, _) => format!("{names}: {other}"),
            },
            other => return Trouble::Connect(other.to_string()),
        };
        Trouble::Untrusted { text, key: None }
    }

    const fn protects(&self) -> bool {
        !matches!(self.mode, Mode::Insecure)
    }

    /// Who expects a certain peer must not be led to give that up by somebody who cuts a parameter
    /// out of INIT ACK.
    fn in_plain(&self) -> String {
        let names = &self.names;
        match self.expectation() {
            Some(why) => format!(
                "{names} does not encrypt, but {why}: somebody may stand in between, or it was started insecure"
            ),
            None => format!(
                "{names} does not encrypt: it runs insecure, or an old version; insecure=True here, too, speaks with it, and \
                 everybody may read along"
            ),
        }
    }

    /// Why the peer has to encrypt, if anything says so: it was not just met.
    fn expectation(&self) -> Option<String> {
        match self.mode {
            Mode::Insecure => None,
            Mode::Shared(_) => Some("psk= names a secret that it should have".to_owned()),
            Mode::Keys(_) if self.pinned.is_some() => Some("peer= names its key".to_owned()),
            Mode::Keys(_) => {
                let file = known_peers().ok()?;
                let met = file.has_any(&self.names).unwrap_or(false);
                met.then(|| format!("{} names its key", file.shown_path()))
            }
        }
    }

    fn other_method(&self) -> String {
        let (here, there) = match self.mode {
            Mode::Keys(_) => ("keys", "a shared secret"),
            _ => ("a shared secret", "keys"),
        };
        format!("{} encrypts with {there}, and this end with {here}", self.names)
    }
}
