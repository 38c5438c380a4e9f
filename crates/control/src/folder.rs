//! Where control sockets are: in a folder of their user alone.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::client::{Client, is_socket};

/// Files that are looked at, at most.
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
    /// It belongs to somebody else, or is no folder.
    #[error("{}: not a folder of this user", .0.display())]
    NotOurs(PathBuf),
    /// Others may look into it, or write there.
    #[error("{}: has mode {mode:o} (allowed: 700)", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its rights.
        mode: u32,
    },
}

/// Makes `folder`, for its user alone, if it is not there, and checks that it is that.
///
/// # Errors
/// When it cannot be made, belongs to somebody else, or others may write or read it.
pub fn make(folder: &Path) -> Result<(), FolderError> {
    let failed = |error| FolderError::Io { path: folder.to_owned(), error };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    if !found.is_dir() || found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(FolderError::NotOurs(folder.to_owned()));
    }
    match found.mode() & 0o777 {
        mode if mode & 0o077 != 0 => Err(FolderError::Open { path: folder.to_owned(), mode }),
        _ => Ok(()),
    }
}

/// The socket of process `pid` in `folder`.
pub fn socket_of(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("{pid}.sock"))
}

/// The sockets in `folder` that processes opened of themselves, in the order of their names.
pub fn sockets(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.take(MOST).filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> = paths.filter(|path| is_of_a_process(path)).collect();
    paths.sort();
    paths
}

/// The processes whose [`sockets`] are in `folder`, connected; for one that does not take
/// connections, its socket. What processes left that are gone is removed, where it is ours.
pub fn processes(folder: &Path) -> Vec<Result<Client, PathBuf>> {
    sockets(folder).into_iter().filter_map(reach).collect()
}

/// Whether it is called like a socket that a process opens of itself, and is one.
fn is_of_a_process(path: &Path) -> bool {
    let number = path.file_stem().and_then(|stem| stem.to_str()).map(str::parse::<u32>);
    let is_called_so = path.extension().is_some_and(|end| end == "sock");
    is_called_so && matches!(number, Some(Ok(_))) && is_socket(path)
}

fn reach(path: PathBuf) -> Option<Result<Client, PathBuf>> {
    match Client::connect(&path) {
        Ok(client) => Some(Ok(client)),
        Err(error) if error.is_left_behind() => {
            let _not_ours = fs::remove_file(&path);
            None
        }
        Err(_) => Some(Err(path)),
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
        let notes = socket_of(folder.path(), 13);
        fs::write(&notes, "mine").unwrap();
        let found = processes(folder.path());
        let paths: Vec<_> = found.iter().map(|one| one.as_ref().unwrap().path()).collect();
        assert_eq!(paths, [alive]);
        assert_eq!((dead.exists(), other.exists(), notes.exists()), (false, true, true));
    }

    #[test]
    fn a_process_that_takes_no_connections_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = socket_of(folder.path(), 7);
        let stopped = UnixListener::bind(&path).unwrap();
        let mut queued = Vec::new();
        // Until its backlog is full.
        let told = loop {
            match processes(folder.path()).remove(0) {
                Ok(client) => queued.push(client),
                Err(told) => break told,
            }
            assert!(queued.len() < 100_000);
        };
        assert_eq!(told, path);
        assert!(path.exists());
        drop(stopped);
    }

    #[test]
    fn a_folder_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        make(&inner).unwrap();
        make(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o750)).unwrap();
        let error = make(&inner).unwrap_err().to_string();
        assert!(error.ends_with("has mode 750 (allowed: 700)"), "{error}");
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(make(&file).is_err());
    }
}
