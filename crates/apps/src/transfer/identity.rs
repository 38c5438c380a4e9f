//! Who a sender is. Not a proof: whoever is told, or sees packets that are not encrypted, may say
//! the same.
//!
//! A sender keeps a secret and tells each receiver another hash of it, so that a receiver does not
//! learn what the sender is called elsewhere. A receiver keeps hashes of those. An identity keeps
//! senders from each other's files, and lets one go on after a break.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::codec::{Digest, Realm};

/// A sender's secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Identity([u8; 32]);

impl core::fmt::Debug for Identity {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Identity(..)")
    }
}

impl Identity {
    /// A new one, from the system's generator.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn generate_new() -> io::Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        Ok(Self(secret))
    }

    /// The one that is kept in this file; made, with the folders on the way, if it is missing.
    ///
    /// # Errors
    /// When it can be neither read nor made, or is not an identity.
    pub fn load_or_make(path: &Path) -> io::Result<Self> {
        match Self::read_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make_file(path),
            other => other,
        }
    }

    fn read_file(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(33).read_to_end(&mut bytes)?;
        let secret = bytes.try_into();
        let secret = secret.map_err(|_| io::Error::other("not 32 bytes, as an identity has"))?;
        Ok(Self(secret))
    }

    fn make_file(path: &Path) -> io::Result<Self> {
        let fresh = Self::generate_new()?;
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Whole or not at all, also if two begin at the same time: the link fails if the name is
        // taken.
        let whole = path.with_extension(format!("new-{}", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&whole)?;
        let written = file.write_all(&fresh.0).and_then(|()| file.sync_all());
        let linked = written.and_then(|()| fs::hard_link(&whole, path));
        let _ = fs::remove_file(&whole);
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Self::read_file(path),
        }
    }

    /// What one receiver is told.
    pub(crate) fn digest_for(&self, realm: &Realm) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key("polypath file transfer 2: identity");
        hasher.update(&self.0);
        hasher.update(realm);
        hasher.finalize().into()
    }
}

/// A sender, as a receiver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner([u8; 16]);

/// One sender's file of one name: [`Owner::file_key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileKey(pub(crate) [u8; 16]);

impl Owner {
    pub(crate) fn new(id: &Digest) -> Self {
        let whole = blake3::derive_key("polypath file transfer 2: owner", id);
        Self(first_half(&whole))
    }

    /// What the names of its unfinished files have in them.
    pub(crate) fn short_name(&self) -> String {
        self.0.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The sender's file of this name, whole with its folders.
    pub(crate) fn file_key(&self, name: &[u8]) -> FileKey {
        let mut hasher = blake3::Hasher::new_derive_key("polypath file transfer 2: file of owner");
        hasher.update(&self.0);
        hasher.update(name);
        FileKey(first_half(hasher.finalize().as_bytes()))
    }
}

fn first_half(whole: &Digest) -> [u8; 16] {
    // A digest has two halves.
    whole.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_kept_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state/polypath/sender");
        let first = Identity::load_or_make(&path).unwrap();
        assert_eq!(Identity::load_or_make(&path).unwrap(), first);
        assert_ne!(Identity::generate_new().unwrap(), first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        fs::write(&path, "short").unwrap();
        assert!(Identity::load_or_make(&path).unwrap_err().to_string().contains("32 bytes"));
        assert!(Identity::load_or_make(Path::new("/proc/nowhere/sender")).is_err());
    }

    #[test]
    fn receivers_cannot_tell_what_others_are_told() {
        let one = Identity([7; 32]);
        assert_ne!(one.digest_for(&[1; 16]), one.digest_for(&[2; 16]));
        assert_eq!(format!("{one:?}"), "Identity(..)");
        let (a, b) = (Owner::new(&[1; 32]), Owner::new(&[2; 32]));
        assert_ne!(a.file_key(b"x"), b.file_key(b"x"));
        assert_ne!(a.file_key(b"x"), a.file_key(b"y"));
        assert_eq!(a.short_name().len(), 16);
    }
}
