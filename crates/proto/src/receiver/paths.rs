//! Where DATA came from: what the engine needs to choose a SACK's path (RFC 9260 section 6.4).

use crate::config::MAX_PATHS;
use crate::ids::PathId;
use crate::time::Time;

/// A set of paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathSet(u16);

const _: () = assert!(MAX_PATHS <= u16::BITS as usize);

impl PathSet {
    const fn bit(path: PathId) -> u16 {
        if path.index() < MAX_PATHS { 1 << path.0 } else { 0 }
    }

    fn insert(&mut self, path: PathId) {
        self.0 |= Self::bit(path);
    }

    /// Whether it has no member.
    #[cfg(test)]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `path` is a member.
    pub(crate) const fn contains(self, path: PathId) -> bool {
        self.0 & Self::bit(path) != 0
    }

    /// The members, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = PathId> {
        (0..MAX_PATHS as u8).map(PathId).filter(move |path| self.contains(*path))
    }
}

/// Paths by their DATA and SACKs.
#[derive(Clone, Debug)]
pub(super) struct DataPaths {
    last: PathId,
    /// Of the first DATA since the last SACK.
    first: Option<PathId>,
    since_sack: PathSet,
    /// A FORWARD-TSN was repeated since the last SACK.
    repeated: bool,
    arrived: Times,
    /// None before the first DATA.
    shares: Option<Box<Shares>>,
    sacked: Times,
}

/// How many of the latest packets with DATA came on each path: counts that are halved all together
/// now and then.
#[derive(Clone, Debug, Default)]
struct Shares {
    counts: Vec<u16>,
    total: u16,
}

impl Shares {
    /// Counts are halved when there are so many.
    const WINDOW: u16 = 512;

    #[inline]
    fn note(&mut self, path: PathId) {
        if path.index() >= MAX_PATHS {
            return;
        }
        if self.counts.len() <= path.index() {
            // Most associations have one path or two, and a server has many associations.
            self.counts.reserve_exact(path.index() + 1 - self.counts.len());
            self.counts.resize(path.index() + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(path.index()) {
            *count += 1;
        }
        self.total += 1;
        if self.total >= Self::WINDOW {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().sum();
        }
    }

    /// Whether the path brought one in `part` of them, or would with one more.
    fn reaches(&self, path: PathId, part: u16) -> bool {
        let count = self.counts.get(path.index()).copied().unwrap_or(0);
        u32::from(count + 1) * u32::from(part) >= u32::from(self.total)
    }
}

/// A time per path. Grows with the paths that are used: most associations are idle and have few.
type Times = Vec<Option<Time>>;

#[inline]
fn note(times: &mut Times, path: PathId, now: Time) {
    if path.index() >= MAX_PATHS {
        return;
    }
    if times.len() <= path.index() {
        times.reserve_exact(path.index() + 1 - times.len());
        times.resize(path.index() + 1, None);
    }
    if let Some(time) = times.get_mut(path.index()) {
        *time = Some(now);
    }
}

impl DataPaths {
    pub(super) const fn new() -> Self {
        Self {
            last: PathId(0),
            first: None,
            since_sack: PathSet(0),
            repeated: false,
            arrived: Vec::new(),
            shares: None,
            sacked: Vec::new(),
        }
    }

    /// DATA came on `path`.
    #[inline]
    pub(super) fn data(&mut self, path: PathId, now: Time) {
        note(&mut self.arrived, path, now);
        self.shares.get_or_insert_default().note(path);
        self.last = path;
        self.first.get_or_insert(path);
        self.since_sack.insert(path);
    }

    /// A FORWARD-TSN that was acknowledged before came on `path`.
    pub(super) fn repeated(&mut self, path: PathId, now: Time) {
        self.data(path, now);
        self.repeated = true;
    }

    /// Whether one came since the last SACK.
    pub(super) const fn has_repeated(&self) -> bool {
        self.repeated
    }

    /// A SACK was written: what came before it is acknowledged.
    pub(super) fn sack_written(&mut self) {
        self.repeated = false;
        self.since_sack = PathSet::default();
        self.first = None;
    }

    /// The SACK went out on `path`.
    pub(super) fn sack_sent(&mut self, path: PathId, now: Time) {
        note(&mut self.sacked, path, now);
    }

    /// When a SACK went out on `path` the last time.
    pub(super) fn sacked(&self, path: PathId) -> Option<Time> {
        self.sacked.get(path.index()).copied().flatten()
    }

    pub(super) const fn last(&self) -> PathId {
        self.last
    }

    /// When DATA came on `path` the last time.
    pub(super) fn arrived(&self, path: PathId) -> Option<Time> {
        self.arrived.get(path.index()).copied().flatten()
    }

    /// Whether one in `part` of the latest packets with DATA came on `path`, or would with one
    /// more.
    pub(super) fn brought(&self, path: PathId, part: u16) -> bool {
        self.shares.as_ref().is_none_or(|shares| shares.reaches(path, part))
    }

    /// The path of the first DATA since the last SACK; of the last one if there is no DATA to
    /// acknowledge.
    pub(super) fn first(&self) -> PathId {
        self.first.unwrap_or(self.last)
    }

    #[cfg(test)]
    pub(super) const fn since_sack(&self) -> PathSet {
        self.since_sack
    }

    /// Among the paths with DATA since the last SACK, the one that carried a SACK longest ago,
    /// never before all; of equals the lowest. The path of the last DATA if there is no DATA to
    /// acknowledge.
    pub(super) fn round_robin(&self) -> PathId {
        self.since_sack.iter().min_by_key(|path| self.sacked(*path)).unwrap_or(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_takes_the_path_without_a_sack_for_longest() {
        let mut paths = DataPaths::new();
        let at = Time::from_millis;
        [2, 0, 1].map(PathId).into_iter().for_each(|path| paths.data(path, at(0)));
        assert_eq!((paths.last(), paths.round_robin()), (PathId(1), PathId(0)));
        assert_eq!(paths.first(), PathId(2));
        paths.sack_sent(PathId(0), at(1));
        paths.sack_sent(PathId(1), at(2));
        assert_eq!(paths.round_robin(), PathId(2));
        paths.sack_sent(PathId(2), at(3));
        assert_eq!(paths.round_robin(), PathId(0));
        paths.sack_written();
        assert!(paths.since_sack().is_empty());
        assert_eq!((paths.round_robin(), paths.first()), (PathId(1), PathId(1)));
        paths.data(PathId(2), at(4));
        assert_eq!(paths.round_robin(), PathId(2));
        assert!(paths.since_sack().contains(PathId(2)) && !paths.since_sack().contains(PathId(0)));
    }

    #[test]
    fn shares_follow_the_latest_data() {
        let mut paths = DataPaths::new();
        let (near, far) = (PathId(1), PathId(0));
        paths.data(near, Time::ZERO);
        assert!(paths.brought(near, 32) && paths.brought(PathId(2), 32), "of one packet");
        (0..200).for_each(|_| paths.data(far, Time::ZERO));
        assert!(paths.brought(far, 32) && !paths.brought(near, 32));
        (0..20).for_each(|_| paths.data(near, Time::ZERO));
        assert!(paths.brought(near, 32));
        (0..2_000).for_each(|_| paths.data(far, Time::ZERO));
        assert!(!paths.brought(near, 32), "long ago");
    }

    #[test]
    fn paths_beyond_the_limit_are_not_remembered() {
        let mut paths = DataPaths::new();
        paths.data(PathId(200), Time::ZERO);
        paths.sack_sent(PathId(200), Time::ZERO);
        assert!(paths.since_sack().is_empty());
        assert_eq!(paths.round_robin(), PathId(200));
    }
}
