//! `otias`: out-of-order transmission for in-order arrival (Yang, Wang and Amer, WAINA 2014).
//!
//! Each packet is assigned, when it comes, to the path on which it arrives first, even if that path
//! is full: with q_j bytes queued for path j, and room_j left in its window,
//!
//! T_j = (max(0, q_j - room_j) / cwnd_j + 1/2) RTT_j.
//!
//! Ours: a chunk gets its TSN when it leaves, so that there are no queues of chunks per path. This
//! scheduler keeps their lengths instead. What is unsent, as far as the peer's window admits it, is
//! assigned packet by packet and stays assigned; a path that opens takes the chunk that is next in
//! line if bytes are assigned to it, and else stays idle. So every path carries what it would
//! carry, when it would, but in the order of the send queue: on one ordered stream the slow path's
//! packet is not a later part of the stream, and arrives later than those sent after it.

use polypath_proto::PathId;
use polypath_proto::policy::{PathChange, PathPick, PathScheduler, Policy, Trigger};
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::open_packet::OpenPacket;
use super::rtt_helpers::{admitted_bytes, in_flight, least_by, srtt_seconds};
use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry =
    PolicyEntry::path_scheduler("otias", |_| Ok(Box::new(|_, _| Box::new(Otias::default()))))
        .summary("each packet to the path on which it arrives first, even if it must wait for it")
        .source("Yang et al. 2014");

/// OTIAS.
#[derive(Clone, Debug, Default)]
pub struct Otias {
    /// Payload bytes assigned to each path and not sent yet.
    queues: Vec<u64>,
    open: OpenPacket,
}

impl Otias {
    fn assigned_bytes(&self, path: PathId) -> u64 {
        self.queues.get(path.index()).copied().unwrap_or(0)
    }

    /// T_j, seconds.
    fn arrival_time(&self, view: &AssocView<'_>, path: &PathView) -> f64 {
        let excess = self.assigned_bytes(path.id).saturating_sub(path.room());
        (excess as f64 / path.cwnd.max(1) as f64 + 0.5) * srtt_seconds(view, path)
    }

    /// Brings the queues to what is unsent: assigns what came, takes back what is gone.
    fn assign_unsent(&mut self, view: &AssocView<'_>, next: &ChunkMeta) {
        self.queues.resize(view.paths.len(), 0);
        for path in view.paths.iter().filter(|p| !p.usable) {
            if let Some(queue) = self.queues.get_mut(path.id.index()) {
                *queue = 0;
            }
        }
        let target = admitted_bytes(view, next);
        let mut assigned: u64 = self.queues.iter().sum();
        // Each pass adds or removes a packet.
        while assigned != target {
            let change = if assigned < target {
                self.assign_packet(view, target - assigned)
            } else {
                self.take_back_packet(view, assigned - target)
            };
            if change == 0 {
                return;
            }
            assigned = self.queues.iter().sum();
        }
    }

    fn assign_packet(&mut self, view: &AssocView<'_>, missing: u64) -> u64 {
        let Some(path) = least_by(view.usable(), |p| self.arrival_time(view, p)) else { return 0 };
        let bytes = missing.min(u64::from(path.pmdcs).max(1));
        if let Some(queue) = self.queues.get_mut(path.id.index()) {
            *queue += bytes;
        }
        bytes
    }

    /// From the path where it would arrive last: that was assigned last.
    fn take_back_packet(&mut self, view: &AssocView<'_>, excess: u64) -> u64 {
        let queued = view.usable().filter(|p| self.assigned_bytes(p.id) > 0);
        let Some(path) = least_by(queued, |p| -self.arrival_time(view, p)) else { return 0 };
        let Some(queue) = self.queues.get_mut(path.id.index()) else { return 0 };
        let bytes = excess.min(*queue).min(u64::from(path.pmdcs).max(1));
        *queue -= bytes;
        bytes
    }

    fn choose_path(&self, view: &AssocView<'_>, next: &ChunkMeta) -> Option<PathId> {
        let bundle = self.open.path_for(next).and_then(|p| view.path(p)).filter(|p| p.sendable);
        let queued = || view.sendable().filter(|p| self.assigned_bytes(p.id) > 0);
        let path = bundle.or_else(|| least_by(queued(), |p| srtt_seconds(view, p))).or_else(|| {
            // Nothing will come that could open the path that this waits for.
            let stuck = !in_flight(view);
            least_by(view.sendable().filter(|_| stuck), |p| self.arrival_time(view, p))
        });
        path.map(|p| p.id)
    }
}

impl Policy for Otias {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for Otias {
    fn begin_attempt(&mut self, _view: &AssocView<'_>, _why: Trigger) {
        self.open.close();
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        self.assign_unsent(view, next);
        self.choose_path(view, next).map_or(PathPick::Wait, PathPick::Use)
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        self.open.on_sent(view, path, chunk, new_packet);
        if let Some(queue) = self.queues.get_mut(path.index()) {
            *queue = queue.saturating_sub(chunk.bytes.into());
        }
    }

    fn on_path_change(&mut self, _view: &AssocView<'_>, _path: PathId, _change: PathChange) {
        // Whatever was assigned before the paths changed is assigned anew.
        self.queues.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{self, chunk, view};
    use polypath_proto::time::Duration;
    use proptest::prelude::*;

    /// Path 0: 20 ms, window of 4 packets of 1000, full. Path 1: 100 ms, window of 10, empty.
    fn full_fast_path() -> Vec<PathView> {
        let mut p = test_views::full_fast_path([4_000, 10_000], 100);
        p.iter_mut().for_each(|p| p.pmdcs = 1000);
        p
    }

    fn pick(otias: &mut Otias, p: &[PathView], unsent: u64) -> PathPick {
        let mut view = view(p);
        view.send_buffer.unsent = unsent;
        otias.pick_path(&view, &chunk(0, 984))
    }

    #[test]
    fn the_full_path_queues_until_the_slow_one_is_as_early() {
        let p = full_fast_path();
        let mut otias = Otias::default();
        // Behind q packets, path 0 gives (q / 4 + 1/2) 20 ms: 10, 15, ... 50 ms for q = 0, 1, ...
        // 8. Path 1 gives 50 ms. The first of equals takes the ninth packet, too; the tenth is path
        // 1's.
        assert_eq!(pick(&mut otias, &p, 9_000), PathPick::Wait);
        assert_eq!(otias.queues, [9_000, 0]);
        assert_eq!(pick(&mut otias, &p, 10_000), PathPick::Use(PathId(1)));
        assert_eq!(otias.queues, [9_000, 1_000]);
    }

    #[test]
    fn what_is_assigned_stays_assigned() {
        let mut p = full_fast_path();
        let mut otias = Otias::default();
        assert_eq!(pick(&mut otias, &p, 10_000), PathPick::Use(PathId(1)));
        otias.on_sent(&view(&p), PathId(1), &chunk(0, 1_000), true);
        otias.begin_attempt(&view(&p), Trigger::Sack);
        p[0].srtt = Some(Duration::from_millis(500));
        assert_eq!(pick(&mut otias, &p, 9_000), PathPick::Wait, "the queue of path 0 is as it was");
        assert_eq!(pick(&mut otias, &p, 10_000), PathPick::Use(PathId(1)), "new data is not");
        assert_eq!(otias.queues, [9_000, 1_000]);
    }

    #[test]
    fn a_failed_path_gives_its_queue_back() {
        let mut p = full_fast_path();
        let mut otias = Otias::default();
        assert_eq!(pick(&mut otias, &p, 3_000), PathPick::Wait);
        p[0].usable = false;
        assert_eq!(pick(&mut otias, &p, 3_000), PathPick::Use(PathId(1)));
        assert_eq!(otias.queues, [0, 3_000]);
    }

    #[test]
    fn data_that_is_gone_is_taken_from_where_it_was_latest() {
        let p = full_fast_path();
        let mut otias = Otias::default();
        pick(&mut otias, &p, 11_000);
        assert_eq!(otias.queues, [9_000, 2_000]);
        pick(&mut otias, &p, 8_500);
        // T of path 0 behind 9, 8, 7 packets: 55, 50, 45 ms; of path 1: 50 ms. Two packets, then
        // 500 bytes of path 1.
        assert_eq!(otias.queues, [7_000, 1_500]);
    }

    #[test]
    fn never_waits_for_nothing() {
        let mut p = full_fast_path();
        p[0].outstanding = 0;
        assert_eq!(pick(&mut Otias::default(), &p, 1_000), PathPick::Use(PathId(1)));
    }

    proptest! {
        #[test]
        fn queues_hold_what_is_unsent(steps in prop::collection::vec((0u64..80_000, 0u64..9_000), 1..30)) {
            let mut p = full_fast_path();
            let mut otias = Otias::default();
            for (unsent, outstanding) in steps {
                p[0].outstanding = outstanding;
                p[0].sendable = p[0].has_room();
                pick(&mut otias, &p, unsent);
                prop_assert_eq!(otias.queues.iter().sum::<u64>(), unsent.clamp(984, 65_536));
            }
        }
    }
}
