//! What is known of one path, and how much may be in flight on it.

use polypath_proto::policy::{AckedInfo, PaddedTrip};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

use super::burst::Burst;
use super::loss::LossShare;
use crate::path_model::competitor::{Competitor, Known};
use crate::path_model::estimate::PathEstimate;
use crate::path_model::feedback::Feedback;
use crate::path_model::headroom::Headroom;
use crate::path_model::rate_bound::RateBound;
use crate::path_model::train::Train;

/// What a path carries is forgotten when no data of it was acknowledged for so long. It may be
/// another path by then, and one that is thought slow is not used, so nothing else would tell.
const MEMORY: Duration = Duration::from_secs(10);

/// A path that was left is tried again when a heartbeat says that it is so many times as fast as it
/// was then.
const FASTER: f64 = 2.0;
/// What heartbeats promise and data does not find is believed again after so long, and twice as
/// long each time: others' packets on the path delay large and small heartbeats alike.
const PATIENCE: Duration = Duration::from_secs(1);

/// One path.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    feedback: Feedback,
    pub(super) estimate: PathEstimate,
    pub(super) bound: RateBound,
    /// When data of it was last acknowledged.
    latest: Time,
    train: Train,
    competitor: Competitor,
    headroom: Headroom,
    pub(super) loss: LossShare,
    pub(super) burst: Burst,
    retrial: Retrial,
    /// Paths that share its bottleneck, itself included.
    members: u64,
    /// Bytes of the buffer that no path needs, in equal parts.
    spare: f64,
    /// The cap, which every decision of a send attempt asks for; none since something else changed.
    known_cap: Option<u64>,
    /// What of the path it was computed from.
    facts: Option<PathFacts>,
}

/// What a cap depends on, of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathFacts {
    cwnd: u64,
    mtu: u32,
    min_rtt: Option<Duration>,
    rttvar: Duration,
}

impl PathFacts {
    const fn of(path: &PathView) -> Self {
        Self { cwnd: path.cwnd, mtu: path.mtu, min_rtt: path.min_rtt, rttvar: path.rttvar }
    }
}

/// When heartbeats last made us forget how slow the path was.
#[derive(Clone, Copy, Debug, Default)]
struct Retrial {
    at: Time,
    /// The rate that was forgotten, bytes/s.
    rate: f64,
    patience: Duration,
}

impl Retrial {
    /// Whether a path that is thought to carry `rate` may be tried again.
    fn begins(&mut self, now: Time, rate: f64) -> bool {
        if now.since(self.at) < self.patience {
            return false;
        }
        let failed = self.rate > 0.0 && rate < FASTER * self.rate;
        let patience = if failed { (2 * self.patience).min(MEMORY) } else { PATIENCE };
        *self = Self { at: now, rate, patience };
        true
    }
}

impl Own {
    /// A path that carries its first data, of which heartbeats told so much.
    pub(super) fn new(bound: RateBound) -> Self {
        Self { bound, ..Self::default() }
    }

    /// A SACK acknowledged data of the path.
    pub(super) fn on_acked(&mut self, now: Time, path: &PathView, ev: &AckedInfo, slack: u64) {
        let cap = self.cap(path, slack);
        self.known_cap = None;
        self.latest = now;
        self.burst.on_acked(ev);
        if let Some(bandwidth) = path.bandwidth {
            self.estimate.adopt(now, path, ev, bandwidth.get());
            return;
        }
        let trip = ev.rtt.map(|rtt| self.feedback.on_trip(now, ev.sack_path, rtt));
        if let Some(longer) = trip.and_then(|trip| trip.longer) {
            self.estimate.became_longer(now, path, longer);
        }
        let ev = &AckedInfo { rtt: trip.map(|trip| trip.rtt), ..*ev };
        self.note_train(now, path, ev);
        self.estimate.on_acked(now, path, ev);
        let Some(known) = self.known(path, slack) else {
            (self.competitor, self.headroom) = Default::default();
            return;
        };
        self.headroom.on_acked(now, path, ev, &known, cap);
        if let Some(longer) = self.competitor.on_acked(now, path, ev, &known) {
            self.estimate.became_longer(now, path, longer);
        }
    }

    /// Beside somebody who fills the queue, what comes through is our share of it and not what the
    /// path carries.
    fn note_train(&mut self, now: Time, path: &PathView, ev: &AckedInfo) {
        let busy = self.train.on_acked(now, ev.rtt, ev.bytes, path.mtu);
        if let Some(busy) = busy.filter(|_| !self.competitor.is_competing()) {
            self.estimate.was_busy(now, path, busy);
        }
    }

    /// Bytes per second that the path can carry: what it carried when it was full, or else what the
    /// latest data leaves possible.
    #[inline]
    pub(super) fn rate(&self, now: Time) -> f64 {
        let carried = self.estimate.rate();
        if self.estimate.is_full() {
            return carried;
        }
        self.bound.get(now).map_or(f64::INFINITY, |bound| bound.max(carried))
    }

    /// A padded heartbeat was answered on the path, which carries no data now.
    pub(super) fn on_probe(&mut self, now: Time, path: &PathView, trip: &PaddedTrip) {
        self.bound.on_probe(now, trip);
        let rate = self.estimate.rate();
        let faster = self.bound.get(now).is_some_and(|bound| bound > FASTER * rate);
        let slow = path.outstanding == 0 && self.estimate.is_full();
        if slow && faster && self.retrial.begins(now, rate) {
            self.forget();
        }
    }

    /// Forgets what the path carries; its losses are remembered.
    fn forget(&mut self) {
        let Self { loss, burst, bound, retrial, .. } = *self;
        *self = Self { loss, burst, bound, retrial, ..Self::default() };
    }

    /// A round begins, with so much to spare and so many paths at its bottleneck.
    pub(super) fn begin_attempt(
        &mut self,
        now: Time,
        path: &PathView,
        slack: u64,
        spare: f64,
        members: u64,
    ) {
        if path.outstanding == 0 && now.since(self.latest) > MEMORY && self.estimate.was_full() {
            self.forget();
        }
        let facts = Some(PathFacts::of(path));
        let same = self.spare == spare && self.members == members && self.facts == facts;
        if same && self.known_cap.is_some() {
            return;
        }
        (self.spare, self.members, self.facts) = (spare, members, facts);
        self.known_cap = Some(self.new_cap(path, slack));
    }

    /// What may be in flight on the path, bytes. It holds for a send attempt, or until the next
    /// acknowledgement.
    #[inline]
    pub(super) fn cap(&self, path: &PathView, slack: u64) -> u64 {
        self.known_cap.unwrap_or_else(|| self.new_cap(path, slack))
    }

    /// Where the congestion control has a model of the path, its window and its rate decide, as far
    /// as the buffer lasts.
    fn new_cap(&self, path: &PathView, slack: u64) -> u64 {
        if path.bandwidth.is_some() {
            let held = self.estimate.bdp(path) + self.spare;
            return path.cwnd.min(held as u64 + slack * u64::from(path.mtu));
        }
        self.competitor.cap(self.fair_cap(path, slack))
    }

    /// The same where nobody else fills the queue.
    fn fair_cap(&self, path: &PathView, slack: u64) -> u64 {
        let bdp = self.estimate.bdp(path);
        // Paths of one bottleneck keep one queue between them and ask for one share more.
        let slack = slack * u64::from(path.mtu) / self.members.max(1);
        if !self.estimate.is_full() {
            // Rates come a round late: twice the product alone would double every second round
            // trip. In slow start the window is twice what went through without a queue a round
            // trip ago.
            let first = !self.estimate.was_full() && path.cwnd < path.ssthresh;
            let window = if first { path.cwnd } else { path.cwnd.min(10 * u64::from(path.mtu)) };
            return ((2.0 * bdp) as u64).max(window) + slack;
        }
        let reserve =
            if self.spare > 0.0 { self.estimate.reserve(path).min(self.spare) } else { 0.0 };
        (bdp + reserve.max(self.headroom.bytes())) as u64 + slack
    }

    /// As if somebody else filled its queue: the window alone decides.
    #[cfg(test)]
    pub(super) const fn compete(&mut self) {
        self.known_cap = Some(u64::MAX);
    }

    /// What a queue of somebody else is told by; nothing while the path was never full.
    fn known(&self, path: &PathView, slack: u64) -> Option<Known> {
        let base = self.estimate.min_rtt(path).filter(|_| self.estimate.is_full())?;
        Some(Known { base, rate: self.estimate.rate(), slack })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_model::estimate::tests::feed;
    use crate::test_views::paths;

    const SLACK: u64 = 2;

    #[test]
    fn a_path_that_became_slower_is_known_by_a_dozen_packets() {
        let (path, mut own) = (paths(1).remove(0), Own::default());
        let rtt = Duration::from_millis(100);
        let mut now = feed(&mut own.estimate, Time::ZERO, 1e6, rtt, 130_000, 3);
        // They come every 3 ms, were sent every 1.5 ms, and so each waits for longer: 39 ms after
        // the change, less than half a round trip.
        for n in 0..13_u64 {
            now += Duration::from_millis(3);
            let ev = AckedInfo {
                path: path.id,
                bytes: 1500,
                outstanding_before: 130_000,
                outstanding: 128_500,
                may_grow: true,
                rtt: Some(Duration::from_micros(130_000 + 1_500 * n)),
                sack_path: path.id,
            };
            own.on_acked(now, &path, &ev, SLACK);
        }
        assert!((0.49e6..0.51e6).contains(&own.estimate.rate()), "{}", own.estimate.rate());
    }

    /// A path of 1 MB/s that was left, and whether a padded heartbeat that took longer by so many
    /// microseconds makes us forget that, at so many seconds.
    fn tried_again(probes: &[(u64, u64)]) -> Vec<bool> {
        let (path, mut own) = (paths(1).remove(0), Own::default());
        let ms = Duration::from_millis;
        let slow = |own: &mut Own, now| feed(&mut own.estimate, now, 1e6, ms(100), 130_000, 3);
        slow(&mut own, Time::ZERO);
        let mut tried = |&(s, longer): &(u64, u64)| {
            let padded = ms(10) + Duration::from_micros(longer);
            let trip = PaddedTrip { bytes: 1_400, padded, unpadded: ms(10) };
            own.on_probe(Time::from_secs(s), &path, &trip);
            let forgotten = !own.estimate.was_full();
            if forgotten {
                slow(&mut own, Time::from_secs(s));
            }
            forgotten
        };
        probes.iter().map(&mut tried).collect()
    }

    #[test]
    fn a_path_that_was_left_is_tried_again_when_a_heartbeat_says_that_it_is_twice_as_fast() {
        assert_eq!(tried_again(&[(10, 1_300)]), [false], "1.08 MB/s");
        assert_eq!(tried_again(&[(10, 650)]), [true], "2.15 MB/s");
    }

    #[test]
    fn heartbeats_that_promise_too_much_are_believed_ever_less() {
        let probes: Vec<_> = (10..30).map(|s| (s, 300)).collect();
        let tried = tried_again(&probes).into_iter().zip(10..).filter_map(|(t, s)| t.then_some(s));
        assert_eq!(tried.collect::<Vec<_>>(), [10, 11, 13, 17, 25]);
    }

    #[test]
    fn a_path_that_was_never_full_takes_what_slow_start_allows() {
        let (mut path, own) = (paths(1).remove(0), Own::default());
        (path.cwnd, path.ssthresh) = (30_000, 1 << 20);
        assert_eq!(own.cap(&path, SLACK), 33_000);
        // Without slow start a window says little of the path.
        path.ssthresh = 30_000;
        assert_eq!(own.cap(&path, SLACK), 18_000);
    }
}
