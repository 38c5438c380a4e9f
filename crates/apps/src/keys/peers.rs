//! The file of peers that were met before: read often, and written when a user has said yes.

use std::fmt;
use std::path::PathBuf;

use polypath_net::{Fingerprint, KnownPeers, Standing};

use super::error::{KeyError, show};
use super::safe_file::{self, MAX_TEXT};
use crate::place::{self, PlaceError};

/// What a user called a peer: its addresses and names as they were typed, each with its port. All
/// of them are one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerNames(Vec<String>);

impl PeerNames {
    /// Those of `HOST[:PORT],HOST[:PORT],...`.
    ///
    /// # Errors
    /// When one of them is none.
    pub fn of(list: &str) -> Result<Self, PlaceError> {
        let mut names = Vec::new();
        for text in list.split(',') {
            let (host, port) = place::split_port(text.trim())?;
            let name = match host.contains(':') {
                true => format!("[{host}]:{port}"),
                false => format!("{host}:{port}"),
            };
            let name = name.to_ascii_lowercase();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(Self(names))
    }

    /// The first, which stands for all in a line of the file.
    #[must_use]
    pub fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

impl fmt::Display for PeerNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

/// `known-peers`: names, and the key that each had.
#[derive(Clone, Debug)]
pub struct KnownPeersFile {
    path: PathBuf,
}

/// What is known of a key under the names of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The peer had it before.
    Known,
    /// None of the names is known.
    Unknown,
    /// One of the names had another key.
    Changed {
        /// The name.
        name: String,
        /// The line of the file that says so, from 1.
        line: usize,
    },
}

impl KnownPeersFile {
    pub(super) const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it is, fit to be shown.
    #[must_use]
    pub fn shown_path(&self) -> String {
        show(&self.path)
    }

    /// What it says; nothing if it is not there.
    ///
    /// # Errors
    /// When it cannot be read, or has a line that cannot be.
    pub fn read(&self) -> Result<KnownPeers, KeyError> {
        let Some(file) = safe_file::open(&self.path)? else { return Ok(KnownPeers::default()) };
        safe_file::check_trusted_folder(&self.path)?;
        let text = file.trusted(&self.path)?.read(&self.path, MAX_TEXT)?;
        text.parse().map_err(KeyError::line(&self.path))
    }

    /// Whether it has a key of any of the names.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn has_any(&self, names: &PeerNames) -> Result<bool, KeyError> {
        let known = self.read()?;
        Ok(names.0.iter().any(|name| known.keys_of(name).next().is_some()))
    }

    /// The keys that the peer may come with: of every name that is known, one that it had.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn expected(&self, names: &PeerNames) -> Result<Vec<Fingerprint>, KeyError> {
        let known = self.read()?;
        let candidates = names.0.iter().flat_map(|name| known.keys_of(name));
        Ok(candidates.filter(|key| judge(&known, names, *key) == Verdict::Known).collect())
    }

    /// What is known of the key that the peer came with.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn judge(&self, names: &PeerNames, key: Fingerprint) -> Result<Verdict, KeyError> {
        Ok(judge(&self.read()?, names, key))
    }

    /// Adds a line for each name that has none of this key.
    ///
    /// # Errors
    /// As [`read`](Self::read); when it cannot be written, or a name does not fit into a line.
    pub fn remember(
        &self,
        names: &PeerNames,
        key: Fingerprint,
        comment: Option<&str>,
    ) -> Result<(), KeyError> {
        if let Some(folder) = self.path.parent() {
            safe_file::make_folder(folder)?;
        }
        safe_file::edit(&self.path, |text| {
            let mut known: KnownPeers = text.parse().map_err(KeyError::line(&self.path))?;
            for name in &names.0 {
                if known.look_up(name, key) != Standing::Known {
                    known.add(name, key, comment).map_err(KeyError::line(&self.path))?;
                }
            }
            Ok(known.to_string())
        })
    }
}

/// One name with another key is enough to refuse; one with this key, among unknown ones, to know
/// it.
fn judge(known: &KnownPeers, names: &PeerNames, key: Fingerprint) -> Verdict {
    let mut verdict = Verdict::Unknown;
    for name in &names.0 {
        match known.look_up(name, key) {
            Standing::Changed { line } => return Verdict::Changed { name: name.clone(), line },
            Standing::Known => verdict = Verdict::Known,
            Standing::Unknown => {}
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::keys::Home;

    fn names(list: &str) -> PeerNames {
        PeerNames::of(list).unwrap()
    }

    fn keys() -> [Fingerprint; 2] {
        [b"a", b"b"].map(|key| Fingerprint::of(key))
    }

    #[test]
    fn names_are_as_typed_with_their_ports() {
        let list = "192.0.2.5, Server.Example:7 ,fd00::5,[fd00::5]:9899,192.0.2.5:9899";
        let all = names(list);
        assert_eq!(all.to_string(), "192.0.2.5:9899,server.example:7,[fd00::5]:9899");
        assert_eq!(all.first(), "192.0.2.5:9899");
        assert!(PeerNames::of("a,,b").is_err());
    }

    #[test]
    fn who_was_met_is_known_under_each_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = Home::at(folder.path().join("new")).known_peers();
        let [a, b] = keys();
        assert_eq!(file.judge(&names("x,y"), a).unwrap(), Verdict::Unknown);
        file.remember(&names("x,y"), a, Some("met today")).unwrap();
        file.remember(&names("x"), a, None).unwrap();
        let text = fs::read_to_string(&file.path).unwrap();
        assert_eq!(text, format!("x:9899 {a} # met today\ny:9899 {a} # met today\n"));
        assert_eq!(file.expected(&names("y,z")).unwrap(), [a]);
        assert_eq!(file.judge(&names("z,y"), a).unwrap(), Verdict::Known);
        let changed = Verdict::Changed { name: "y:9899".to_owned(), line: 2 };
        assert_eq!(file.judge(&names("z,y"), b).unwrap(), changed);
    }

    #[test]
    fn names_of_two_hosts_are_no_host() {
        let folder = tempfile::tempdir().unwrap();
        let file = Home::at(folder.path().to_owned()).known_peers();
        let [a, b] = keys();
        file.remember(&names("x"), a, None).unwrap();
        file.remember(&names("y"), b, None).unwrap();
        assert!(file.expected(&names("x,y")).unwrap().is_empty());
        for key in [a, b] {
            let verdict = file.judge(&names("x,y"), key).unwrap();
            assert!(matches!(verdict, Verdict::Changed { .. }), "{verdict:?}");
        }
    }

    #[test]
    fn hostile_lines_are_named_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let file = Home::at(folder.path().to_owned()).known_peers();
        let [a, _] = keys();
        for bad in ["x:1 pp:short", "x:1 y:1 z", "\u{1b}[2Jx:1 pp:a", "x:1", &"x".repeat(600)] {
            let text = format!("# ours\n\n{bad}\n");
            fs::write(&file.path, &text).unwrap();
            for error in [
                file.read().unwrap_err(),
                file.expected(&names("x")).unwrap_err(),
                file.remember(&names("x"), a, None).unwrap_err(),
            ] {
                let error = error.to_string();
                assert!(error.contains("known-peers: line 3: "), "{error}");
                assert!(!error.contains('\u{1b}') && error.lines().count() == 1, "{error}");
            }
            assert_eq!(fs::read_to_string(&file.path).unwrap(), text);
        }
        fs::write(&file.path, vec![b'#'; 2 << 20]).unwrap();
        assert!(file.read().unwrap_err().to_string().contains("more than"));
        fs::write(&file.path, b"\xff\xfe\n").unwrap();
        assert!(file.read().unwrap_err().to_string().contains("line 1: "));
        fs::write(&file.path, "").unwrap();
        let error = file.remember(&names("x#y"), a, None).unwrap_err().to_string();
        assert!(error.contains("cannot be written into one line"), "{error}");
    }
}
