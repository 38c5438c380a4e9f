//! A receiver's folder with all that its sessions share: what is remembered, who writes what, and
//! what may be taken.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::TransferError;
use super::codec::{Realm, Verdict};
use super::index::Index;
use super::name::STATE_FILE;
use super::shelf::{Session, Shelves};
use super::tree::{Folder, Refusal, error_words};
use crate::shown;

/// What a file or folder counts as, beside its content.
pub(crate) const ENTRY_BYTES: u64 = 4096;

/// Where received files go, and which are taken.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Where everything goes; made if it is missing.
    pub folder: PathBuf,
    /// Replace files of the same name, whoever stored them.
    pub overwrite: bool,
    /// Take files and folders whose names begin with a dot.
    pub hidden: bool,
    /// Bytes to take in all, from all senders together, a file or folder counting as 4096 more than
    /// its content.
    pub quota: Option<u64>,
    /// Unfinished files that one session has open at a time, from 1.
    pub open_files: usize,
}

/// A folder that several sessions receive into at the same time.
#[derive(Debug)]
pub struct Store {
    pub(crate) root: Folder,
    pub(crate) options: StoreOptions,
    pub(crate) shelves: Shelves,
    index: Mutex<Index>,
    realm: Realm,
    /// When it was opened, by the clock of the file system.
    began: (i64, i64),
    /// Permissions that nobody gets (umask).
    mask: u32,
    /// Left of the quota.
    left: AtomicU64,
}

impl Store {
    /// Opens the folder, makes it if it is missing, and keeps other receivers out of it.
    ///
    /// # Errors
    /// When files cannot go there, or another receiver uses it.
    pub fn open(options: StoreOptions) -> Result<Arc<Self>, TransferError> {
        let failed = |error: std::io::Error| TransferError::Folder {
            folder: shown::escape_text(&options.folder.display().to_string()),
            why: error_words(&error),
        };
        let root = Folder::open_root(&options.folder).map_err(failed)?;
        let index = Index::open(&root).map_err(failed)?;
        Ok(Arc::new(Self {
            root,
            realm: index.realm,
            began: index.began,
            index: Mutex::new(index),
            shelves: Shelves::default(),
            mask: read_umask(),
            left: AtomicU64::new(options.quota.unwrap_or(u64::MAX)),
            options,
        }))
    }

    pub(crate) const fn realm(&self) -> &Realm {
        &self.realm
    }

    /// Whether a file was changed last before this receiver began.
    pub(crate) fn is_older(&self, mtime: (i64, i64)) -> bool {
        // Clocks of file systems tick slowly.
        mtime <= self.began
    }

    pub(crate) fn lock_index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn new_session(&self) -> Arc<Session> {
        self.shelves.new_session()
    }

    /// What of the permissions that a stranger wishes for a file is granted.
    pub(crate) const fn grant_mode(&self, wish: u16) -> u32 {
        grant_bits(wish, self.mask)
    }

    /// Says at once what cannot fit.
    pub(crate) fn check_room(&self, bytes: u64) -> Result<(), Refusal> {
        let quota = self.options.quota.map(|_| self.left.load(Ordering::Relaxed));
        if quota.is_some_and(|left| left < bytes) {
            return Err(over_quota());
        }
        if self.root.free_bytes().is_some_and(|room| room < bytes) {
            return Err(Refusal::new(Verdict::NoSpace, "no space left on the receiver's disk"));
        }
        Ok(())
    }

    /// Takes bytes out of the quota.
    pub(crate) fn spend_quota(&self, bytes: u64) -> Result<(), Refusal> {
        if self.options.quota.is_none() {
            return Ok(());
        }
        let less = |left: u64| left.checked_sub(bytes);
        let spent = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        spent.map(drop).map_err(|_| over_quota())
    }
}

/// No set-user-ID bits, no writing for others, and what the umask leaves.
const fn grant_bits(wish: u16, mask: u32) -> u32 {
    wish as u32 & 0o755 & !mask
}

fn over_quota() -> Refusal {
    Refusal::new(Verdict::NoSpace, "the receiver takes no more than its --quota")
}

/// The umask of this process, which cannot be asked for without changing it; where the system does
/// not tell, nobody else gets anything.
fn read_umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o077)
}

/// Removes a folder that nothing was received into.
pub fn discard_unused(folder: &Path) {
    let names = std::fs::read_dir(folder).map(|all| all.flatten().map(|entry| entry.file_name()));
    if names.is_ok_and(|names| names.eq([STATE_FILE])) {
        // If something has come just now, the second fails.
        let _ = std::fs::remove_file(folder.join(STATE_FILE));
        let _ = std::fs::remove_dir(folder);
    }
}

/// Unfinished files that each of so many sessions may have open where a process may have `limit`
/// files open, so that sockets and what is opened for a moment find room.
pub fn open_files(limit: u64, sessions: usize) -> usize {
    // Per session: a runtime (3), the folders on the way to a file (2), a file that is hashed or
    // named. Besides: sockets, the terminal, a capture.
    const RESERVE: u64 = 64;
    const PER_SESSION: u64 = 8;
    let sessions = sessions.max(1) as u64;
    let free = limit.saturating_sub(RESERVE + PER_SESSION * sessions) / sessions;
    free.clamp(1, 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(folder: &std::path::Path, quota: Option<u64>) -> Arc<Store> {
        let folder = folder.to_owned();
        let options =
            StoreOptions { folder, overwrite: false, hidden: false, quota, open_files: 1 };
        Store::open(options).unwrap()
    }

    #[test]
    fn descriptors_are_shared_out() {
        assert_eq!(open_files(1024, 16), 32);
        assert_eq!(open_files(512, 16), 20);
        assert_eq!(open_files(256, 16), 4);
        assert_eq!(open_files(64, 16), 1);
        assert_eq!(open_files(u64::MAX, 0), 32);
    }

    #[test]
    fn a_quota_is_for_all_together() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path(), Some(100));
        assert!(store.check_room(100).is_ok() && store.check_room(101).is_err());
        store.spend_quota(60).unwrap();
        assert_eq!(store.spend_quota(60).unwrap_err().verdict, Verdict::NoSpace);
        store.spend_quota(40).unwrap();
    }

    #[test]
    fn what_no_disk_has_room_for_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path(), None);
        assert_eq!(store.check_room(1 << 60).unwrap_err().verdict, Verdict::NoSpace);
        store.spend_quota(u64::MAX).unwrap();
    }

    #[test]
    fn only_an_unused_folder_is_removed() {
        let root = tempfile::tempdir().unwrap();
        for used in [true, false] {
            let folder = root.path().join("new");
            drop(store(&folder, None));
            let file = folder.join("f");
            if used {
                std::fs::write(&file, "").unwrap()
            } else {
                std::fs::remove_file(&file).unwrap()
            }
            discard_unused(&folder);
            assert_eq!(folder.exists(), used);
        }
    }

    #[test]
    fn permissions_are_those_that_the_umask_leaves() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path(), None);
        assert_eq!(store.grant_mode(0o7777), 0o755 & !read_umask());
        assert_eq!((grant_bits(0o7777, 0o077), grant_bits(0o644, 0o022)), (0o700, 0o644));
        assert_ne!(read_umask(), 0o077);
    }
}
