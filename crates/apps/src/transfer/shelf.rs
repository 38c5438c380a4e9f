//! Unfinished files: whose turn it is to write one, and which of its chunks are there. One sender's
//! file is one session's at a time; a newer session of the same sender takes it over at once, with
//! what is known of it, because the older one is dead most likely.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::codec::{Digest, Verdict};
use super::identity::FileKey;
use super::layout::Layout;
use super::part::Stamp;
use super::tree::Refusal;

/// Unfinished files that nobody sends at present and that are known without reading them, at most.
const MAX_LEFT: usize = 4096;
/// Hashes that are kept of those, at most.
const MAX_DIGESTS: usize = 1 << 20;

/// One transfer, as the others know it.
#[derive(Debug)]
pub(crate) struct Session {
    number: u64,
    /// Another session of its sender has taken a file over.
    pub(crate) superseded: Notify,
}

/// One unfinished file.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    content: Mutex<Content>,
    /// When it was left, in the order of leaving; 0: it is in use.
    left: AtomicU64,
    digests: AtomicUsize,
}

#[derive(Debug, Default)]
pub(crate) struct Content {
    user: Option<Arc<Session>>,
    /// Being given its name.
    storing: bool,
    /// No longer on the list.
    gone: bool,
    layout: Option<Layout>,
    /// Chunks that are there, and on the disk.
    pub(crate) chunks: BTreeMap<u32, Digest>,
    /// Where they are.
    pub(crate) inode: Option<u64>,
    /// How the file was when it was left.
    pub(crate) stamp: Option<Stamp>,
}

/// A newer session of the same sender has the file.
#[derive(Debug)]
pub(crate) struct TakenOver;

impl Shelf {
    /// What is known of the file, for the session that has it.
    pub(crate) fn lock_content(
        &self,
        session: &Session,
    ) -> Result<MutexGuard<'_, Content>, TakenOver> {
        let content = self.lock();
        let mine = content.user.as_ref().is_some_and(|user| user.number == session.number);
        if mine { Ok(content) } else { Err(TakenOver) }
    }

    /// From now on nobody takes the file over.
    pub(crate) fn begin_to_store(&self, session: &Session) -> Result<(), TakenOver> {
        self.lock_content(session)?.storing = true;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Shelves {
    all: Mutex<BTreeMap<FileKey, Arc<Shelf>>>,
    sessions: AtomicU64,
    leavings: AtomicU64,
}

impl Shelves {
    pub(crate) fn new_session(&self) -> Arc<Session> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        Arc::new(Session { number, superseded: Notify::new() })
    }

    /// Gives a file to a session, and tells the one that had it.
    pub(crate) fn take_file(
        &self,
        key: FileKey,
        session: &Arc<Session>,
        layout: Layout,
    ) -> Result<Arc<Shelf>, Refusal> {
        loop {
            let shelf = self.lock_shelves().entry(key).or_default().clone();
            let mut content = shelf.lock();
            if content.gone {
                continue;
            }
            let other = content.user.as_ref().filter(|user| user.number != session.number);
            if content.storing || (content.user.is_some() && other.is_none()) {
                let text = "another transfer of the same sender has it";
                return Err(Refusal::new(Verdict::Busy, text));
            }
            if let Some(other) = other {
                other.superseded.notify_one();
                content.stamp = None;
            }
            if content.layout != Some(layout) {
                (content.chunks, content.inode, content.stamp) = Default::default();
            }
            (content.user, content.layout) = (Some(session.clone()), Some(layout));
            shelf.left.store(0, Ordering::Relaxed);
            drop(content);
            return Ok(shelf);
        }
    }

    /// The session is done with the file. What is there of it, as `stamp` says, is remembered; with
    /// `None` it is forgotten.
    pub(crate) fn leave_file(
        &self,
        key: FileKey,
        shelf: &Shelf,
        session: &Session,
        stamp: Option<Stamp>,
    ) {
        let Ok(mut content) = shelf.lock_content(session) else { return };
        (content.user, content.storing, content.stamp) = (None, false, stamp);
        content.gone = stamp.is_none();
        shelf.digests.store(content.chunks.len(), Ordering::Relaxed);
        let leaving = self.leavings.fetch_add(1, Ordering::Relaxed) + 1;
        shelf.left.store(leaving, Ordering::Relaxed);
        let gone = content.gone;
        drop(content);
        if gone {
            self.lock_shelves().remove(&key);
        } else {
            self.forget_the_oldest();
        }
    }

    fn forget_the_oldest(&self) {
        let mut all = self.lock_shelves();
        let left = |shelf: &Arc<Shelf>| shelf.left.load(Ordering::Relaxed);
        loop {
            let free = || all.iter().filter(|(_, shelf)| left(shelf) > 0);
            let digests: usize = free().map(|(_, s)| s.digests.load(Ordering::Relaxed)).sum();
            if free().count() <= MAX_LEFT && digests <= MAX_DIGESTS {
                return;
            }
            let oldest = free().min_by_key(|(_, shelf)| left(shelf)).map(|(key, _)| *key);
            let Some((key, shelf)) = oldest.and_then(|key| all.remove_entry(&key)) else { return };
            let mut content = shelf.lock();
            content.gone = content.user.is_none();
            let taken = !content.gone;
            drop(content);
            if taken {
                all.insert(key, shelf);
            }
        }
    }

    fn lock_shelves(&self) -> MutexGuard<'_, BTreeMap<FileKey, Arc<Shelf>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: FileKey = FileKey([1; 16]);

    fn layout() -> Layout {
        Layout::new(5 << 20, 16).unwrap()
    }

    fn stamp() -> Option<Stamp> {
        Some(Stamp { inode: 1, size: 2, mtime: (3, 4) })
    }

    #[tokio::test]
    async fn a_newer_session_takes_a_file_over_with_what_is_known() {
        let shelves = Shelves::default();
        let (old, new) = (shelves.new_session(), shelves.new_session());
        let shelf = shelves.take_file(KEY, &old, layout()).unwrap();
        shelf.lock_content(&old).unwrap().chunks.insert(3, [3; 32]);
        assert_eq!(shelves.take_file(KEY, &old, layout()).unwrap_err().verdict, Verdict::Busy);
        let again = shelves.take_file(KEY, &new, layout()).unwrap();
        old.superseded.notified().await;
        assert!(shelf.lock_content(&old).is_err());
        assert_eq!(again.lock_content(&new).unwrap().chunks.len(), 1);
        shelves.leave_file(KEY, &shelf, &old, None);
        assert!(again.lock_content(&new).is_ok());
        again.begin_to_store(&new).unwrap();
        assert_eq!(shelves.take_file(KEY, &old, layout()).unwrap_err().verdict, Verdict::Busy);
        shelves.leave_file(KEY, &again, &new, None);
        assert!(
            shelves
                .take_file(KEY, &old, layout())
                .unwrap()
                .lock_content(&old)
                .unwrap()
                .chunks
                .is_empty()
        );
    }

    #[test]
    fn what_was_cut_otherwise_is_of_no_use() {
        let shelves = Shelves::default();
        let session = shelves.new_session();
        let shelf = shelves.take_file(KEY, &session, layout()).unwrap();
        shelf.lock_content(&session).unwrap().chunks.insert(0, [0; 32]);
        shelves.leave_file(KEY, &shelf, &session, stamp());
        let shelf = shelves.take_file(KEY, &session, layout()).unwrap();
        assert_eq!(shelf.lock_content(&session).unwrap().chunks.len(), 1);
        assert_eq!(shelf.lock_content(&session).unwrap().stamp, stamp());
        shelves.leave_file(KEY, &shelf, &session, stamp());
        let shelf = shelves.take_file(KEY, &session, Layout::new(5 << 20, 12).unwrap()).unwrap();
        assert!(shelf.lock_content(&session).unwrap().chunks.is_empty());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let shelves = Shelves::default();
        let session = shelves.new_session();
        for i in 0..2 * MAX_LEFT as u64 {
            let key = FileKey([i.to_le_bytes(), [0; 8]].concat().try_into().unwrap());
            let shelf = shelves.take_file(key, &session, layout()).unwrap();
            shelves.leave_file(key, &shelf, &session, stamp());
        }
        assert_eq!(shelves.lock_shelves().len(), MAX_LEFT);
        for i in 0..20u8 {
            let shelf = shelves.take_file(FileKey([i; 16]), &session, layout()).unwrap();
            shelf.lock_content(&session).unwrap().chunks =
                (0..1 << 16).map(|i| (i, [0; 32])).collect();
            shelves.leave_file(FileKey([i; 16]), &shelf, &session, stamp());
        }
        let all = shelves.lock_shelves();
        let digests: usize = all.values().map(|s| s.digests.load(Ordering::Relaxed)).sum();
        assert!(digests <= MAX_DIGESTS, "{digests}");
        assert!(all.contains_key(&FileKey([19; 16])));
    }
}
