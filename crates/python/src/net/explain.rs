//! Why an association was not set up, and what to do: in the words of the command.

use polypath_apps::keys::KeyRefusal;
use polypath_net::ConnectError;

use super::errors::Trouble;
use super::keys::{ClientKeys, Mode, known_peers};

impl ClientKeys {
    /// What became of an attempt to connect.
    pub(super) fn explain(&self, error: &ConnectError) -> Trouble {
        let names = &self.names;
        let protects = !matches!(self.mode, Mode::Insecure);
        let Some(refusal) = KeyRefusal::of(error, protects) else {
            return match error {
                ConnectError::NoPath { .. } => Trouble::Argument(error.to_string()),
                other => Trouble::Connect(other.to_string()),
            };
        };
        let text = match (refusal, &self.mode) {
            (KeyRefusal::Unexpected(key), _) => return self.judge(&key),
            (KeyRefusal::WantsProtection, _) => {
                format!("{names} speaks with nobody who does not encrypt: leave insecure=True out")
            }
            (KeyRefusal::OtherMethod, _) => self.other_method(),
            (KeyRefusal::InPlain, _) => self.in_plain(),
            (KeyRefusal::NotLetIn(why), Mode::Keys(own)) => format!(
                "{names} does not let this host in ({why}): its allow= or file of --allow has to \
                 name {}",
                own.public().fingerprint()
            ),
            (KeyRefusal::NotLetIn(why) | KeyRefusal::BrokenOff(why), _) => {
                format!("{names} broke the key exchange off ({why})")
            }
            (KeyRefusal::Failed(failure), _) => format!("{names}: {failure}"),
        };
        Trouble::Untrusted { text, key: None }
    }

    /// Advises `insecure` to nobody who expects a certain peer.
    fn in_plain(&self) -> String {
        let names = &self.names;
        match self.expectation() {
            Some(why) => format!(
                "{names} does not encrypt, but {why}: somebody may stand in between, or it was \
                 started insecure"
            ),
            None => format!(
                "{names} does not encrypt: it runs insecure, or an old version; insecure=True here, \
                 too, speaks with it, and everybody may read along"
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
