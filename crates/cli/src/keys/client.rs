//! The keys of who connects.

use std::sync::{Arc, OnceLock};
#[expect(clippy::disallowed_types, reason = "the peer needs a moment")]
use std::time::Instant;

use polypath_apps::keys::{
    Fingerprint, Home, Identity, KeyLogFile, KnownPeersFile, PeerNames, PublicKey, Trust, Verdict,
    read_secret,
};
use polypath_net::{Config, KeyManagement};

use super::args::{ClientKeyArgs, CommonKeyArgs};
use super::{INSECURE, REOPENED, UNTRUSTED, ask, file_failure};
use crate::failure::Failure;
use crate::talk::Talk;

/// Who we are, and whom we expect.
pub(crate) struct ClientKeys {
    pub(super) names: PeerNames,
    mode: Mode,
    /// When the peer has enrolled us.
    #[expect(clippy::disallowed_types, reason = "the peer needs a moment")]
    enrolled: OnceLock<Instant>,
}

enum Mode {
    Insecure,
    Shared(Arc<dyn KeyManagement>),
    Keys(Box<Keys>),
}

/// Keys as people have them.
pub(super) struct Keys {
    pub(super) home: Home,
    pub(super) identity: Identity,
    /// The only one that is good, whatever is known.
    pinned: Option<Fingerprint>,
    pub(super) log: Option<Arc<KeyLogFile>>,
}

impl ClientKeys {
    /// For the peer at `to`, as the user typed it.
    pub(crate) fn new(
        args: &CommonKeyArgs,
        client: &ClientKeyArgs,
        to: &str,
        talk: Talk,
    ) -> Result<Self, Failure> {
        let names = PeerNames::of(to).map_err(Failure::bad_input)?;
        let mode = if args.insecure {
            talk.say(INSECURE);
            Mode::Insecure
        } else if let Some(file) = &args.psk {
            Mode::Shared(Arc::new(read_secret(file).map_err(file_failure)?))
        } else {
            let home = super::home()?;
            let identity = home.load_or_make_identity().map_err(file_failure)?;
            let log = super::key_log(args)?;
            Mode::Keys(Box::new(Keys { home, identity, pinned: client.peer, log }))
        };
        Ok(Self { names, mode, enrolled: OnceLock::new() })
    }

    pub(super) fn keys(&self) -> Option<&Keys> {
        match &self.mode {
            Mode::Keys(keys) => Some(keys),
            Mode::Insecure | Mode::Shared(_) => None,
        }
    }

    /// Our key's fingerprint, if we have one.
    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        Some(self.keys()?.identity.public().fingerprint())
    }

    /// Whether packets are larger than their chunks need.
    pub(crate) const fn protects(&self) -> bool {
        !matches!(self.mode, Mode::Insecure)
    }

    /// Settings of an endpoint that talks to the peer, and to nobody else: a peer that is not known
    /// is refused before it is told anything.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let keys: Arc<dyn KeyManagement> = match &self.mode {
            Mode::Insecure => return Ok(Config::insecure_client([])),
            Mode::Shared(secret) => secret.clone(),
            Mode::Keys(keys) => {
                let expected = match keys.pinned {
                    Some(pinned) => vec![pinned],
                    None => keys.home.known_peers().expected(&self.names).map_err(file_failure)?,
                };
                let trust = Trust::pinned(expected);
                Arc::new(super::tls(&keys.identity, trust, keys.log.as_ref()))
            }
        };
        Ok(Config::client([], keys))
    }

    /// The peer has enrolled us just now.
    #[expect(clippy::disallowed_types, reason = "as above")]
    pub(super) fn note_enrolment(&self) {
        let _ = self.enrolled.set(Instant::now());
    }

    /// Whether the peer has enrolled us so lately that it may still be opening its port anew: an
    /// attempt that fails for it is made again.
    pub(crate) fn port_may_reopen(&self) -> bool {
        self.enrolled.get().is_some_and(|at| at.elapsed() < REOPENED)
    }

    /// Why the peer has to encrypt, if anything says so: it was not just met.
    pub(super) fn expectation(&self) -> Option<String> {
        match &self.mode {
            Mode::Insecure => None,
            Mode::Shared(_) => Some("--psk names a secret that it should have".to_owned()),
            Mode::Keys(keys) if keys.pinned.is_some() => Some("--peer names its key".to_owned()),
            Mode::Keys(keys) => {
                let file = keys.home.known_peers();
                let met = file.has_any(&self.names).unwrap_or(false);
                met.then(|| format!("{} names its key", file.shown_path()))
            }
        }
    }

    /// What else may be the reason when a peer is silent.
    pub(crate) fn silence(&self) -> &'static str {
        match self.mode {
            Mode::Shared(_) => "; or its --psk names another secret",
            _ => "",
        }
    }

    /// The key that a name had before is another one.
    pub(super) fn changed(&self, name: &str, line: usize, key: Fingerprint, file: &str) -> Failure {
        let text = format!(
            "{name} has another key than before, {key}: somebody may stand in between; if it was given a new one, change \
             {file} line {line}"
        );
        Failure::with_code(UNTRUSTED, text)
    }

    /// The peer had yet another key when it was connected to again.
    pub(crate) fn changed_meanwhile(&self, key: &PublicKey) -> Failure {
        let (names, key) = (&self.names, key.fingerprint());
        let text = format!(
            "{names} came with another key the next time, {key}: several hosts answer there"
        );
        Failure::with_code(UNTRUSTED, text)
    }

    /// The peer was refused, for its key is not one that is expected. Whether to go on with it all
    /// the same: then it is known from now on.
    pub(crate) fn decide(&self, key: &PublicKey) -> Result<(), Failure> {
        self.decide_with(key, ask::about_unknown)
    }

    /// Why one does not go on with a key that was not expected, where nobody is asked.
    pub(crate) fn refuse(&self, key: &PublicKey) -> Failure {
        let refused =
            self.decide_with(key, |names, key, file| Err(ask::tell_of_unknown(names, key, file)));
        refused.err().unwrap_or_else(|| self.changed_meanwhile(key))
    }

    fn decide_with(
        &self,
        key: &PublicKey,
        about_unknown: impl FnOnce(&PeerNames, Fingerprint, &KnownPeersFile) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (names, key) = (&self.names, key.fingerprint());
        let untrusted = |text| Err(Failure::with_code(UNTRUSTED, text));
        let Some(keys) = self.keys() else { return untrusted(format!("{names} has a key")) };
        if let Some(pinned) = keys.pinned {
            return untrusted(format!(
                "{names} has the key {key}, not that of --peer: it is another host (allowed: {pinned})"
            ));
        }
        let file = keys.home.known_peers();
        match file.judge(names, key).map_err(file_failure)? {
            // Somebody has written it down meanwhile.
            Verdict::Known => Ok(()),
            Verdict::Unknown => about_unknown(names, key, &file),
            Verdict::Changed { name, line } => {
                Err(self.changed(&name, line, key, &file.shown_path()))
            }
        }
    }
}
