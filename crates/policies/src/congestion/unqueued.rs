//! Windows that open while no queue grows, around any rule.
//!
//! Congestion avoidance finds a path that became ten times as fast by a packet per round trip: half
//! a minute for a hundred packets at 300 ms. A window that binds puts a packet more in flight in
//! each round. Where it meets a queue, round trips grow by that packet's time, and by those of
//! others; where they stay the same for some rounds there is none to grow, more in flight takes
//! nothing from anybody, and the window grows by what is acknowledged, as in slow start (RFC 9260
//! section 7.2.1). As soon as round trips change the inner rule alone decides. No smallest round
//! trip needs to be known: it would be forgotten beside a queue that others keep filled, and such a
//! queue then be taken for none. The idea is that of delay-based fast modes (YeAH-TCP, Baiocchi et
//! al. 2007; TCP Illinois, Liu et al. 2006).
//!
//! A queue that is short against the round trip is full before a round trip tells of it. So after a
//! loss the window opens to 3/4 of what it was, and beyond that as the inner rule has it, until the
//! way is another one: round trips that stay, and are not those that stayed after the loss. Paths
//! of one bottleneck grow in proportion, as one window does.

use polypath_proto::PathId;
use polypath_proto::policy::{AckedInfo, Cut, PathWindow};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{LossKind, PathView};

use super::layer::RuleLayer;
use super::per_path::PerPath;
use crate::option::OptionEntry;

/// Rounds in a row of the same round trip that show that no queue grows.
const ROUNDS: u32 = 3;
/// The smallest round trips of two rounds are the same if they differ by no more than a packet
/// takes, nor by this part.
const SAME: f64 = 0.05;
/// How long a path rests after a loss: what follows from it takes some round trips.
const REST: Duration = Duration::from_millis(500);
/// So many rounds of the same round trip after a loss show what it is without a queue.
const SETTLED: u32 = 2;

pub(super) const SWITCH: OptionEntry = OptionEntry {
    name: "unqueued",
    default: "false",
    values: "false|true",
    summary: "while no queue grows, a window that binds grows as in slow start",
};

/// Growth without a queue, as a layer around congestion avoidance.
#[derive(Clone, Debug)]
pub struct Unqueued {
    paths: PerPath<Trips>,
}

impl Unqueued {
    /// The rule that it is laid around decides where round trips change.
    pub const fn new() -> Self {
        Self { paths: PerPath::new() }
    }
}

impl Default for Unqueued {
    fn default() -> Self {
        Self::new()
    }
}

/// What the round trips of one path tell.
#[derive(Clone, Copy, Debug, Default)]
struct Trips {
    /// When the round began, bytes acknowledged since, and its smallest round trip.
    began: Time,
    acked: u64,
    least: Option<Duration>,
    /// Bytes per second of the round before.
    rate: f64,
    /// The smallest and the greatest of the smallest round trips of so many rounds before this one,
    /// which are the same.
    band: Option<(Duration, Duration)>,
    rounds: u32,
    /// The window does not open before.
    rests: Time,
    ceiling: Option<Ceiling>,
    /// Both of these, as the first timeout of a row found them.
    before_timeout: Option<(Time, Option<Ceiling>)>,
}

/// How far a window opens after a loss.
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    /// Bytes.
    cwnd: u64,
    /// The first round trip after the loss that stayed.
    trip: Option<Duration>,
}

impl Trips {
    fn note_ack(&mut self, now: Time, path: &PathView, ev: &AckedInfo) {
        self.acked += ev.bytes;
        self.least = self.least.into_iter().chain(ev.rtt).min();
        let elapsed = now.since(self.began);
        if elapsed >= path.srtt.unwrap_or(path.rto) && !elapsed.is_zero() {
            self.rate = self.acked as f64 / elapsed.as_secs_f64();
            (self.began, self.acked) = (now, 0);
            if let Some(least) = self.least.take() {
                self.round_ended(path, least);
            }
        }
    }

    fn round_ended(&mut self, path: &PathView, least: Duration) {
        let (low, high) = self.band.unwrap_or((least, least));
        let (low, high) = (low.min(least), high.max(least));
        (self.band, self.rounds) = if high - low <= self.tolerance(path, low) {
            (Some((low, high)), self.rounds.saturating_add(1))
        } else {
            (Some((least, least)), 0)
        };
        if let Some(ceiling) = self.ceiling.as_mut().filter(|_| self.rounds >= SETTLED) {
            let trip = *ceiling.trip.get_or_insert(low);
            let other = SAME * trip.as_secs_f64();
            // What was lost, was lost on another way.
            if self.rounds >= ROUNDS && low.abs_diff(trip).as_secs_f64() > other {
                self.ceiling = None;
            }
        }
    }

    fn note_loss(&mut self, now: Time, path: &PathView, kind: LossKind, cut: Cut) {
        let before = (self.rests, self.ceiling);
        self.rests = now + REST;
        match kind {
            LossKind::FastRetransmit => self.before_timeout = None,
            LossKind::Timeout if path.cwnd > cut.cwnd => self.before_timeout = Some(before),
            // A later expiry of a row finds nothing left to cut.
            LossKind::Timeout => return,
        }
        // The rule halves: 3/4 of the window before.
        let cwnd = cut.ssthresh.saturating_add(cut.ssthresh / 2);
        self.ceiling = Some(Ceiling { cwnd, trip: None });
    }

    /// Nothing was lost: what a loss before it left holds again.
    fn undo_timeout(&mut self) {
        if let Some((rests, ceiling)) = self.before_timeout.take() {
            (self.rests, self.ceiling) = (rests, ceiling);
        }
    }

    /// By how much round trips of about `trip` may differ and be the same.
    fn tolerance(&self, path: &PathView, trip: Duration) -> Duration {
        let packet = f64::from(path.mtu) / self.rate.max(1.0);
        Duration::from_secs_f64(packet.min(SAME * trip.as_secs_f64()))
    }

    /// Whether no queue grows: round trips stayed as they are, this round's so far included.
    fn are_steady(&self, path: &PathView) -> bool {
        let Some((low, _)) = self.band.filter(|_| self.rounds >= ROUNDS) else { return false };
        self.least.is_none_or(|least| least <= low + self.tolerance(path, low))
    }

    /// Bytes to which the window may open now.
    fn window_bound(&self, now: Time, path: &PathView) -> u64 {
        if now < self.rests || !self.are_steady(path) {
            return 0;
        }
        self.ceiling.map_or(u64::MAX, |ceiling| ceiling.cwnd)
    }
}

impl RuleLayer for Unqueued {
    fn fast_growth_bound(&self, now: Time, path: &PathView, ev: &AckedInfo, w: &PathWindow) -> u64 {
        match self.paths.get(path.id) {
            Some(trips) if w.was_full(ev) => trips.window_bound(now, path),
            _ => 0,
        }
    }

    fn forget_path(&mut self, path: PathId) {
        *self.paths.value_of(path) = Trips::default();
    }

    fn note_ack(&mut self, now: Time, path: &PathView, ev: &AckedInfo, _w: &mut PathWindow) {
        self.paths.value_of(path.id).note_ack(now, path, ev);
    }

    fn note_loss(&mut self, now: Time, path: &PathView, kind: LossKind, cut: Cut) {
        self.paths.value_of(path.id).note_loss(now, path, kind, cut);
    }

    fn undo_timeout(&mut self, path: PathId) {
        self.paths.value_of(path).undo_timeout();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::layer::Layered;
    use crate::test_views::{measured, view};
    use polypath_proto::policy::{CwndStep, Rfc9260Rule, WindowRule};

    const RTT: Duration = Duration::from_millis(100);
    const WINDOW: u64 = 60_000;
    const UNIT: CwndStep = CwndStep { mtu: 1500, limit: 1500 };

    /// A packet of so many bytes in flight is acknowledged.
    fn acked(outstanding: u64, rtt: Duration) -> AckedInfo {
        AckedInfo {
            path: PathId(0),
            bytes: 1500,
            outstanding_before: outstanding,
            outstanding: outstanding - 1500,
            may_grow: true,
            rtt: Some(rtt),
            sack_path: PathId(0),
        }
    }

    /// A rule, and what it made of a window out of slow start.
    struct Fed {
        rule: Layered<Unqueued, Rfc9260Rule>,
        window: PathWindow,
        paths: Vec<PathView>,
        now: Time,
    }

    impl Fed {
        fn new() -> Self {
            let paths = measured(&[(WINDOW, 100)]);
            let window = PathWindow::new(WINDOW, 3000);
            Self {
                rule: Layered::new(Unqueued::new(), Rfc9260Rule),
                window,
                paths,
                now: Time::from_secs(1),
            }
        }

        /// How far the window may open since the last loss, bytes.
        fn ceiling(&self) -> Option<u64> {
            let trips = self.rule.layer.paths.get(PathId(0));
            trips.and_then(|trips| trips.ceiling).map(|ceiling| ceiling.cwnd)
        }

        /// So many windows of one round trip each; gives by how much it grew in the last one.
        fn rounds(&mut self, n: u32, rtt: Duration) -> u64 {
            (0..n).map(|_| self.round(rtt)).last().unwrap_or(0)
        }

        /// A window is acknowledged, packet by packet, within this round trip; gives by how much it
        /// grew.
        fn round(&mut self, rtt: Duration) -> u64 {
            self.paths[0].srtt = Some(rtt);
            let before = self.window.cwnd;
            let packets = before / 1500;
            for _ in 0..packets {
                self.now += rtt / packets as u32;
                let mut v = view(&self.paths);
                v.now = self.now;
                let ev = acked(self.window.cwnd, rtt);
                self.rule.observe_ack(&v, &self.paths[0], &ev, &mut self.window);
                self.rule.grow_in_avoidance(&v, &self.paths[0], &ev, UNIT, &mut self.window);
            }
            self.window.cwnd - before
        }

        /// Half of the window is left, or a packet.
        fn lose(&mut self, kind: LossKind) {
            self.paths[0].cwnd = self.window.cwnd;
            let cut = Cut::to((self.window.cwnd / 2).max(6000), kind, 1500);
            let mut v = view(&self.paths);
            v.now = self.now;
            self.rule.on_lost(&v, &self.paths[0], kind, cut);
            self.window = PathWindow::new(cut.cwnd, cut.ssthresh);
        }
    }

    #[test]
    fn a_window_that_binds_grows_as_in_slow_start_while_round_trips_stay() {
        let mut fed = Fed::new();
        assert!(fed.rounds(ROUNDS - 1, RTT) <= 1500, "not known before");
        let before = fed.window.cwnd;
        let grown = fed.rounds(3, RTT);
        assert!(grown > before / 2, "{before} {grown}");
    }

    #[test]
    fn round_trips_that_grow_leave_it_to_the_inner_rule() {
        let mut fed = Fed::new();
        fed.rounds(ROUNDS, RTT);
        // Two packets more in each round, 60 kB in 100 ms: somebody else's queue, and ours.
        for n in 0..40 {
            let grown = fed.round(RTT + Duration::from_millis(5) * n);
            assert!(n < 2 || grown <= 1500, "{n}: {grown}");
        }
    }

    #[test]
    fn a_long_queue_that_stays_is_no_hindrance_until_it_grows() {
        let mut fed = Fed::new();
        let long = RTT * 4;
        fed.rounds(ROUNDS + 2, long);
        assert!(fed.round(long) > 1500);
        assert!(fed.rounds(2, long + Duration::from_millis(15)) <= 1500);
    }

    #[test]
    fn after_a_loss_it_opens_to_three_quarters() {
        let mut fed = Fed::new();
        fed.rounds(ROUNDS + 4, RTT);
        let before = fed.window.cwnd;
        fed.lose(LossKind::FastRetransmit);
        let began = fed.now;
        while fed.now + RTT < began + REST {
            assert!(fed.round(RTT) <= 1500);
        }
        let mut most = 0;
        for _ in 0..20 {
            let grown = fed.round(RTT);
            assert!(grown <= 1500 || fed.window.cwnd <= before / 4 * 3 + 3000, "{grown}");
            most = most.max(grown);
        }
        assert!(most > 3 * 1500, "{most}");
    }

    #[test]
    fn on_another_way_what_was_lost_before_says_nothing() {
        let mut fed = Fed::new();
        fed.rounds(ROUNDS + 4, RTT);
        let before = fed.window.cwnd;
        fed.lose(LossKind::FastRetransmit);
        fed.rounds(20, RTT);
        assert!(fed.window.cwnd < before);
        fed.rounds(ROUNDS + 6, RTT * 3 / 2);
        assert!(fed.window.cwnd > 2 * before, "{} {before}", fed.window.cwnd);
    }

    #[test]
    fn a_spurious_timeout_leaves_no_bound() {
        let mut fed = Fed::new();
        fed.rounds(ROUNDS + 4, RTT);
        let before = fed.window;
        fed.lose(LossKind::Timeout);
        // The second of a row cuts a window of one packet: the bound is that of the first one all
        // the same.
        let bound = fed.ceiling();
        fed.lose(LossKind::Timeout);
        assert_eq!(fed.ceiling(), bound);
        assert!(bound.is_some_and(|bound| bound > before.cwnd / 2), "{bound:?}");
        fed.rule.on_spurious_timeout(PathId(0));
        fed.window = before;
        assert!(fed.rounds(2, RTT) > before.cwnd / 2, "it rests no more");
    }

    #[test]
    fn a_window_that_does_not_bind_stays() {
        let mut fed = Fed::new();
        fed.rounds(ROUNDS, RTT);
        let v = view(&fed.paths);
        let ev = acked(WINDOW / 2, RTT);
        let before = fed.window.cwnd;
        fed.rule.grow_in_avoidance(&v, &fed.paths[0], &ev, UNIT, &mut fed.window);
        assert_eq!(fed.window.cwnd, before);
    }
}
