//! What a path can carry and how long it holds a byte, from its acknowledgements alone.

use polypath_proto::policy::AckedInfo;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{PathView, RateSample};

use crate::path_model::restless::Restless;
use crate::path_model::train::Busy;
use crate::path_model::windowed_min::{WindowedMin, nanos};

/// Hosts and their devices hand packets on in batches, and processes wait for their turn: what is
/// in flight must last so long, or a fast path of a short round trip runs dry between two looks at
/// it. Less where the buffer does not last so long: it would all go to the first path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HostJitter(Duration);

impl HostJitter {
    /// The part of a buffer that one path may take for it.
    const SHARE: f64 = 0.25;

    /// For paths of `rate` bytes per second together that share a buffer of so many bytes.
    pub(crate) fn of(buffer: f64, rate: f64) -> Self {
        let Self(most) = Self::default();
        let lasts = Self::SHARE * buffer / rate.max(1.0);
        if lasts < most.as_secs_f64() { Self(Duration::from_secs_f64(lasts)) } else { Self(most) }
    }
}

impl Default for HostJitter {
    fn default() -> Self {
        Self(Duration::from_millis(1))
    }
}

/// Rounds that the greatest delivery rate is remembered for.
const RATE_ROUNDS: usize = 6;
/// A round that had this many times the bytes in flight that the path holds without a queue saw a
/// queue.
const QUEUE: f64 = 1.02;

/// A rate that grows by this without a queue shows that the path is not full yet.
const GROWTH: f64 = 1.15;

/// A round may be so much faster than the best of its samples: with jitter they are all slower than
/// the path (0.85 of the goodput with 4 ms of it on 20 Mbit/s without that).
const BUNCHED: f64 = 1.25;

/// A link that was busy and carried less than this part of the rate became slower.
const SLOWER: f64 = 0.85;

/// So many of eight rounds with a queue that bring no more show that the path is full.
const STANDING: u32 = 3;

/// Round trips that are so many times as long as what is in flight explains want an explanation; a
/// quarter more than the smallest is none of them, whatever is in flight.
const SUDDEN: f64 = 1.25;
/// Packets that may queue without anybody wondering.
const SLACK_PACKETS: f64 = 2.0;
/// Delivery rate and smallest round trip of one path.
///
/// A round begins with an acknowledgement and ends with the first one that comes a round trip
/// later; its delivery rate is what was acknowledged meanwhile. The greatest of the last rounds
/// counts, as in BBR (Cardwell et al. 2016): single rounds read too low when acknowledgements
/// bunch. A rate is what the path *can* carry only if more was in flight all the time than the path
/// holds, so that a queue stood; else it is what was asked of it.
///
/// Round trips that grow mean that the way became longer, or that the path became slower and a
/// queue stands. The two ask for the opposite: more in flight, or less. They differ in how
/// acknowledgements come; see `Plateau`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathEstimate {
    round: Option<Round>,
    /// Bytes per second.
    rates: [f64; RATE_ROUNDS],
    next_rate: usize,
    /// The greatest of them, and what the path holds at that rate.
    rate: f64,
    bdp: f64,
    /// The rate or the smallest round trip may have changed since that was computed.
    news: bool,
    full: bool,
    /// Of the last eight rounds, those in which no packet found the path empty and which brought no
    /// more than before.
    standing: u8,
    /// The rate when a queue stood last.
    full_rate: f64,
    min_rtt: WindowedMin,
    restless: Restless,
    plateau: Option<Plateau>,
    /// The most that was outstanding in the round before.
    most_before: u64,
    /// The greatest delivery rate that a sample showed since the round began, bytes/s.
    best_sample: f64,
    host_jitter: HostJitter,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    began: Time,
    /// Bytes acknowledged since.
    delivered: u64,
    /// The least that was outstanding before any of its acknowledgements.
    least_outstanding: u64,
    /// The most.
    most_outstanding: u64,
    /// The smallest round trip, and how many were measured.
    least_rtt: Option<Duration>,
    trips: u64,
    /// Since when nothing has been in flight.
    empty_since: Option<Time>,
}

/// Round trips that are longer than before and all alike.
///
/// By Little's law a queue's rate times the time in it is what is in flight. When the way becomes
/// longer, acknowledgements stop for the difference and then go on as fast as before: rate times
/// round trip is then more than what is in flight, which no queue can do.
#[derive(Clone, Copy, Debug)]
struct Plateau {
    began: Time,
    least: Duration,
    most: Duration,
    /// Bytes acknowledged since.
    delivered: u64,
}

impl Round {
    const fn from(began: Time) -> Self {
        Self {
            began,
            delivered: 0,
            least_outstanding: u64::MAX,
            most_outstanding: 0,
            least_rtt: None,
            trips: 0,
            empty_since: None,
        }
    }

    fn note(&mut self, ev: &AckedInfo) {
        self.delivered += ev.bytes;
        self.least_outstanding = self.least_outstanding.min(ev.outstanding_before);
        self.most_outstanding = self.most_outstanding.max(ev.outstanding_before);
        self.trips += u64::from(ev.rtt.is_some());
        self.least_rtt = match (self.least_rtt, ev.rtt) {
            (Some(least), Some(rtt)) => Some(least.min(rtt)),
            (least, rtt) => least.or(rtt),
        };
    }
}

impl Plateau {
    const fn from(began: Time, rtt: Duration) -> Self {
        Self { began, least: rtt, most: rtt, delivered: 0 }
    }

    /// Takes another round trip to it; false if it is not like the others.
    fn note(&mut self, ev: &AckedInfo, rtt: Duration, base: Duration) -> bool {
        self.least = self.least.min(rtt);
        self.most = self.most.max(rtt);
        self.delivered += ev.bytes;
        self.most - self.least <= self.least.saturating_sub(base) / 8
    }

    /// Whether it is more than what is in flight can explain.
    fn is_no_queue(&self, now: Time, path: &PathView, outstanding: u64) -> bool {
        let elapsed = now.since(self.began).as_secs_f64();
        let enough = (4 * u64::from(path.mtu)).max(outstanding / 4);
        let held = self.delivered as f64 * self.least.as_secs_f64();
        self.delivered >= enough && held > SUDDEN * outstanding as f64 * elapsed
    }
}

impl PathEstimate {
    /// A SACK acknowledged data of the path. Gives whether a round ended.
    pub fn on_acked(&mut self, now: Time, path: &PathView, ev: &AckedInfo) -> bool {
        let ended = self.note(now, path, ev);
        if std::mem::take(&mut self.news) {
            self.bdp = self.held(path);
        }
        ended
    }

    /// What is in flight must last so long from now on.
    pub(crate) fn set_host_jitter(&mut self, host_jitter: HostJitter, path: &PathView) {
        if self.host_jitter != host_jitter {
            self.host_jitter = host_jitter;
            self.bdp = self.held(path);
        }
    }

    /// The delivery rate as the engine samples it.
    pub(crate) fn on_sample(&mut self, sample: &RateSample) {
        if sample.is_valid {
            let rate = sample.delivered as f64 / sample.interval.as_secs_f64().max(1e-9);
            self.best_sample = self.best_sample.max(rate);
        }
    }

    /// The congestion control has a model of the path by itself: so many bytes per second.
    pub(crate) fn adopt(&mut self, now: Time, path: &PathView, ev: &AckedInfo, bandwidth: u64) {
        if let Some(rtt) = ev.rtt {
            self.min_rtt.sample(now, rtt);
        }
        self.rate = bandwidth as f64;
        (self.full, self.full_rate) = (true, self.rate);
        self.bdp = self.held(path);
    }

    fn note(&mut self, now: Time, path: &PathView, ev: &AckedInfo) -> bool {
        if let Some(rtt) = ev.rtt {
            self.news |= self.min_rtt.sample(now, rtt);
            if let Some(longer) = self.longer_way(now, path, ev, rtt) {
                self.moved(now, longer);
                return false;
            }
        }
        self.restless.on_acked(now, ev.bytes, self.rate);
        // One SACK may answer all that a host handed over at once: where round trips are shorter
        // than that, nothing in flight is no rest.
        // The next SACK may come by a farther way than the one that this round trip is told by.
        let trip = ev.rtt.max(path.srtt).unwrap_or(path.rto);
        let HostJitter(host_jitter) = self.host_jitter;
        let goes_on = ev.outstanding > 0 || trip < host_jitter;
        let Some(round) = &mut self.round else {
            self.round = goes_on.then_some(Round::from(now));
            return false;
        };
        // Data that comes in one burst per round trip leaves nothing in flight for as long; a path
        // that rests longer says nothing.
        let trip = trip.max(host_jitter);
        if round.empty_since.is_some_and(|since| now.since(since) > trip + trip / 2) {
            *round = Round::from(now);
        }
        round.empty_since = (ev.outstanding == 0).then_some(now);
        round.note(ev);
        let whole = path.srtt.unwrap_or(path.rto).max(host_jitter);
        if now.0.saturating_sub(round.began.0) < nanos(whole) {
            return false;
        }
        let elapsed = now.since(round.began);
        let round = *round;
        // An idle path says nothing: the next round begins with the next acknowledgement.
        self.round = goes_on.then_some(Round::from(now));
        let most = round.most_outstanding.max(self.most_before);
        let unexplained = ev.rtt.map(|rtt| self.unexplained(rtt, most, path));
        self.restless.round_ended(unexplained);
        let rate = round.delivered as f64 / elapsed.as_secs_f64();
        // Acknowledgements that come bunched may answer in one round what took several.
        let sampled = std::mem::take(&mut self.best_sample);
        let rate = if sampled > 0.0 { rate.min(BUNCHED * sampled) } else { rate };
        self.round_ended(&round, rate, path);
        true
    }

    /// Seconds by which a round trip is longer than so many bytes in flight explain.
    fn unexplained(&self, rtt: Duration, outstanding: u64, path: &PathView) -> f64 {
        let base = self.min_rtt(path).unwrap_or_default().as_secs_f64();
        let explained = (outstanding as f64 / self.rate().max(1.0)).max(base);
        (rtt.as_secs_f64() - explained).max(0.0)
    }

    /// Whether a round trip is much longer than with so many bytes in flight on the path as we know
    /// it.
    fn is_sudden(&self, rtt: Duration, outstanding: u64, path: &PathView) -> bool {
        let Some(base) = self.min_rtt(path).filter(|_| self.rate() > 0.0) else { return false };
        let held = (outstanding as f64 / self.rate()).max(base.as_secs_f64());
        let slack = SLACK_PACKETS * f64::from(path.mtu) / self.rate();
        rtt.as_secs_f64() > SUDDEN * held + slack
    }

    /// The round trip of a way that became longer, as soon as acknowledgements show that it is no
    /// queue.
    fn longer_way(
        &mut self,
        now: Time,
        path: &PathView,
        ev: &AckedInfo,
        rtt: Duration,
    ) -> Option<Duration> {
        let base = self.min_rtt(path)?;
        // Most are so short that nothing needs to be computed.
        if nanos(rtt) <= nanos(base) + nanos(base) / 4 {
            self.plateau = None;
            return None;
        }
        // A round trip answers for what was in flight when it began, which may have been more than
        // now.
        let round = self.round.map_or(0, |round| round.most_outstanding).max(self.most_before);
        let outstanding = round.max(ev.outstanding_before);
        if !self.is_sudden(rtt, outstanding, path) {
            self.plateau = None;
            return None;
        }
        let alike = self.plateau.as_mut().is_some_and(|plateau| plateau.note(ev, rtt, base));
        if !alike {
            self.plateau = Some(Plateau::from(now, rtt));
        }
        let plateau = self.plateau.filter(|plateau| plateau.is_no_queue(now, path, outstanding))?;
        Some(plateau.least)
    }

    /// The link carried so much while packets waited for it: at once what a path carries that
    /// became slower, or faster.
    pub(crate) fn was_busy(&mut self, now: Time, path: &PathView, busy: Busy) {
        // A path that was never full is taken for boundless until it is: trains of a slow start say
        // too little of what it carries.
        if !self.was_full() {
            return;
        }
        if busy.throughout && busy.rate < SLOWER * self.rate {
            self.rates = [0.0; RATE_ROUNDS];
            self.round = Some(Round::from(now));
            self.plateau = None;
        } else if busy.rate <= GROWTH * self.rate {
            return;
        }
        self.record(busy.rate);
        (self.full, self.full_rate) = (true, busy.rate);
        self.bdp = self.held(path);
    }

    /// The same, as a test showed it.
    pub(crate) fn became_longer(&mut self, now: Time, path: &PathView, rtt: Duration) {
        self.moved(now, rtt);
        self.bdp = self.held(path);
        self.news = false;
    }

    /// The way has this round trip now. The rate is what it was as long as nothing else is seen.
    fn moved(&mut self, now: Time, rtt: Duration) {
        self.min_rtt.restart(now, rtt);
        self.news = true;
        self.round = Some(Round::from(now));
        self.plateau = None;
    }

    fn round_ended(&mut self, round: &Round, rate: f64, path: &PathView) {
        // Round trips answer for what was in flight one round before.
        self.most_before = round.most_outstanding;
        self.note_rate(round, rate, path);
    }

    fn note_rate(&mut self, round: &Round, rate: f64, path: &PathView) {
        let held = rate * self.trip(path).as_secs_f64();
        // What is in flight on average is the rate times the round trip (Little): what
        // acknowledgements see of it in passing deceives when data comes in bursts, the round trip
        // alone when a burst waits behind itself.
        let average = round.least_rtt.map_or(0.0, |rtt| rate * rtt.as_secs_f64());
        let seen = round.least_outstanding as f64;
        let mtu = f64::from(path.mtu);
        let empty = QUEUE * held + 1.5 * mtu;
        let queue = seen.min(average) > empty;
        // Bursts leave little in flight before them. Where every second packet's round trip is
        // known, the smallest tells that none found the path empty, however they came; and if that
        // brings no more, it is full (as BBR finds it in its start-up).
        let dense = (2 * round.trips) as f64 * mtu >= round.delivered as f64;
        let standing = self.standing << 1 | u8::from(dense && average > empty);
        self.standing = if self.full || rate > GROWTH * self.rate() { 0 } else { standing };
        if queue || rate > self.rate() {
            self.record(rate);
        }
        if queue {
            self.full_rate = self.rate();
        }
        // A little more than before is noise; much more without a queue means that there is more to
        // have.
        self.full = queue || self.full && rate < GROWTH * self.full_rate;
        if !self.full && self.standing.count_ones() >= STANDING {
            (self.full, self.full_rate) = (true, self.rate());
        }
    }

    fn record(&mut self, rate: f64) {
        if let Some(slot) = self.rates.get_mut(self.next_rate) {
            *slot = rate;
        }
        self.next_rate = (self.next_rate + 1) % RATE_ROUNDS;
        self.rate = self.rates.iter().copied().fold(0.0, f64::max);
        self.news = true;
    }

    /// Bytes beyond the bandwidth-delay product and two packets that keep a restless path busy.
    pub fn reserve(&self, path: &PathView) -> f64 {
        let base = self.min_rtt(path).unwrap_or_default().as_secs_f64();
        self.restless.reserve(self.rate(), base, SLACK_PACKETS * f64::from(path.mtu))
    }

    /// The delivery rate, bytes of DATA chunks per second; zero before the first round.
    #[inline]
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether [`rate`](Self::rate) is what the path can carry, not only what was asked of it.
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.full
    }

    /// Whether a queue ever stood on the path.
    #[inline]
    pub fn was_full(&self) -> bool {
        self.full_rate > 0.0
    }

    /// The smallest round trip of data in the last 10 to 20 s of use.
    #[inline]
    pub fn data_rtt(&self, now: Time) -> Option<Duration> {
        self.min_rtt.recent(now)
    }

    /// The same, or what the path's own record says before the first sample.
    #[inline]
    pub fn min_rtt(&self, path: &PathView) -> Option<Duration> {
        self.min_rtt.get().or(path.min_rtt)
    }

    /// Bandwidth-delay product in bytes; zero while the path is not measured.
    #[inline]
    pub fn bdp(&self, path: &PathView) -> f64 {
        if self.min_rtt.get().is_some() { self.bdp } else { self.held(path) }
    }

    fn held(&self, path: &PathView) -> f64 {
        self.rate() * self.trip(path).as_secs_f64()
    }

    /// The smallest round trip, and no less than hosts take to look at it.
    fn trip(&self, path: &PathView) -> Duration {
        self.min_rtt(path).map_or(Duration::ZERO, |trip| trip.max(self.host_jitter.0))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use polypath_proto::PathId;

    /// Feeds a path of `rate` bytes/s and `rtt` with `outstanding` bytes in flight all the time,
    /// one SACK a packet, for `rounds` round trips from `start` on. The first packet finds the path
    /// empty, the others what is outstanding.
    pub(crate) fn feed(
        estimate: &mut PathEstimate,
        start: Time,
        rate: f64,
        rtt: Duration,
        outstanding: u64,
        rounds: u32,
    ) -> Time {
        let mut path = PathView::new(PathId(0), 1500, 1468, Duration::from_secs(1));
        path.srtt = Some(rtt);
        let gap = Duration::from_secs_f64(1468.0 / rate);
        let queued = Duration::from_secs_f64(outstanding as f64 / rate).max(rtt);
        let mut now = start;
        while now < start + rtt * rounds {
            now += gap;
            let ev = AckedInfo {
                path: PathId(0),
                bytes: 1468,
                outstanding_before: outstanding,
                outstanding: outstanding - 1468,
                may_grow: true,
                rtt: Some(if now == start + gap { rtt } else { queued }),
                sack_path: PathId(0),
            };
            estimate.on_acked(now, &path, &ev);
        }
        now
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 0.08
    }

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn without_a_queue_a_rate_is_what_was_asked() {
        // 1 MB/s for 100 ms: the path holds 100 kB; with as much in flight there is no queue.
        let mut e = PathEstimate::default();
        feed(&mut e, Time::ZERO, 1e6, RTT, 100_000, 3);
        assert!(close(e.rate(), 1e6) && !e.is_full(), "{}", e.rate());
    }

    #[test]
    fn a_small_buffer_is_not_spent_on_the_jitter_of_hosts() {
        let seconds = Duration::from_secs_f64;
        assert_eq!(HostJitter::of(8e6, 125e6), HostJitter(seconds(0.001)));
        assert_eq!(HostJitter::of(8e6, 0.0), HostJitter::default());
        assert_eq!(HostJitter::of(65_536.0, 125e6), HostJitter(seconds(0.25 * 65_536.0 / 125e6)));
        // 62.5 MB/s for 400 us, or for a millisecond.
        let held = |host_jitter| {
            let mut e = PathEstimate::default();
            let path = PathView::new(PathId(0), 1500, 1468, Duration::from_secs(1));
            feed(&mut e, Time::ZERO, 62.5e6, Duration::from_micros(400), 100_000, 9);
            e.set_host_jitter(host_jitter, &path);
            e.bdp(&path) / e.rate()
        };
        assert!(close(held(HostJitter::default()), 0.001));
        assert!(close(held(HostJitter::of(65_536.0, 125e6)), 0.0004));
    }

    #[test]
    fn acknowledgements_that_come_bunched_do_not_make_a_path_faster() {
        let mut e = PathEstimate::default();
        e.on_sample(&RateSample::of_trip(60_000, RTT));
        // 100 kB are acknowledged within a round trip; by the samples they took longer to get
        // there.
        feed(&mut e, Time::ZERO, 1e6, RTT, 100_000, 2);
        assert!(close(e.rate(), BUNCHED * 0.6e6), "{}", e.rate());
    }

    #[test]
    fn with_a_queue_it_is_what_the_path_carries() {
        let mut e = PathEstimate::default();
        let now = feed(&mut e, Time::ZERO, 1e6, RTT, 130_000, 3);
        assert!(close(e.rate(), 1e6) && e.is_full());
        // A path that became slower: the queue tells, and six rounds later nothing else is
        // remembered.
        let now = feed(&mut e, now, 0.5e6, RTT, 130_000, 8);
        assert!(close(e.rate(), 0.5e6) && e.is_full(), "{}", e.rate());
        // Faster without a queue: not full any more.
        feed(&mut e, now, 2e6, RTT, 200_000, 3);
        assert!(close(e.rate(), 2e6) && !e.is_full(), "{}", e.rate());
    }

    /// Whether a path of 1 MB/s and 100 ms is known to be full after `rounds`, each given by its
    /// smallest round trip in ms, where bursts leave less in flight before them than it holds, and
    /// so many round trips are known.
    fn full_after_bursts(rounds: &[u64], trips: u64) -> bool {
        let mut e = PathEstimate::default();
        let now = feed(&mut e, Time::ZERO, 1e6, RTT, 100_000, 3);
        let path = PathView::new(PathId(0), 1500, 1468, Duration::from_secs(1));
        for ms in rounds {
            let least_rtt = Some(Duration::from_millis(*ms));
            let round = Round {
                delivered: 100_000,
                least_outstanding: 70_000,
                most_outstanding: 160_000,
                least_rtt,
                trips,
                ..Round::from(now)
            };
            e.note_rate(&round, 1e6, &path);
        }
        e.is_full()
    }

    #[test]
    fn a_path_is_full_where_no_packet_finds_it_empty_however_they_come() {
        assert!(full_after_bursts(&[120, 100, 120, 100, 120], 50));
        assert!(!full_after_bursts(&[120, 100, 100, 100, 120], 50), "too few rounds");
        assert!(!full_after_bursts(&[100, 100, 100, 100, 100], 50), "no queue");
        assert!(!full_after_bursts(&[120, 120, 120, 120, 120], 5), "a burst waits behind itself");
    }

    #[test]
    fn a_way_that_became_longer_is_noticed_within_a_round() {
        let mut e = PathEstimate::default();
        let now = feed(&mut e, Time::ZERO, 1e6, RTT, 130_000, 3);
        // Acknowledgements come as fast as before but twice as late, and answer for 106 kB: a queue
        // at 1 MB/s would take 106 ms for them, not 200.
        let now = feed(&mut e, now, 1e6, RTT * 2, 106_000, 1);
        assert_eq!(e.data_rtt(now), Some(RTT * 2));
        assert!(close(e.rate(), 1e6) && e.is_full(), "{}", e.rate());
    }

    #[test]
    fn a_busy_link_tells_at_once_what_a_path_carries_that_was_full_before() {
        let path = PathView::new(PathId(0), 1500, 1468, Duration::from_secs(1));
        let after = |rate, throughout| {
            let mut e = PathEstimate::default();
            let now = feed(&mut e, Time::ZERO, 1e6, RTT, 130_000, 3);
            e.was_busy(now, &path, Busy { rate, throughout });
            assert!(e.is_full() && close(e.bdp(&path), 0.1 * e.rate()));
            e.rate()
        };
        assert!(close(after(0.5e6, true), 0.5e6));
        assert!(close(after(0.5e6, false), 1e6), "it was idle in between");
        assert!(close(after(2e6, false), 2e6));
        assert!(close(after(1.1e6, true), 1e6) && close(after(0.9e6, true), 1e6), "noise");
        let mut new = PathEstimate::default();
        new.was_busy(Time::ZERO, &path, Busy { rate: 1e6, throughout: true });
        assert!(!new.is_full());
    }

    #[test]
    fn round_trips_are_forgotten() {
        let mut e = PathEstimate::default();
        let now = feed(&mut e, Time::ZERO, 1e6, RTT, 130_000, 2);
        let slow = RTT * 2;
        let now = feed(&mut e, now, 1e6, slow, 200_000, 20);
        assert_eq!(e.data_rtt(now), Some(RTT), "4 s later the smaller one still counts");
        let now = feed(&mut e, now, 1e6, slow, 200_000, 100);
        assert_eq!(e.data_rtt(now), Some(slow));
        assert_eq!(e.data_rtt(now + Duration::from_secs(11)), None, "an idle path tells nothing");
    }
}
