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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    const P: PathId = PathId(1);
    const NOW: Time = Time::from_secs(1);

    /// Of two paths.
    fn queue() -> CopyQueue {
        let mut queue = CopyQueue::default();
        queue.add_path(PathId(0));
        queue.add_path(P);
        queue
    }

    fn after(ms: u64) -> Time {
        NOW + Duration::from_millis(ms)
    }

    #[test]
    fn wanted_copies_leave_in_order_and_are_forgotten_with_their_path() {
        let mut queue = queue();
        assert!(!queue.has_wanted() && queue.first_wanted(P).is_none());
        queue.push_wanted(P, 7);
        queue.push_wanted(P, 9);
        assert_eq!((queue.has_wanted(), queue.first_wanted(P)), (true, Some(7)));
        assert_eq!(queue.first_wanted(PathId(0)), None);
        queue.drop_first_wanted(P);
        assert_eq!(queue.first_wanted(P), Some(9));
        queue.clear_path(PathId(0));
        assert!(queue.has_wanted());
        queue.clear_path(P);
        assert!(!queue.has_wanted());
        queue.push_wanted(PathId(0), 7);
        queue.clear();
        assert!(!queue.has_wanted());
    }

    #[test]
    fn copies_linger_until_their_answer_is_due() {
        let mut queue = queue();
        queue.note_lingering(NOW, P, NOW, 1000);
        assert_eq!(queue.lingering(NOW, P), 0, "it is due already");
        queue.note_lingering(NOW, P, after(10), 1000);
        queue.note_lingering(NOW, P, after(20), 500);
        assert_eq!((queue.lingering(NOW, P), queue.lingering(NOW, PathId(0))), (1500, 0));
        assert_eq!(queue.lingering(after(9), P), 1500);
        assert_eq!((queue.lingering(after(10), P), queue.lingering(after(20), P)), (500, 0));
    }

    #[test]
    fn a_sixteenth_of_what_is_acknowledged_pays_for_copies_at_the_end() {
        let mut queue = queue();
        assert!(queue.take_tail_credit(BURST), "the first are free");
        assert!(!queue.take_tail_credit(1));
        queue.add_credit(P, 16 * 1000);
        assert!(!queue.take_tail_credit(1001) && queue.take_tail_credit(1000));
        assert!(!queue.take_tail_credit(1));
        queue.add_credit(P, 100 * BURST);
        assert!(queue.take_tail_credit(BURST) && !queue.take_tail_credit(1), "never more");
    }

    #[test]
    fn so_many_copied_chunks_are_remembered_and_the_oldest_is_forgotten_first() {
        let mut queue = queue();
        for tsn in 0..=REMEMBERED as u64 {
            queue.note_copied(tsn, 1000, (P, after(tsn)), PathId(0));
        }
        assert_eq!(queue.take_copied(P, 0), None);
        assert_eq!(queue.take_copied(P, 1), Some(after(1)));
        assert_eq!(queue.take_copied(P, 1), None, "once");
        assert_eq!(queue.take_copied(PathId(0), 2), None, "it went from the other path");
    }
}
