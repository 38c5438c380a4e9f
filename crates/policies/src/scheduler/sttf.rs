//! `sttf`: shortest transfer time first (Hurtig et al., IEEE/ACM ToN 2018).
//!
//! The transfer time of a packet on a path is how long its last byte takes to arrive, its place in
//! the queue of that path and the growth of the window included: what fits into the window now
//! needs RTT/2; else one RTT passes per window until the packet's turn, windows doubling up to
//! ssthresh and growing by a packet thereafter. Each packet is assigned to the path of the smallest
//! time, open or not, and everything unsent is assigned anew whenever conditions change.
//!
//! Ours: assigning all that is unsent, as far as the peer's window admits it, and sending what
//! falls to open paths comes to one question per chunk. Let T be the smallest time among the open
//! paths. The paths that are not open take what they can deliver before T; if that is less than
//! what is unsent, some packet falls to the open path, which sends now; else it waits. As in
//! `otias`, the chunk that it sends is the next in line and not that packet. RTT is the smoothed
//! one (the authors' code has the latest sample), and windows start to grow from what they are when
//! the first of them is used up.

use polypath_proto::policy::{PathPick, PathScheduler, Policy};
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::rtt_helpers::{admitted_bytes, in_flight, least_by, srtt_seconds};
use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry =
    PolicyEntry::path_scheduler("sttf", |_| Ok(Box::new(|_, _| Box::new(Sttf))))
        .summary(
            "the path whose transfer time, its queue and its growing window included, is shortest",
        )
        .source("Hurtig et al. 2018");

/// STTF.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sttf;

/// The windows of a path, one per round trip: the room that is left now, then whole windows,
/// growing.
struct Windows {
    cwnd: u64,
    ssthresh: u64,
    mss: u64,
    room: Option<u64>,
}

impl Windows {
    fn of(path: &PathView) -> Self {
        let mss = u64::from(path.pmdcs).max(1);
        Self { cwnd: path.cwnd.max(1), ssthresh: path.ssthresh, mss, room: Some(path.room()) }
    }
}

impl Iterator for Windows {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if let Some(room) = self.room.take() {
            return Some(room);
        }
        self.cwnd = if self.cwnd < self.ssthresh {
            self.cwnd.saturating_mul(2).min(self.ssthresh)
        } else {
            self.cwnd.saturating_add(self.mss)
        };
        Some(self.cwnd)
    }
}

/// Transfer time of the last of `bytes`, in round trips.
fn transfer_time(path: &PathView, bytes: u64) -> f64 {
    let mut before = 0u64;
    let rounds = Windows::of(path).take_while(|&window| {
        before = before.saturating_add(window);
        before < bytes
    });
    rounds.count() as f64 + 0.5
}

/// The bytes that `path` delivers before `time`, in the unit of `rtt`; counted up to `enough`.
fn delivered_before(path: &PathView, rtt: f64, time: f64, enough: u64) -> u64 {
    let mut sum = 0u64;
    for (round, window) in Windows::of(path).enumerate() {
        // Every window but the first has a byte at least, so that this ends.
        if (round as f64 + 0.5) * rtt >= time || sum >= enough {
            break;
        }
        sum = sum.saturating_add(window);
    }
    sum
}

/// Whether all that waits falls to paths that are not open, before the time of `best`, the best one
/// that is.
fn others_take_all(view: &AssocView<'_>, best: &PathView, next: &ChunkMeta) -> bool {
    let time = transfer_time(best, next.bytes.into()) * srtt_seconds(view, best);
    let mut left = admitted_bytes(view, next);
    for path in view.usable().filter(|p| !p.sendable) {
        left = left.saturating_sub(delivered_before(path, srtt_seconds(view, path), time, left));
    }
    left == 0
}

impl Policy for Sttf {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for Sttf {
    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let bytes = u64::from(next.bytes);
        let best = least_by(view.sendable(), |p| transfer_time(p, bytes) * srtt_seconds(view, p));
        match best {
            Some(path) if !in_flight(view) || !others_take_all(view, path, next) => {
                PathPick::Use(path.id)
            }
            _ => PathPick::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{chunk, paths, view};
    use polypath_proto::PathId;
    use polypath_proto::time::Duration;
    use proptest::prelude::*;

    fn path(cwnd: u64, ssthresh: u64, outstanding: u64) -> PathView {
        let mut path = paths(1).remove(0);
        path.pmdcs = 1000;
        (path.cwnd, path.ssthresh, path.outstanding) = (cwnd, ssthresh, outstanding);
        path
    }

    #[test]
    fn rounds_of_slow_start_and_congestion_avoidance_by_hand() {
        // Room for one packet; then windows of 4, 6 (ssthresh), 7, 8 packets: 1, 5, 11, 18, 26 in
        // all.
        let p = path(2_000, 6_000, 1_000);
        let ends = [1_000, 1_001, 5_000, 5_001, 11_000, 11_001, 18_000, 18_001, 26_000, 26_001];
        let times = [0.5, 1.5, 1.5, 2.5, 2.5, 3.5, 3.5, 4.5, 4.5, 5.5];
        assert_eq!(ends.map(|bytes| transfer_time(&p, bytes)), times);
        assert_eq!(delivered_before(&p, 1.0, 0.5, u64::MAX), 0);
        assert_eq!(delivered_before(&p, 1.0, 0.6, u64::MAX), 1_000);
        assert_eq!(delivered_before(&p, 1.0, 3.5, u64::MAX), 11_000);
        assert_eq!(transfer_time(&path(2_000, 6_000, 2_000), 1), 1.5, "a full path needs a round");
    }

    /// Path 0: 20 ms, 4 packets, full, in congestion avoidance. Path 1: 100 ms, open.
    fn full_fast_path() -> Vec<PathView> {
        let mut p = vec![path(4_000, 4_000, 4_000), path(10_000, 10_000, 0)];
        p[0].srtt = Some(Duration::from_millis(20));
        p[1].srtt = Some(Duration::from_millis(100));
        (p[0].sendable, p[1].id) = (false, PathId(1));
        p
    }

    fn pick(p: &[PathView], unsent: u64) -> PathPick {
        let mut view = view(p);
        view.send_buffer.unsent = unsent;
        Sttf.pick_path(&view, &chunk(0, 1000))
    }

    #[test]
    fn waits_while_the_full_path_is_earlier_for_everything() {
        let p = full_fast_path();
        // Path 1: 50 ms. Path 0 before that: its second window, 5 packets, at 30 ms; the third
        // arrives at 50 ms.
        assert_eq!(pick(&p, 5_000), PathPick::Wait);
        assert_eq!(pick(&p, 5_001), PathPick::Use(PathId(1)));
    }

    #[test]
    fn the_open_fast_path_goes_first() {
        let mut p = full_fast_path();
        (p[0].outstanding, p[0].sendable) = (3_000, true);
        assert_eq!(pick(&p, 60_000), PathPick::Use(PathId(0)));
    }

    #[test]
    fn never_waits_for_nothing() {
        let mut p = full_fast_path();
        p[0].outstanding = 0;
        assert_eq!(pick(&p, 1_000), PathPick::Use(PathId(1)));
    }

    /// The published way: packet by packet to the path of the shortest transfer time, open ones
    /// last among equals.
    fn falls_to_an_open_path(p: &[PathView], packets: u64) -> bool {
        let mut queues = vec![0u64; p.len()];
        (0..packets).any(|_| {
            let time = |p: &PathView| {
                let srtt = p.srtt.expect("measured").as_secs_f64();
                transfer_time(p, queues[p.id.index()] + 1000) * srtt
            };
            let best = least_by(p.iter().filter(|p| p.sendable), time).expect("one is open");
            let other = least_by(p.iter().filter(|p| !p.sendable), time);
            let Some(other) = other.filter(|o| time(o) < time(best)) else { return true };
            queues[other.id.index()] += 1000;
            false
        })
    }

    proptest! {
        #[test]
        fn one_question_is_as_good_as_assigning_all(
            own in prop::collection::vec((1u64..30, 1u64..40, 0u64..30, 1u64..300, any::<bool>()), 2..5),
            packets in 1u64..60,
        ) {
            let mut p: Vec<_> = own.iter().enumerate().map(|(i, &(cwnd, ssthresh, out, rtt, open))| {
                let out = if open { out.min(cwnd - 1) } else { out };
                let mut path = path(1000 * cwnd, 1000 * ssthresh, 1000 * out);
                (path.id, path.sendable) = (PathId(i as u8), open);
                path.srtt = Some(Duration::from_millis(rtt));
                path
            }).collect();
            (p[0].sendable, p[0].outstanding) = (true, 0);
            prop_assume!(p.iter().any(|p| p.outstanding > 0));
            let expected = falls_to_an_open_path(&p, packets);
            prop_assert_eq!(pick(&p, 1000 * packets) != PathPick::Wait, expected);
        }
    }
}
