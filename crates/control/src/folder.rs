//! Where control sockets are: in a folder of their user alone.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Sockets that are looked at, at most.
const MOST: usize = 1000;

/// A folder that cannot be used for control sockets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It cannot be made or looked at.
    #[error("{}: {error}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Others may write there, or it is somebody else's.
    #[error(
        "{}: others may write there (allowed: a folder of this user with mode 0700)",
        .0.display()
    )]
    Open(PathBuf),
}

/// Makes `folder`, for its user alone, if it is not there, and checks that it is that.
///
/// # Errors
/// When it cannot be made, belongs to somebody else, or others may write or read it.
pub fn make(folder: &Path) -> Result<(), FolderError> {
    let failed = |error| FolderError::Io { path: folder.to_owned(), error };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    let own = nix::unistd::geteuid().as_raw();
    match found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0 {
        true => Ok(()),
        false => Err(FolderError::Open(folder.to_owned())),
    }
}

/// The socket of process `pid` in `folder`.
pub fn socket_of(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("{pid}.sock"))
}

/// The sockets in `folder` behind which a process is, in the order of their names. What processes
/// left that are gone is removed, where it is ours.
pub fn sockets(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.take(MOST).filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<_> = paths.filter(|path| is_of_a_process(path) && lives(path)).collect();
    found.sort();
    found
}

/// Whether it is called like a socket that a process opens of itself.
fn is_of_a_process(path: &Path) -> bool {
    let number = path.file_stem().and_then(|stem| stem.to_str()).map(str::parse::<u32>);
    path.extension().is_some_and(|end| end == "sock") && matches!(number, Some(Ok(_)))
}

fn lives(path: &Path) -> bool {
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let _not_ours = fs::remove_file(path);
            false
        }
        Ok(_) => true,
        // Busy, or not ours to ask: who asks will hear it.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_a_dead_process_left_is_removed_and_other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let dead = socket_of(folder.path(), 12);
        drop(UnixListener::bind(&dead).unwrap());
        let alive = socket_of(folder.path(), 7);
        let _listener = UnixListener::bind(&alive).unwrap();
        let other = folder.path().join("forward-0011.sock");
        drop(UnixListener::bind(&other).unwrap());
        assert_eq!(sockets(folder.path()), [alive]);
        assert_eq!((dead.exists(), other.exists()), (false, true));
    }

    #[test]
    fn a_folder_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        make(&inner).unwrap();
        make(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o750)).unwrap();
        let error = make(&inner).unwrap_err().to_string();
        assert!(error.ends_with("(allowed: a folder of this user with mode 0700)"), "{error}");
    }
}
