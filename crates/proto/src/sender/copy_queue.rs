//! What is known, path by path, of copies: chunks in flight that went out on a second path as well,
//! or are to.

use std::collections::{BTreeMap, VecDeque};

use crate::ids::PathId;
use crate::time::Time;

/// Copied TSNs that are remembered, at most.
const REMEMBERED: usize = 1024;

/// Bytes of copies that may leave on a path at once: about what the queue of a path that is in use
/// takes in addition. What a silent path had in flight is a window, and all of it in one go would
/// overflow that queue.
const BURST: u64 = 32 * 1500;

/// What is acknowledged pays for this part of it as copies at the end of what there is to send.
const TAIL_SHARE: u64 = 16;

/// Copies of all paths.
#[derive(Debug)]
pub(crate) struct CopyQueue {
    paths: Vec<PathCopies>,
    /// Bytes of copies at the end of what there is to send that are paid for.
    tail_credit: u64,
}

impl Default for CopyQueue {
    fn default() -> Self {
        Self { paths: Vec::new(), tail_credit: BURST }
    }
}

/// Copies of one path.
#[derive(Debug, Default)]
struct PathCopies {
    /// Bytes of copies that may leave here now ([`CopyQueue::has_credit`]).
    credit: u64,
    /// TSNs of this path that were copied elsewhere, and when they went out here: should the peer
    /// report one as a duplicate, this path delivered it.
    copied: BTreeMap<u64, Time>,
    /// Chunks in flight on other paths of which a copy is wanted here, in the order of sending.
    wanted: VecDeque<u64>,
    /// Copies sent here whose chunks were acknowledged for another path before the answer from here
    /// could come: when it is due, and bytes.
    lingering: VecDeque<(Time, u64)>,
}

impl CopyQueue {
    /// Makes room for path `p`.
    pub(crate) fn add_path(&mut self, p: PathId) {
        if self.paths.len() <= p.index() {
            // Most associations have one path or two, and a server has many associations.
            self.paths.reserve_exact(p.index() + 1 - self.paths.len());
            self.paths.resize_with(p.index() + 1, PathCopies::default);
        }
    }

    /// Forgets what it knows of path `p`, which is removed.
    pub(crate) fn clear_path(&mut self, p: PathId) {
        if let Some(own) = self.paths.get_mut(p.index()) {
            *own = PathCopies::default();
        }
    }

    /// Forgets everything, as the association ends or restarts.
    pub(crate) fn clear(&mut self) {
        self.paths.iter_mut().for_each(|own| *own = PathCopies::default());
    }

    /// A path's chunks begin to be copied: the first ones may leave on every other path at once.
    pub(crate) fn grant_burst(&mut self) {
        for own in &mut self.paths {
            own.credit = BURST;
        }
    }

    /// So much of `p` was acknowledged: as much again may leave as copies, and the same once more,
    /// as in slow start.
    #[inline]
    pub(crate) fn add_credit(&mut self, p: PathId, acked: u64) {
        self.tail_credit = (self.tail_credit + acked / TAIL_SHARE).min(BURST);
        if let Some(own) = self.paths.get_mut(p.index()) {
            own.credit = own.credit.saturating_add(2 * acked);
        }
    }

    /// Whether another copy may leave on `p`.
    pub(crate) fn has_credit(&self, p: PathId) -> bool {
        self.paths.get(p.index()).is_some_and(|own| own.credit > 0)
    }

    /// Whether a copy of `size` bytes at the end of what there is to send is paid for; then it is
    /// not any more.
    pub(crate) fn take_tail_credit(&mut self, size: u64) -> bool {
        let left = self.tail_credit.checked_sub(size);
        self.tail_credit = left.unwrap_or(self.tail_credit);
        left.is_some()
    }

    /// A copy of `tsn`, of `size` bytes, which has been in flight on `home` since `sent`, went out on
    /// `to`.
    pub(crate) fn note_copied(&mut self, tsn: u64, size: u64, home: (PathId, Time), to: PathId) {
        let (home, sent) = home;
        if let Some(own) = self.paths.get_mut(home.index()) {
            own.copied.insert(tsn, sent);
            if own.copied.len() > REMEMBERED {
                own.copied.pop_first();
            }
        }
        if let Some(own) = self.paths.get_mut(to.index()) {
            own.credit = own.credit.saturating_sub(size);
        }
    }

    /// The peer got `tsn` twice. Gives when it had gone out on `p` if it was copied from there, so
    /// that this path delivered it.
    #[inline]
    pub(crate) fn take_copied(&mut self, p: PathId, tsn: u64) -> Option<Time> {
        self.paths.get_mut(p.index())?.copied.remove(&tsn)
    }

    /// A copy of `tsn` is wanted on `p` as soon as there is room.
    pub(crate) fn push_wanted(&mut self, p: PathId, tsn: u64) {
        if let Some(own) = self.paths.get_mut(p.index()) {
            own.wanted.push_back(tsn);
        }
    }

    /// Whether copies wait for room anywhere.
    pub(crate) fn has_wanted(&self) -> bool {
        self.paths.iter().any(|own| !own.wanted.is_empty())
    }

    /// The first copy that is wanted on `p`.
    pub(crate) fn first_wanted(&self, p: PathId) -> Option<u64> {
        self.paths.get(p.index())?.wanted.front().copied()
    }

    /// The first copy that is wanted on `p` makes no sense any more.
    pub(crate) fn drop_first_wanted(&mut self, p: PathId) {
        if let Some(own) = self.paths.get_mut(p.index()) {
            own.wanted.pop_front();
        }
    }

    /// A chunk was acknowledged of which a copy of `size` bytes may still be on its way along `p`,
    /// until `due`.
    pub(crate) fn note_lingering(&mut self, now: Time, p: PathId, due: Time, size: u64) {
        if let Some(own) = self.paths.get_mut(p.index()).filter(|_| due > now) {
            own.drop_arrived(now);
            own.lingering.push_back((due, size));
        }
    }

    /// Bytes of copies that may still be on their way along `p` although their chunks are
    /// acknowledged: whoever sends copies must not fill a slow path at the rate of a fast one.
    pub(crate) fn lingering(&mut self, now: Time, p: PathId) -> u64 {
        let Some(own) = self.paths.get_mut(p.index()) else { return 0 };
        own.drop_arrived(now);
        own.lingering.iter().map(|l| l.1).sum()
    }
}

impl PathCopies {
    fn drop_arrived(&mut self, now: Time) {
        while self.lingering.front().is_some_and(|&(due, _)| due <= now) {
            self.lingering.pop_front();
        }
    }
}
