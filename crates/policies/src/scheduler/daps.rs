//! `daps`: delay-aware packet scheduling (Sarwar et al., WAINA 2013; Kuhn et al., ICC 2014).
//!
//! The papers plan ahead over the least common multiple of the forward delays d_i: path i sends a
//! window of cwnd_i bytes once per RTT_i; the planned packets are sorted by when they arrive, t +
//! d_i, and numbered in this order, so that the receiver has nothing to sort. Then the plan is
//! carried out.
//!
//! Ours: the plan is the merge of the paths' emissions by arrival, and it is merged as it is
//! needed. That gives the plan's order, without a common multiple (which needs delays on a grid to
//! be finite) and with windows and RTTs as they are when an emission begins. d_i is RTT_i / 2. A
//! chunk gets its TSN when it leaves, so the order of the plan is the order of sending: the packet
//! of the slow path leaves in its turn and not ahead of it. Where the plan's path is not open, it
//! is waited for. An idle association, or a path that comes, goes or changes its state, begins a
//! new plan.

use polypath_proto::PathId;
use polypath_proto::policy::{PathChange, PathPick, PathScheduler, Policy, Trigger};
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::open_packet::OpenPacket;
use super::rtt_helpers::{in_flight, least_by, srtt_seconds};
use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry =
    PolicyEntry::path_scheduler("daps", |_| Ok(Box::new(|_, _| Box::new(Daps::default()))))
        .summary(
            "windows sent in the order in which they arrive, by windows, RTTs and forward delays",
        )
        .source("Sarwar et al. 2013, Kuhn et al. 2014");

/// The next window that the plan has for a path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Emission {
    /// When it arrives, seconds from the beginning of the plan.
    arrival: f64,
    /// Its bytes that are not sent yet.
    left: u64,
}

/// DAPS.
#[derive(Clone, Debug, Default)]
pub struct Daps {
    /// One per path; none while the path is not usable.
    plan: Vec<Option<Emission>>,
    /// The plan's time: the arrival of what was sent last.
    now: f64,
    open: OpenPacket,
}

impl Daps {
    fn restart_plan(&mut self) {
        self.plan.clear();
        self.now = 0.0;
    }

    /// Takes up paths that became usable, at the plan's present, and drops those that are no
    /// longer.
    fn follow_paths(&mut self, view: &AssocView<'_>) {
        self.plan.resize(view.paths.len(), None);
        for (slot, path) in self.plan.iter_mut().zip(view.paths) {
            let first = || {
                let arrival = self.now.max(srtt_seconds(view, path) / 2.0);
                Emission { arrival, left: path.cwnd.max(1) }
            };
            *slot = path.usable.then(|| slot.unwrap_or_else(first));
        }
    }

    fn planned_arrival(&self, path: &PathView) -> f64 {
        let slot = self.plan.get(path.id.index()).copied().flatten();
        slot.map_or(f64::INFINITY, |e| e.arrival)
    }

    /// The path whose turn it is; with nothing in flight, the first open one by the plan.
    fn path_in_turn<'a>(&self, view: &AssocView<'a>) -> Option<&'a PathView> {
        let planned = least_by(view.usable(), |p| self.planned_arrival(p)).filter(|p| p.sendable);
        let stuck = !in_flight(view);
        planned.or_else(|| least_by(view.sendable().filter(|_| stuck), |p| self.planned_arrival(p)))
    }
}

impl Policy for Daps {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for Daps {
    fn begin_attempt(&mut self, view: &AssocView<'_>, _why: Trigger) {
        self.open.close();
        if !in_flight(view) {
            self.restart_plan();
        }
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        self.follow_paths(view);
        let bundle = self.open.path_for(next).and_then(|p| view.path(p)).filter(|p| p.sendable);
        bundle.or_else(|| self.path_in_turn(view)).map_or(PathPick::Wait, |p| PathPick::Use(p.id))
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        self.open.on_sent(view, path, chunk, new_packet);
        let Some(path) = view.path(path) else { return };
        let Some(Some(emission)) = self.plan.get_mut(path.id.index()) else { return };
        self.now = self.now.max(emission.arrival);
        emission.left = emission.left.saturating_sub(u64::from(chunk.bytes));
        if emission.left == 0 {
            emission.arrival += srtt_seconds(view, path);
            emission.left = path.cwnd.max(1);
        }
    }

    fn on_path_change(&mut self, _view: &AssocView<'_>, _path: PathId, _change: PathChange) {
        self.restart_plan();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{chunk, paths, send, view};
    use polypath_proto::time::Duration;
    use proptest::prelude::*;

    /// Paths by RTT in ms and window in packets of 1000 bytes, always open.
    fn world(own: &[(u64, u64)]) -> Vec<PathView> {
        let mut p = paths(own.len() as u8);
        for (path, &(rtt, cwnd)) in p.iter_mut().zip(own) {
            (path.srtt, path.cwnd) = (Some(Duration::from_millis(rtt)), 1000 * cwnd);
            path.pmdcs = 1000;
        }
        p
    }

    fn order(own: &[(u64, u64)], packets: usize) -> Vec<u8> {
        let mut p = world(own);
        let mut daps = Daps::default();
        daps.begin_attempt(&view(&p), Trigger::Write);
        let mut next = || {
            let PathPick::Use(id) = daps.pick_path(&view(&p), &chunk(0, 1000)) else {
                panic!("open")
            };
            send(&mut p, &mut daps, id, 1000);
            id.0
        };
        (0..packets).map(|_| next()).collect()
    }

    #[test]
    fn a_period_by_hand() {
        // In 16ths of a second, path 0 arrives at 1, 3, 5, 7, 9 with two packets, path 1 at 5 with
        // three. Period 10.
        let period = [0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0];
        let expected: Vec<u8> = period.iter().chain(&period).copied().collect();
        assert_eq!(order(&[(125, 2), (625, 3)], 26), expected);
    }

    #[test]
    fn waits_for_the_path_whose_turn_it_is() {
        let mut p = world(&[(20, 2), (100, 3)]);
        let mut daps = Daps::default();
        send(&mut p, &mut daps, PathId(0), 1000);
        p[0].sendable = false;
        assert_eq!(daps.pick_path(&view(&p), &chunk(0, 1000)), PathPick::Wait);
        p[0].outstanding = 0;
        assert_eq!(
            daps.pick_path(&view(&p), &chunk(0, 1000)),
            PathPick::Use(PathId(1)),
            "not forever"
        );
    }

    #[test]
    fn a_path_that_returns_has_no_arrears() {
        let mut p = world(&[(20, 2), (20, 2)]);
        let mut daps = Daps::default();
        p[1].usable = false;
        let one = |daps: &mut Daps, p: &mut Vec<PathView>| {
            let PathPick::Use(id) = daps.pick_path(&view(p), &chunk(0, 1000)) else {
                panic!("open")
            };
            send(p, daps, id, 1000);
            id.0
        };
        assert_eq!([(); 5].map(|()| one(&mut daps, &mut p)), [0; 5]);
        p[1].usable = true;
        // Path 0 is in its third window, as path 1 is in its first: they go on side by side.
        assert_eq!([(); 6].map(|()| one(&mut daps, &mut p)), [0, 1, 1, 0, 0, 1]);
    }

    /// The plan as the papers have it: all emissions of a period, sorted by arrival.
    fn literal_plan(own: &[(u64, u64)]) -> Vec<u8> {
        let gcd = |mut a: u64, mut b: u64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let period = own.iter().fold(1, |lcm, &(rtt, _)| lcm / gcd(lcm, rtt) * rtt);
        let mut plan = Vec::new();
        for (i, &(rtt, cwnd)) in own.iter().enumerate() {
            for emission in 0..period / rtt {
                // Twice the arrival, to stay whole.
                plan.extend((0..cwnd).map(|_| (2 * emission * rtt + rtt, i as u8)));
            }
        }
        plan.sort_unstable();
        plan.into_iter().map(|(_, path)| path).collect()
    }

    proptest! {
        // RTTs are an eighth of a second times a power of two: sums are exact, and ties are ties in
        // both.
        #[test]
        fn the_merge_is_the_plan(own in prop::collection::vec((0u32..5, 1u64..6), 1..4)) {
            let own: Vec<_> = own.into_iter().map(|(rtt, cwnd)| (125 << rtt, cwnd)).collect();
            let plan = literal_plan(&own);
            prop_assert_eq!(order(&own, plan.len()), plan);
        }
    }
}
