//! The folder of this host's key and of what it knows of others.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use polypath_net::{Identity, PublicKey};

use super::error::{KeyError, show};
use super::peers::KnownPeersFile;
use super::safe_file;

/// Bytes of a file with a private key, at most.
const MAX_KEY: u64 = 16 << 10;

/// The folder of this user's key and known peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    folder: PathBuf,
}

impl Home {
    /// `$POLYPATH_HOME`; or else `polypath` in `$XDG_CONFIG_HOME` or `~/.config`, as the XDG Base
    /// Directory Specification has it. `variable` gives what the environment has.
    ///
    /// # Errors
    /// When it names no folder.
    pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, KeyError> {
        let named = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |path: &PathBuf| path.is_absolute();
        let config = || {
            let home = || named("HOME").filter(absolute).map(|home| home.join(".config"));
            named("XDG_CONFIG_HOME").filter(absolute).or_else(home)
        };
        let folder = named("POLYPATH_HOME").or_else(|| config().map(|c| c.join("polypath")));
        folder.map(|folder| Self { folder }).ok_or(KeyError::NoHome)
    }

    /// This folder.
    #[must_use]
    pub const fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where this host's private key is.
    #[must_use]
    pub fn identity_file(&self) -> PathBuf {
        self.folder.join("identity")
    }

    /// Where the peers are that were met before.
    #[must_use]
    pub fn known_peers(&self) -> KnownPeersFile {
        KnownPeersFile::at(self.folder.join("known-peers"))
    }

    /// Where hosts have names.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.folder.join("config.toml")
    }

    /// The folder for sockets of running processes, which need not be there.
    pub fn run_folder(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// The folder for sockets of running processes, made for its user alone if it is not there.
    ///
    /// # Errors
    /// When it cannot be made, or others may write it.
    pub fn make_run_folder(&self) -> Result<PathBuf, KeyError> {
        let folder = self.run_folder();
        safe_file::make_folder(&folder)?;
        Ok(folder)
    }

    /// This host's key pair, made if there is none. Of two processes that make it at once, both get
    /// the same.
    ///
    /// # Errors
    /// When the file can be neither read nor made, others may read it, or it holds something else.
    pub fn load_or_make_identity(&self) -> Result<Identity, KeyError> {
        load_or_make(&self.identity_file()).map(|(identity, _)| identity)
    }
}

/// As [`Home::load_or_make_identity`], of any file, and whether it was made.
///
/// # Errors
/// As there.
pub fn load_or_make(path: &Path) -> Result<(Identity, bool), KeyError> {
    if let Some(identity) = load(path)? {
        return Ok((identity, false));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    safe_file::make_folder(folder.unwrap_or(Path::new(".")))?;
    let no_key = |source| KeyError::NoKey { path: show(path), source };
    let pem = Identity::generate().map_err(no_key)?.to_pkcs8_pem();
    safe_file::create(path, pem.as_bytes()).map_err(KeyError::unwritten(path))?;
    let nowhere = || std::io::Error::other("it is a link that leads nowhere");
    let identity = load(path)?.ok_or_else(|| KeyError::unread(path)(nowhere()))?;
    Ok((identity, true))
}

/// A public key as a text (RFC 7468 section 13), as other programs take it.
#[must_use]
pub fn public_pem(key: &PublicKey) -> String {
    let digits = BASE64.encode(key.spki());
    let mut pem = String::from("-----BEGIN PUBLIC KEY-----\n");
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index.is_multiple_of(64) {
            pem.push('\n');
        }
        pem.push(digit);
    }
    pem + "\n-----END PUBLIC KEY-----\n"
}

fn load(path: &Path) -> Result<Option<Identity>, KeyError> {
    let Some(file) = safe_file::open(path)? else { return Ok(None) };
    safe_file::check_trusted_folder(path)?;
    if file.mode & 0o077 != 0 {
        return Err(KeyError::Readable { path: show(path), mode: file.mode });
    }
    let pem = file.read(path, MAX_KEY)?;
    let identity = Identity::from_pkcs8_pem(&pem);
    identity.map(Some).map_err(|source| KeyError::NoKey { path: show(path), source })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Home::find(variable).ok().map(|home| home.identity_file().display().to_string())
    }

    #[test]
    fn the_folder_is_where_the_environment_says() {
        let all = [("HOME", "/h"), ("XDG_CONFIG_HOME", "/x"), ("POLYPATH_HOME", "/p")];
        assert_eq!(found(&all).unwrap(), "/p/identity");
        assert_eq!(found(&all[..2]).unwrap(), "/x/polypath/identity");
        assert_eq!(found(&all[..1]).unwrap(), "/h/.config/polypath/identity");
        let odd = [("HOME", "/h"), ("XDG_CONFIG_HOME", "x"), ("POLYPATH_HOME", "")];
        assert_eq!(found(&odd).unwrap(), "/h/.config/polypath/identity");
        assert_eq!(found(&[("HOME", "h")]), None);
    }

    #[test]
    fn a_key_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("a/b"));
        let first = home.load_or_make_identity().unwrap();
        assert_eq!(home.load_or_make_identity().unwrap().public(), first.public());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home.identity_file()), 0o600);
        assert_eq!((mode(&home.folder), mode(&folder.path().join("a"))), (0o700, 0o700));
        assert_eq!(fs::read_dir(&home.folder).unwrap().count(), 1);
    }

    #[test]
    fn many_that_begin_at_once_end_with_one_key() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let home = &Home::at(folder.path().join("keys"));
            let keys: Vec<_> = std::thread::scope(|scope| {
                let make = || home.load_or_make_identity().unwrap().public().fingerprint();
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
            assert_eq!(fs::read_dir(&home.folder).unwrap().count(), 1);
        }
    }

    /// One line that names the file.
    fn refusal(home: &Home) -> String {
        let error = home.load_or_make_identity().unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(&home.folder.display().to_string()), "{error}");
        error
    }

    #[test]
    fn a_key_that_others_may_read_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().to_owned());
        home.load_or_make_identity().unwrap();
        let file = home.identity_file();
        for mode in [0o640, 0o604, 0o620, 0o644] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let error = refusal(&home);
            assert!(error.contains(&format!("`chmod 600 {}`", file.display())), "{error}");
        }
        fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        home.load_or_make_identity().unwrap();
    }

    #[test]
    fn what_is_no_key_is_neither_taken_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().to_owned());
        let file = home.identity_file();
        for content in [&b""[..], b"-----BEGIN", b"\xff\xfe\x1b[2J", &[b'x'; 20_000]] {
            fs::write(&file, content).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            refusal(&home);
            assert_eq!(fs::read(&file).unwrap(), content);
        }
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(refusal(&home).contains("not a file"));
    }

    #[test]
    fn links_are_followed_and_dangling_ones_told() {
        let folder = tempfile::tempdir().unwrap();
        let real = Home::at(folder.path().join("real"));
        let key = real.load_or_make_identity().unwrap();
        let home = Home::at(folder.path().join("linked"));
        fs::create_dir(&home.folder).unwrap();
        symlink(real.identity_file(), home.identity_file()).unwrap();
        assert_eq!(home.load_or_make_identity().unwrap().public(), key.public());
        fs::remove_file(real.identity_file()).unwrap();
        assert!(refusal(&home).contains("leads nowhere"));
    }

    #[test]
    fn folders_that_everybody_writes_or_nobody_can_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(refusal(&Home::at(folder.path().to_owned())).contains("chmod go-w"));
        assert!(refusal(&Home::at("/proc/nowhere".into())).contains("cannot be written"));
        // Nobody makes files there, not even root.
        assert!(refusal(&Home::at("/proc/self".into())).contains("cannot be written"));
    }
}
