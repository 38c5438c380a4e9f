//! Somebody else's queue on our path: when to stop yielding to it.
//!
//! A sender that keeps its bytes in flight at a path's bandwidth-delay product leaves no queue.
//! Beside one that fills the queue until it overflows it starves: the queue holds its packets back,
//! its delivery rate falls, and what it keeps in flight falls with that. The way out is Copa's
//! (Arun, Balakrishnan, NSDI 2018): notice that a queue stays although we do not feed it, and then
//! compete like everybody else, by the congestion window alone.
//!
//! Whose queue it is cannot be seen from one place: with a queue, flight = rate x round trip holds
//! for any share of it. So the sender *drains*: for a round trip it keeps half of the
//! bandwidth-delay product in flight. If the queue was its own, the next round trip is the path's
//! smallest; if not, the queue stays. While *yielding* that is tried when several rounds in a row
//! took longer than our own probing and slack explain; while *competing*, from time to time.
//!
//! There may be no queue at all: the way may have become longer. Then round trips stay exactly as
//! they are while half of what was in flight is missing; any queue would be shorter by it, and one
//! that others fill changes by packets from round to round. Where the queue changed but stayed
//! (some of it was ours), half of that half is taken away, too, before we compete.

use polypath_proto::policy::AckedInfo;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

use crate::path_model::rounds::Rounds;

/// Rounds in a row with an unexplained queue that are worth a test.
const SUSPICION: u32 = 4;
/// A queue of less than this part of the smallest round trip disturbs nobody.
const NOTICED: f64 = 0.15;
/// Part of the smallest round trip that packets of slack explain, at most: a starving sender's
/// packets are far apart.
const SLACK: f64 = 0.25;
/// Packets in flight that a test leaves, at least.
const LEAST: u64 = 4;
/// Part of the queue that stays in a test if it is not ours: while we yield, and while we compete
/// and have our share of it.
const STAYS: (f64, f64) = (0.33, 0.25);
/// Part of a packet's time by which the queue changes in a test if there is none: the way became
/// longer.
const SAME: f64 = 0.25;
/// Rounds after a test in which flight grows back as in slow start.
const RAMP: u32 = 6;
/// Rounds between tests, at first and at most.
const PATIENCE: (u32, u32) = (16, 64);

/// What we know of competitors on one path.
#[derive(Clone, Copy, Debug)]
pub struct Competitor {
    competing: bool,
    stage: Stage,
    rounds: Rounds,
    /// Rounds until the next test, and between tests.
    wait: u32,
    patience: u32,
    /// Bytes in flight that are allowed on the way back from a test.
    limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// So many rounds in a row saw a queue that we cannot explain.
    Watching { odd: u32 },
    /// Flight goes down.
    Draining(Test),
    /// It is down; packets that leave now tell.
    Measuring(Test),
}

/// Whose queue it is, asked by taking some of what is in flight away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Test {
    /// Bytes that stay in flight.
    flight: u64,
    /// The queue before.
    queue: Duration,
    /// With half of what the first one left.
    second: bool,
}

impl Default for Competitor {
    fn default() -> Self {
        let stage = Stage::Watching { odd: 0 };
        let (wait, patience, limit) = (0, PATIENCE.0, u64::MAX);
        let rounds = Rounds::default();
        Self { competing: false, stage, rounds, wait, patience, limit }
    }
}

/// What is known of the path when a round ends.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its smallest round trip.
    pub base: Duration,
    /// What it delivers, bytes per second.
    pub rate: f64,
    /// Packets beyond the bandwidth-delay product that are kept in flight.
    pub slack: u64,
}

impl Known {
    /// The time of `packets` at the rate.
    pub(crate) fn packets(&self, path: &PathView, packets: u64) -> f64 {
        (packets * u64::from(path.mtu)) as f64 / self.rate.max(1.0)
    }

    fn queue(&self, rtt: Duration) -> Duration {
        rtt.saturating_sub(self.base)
    }

    /// Whether a queue is longer than what we put there ourselves.
    fn is_odd(&self, path: &PathView, queue: Duration) -> bool {
        let base = self.base.as_secs_f64();
        let slack = self.packets(path, self.slack + 1).min(SLACK * base);
        queue.as_secs_f64() > NOTICED * base + slack
    }
}

impl Competitor {
    /// What may be in flight, bytes, where `cap` is right without competitors.
    pub fn cap(&self, cap: u64) -> u64 {
        match self.stage {
            Stage::Draining(test) | Stage::Measuring(test) => test.flight,
            Stage::Watching { .. } if self.competing => self.limit,
            Stage::Watching { .. } => self.limit.min(cap),
        }
    }

    /// Whether somebody else fills the queue, as far as we know.
    pub const fn is_competing(&self) -> bool {
        self.competing
    }

    /// A SACK acknowledged data of the path, of which so much is known. Gives the round trip of a
    /// way that became longer.
    pub fn on_acked(
        &mut self,
        now: Time,
        path: &PathView,
        ev: &AckedInfo,
        known: &Known,
    ) -> Option<Duration> {
        // After a test, back to the window as slow start would go there, not in one burst.
        self.limit = self.limit.max(ev.outstanding_before).saturating_add(ev.bytes);
        let rtt = self.rounds.on_acked(now, path, ev)?;
        self.round_ended(path, ev, known, rtt).then_some(rtt)
    }

    /// Gives whether the way became longer.
    fn round_ended(
        &mut self,
        path: &PathView,
        ev: &AckedInfo,
        known: &Known,
        rtt: Duration,
    ) -> bool {
        self.wait = self.wait.saturating_sub(1);
        if self.wait + RAMP <= self.patience {
            self.limit = u64::MAX;
        }
        let queue = known.queue(rtt);
        match self.stage {
            Stage::Watching { odd } => {
                let odd = if known.is_odd(path, queue) { odd + 1 } else { 0 };
                self.stage = Stage::Watching { odd };
                if self.wait == 0 && (self.competing || odd >= SUSPICION) {
                    let flight = (known.rate * known.base.as_secs_f64() / 2.0) as u64;
                    let flight = flight.max(LEAST * u64::from(path.mtu));
                    self.stage = Stage::Draining(Test { flight, queue, second: false });
                }
            }
            Stage::Draining(test) => {
                if ev.outstanding <= test.flight {
                    self.stage = Stage::Measuring(test);
                }
            }
            Stage::Measuring(test) => return self.judge(path, known, queue, test),
        }
        false
    }

    /// A test is over. Gives whether it showed a way that became longer.
    fn judge(&mut self, path: &PathView, known: &Known, queue: Duration, test: Test) -> bool {
        let part = if self.competing { STAYS.1 } else { STAYS.0 };
        let stays = test.queue.as_secs_f64() * part
            + if self.competing { known.packets(path, 2) } else { 0.0 };
        let stayed = queue.as_secs_f64() > stays;
        let change = (queue.as_secs_f64() - test.queue.as_secs_f64()).abs();
        let yielding = stayed && !self.competing;
        let longer = yielding && change < SAME * known.packets(path, 1);
        if yielding && !longer && !test.second {
            let flight = (test.flight / 2).max(LEAST / 2 * u64::from(path.mtu));
            self.stage = Stage::Draining(Test { flight, queue, second: true });
            return false;
        }
        self.conclude(stayed && !longer);
        self.limit = test.flight;
        longer
    }

    /// The queue stayed in a test, or it did not. A test that changed nothing is repeated later
    /// than the one before.
    fn conclude(&mut self, stayed: bool) {
        self.patience = if stayed == self.competing {
            (2 * self.patience).clamp(PATIENCE.0, PATIENCE.1)
        } else {
            PATIENCE.0
        };
        (self.competing, self.wait) = (stayed, self.patience);
        self.stage = Stage::Watching { odd: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::measured;
    use polypath_proto::PathId;

    /// Bytes per second; with `BASE` the path holds 50 kB.
    const RATE: f64 = 1e6;
    const BASE: Duration = Duration::from_millis(50);
    const FAIR: u64 = 53_000;
    const WINDOW: u64 = 150_000;

    struct Path {
        competitor: Competitor,
        now: Time,
        flight: u64,
        rates: Vec<f64>,
        /// The round trip without a queue, and what a test took it for.
        way: Duration,
        longer: Option<Duration>,
    }

    impl Path {
        fn new() -> Self {
            let competitor = Competitor::default();
            let (now, rates) = (Time::from_secs(1), Vec::new());
            Self { competitor, now, flight: FAIR, rates, way: BASE, longer: None }
        }

        /// A round trip in which somebody else keeps `foreign` bytes in the queue: five
        /// acknowledgements, a fifth of the flight each.
        fn round(&mut self, foreign: u64) {
            let held = self.flight + foreign;
            let rtt = Duration::from_secs_f64(held as f64 / RATE).max(self.way);
            let path = measured(&[(WINDOW, rtt.as_millis() as u64)]).remove(0);
            let bytes = self.flight / 5;
            // The greatest of the last six rounds, as the estimate has it.
            self.rates.push(self.flight as f64 / rtt.as_secs_f64());
            let rate = self.rates.iter().rev().take(6).copied().fold(0.0, f64::max);
            for _ in 0..5 {
                self.now += rtt / 5;
                let ev = AckedInfo {
                    path: PathId(0),
                    bytes,
                    outstanding_before: self.flight,
                    outstanding: self.flight - bytes,
                    may_grow: true,
                    rtt: Some(rtt),
                    sack_path: PathId(0),
                };
                let known = Known { base: BASE, rate, slack: 2 };
                let longer = self.competitor.on_acked(self.now, &path, &ev, &known);
                self.longer = self.longer.or(longer);
            }
            self.flight = self.competitor.cap(FAIR).min(WINDOW);
        }

        fn rounds(&mut self, n: u32, foreign: u64) -> u64 {
            (0..n).for_each(|_| self.round(foreign));
            self.flight
        }
    }

    #[test]
    fn alone_the_cap_holds() {
        let mut p = Path::new();
        for _ in 0..200 {
            p.round(0);
            assert_eq!(p.flight, FAIR);
        }
    }

    #[test]
    fn beside_somebody_who_fills_the_queue_the_window_decides() {
        let mut p = Path::new();
        // 100 kB more: 153 ms in place of 53. Four rounds are odd; in the test 100 kB and what
        // little is ours still take over 100 ms.
        assert_eq!(p.rounds(30, 100_000), WINDOW);
        // From then on it is tested now and then; most rounds are at the window.
        let full = (0..200).filter(|_| p.rounds(1, 100_000) == WINDOW).count();
        assert!(full > 150, "{full}");
    }

    #[test]
    fn a_way_that_became_longer_is_no_competitor() {
        let mut p = Path::new();
        p.way = Duration::from_millis(70);
        // 53 kB do not fill it: no queue, and half of them take as long.
        while p.longer.is_none() && p.now < Time::from_secs(3) {
            p.round(0);
        }
        assert_eq!(p.longer, Some(p.way));
        assert!(!p.competitor.is_competing());
    }

    #[test]
    fn beside_our_own_queue_a_longer_way_is_found_by_a_second_test() {
        let mut p = Path::new();
        p.way = Duration::from_millis(75);
        p.flight = 120_000;
        while p.longer.is_none() && p.now < Time::from_secs(3) {
            // As if it had not known before the test.
            p.round(0);
            if matches!(p.competitor.stage, Stage::Watching { .. }) {
                p.flight = 120_000;
            }
        }
        assert_eq!(p.longer, Some(p.way));
        assert!(!p.competitor.is_competing());
    }

    #[test]
    fn a_queue_of_others_is_no_longer_way() {
        let mut p = Path::new();
        // One that fills a window of its own: whatever we take out of the queue makes it shorter.
        p.rounds(200, 60_000);
        assert_eq!(p.longer, None);
        // One that grows by a packet in each round, and is halved.
        let mut p = Path::new();
        (0..400).for_each(|n| p.round(60_000 + 1_500 * (n % 40)));
        assert_eq!(p.longer, None);
    }

    #[test]
    fn when_the_competitor_leaves_the_cap_is_back() {
        let mut p = Path::new();
        p.rounds(30, 100_000);
        // Its own window makes a queue of 100 ms now; the first test finds that.
        p.rounds(PATIENCE.1, 0);
        let capped = (0..50).filter(|_| p.rounds(1, 0) == FAIR).count();
        assert_eq!(capped, 50);
    }

    #[test]
    fn a_queue_that_is_our_own_drains_and_proves_nothing() {
        let mut p = Path::new();
        // More in flight than the cap allows, as after a rate that fell.
        for _ in 0..6 {
            p.flight = 90_000;
            p.round(0);
        }
        assert!(p.flight < FAIR, "draining: {}", p.flight);
        p.rounds(10, 0);
        assert_eq!(p.flight, FAIR);
    }

    #[test]
    fn after_a_test_flight_grows_back_round_by_round() {
        let mut p = Path::new();
        p.rounds(30, 100_000);
        let mut before = p.flight;
        for _ in 0..100 {
            let now = p.rounds(1, 100_000);
            assert!(now <= 2 * before + 3000, "{before} to {now}");
            before = now;
        }
    }
}
