//! Why an association was not set up, where keys are the reason, and what to do.

use polypath_apps::keys::{KeyRefusal, PublicKey};
use polypath_net::{Closed, ConnectError, ProtectionFailure};

use super::UNTRUSTED;
use super::client::ClientKeys;
use crate::failure::Failure;

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
        let names = &self.names;
        let text = match KeyRefusal::of(error, self.protects())? {
            KeyRefusal::Unexpected(key) => return Some(KeyTrouble::Unexpected(key)),
            KeyRefusal::WantsProtection => {
                format!("{names} speaks with nobody who does not encrypt: leave --insecure out")
            }
            KeyRefusal::OtherMethod => self.other_method(),
            KeyRefusal::InPlain => self.in_plain(),
            KeyRefusal::NotLetIn(why) => match self.keys() {
                Some(keys) => format!(
                    "{names} does not let this host in ({why}): its file of --allow has to name {}",
                    keys.identity.public().fingerprint()
                ),
                None => format!("{names} broke the key exchange off ({why})"),
            },
            KeyRefusal::BrokenOff(why) => format!("{names} broke the key exchange off ({why})"),
            KeyRefusal::Failed(failure) => format!("{names}: {failure}"),
        };
        Some(KeyTrouble::Failed(Failure::with_code(UNTRUSTED, text)))
    }

    /// Advises `--insecure` to nobody who expects a certain peer.
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
