//! Runs of packets on slower paths, for a peer that reports few gap ack blocks.
//!
//! A packet on a slower path is a gap in what the peer has until it arrives, for all that went out
//! after it on a faster one. Linux reports 16 gap ack blocks and WebRTC 20, the lowest ones:
//! beyond them the faster path's packets are reported when the slower one's have arrived, and that
//! path crawls. Packets that follow each other on the slower path are one gap.

use polypath_proto::PathId;
use polypath_proto::view::{AssocView, PathView};

/// So many blocks every peer reports.
const ALWAYS: u64 = 14;
/// So many more than it ever reported are tried: it may report them, too.
const MORE: u64 = 2;

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
        let blocks = ALWAYS.max(u64::from(view.most_gap_blocks) + MORE);
        let packets = (slower / mtu.max(1)).div_ceil(blocks);
        self.half = packets.saturating_sub(1) * mtu / 2;
        self.fastest = Some(fastest);
    }

    /// There are none: the peer tells all that it has, or there is no slower path.
    pub(super) const fn end(&mut self) {
        self.half = 0;
    }

    /// Whether there are runs now.
    pub(super) const fn are_needed(&self) -> bool {
        self.half > 0
    }

    /// The cap of a path, which is `cap` on average.
    #[inline]
    pub(super) fn cap(&self, path: &PathView, cap: u64) -> u64 {
        if self.half == 0 || Some(path.id) == self.fastest {
            cap
        } else if Some(path.id) == self.latest {
            cap.saturating_add(self.half)
        } else {
            cap.saturating_sub(self.half).max(u64::from(path.mtu))
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
    /// that may be on average, with a peer that reported so many blocks.
    fn run(cap: u64, blocks: u16) -> (u64, u64) {
        let p = paths(2);
        let mut view = AssocView::new(Time::from_secs(1), &p);
        view.most_gap_blocks = blocks;
        let mut runs = Runs::default();
        runs.begin_attempt(&view, FAST, cap * MTU);
        runs.on_sent(FAST);
        assert_eq!(runs.cap(&p[0], 9_000), 9_000, "the fastest path makes no gap");
        let begins = runs.cap(&p[1], cap * MTU) / MTU;
        runs.on_sent(SLOW);
        (begins, runs.cap(&p[1], cap * MTU) / MTU)
    }

    #[test]
    fn as_many_packets_follow_each_other_as_the_blocks_do_not_tell_apart() {
        assert_eq!(run(14, 0), (14, 14), "each may be a gap of its own");
        // 110 packets in 22 blocks: runs of five.
        assert_eq!(run(110, 20), (108, 112));
        assert_eq!(run(110, 108), (110, 110), "it reports more");
    }
}
