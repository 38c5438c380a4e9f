//! Who this host is, whom it knows and whom it lets in: as the command has it, with the arguments
//! of Python.

use std::path::PathBuf;
use std::sync::Arc;

use polypath_apps::keys::{
    Fingerprint, Home, Identity, KnownPeersFile, PeerNames, PreShared, PublicKey, Tls, Trust,
    Verdict, load_or_make, read_secret,
};
use polypath_net::{Config, KeyManagement};
use pyo3::prelude::*;

use super::errors::Trouble;

/// What both ends may say of keys.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct KeyOptions {
    /// A file with the private key; by default the host's own.
    key: Option<PathBuf>,
    /// A file with a secret that both ends have, in place of keys.
    psk: Option<PathBuf>,
    insecure: bool,
    /// The only keys that are good.
    allowed: Option<Vec<String>>,
}

/// How packets are protected.
#[derive(Debug)]
pub(super) enum Mode {
    Insecure,
    Shared(PreShared),
    Keys(Box<Identity>),
}

impl KeyOptions {
    fn mode(&self) -> Result<Mode, Trouble> {
        match (self.insecure, &self.psk, &self.key) {
            (true, None, None) if self.allowed.is_none() => Ok(Mode::Insecure),
            (false, Some(file), None) if self.allowed.is_none() => {
                Ok(Mode::Shared(read_secret(file)?))
            }
            (false, None, Some(file)) => Ok(Mode::Keys(Box::new(load_or_make(file)?.0))),
            (false, None, None) => Ok(Mode::Keys(Box::new(home()?.load_or_make_identity()?))),
            _ => Err(Trouble::Argument(
                "of insecure=, psk= and keys (key=, peer=, allow=) only one is allowed".to_owned(),
            )),
        }
    }

    fn allowed(&self, argument: &str) -> Result<Option<Vec<Fingerprint>>, Trouble> {
        let parse = |text: &String| parse_fingerprint(argument, text);
        self.allowed.as_ref().map(|all| all.iter().map(parse).collect()).transpose()
    }

    /// The keys of who is connected to: of anyone, unless some are named.
    pub(super) fn for_server(&self) -> Result<Option<Arc<dyn KeyManagement>>, Trouble> {
        let mode = self.mode()?;
        let allowed = self.allowed("allow")?;
        Ok(match mode {
            Mode::Insecure => None,
            Mode::Shared(secret) => Some(Arc::new(secret)),
            Mode::Keys(identity) => {
                let trust = allowed.map_or_else(Trust::anyone, Trust::pinned);
                Some(Arc::new(Tls::new(&identity, trust)))
            }
        })
    }
}

/// The keys of who connects.
#[derive(Debug)]
pub(super) struct ClientKeys {
    pub(super) names: PeerNames,
    pub(super) mode: Mode,
    /// The only one that is good, whatever is known.
    pub(super) pinned: Option<Fingerprint>,
}

impl ClientKeys {
    /// For the peer at `hosts`, as the user typed it.
    pub(super) fn new(options: &KeyOptions, hosts: &str) -> Result<Self, Trouble> {
        let names = PeerNames::of(hosts).map_err(|error| Trouble::Argument(error.to_string()))?;
        let mode = options.mode()?;
        let pinned = options.allowed("peer")?.and_then(|all| all.first().copied());
        Ok(Self { names, mode, pinned })
    }

    /// Settings of an endpoint that talks to the peer alone, and tells a peer that is not known
    /// nothing.
    pub(super) fn config(&self) -> Result<Config, Trouble> {
        Ok(match &self.mode {
            Mode::Insecure => Config::insecure_client([]),
            Mode::Shared(secret) => Config::client([], secret.clone()),
            Mode::Keys(identity) => {
                let expected = match self.pinned {
                    Some(pinned) => vec![pinned],
                    None => known_peers()?.expected(&self.names)?,
                };
                Config::client([], Tls::new(identity, Trust::pinned(expected)))
            }
        })
    }

    /// The peer came with a key that was not expected.
    pub(super) fn judge(&self, key: &PublicKey) -> Trouble {
        let key = key.fingerprint();
        match self.describe_stranger(key) {
            Ok(text) => Trouble::Untrusted { text, key: Some(key) },
            Err(trouble) => trouble,
        }
    }

    fn describe_stranger(&self, key: Fingerprint) -> Result<String, Trouble> {
        let names = &self.names;
        if let Some(pinned) = self.pinned {
            return Ok(format!(
                "{names} has the key {key}, not that of peer=: it is another host (allowed: \
                 {pinned})"
            ));
        }
        let file = known_peers()?;
        Ok(match file.judge(names, key)? {
            Verdict::Known => format!("{names} is known since a moment: connect again"),
            Verdict::Unknown => format!(
                "{names} is not known, and has the key {key}: if `polypath id` prints that there, \
                 say peer=\"{key}\", or add the line `{} {key}` to {}",
                names.first(),
                file.shown_path()
            ),
            Verdict::Changed { name, line } => format!(
                "{name} has another key than before, {key}: somebody may stand in between; if it was \
                 given a new one, change {} line {line}",
                file.shown_path()
            ),
        })
    }
}

/// The folder of keys.
fn home() -> Result<Home, Trouble> {
    Ok(Home::find(|name| std::env::var_os(name))?)
}

/// The peers that were met before.
pub(super) fn known_peers() -> Result<KnownPeersFile, Trouble> {
    Ok(home()?.known_peers())
}

fn parse_fingerprint(argument: &str, text: &str) -> Result<Fingerprint, Trouble> {
    text.parse().map_err(|error| Trouble::Argument(format!("{argument} = {text:?}: {error}")))
}

/// The fingerprint of this host's key, or of that in a file; made at first use.
#[pyfunction]
pub(crate) fn identity(py: Python<'_>, key: Option<PathBuf>) -> PyResult<String> {
    let found = py.detach(|| {
        let identity = match key {
            Some(file) => load_or_make(&file)?.0,
            None => home()?.load_or_make_identity()?,
        };
        Ok(identity.public().fingerprint().to_string())
    });
    found.map_err(|trouble: Trouble| trouble.into_error(py))
}

/// Writes down the key of the peer that is called so.
#[pyfunction]
pub(crate) fn remember(py: Python<'_>, hosts: &str, fingerprint: &str) -> PyResult<()> {
    let written = py.detach(|| {
        let names = PeerNames::of(hosts).map_err(|error| Trouble::Argument(error.to_string()))?;
        let key = parse_fingerprint("fingerprint", fingerprint)?;
        Ok(known_peers()?.remember(&names, key, None)?)
    });
    written.map_err(|trouble: Trouble| trouble.into_error(py))
}
