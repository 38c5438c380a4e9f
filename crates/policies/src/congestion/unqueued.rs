//! Windows that open while no queue stands, around any rule.
//!
//! Congestion avoidance finds a path that became ten times as fast by a packet per round trip: half a minute for a hundred packets at 300 ms.
//! While round trips show that nothing waits at the bottleneck, a window that binds takes nothing from anybody, and grows by half of
//! what is acknowledged, half as fast as slow start. As soon as packets wait the inner rule alone decides, so that beside
//! flows that fill the queue the window is the inner rule's. The idea is that of delay-based fast modes (YeAH-TCP, Baiocchi et al.
//! 2007; TCP Illinois, Liu et al. 2006), the pace below that of slow start (RFC 9260 section 7.2.1).
//!
//! After a loss the inner rule decides for two seconds: when flows that share a short queue have halved their windows the link is idle for a
//! while, and who took that room at once would take it from the others. Where packets are lost although nothing waits (a very short queue, a lossy
//! link), round trips tell nothing of the room that is left: each such loss doubles the rest. Paths that share a bottleneck with others of
//! ours are the inner rule's.

use polypath_proto::PathId;
use polypath_proto::policy::{AckedInfo, Cut, CwndStep, PathWindow, WindowRule};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, LossKind, PathView};

use crate::estimate::PathEstimate;
use crate::options::OptionEntry;

/// Packets that may wait and count as none: `knapsack` leaves two in the queue, and looks for more with another few.
const QUEUED: f64 = 4.0;
/// Round trips that are longer than the smallest one by less than this factor may not be longer at all.
const NOISE: f64 = 1.02;
/// Of what is acknowledged, one part in so many.
const GROWTH: u64 = 2;
/// How long a path rests after a loss, and at most: each one without a queue doubles it, until one that a queue explains. A single one
/// may be a way that became shorter, whose packets overtook each other. Two seconds keep the share beside a flow that fills a queue of half the
/// bandwidth-delay product (docs/congestion.md).
const REST: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(64));

pub(super) const SWITCH: OptionEntry = OptionEntry {
    name: "unqueued",
    default: "false",
    values: "false|true",
    summary: "while no queue stands, a window that binds grows half as fast as in slow start",
};

/// Growth without a queue around another rule.
#[derive(Clone, Debug)]
pub struct Unqueued<R> {
    inner: R,
    paths: Vec<Trips>,
}

impl<R> Unqueued<R> {
    /// `inner` decides where a queue stands.
    pub const fn new(inner: R) -> Self {
        Self { inner, paths: Vec::new() }
    }

    fn trips(&mut self, path: PathId) -> Option<&mut Trips> {
        if self.paths.len() <= path.index() {
            self.paths.resize(path.index() + 1, Trips::default());
        }
        self.paths.get_mut(path.index())
    }

    fn is_free(&self, now: Time, path: &PathView) -> bool {
        self.paths
            .get(path.id.index())
            .is_some_and(|trips| now >= trips.rests && trips.none_waits(path))
    }
}

/// What the round trips of one path tell.
#[derive(Clone, Copy, Debug, Default)]
struct Trips {
    /// For the smallest round trip; it knows ways that became longer.
    estimate: PathEstimate,
    /// When the round began, bytes acknowledged since, and its smallest round trip.
    began: Time,
    acked: u64,
    least: Option<Duration>,
    /// Bytes per second, and the smallest round trip, of the round before.
    rate: f64,
    least_before: Option<Duration>,
    /// Nothing is concluded before.
    rests: Time,
    /// How long the latest rest was meant to be.
    rest: Duration,
}

impl Trips {
    fn note(&mut self, now: Time, path: &PathView, ev: &AckedInfo) {
        self.estimate.acked(now, path, ev);
        self.acked += ev.bytes;
        self.least = self.least.into_iter().chain(ev.rtt).min();
        let elapsed = now.since(self.began);
        if elapsed >= path.srtt.unwrap_or(path.rto) && !elapsed.is_zero() {
            self.rate = self.acked as f64 / elapsed.as_secs_f64();
            (self.began, self.acked) = (now, 0);
            self.least_before = self.least.take().or(self.least_before);
        }
    }

    fn lost(&mut self, now: Time, path: &PathView) {
        let doubled = (self.rest * 2).clamp(REST.0, REST.1);
        self.rest = if self.none_waits(path) { doubled } else { REST.0 };
        self.rests = now + self.rest;
    }

    /// Whether a packet of this round, or else of the one before, found nothing to wait for.
    fn none_waits(&self, path: &PathView) -> bool {
        let Some(smallest) = self.estimate.min_rtt(path) else { return false };
        let Some(least) = self.least.or(self.least_before) else { return false };
        let queued = QUEUED * f64::from(path.mtu) / self.rate.max(1.0);
        least.as_secs_f64() <= NOISE * smallest.as_secs_f64() + queued
    }
}

/// Whether no other path of ours is taken to share the bottleneck of `path`.
fn is_alone(view: &AssocView<'_>, path: &PathView) -> bool {
    view.paths.iter().all(|other| other.id == path.id || other.group != path.group)
}

impl<R: WindowRule> WindowRule for Unqueued<R> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn initial_window(&self, single: u64, paths: usize, mtu: u64) -> u64 {
        self.inner.initial_window(single, paths, mtu)
    }

    fn slow_start(&self, view: &AssocView<'_>, path: &PathView, acked: u64, limit: u64) -> u64 {
        self.inner.slow_start(view, path, acked, limit)
    }

    fn avoidance(&self, view: &AssocView<'_>, path: &PathView, mtu: u64) -> u64 {
        self.inner.avoidance(view, path, mtu)
    }

    fn avoid(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        unit: CwndStep,
        w: &mut PathWindow,
    ) {
        let free = w.was_full(ev) && is_alone(view, path) && self.is_free(view.now, path);
        self.inner.avoid(view, path, ev, unit, w);
        if free {
            w.cwnd = w.cwnd.saturating_add((ev.bytes / GROWTH).min(unit.limit));
        }
    }

    fn path_added(&mut self, path: PathId) {
        self.inner.path_added(path);
        if let Some(trips) = self.trips(path) {
            *trips = Trips::default();
        }
    }

    fn measure(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        w: &mut PathWindow,
    ) {
        self.inner.measure(view, path, ev, w);
        if let Some(trips) = self.trips(path.id) {
            trips.note(view.now, path, ev);
        }
    }

    fn lost(&mut self, view: &AssocView<'_>, path: &PathView, kind: LossKind, cut: Cut) {
        self.inner.lost(view, path, kind, cut);
        if let Some(trips) = self.trips(path.id) {
            trips.lost(view.now, path);
        }
    }

    fn spurious(&mut self, path: PathId) {
        self.inner.spurious(path);
    }

    fn decrease(
        &self,
        view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut {
        self.inner.decrease(view, path, kind, mtu, floor_mtus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{measured, view};
    use polypath_proto::policy::Rfc9260Rule;

    const RTT: Duration = Duration::from_millis(100);
    const WINDOW: u64 = 60_000;
    const UNIT: CwndStep = CwndStep { mtu: 1500, limit: 1500 };

    /// A rule, and what it made of a window out of slow start.
    struct Fed {
        rule: Unqueued<Rfc9260Rule>,
        window: PathWindow,
        paths: Vec<PathView>,
        now: Time,
    }

    impl Fed {
        fn new() -> Self {
            let mut paths = measured(&[(WINDOW, 100), (WINDOW, 100)]);
            paths[1].group = PathId(1);
            let window = PathWindow::new(WINDOW, 3000);
            Self { rule: Unqueued::new(Rfc9260Rule), window, paths, now: Time::from_secs(1) }
        }

        /// A window is acknowledged, packet by packet, within this round trip; gives by how much it grew.
        fn round(&mut self, rtt: Duration) -> u64 {
            let before = self.window.cwnd;
            let packets = before / 1500;
            for _ in 0..packets {
                self.now += rtt / packets as u32;
                let mut v = view(&self.paths);
                v.now = self.now;
                let ev = AckedInfo {
                    path: PathId(0),
                    bytes: 1500,
                    outstanding_before: self.window.cwnd,
                    outstanding: self.window.cwnd - 1500,
                    may_grow: true,
                    rtt: Some(rtt),
                };
                self.rule.measure(&v, &self.paths[0], &ev, &mut self.window);
                self.rule.avoid(&v, &self.paths[0], &ev, UNIT, &mut self.window);
            }
            self.window.cwnd - before
        }

        fn lose(&mut self) {
            let mut v = view(&self.paths);
            v.now = self.now;
            let cut = Cut { cwnd: WINDOW, ssthresh: WINDOW };
            self.rule.lost(&v, &self.paths[0], LossKind::FastRetransmit, cut);
            self.window = PathWindow::new(WINDOW, 3000);
        }
    }

    #[test]
    fn a_window_that_binds_grows_by_half_while_nothing_waits() {
        let mut fed = Fed::new();
        let grown = fed.round(RTT);
        assert!((WINDOW / 2..WINDOW / 2 + 3 * 1500).contains(&grown), "{grown}");
    }

    #[test]
    fn a_queue_leaves_it_to_the_inner_rule() {
        let mut fed = Fed::new();
        fed.round(RTT);
        // Twice the round trip is a window that waits. Until the first such round is over the one before counts.
        fed.round(RTT * 2);
        assert!(fed.round(RTT * 2) <= 1500);
    }

    #[test]
    fn a_loss_without_a_queue_ends_it_for_a_while() {
        let mut fed = Fed::new();
        fed.round(RTT);
        for seconds in [2, 4, 8] {
            fed.lose();
            let until = fed.now + Duration::from_secs(seconds);
            while fed.now + RTT < until {
                assert!(fed.round(RTT) <= 1500);
            }
            fed.now = until;
            assert!(fed.round(RTT) > 1500);
        }
        // One that a queue explains tells that the queue would have been seen.
        fed.round(RTT * 3);
        fed.round(RTT * 3);
        fed.lose();
        fed.now += REST.0;
        assert!(fed.round(RTT) > 1500);
    }

    #[test]
    fn paths_of_one_bottleneck_do_without() {
        let mut fed = Fed::new();
        fed.paths[1].group = PathId(0);
        assert!(fed.round(RTT) <= 1500);
    }
}
