//! Runs of packets on slower paths, for a peer that reports few gap ack blocks.
//!
//! A packet on a slower path is a gap in what the peer has until it arrives, for all that went out
//! after it on a faster one. Linux reports 16 gap ack blocks and WebRTC 20, the lowest ones:
//! beyond them the faster path's packets are reported when the slower one's have arrived, and that
//! path crawls. Packets that follow each other on the slower path are one gap.

use polypath_proto::PathId;
use polypath_proto::view::{AssocView, PathView};

/// So many blocks every peer reports (Linux: `SCTP_MAX_GABS`).
const ALWAYS: u64 = 16;
/// Whoever reported more has no limit but the path MTU (WebRTC's library has this one).
const LIMITED: u64 = 20;

/// The gaps of runs for a peer that reported so many blocks: three quarters, for losses and
/// reordering make gaps, too.
const fn gaps(most_blocks: u64) -> u64 {
    most_blocks - most_blocks / 4
}

/// How long runs are to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Runs {
    /// Bytes by which a run begins below the cap and ends above it; none without runs.
    half: u64,
    /// The path without gaps.
    fastest: Option<PathId>,
    /// The one that carried the latest new chunk.
    latest: Option<PathId>,
}

impl Runs {
    /// A send attempt begins: `slower` bytes may be in flight on paths slower than `fastest`.
    pub(super) fn begin_attempt(&mut self, view: &AssocView<'_>, fastest: PathId, slower: u64) {
        let mtu = view.path(fastest).map_or(1500, |path| u64::from(path.mtu));
        let most = u64::from(view.most_gap_blocks);
        if most > LIMITED {
            return self.end();
        }
        let gaps = gaps(ALWAYS.max(most));
        let packets = (slower / mtu.max(1)).div_ceil(gaps);
        self.half = packets.saturating_sub(1) * mtu / 2;
        self.fastest = Some(fastest);
    }

    /// There are none: the peer tells all that it has, or there is no slower path.
    pub(super) const fn end(&mut self) {
        self.half = 0;
    }

    /// Whether the latest chunk belongs to a run on the path.
    #[inline]
    pub(super) fn is_under_way(&self, path: PathId) -> bool {
        self.are_needed() && Some(path) == self.latest && Some(path) != self.fastest
    }

    /// Whether there are runs now.
    pub(super) const fn are_needed(&self) -> bool {
        self.half > 0
    }

    /// The cap of a path: `cap` on average, or less where its window ends runs. A run begins when
    /// all of it has room, else the window's acknowledgements would tear it.
    #[inline]
    pub(super) fn cap(&self, path: &PathView, cap: u64) -> u64 {
        if self.half == 0 || Some(path.id) == self.fastest {
            return cap;
        }
        let end = cap.saturating_add(self.half);
        if Some(path.id) == self.latest {
            end
        } else {
            end.min(path.cwnd).saturating_sub(2 * self.half).max(u64::from(path.mtu))
        }
    }

    /// New data went out on the path.
    #[inline]
    pub(super) fn on_sent(&mut self, path: PathId) {
        self.latest = Some(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::paths;
    use polypath_proto::time::Time;

    const FAST: PathId = PathId(0);
    const SLOW: PathId = PathId(1);
    const MTU: u64 = 1_500;

    /// The packets that the slower path may have in flight to begin a run and to end it, of `cap`
    /// that may be on average and a window, with a peer that reported so many blocks.
    fn run(cap: u64, window: u64, blocks: u16) -> (u64, u64) {
        let mut p = paths(2);
        p[1].cwnd = window * MTU;
        let mut view = AssocView::new(Time::from_secs(1), &p);
        view.most_gap_blocks = blocks;
        let mut runs = Runs::default();
        runs.begin_attempt(&view, FAST, cap.min(window) * MTU);
        runs.on_sent(FAST);
        assert_eq!(runs.cap(&p[0], 9_000), 9_000, "the fastest path makes no gap");
        let begins = runs.cap(&p[1], cap * MTU) / MTU;
        runs.on_sent(SLOW);
        (begins, runs.cap(&p[1], cap * MTU).min(p[1].cwnd) / MTU)
    }

    #[test]
    fn as_many_packets_follow_each_other_as_the_blocks_do_not_tell_apart() {
        assert_eq!(run(12, 100, 0), (12, 12), "each may be a gap of its own");
        // 105 packets in 15 gaps: runs of seven.
        assert_eq!(run(105, 1_000, 20), (102, 108));
        assert_eq!(run(105, 1_000, 21), (105, 105), "it reports all");
    }

    #[test]
    fn a_window_ends_runs_and_does_not_tear_them() {
        assert_eq!(run(1_000, 105, 20), (99, 105));
    }

    #[test]
    fn a_run_is_under_way_on_a_slower_path_that_carried_the_latest_chunk() {
        let p = paths(2);
        let view = AssocView::new(Time::from_secs(1), &p);
        let mut runs = Runs::default();
        runs.on_sent(SLOW);
        assert!(!runs.is_under_way(SLOW), "nobody needs runs");
        runs.begin_attempt(&view, FAST, 100 * MTU);
        assert!(runs.is_under_way(SLOW));
        runs.on_sent(FAST);
        assert!(!runs.is_under_way(SLOW) && !runs.is_under_way(FAST));
    }
}
