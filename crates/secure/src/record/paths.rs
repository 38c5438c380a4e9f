//! What is remembered of paths to guess the numbers of what they deliver, and how much guessing is
//! allowed.

use polypath_proto::PathId;
use polypath_proto::time::{Duration, Time};

/// Openings in search of a number, a second. Strangers who know an association's tags can make us
/// spend them: 0.35 us each for 1400 bytes, so 0.7 ms a second, a thousandth of one core.
const SEARCHES_PER_SECOND: u64 = 2000;

/// Openings that may be spent at once: fourteen packets that need the longest search.
const SEARCHES_AT_ONCE: u32 = 256;

/// One more is allowed each time that this has passed.
const SEARCH_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / SEARCHES_PER_SECOND);

/// The paths of an association, and its searches.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    known: Vec<Known>,
    /// Searches are paid for up to this time (a bucket of tokens, told by when it is full again).
    paid: Time,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// How much later than the earliest it delivers, as was seen last.
    pub(super) lag: Option<Duration>,
    /// Epoch and number of what it delivered last.
    pub(super) last: Option<(u64, u64)>,
}

impl Paths {
    pub(super) fn known(&self, path: Option<PathId>) -> Known {
        let known = path.and_then(|path| self.known.get(path.index()));
        known.copied().unwrap_or_default()
    }

    /// A path has delivered a record of this epoch and number. `lag` is `None` if it says nothing
    /// about that.
    pub(super) fn learn(&mut self, path: PathId, lag: Option<Duration>, last: (u64, u64)) {
        if self.known.len() <= path.index() {
            // An index is a byte: 256 paths at most.
            self.known.resize(path.index() + 1, Known::default());
        }
        if let Some(known) = self.known.get_mut(path.index()) {
            *known = Known { lag: lag.or(known.lag), last: Some(last) };
        }
    }

    /// Another path may have its number from now on.
    pub(crate) fn forget(&mut self, path: PathId) {
        if let Some(known) = self.known.get_mut(path.index()) {
            *known = Known::default();
        }
    }

    /// Whether one more opening may be tried; counted if so.
    pub(super) fn may_search(&mut self, now: Time) -> bool {
        let paid = self.paid.max(now) + SEARCH_INTERVAL;
        let may = paid <= now + SEARCH_INTERVAL * SEARCHES_AT_ONCE;
        if may {
            self.paid = paid;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_limited_and_allowed_again_in_time() {
        let mut paths = Paths::default();
        let tries = |paths: &mut Paths, now| (0..10_000).filter(|_| paths.may_search(now)).count();
        assert_eq!(tries(&mut paths, Time::ZERO), 256);
        assert_eq!(tries(&mut paths, Time::from_secs(5)), 256);
        assert_eq!(tries(&mut paths, Time::from_millis(5010)), 20);
        assert_eq!(tries(&mut paths, Time::from_secs(99)), 256);
    }

    #[test]
    fn a_path_that_is_gone_leaves_no_lag() {
        let mut paths = Paths::default();
        let known = Known { lag: Some(Duration::from_millis(7)), last: Some((3, 5)) };
        paths.learn(PathId(3), known.lag, (3, 4));
        paths.learn(PathId(3), None, (3, 5));
        assert_eq!(paths.known(Some(PathId(3))), known);
        for other in [Some(PathId(2)), Some(PathId(4)), None] {
            assert_eq!(paths.known(other), Known::default());
        }
        paths.forget(PathId(3));
        paths.forget(PathId(200));
        assert_eq!(paths.known(Some(PathId(3))), Known::default());
    }
}
