//! ActiveTests: one path yields a part of a standing queue for a round trip, and all paths' round
//! trips tell whether it was theirs, too.
//!
//! What paths do by themselves may coincide; what is done to one of them at a time of our own
//! choice does not. A test compares the round trips of packets that left while the path had less
//! in flight with those that left before:
//!
//! 1. *before*: a round trip as it is;
//! 2. *falling*: the path sends nothing until the dip is reached;
//! 3. *low*: it stays there for a round trip, and as much longer as paths differ, so that packets
//!    of every path meet that;
//! 4. *settling*: these packets return, and the path fills again.
//!
//! The dip is a part of what the path itself has in the queue. So the link stays busy, whoever else
//! uses it, and a path without a queue is left alone.

use polypath_proto::PathId;
use polypath_proto::policy::AckedInfo;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, PathView};

use super::intervals::{Mean, SHORTEST};

// The constants below were chosen with `cargo run --release -p polypath-sim --example sharing`
// (docs/explanation/shared-bottlenecks.md has its rows).

/// A path that is tested yields this part of its own bytes in the queue, but no more than the
/// second part of what it has in flight.
const YIELD_OF_QUEUE: f64 = 0.75;
const MOST_OF_FLIGHT: f64 = 0.5;
/// Packets that must be yielded for anything to be seen: more than a scheduler leaves in a queue
/// for its own sake.
const LEAST_YIELD: u64 = 3;
/// Packets that stay in flight.
const LEAST_FLIGHT: u64 = 4;
/// Round trips within which the flight of the tested path must have come down.
const DIP_ROUND_TRIPS: u32 = 3;
/// The tested path counts as filled again once it has this part of its former flight.
const FILLED_AGAIN: f64 = 0.9;
/// Round trips until it is looked again whether a queue stands that is worth a test.
const LOOK_AGAIN: u32 = 4;
/// A dip met no queue if it shortened the round trip of the tested path by less than this part of
/// what it would have done to a queue of its own.
const LEAST_EFFECT: f64 = 0.1;
/// Round trips between tests that tell nothing new, at most.
const LONGEST_PAUSE: u32 = 64;
/// So many tests without a verdict make the pause a round trip longer.
const TESTS_PER_PAUSE: u32 = 16;

/// What a test did to a path: low less before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Effect {
    /// Seconds of its round trip.
    pub(super) delay: f64,
    /// Bytes in flight.
    pub(super) flight: f64,
    /// The bytes per second that it carried before.
    pub(super) rate: f64,
}

/// A test that is over.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActiveTest {
    /// The path that yielded.
    pub(super) path: PathId,
    /// What that did to it.
    pub(super) own: Effect,
    /// What it did to every path that was measured meanwhile, by path id.
    pub(super) effects: Vec<Option<Effect>>,
}

/// One test after the other.
#[derive(Clone, Debug)]
pub(super) struct ActiveTests {
    phase: Phase,
    /// When the phase ends at the latest.
    until: Time,
    tracks: Vec<Track>,
    /// The path that was tried last.
    latest: PathId,
    /// Time in which the path that was tried fills again.
    refill: Duration,
    /// ActiveTests since a verdict.
    open: u32,
    /// Round trips to rest after a test.
    patience: u32,
    /// The state of a sequence that is in step with nothing.
    dice: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Resting,
    Before { path: PathId },
    Falling { path: PathId, limit: u64 },
    Low { path: PathId, limit: u64 },
    Settling { path: PathId, expected: f64 },
}

/// One path's measurements in a test.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    before: Window,
    low: Window,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    from: Time,
    until: Time,
    delay: Mean,
    flight: Mean,
}

impl Window {
    fn between(from: Time, until: Time) -> Self {
        Self { from, until, ..Self::default() }
    }

    fn includes_time(&self, time: Time) -> bool {
        self.from <= time && time < self.until
    }

    fn note_ack(&mut self, now: Time, ev: &AckedInfo) {
        if self.includes_time(now) {
            self.flight.add_value(ev.outstanding_before as f64);
        }
        if let Some(rtt) = ev.rtt.filter(|&rtt| self.includes_time(now - rtt)) {
            self.delay.add_value(rtt.as_secs_f64());
        }
    }

    /// The mean round trip and flight.
    fn mean_values(&self) -> Option<(f64, f64)> {
        self.delay.mean_value().zip(self.flight.mean_value())
    }
}

impl Track {
    fn measured_effect(&self) -> Option<Effect> {
        let ((rtt, flight), (rtt_low, flight_low)) =
            (self.before.mean_values()?, self.low.mean_values()?);
        Some(Effect { delay: rtt_low - rtt, flight: flight_low - flight, rate: flight / rtt })
    }
}

impl Default for ActiveTests {
    fn default() -> Self {
        let (phase, until) = (Phase::Resting, Time::ZERO);
        let (latest, refill) = (PathId(0), Duration::ZERO);
        Self { phase, until, tracks: Vec::new(), latest, refill, open: 0, patience: 0, dice: 1 }
    }
}

impl ActiveTests {
    /// What may be in flight on `path` for the sake of a test, bytes.
    pub(super) fn test_limit(&self, path: PathId) -> Option<u64> {
        match self.phase {
            Phase::Falling { path: p, limit } | Phase::Low { path: p, limit } if p == path => {
                Some(limit)
            }
            _ => None,
        }
    }

    /// Whether any path is held back.
    pub(super) const fn holds_back(&self) -> bool {
        matches!(self.phase, Phase::Falling { .. } | Phase::Low { .. })
    }

    /// Whether an acknowledgement has to be looked at.
    #[inline]
    pub(super) fn is_awake(&self, now: Time) -> bool {
        self.phase != Phase::Resting || now >= self.until
    }

    /// A SACK acknowledged data of a path. Gives the test that ended with it, which is to be
    /// concluded.
    pub(super) fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) -> Option<ActiveTest> {
        if self.phase != Phase::Resting
            && let Some(track) = self.tracks.get_mut(ev.path.index())
        {
            track.before.note_ack(view.now, ev);
            track.low.note_ack(view.now, ev);
        }
        match self.phase {
            Phase::Falling { path, limit } if path == ev.path && ev.outstanding <= limit => {
                self.hold_dip(view, path, limit);
                None
            }
            _ if view.now < self.until => None,
            Phase::Resting => {
                self.begin_test(view);
                None
            }
            Phase::Before { path } => {
                self.begin_dip(view, path);
                None
            }
            Phase::Falling { .. } => {
                self.pause_tests(view, LOOK_AGAIN);
                None
            }
            Phase::Low { path, limit } => {
                self.begin_settling(view, path, limit);
                None
            }
            Phase::Settling { path, expected } => self.finish_test(view, path, expected),
        }
    }

    /// The test that ended taught something about paths of which it is `open` what they share, or
    /// it did not: the next one comes soon, or ever later.
    pub(super) fn conclude_test(&mut self, view: &AssocView<'_>, open: bool) {
        self.open = if open { self.open + 1 } else { 0 };
        let later = (2 * self.patience).max(1);
        self.patience = if open { self.open / TESTS_PER_PAUSE } else { later }.min(LONGEST_PAUSE);
        self.pause_tests(view, self.patience);
    }

    fn pause_tests(&mut self, view: &AssocView<'_>, rounds: u32) {
        let round = longest_rtt(view);
        // A part of a round trip more, so that no sawtooth is met at the same place every time.
        let part = self.draw_number() % 8;
        let pause = round * rounds + round / 8 * part;
        let refill = std::mem::take(&mut self.refill);
        (self.phase, self.until) = (Phase::Resting, view.now + pause.max(refill));
    }

    fn draw_number(&mut self) -> u32 {
        // Numerical Recipes' linear congruential generator; its upper bits are good enough for
        // choices.
        self.dice = self.dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.dice >> 16
    }

    fn begin_test(&mut self, view: &AssocView<'_>) {
        // One queue that is worth a test is enough: of the other paths a few packets do.
        let stands = view.usable().any(|p| dip_size(p).is_some_and(|dip| !dip.small));
        let able = view.usable().filter(|p| stands && dip_size(p).is_some());
        // By turns, so that both directions are asked as often.
        let next = able.min_by_key(|p| (p.id <= self.latest, p.id));
        // Nothing is learnt of paths that rest, or carry nothing but copies, whose acknowledgements
        // may answer the original.
        let used = view.usable().filter(|p| p.outstanding > p.duplicate_bytes_in_flight).count();
        let Some(path) = next.filter(|_| used > 1) else {
            return self.pause_tests(view, LOOK_AGAIN);
        };
        self.latest = path.id;
        self.until = view.now + longest_rtt(view) + delay_spread(view, path);
        self.tracks.clear();
        for other in view.paths {
            // What the dip does reaches the bottleneck before packets of a longer path that left
            // before it.
            let until = self.until - extra_delay(other, path);
            let before = Window::between(view.now, until);
            self.tracks.push(Track { before, low: Window::default() });
        }
        self.phase = Phase::Before { path: path.id };
    }

    fn begin_dip(&mut self, view: &AssocView<'_>, path: PathId) {
        let limit = view.path(path).and_then(|p| {
            let flight = p.outstanding as f64;
            Some((flight - dip_size(p)?.bytes) as u64)
        });
        match limit {
            Some(limit) => {
                self.phase = Phase::Falling { path, limit };
                self.until = view.now + longest_rtt(view) * DIP_ROUND_TRIPS;
            }
            None => self.pause_tests(view, LOOK_AGAIN),
        }
    }

    fn hold_dip(&mut self, view: &AssocView<'_>, path: PathId, limit: u64) {
        let Some(own) = view.path(path) else { return self.pause_tests(view, LOOK_AGAIN) };
        self.until = view.now + longest_rtt(view) + delay_spread(view, own);
        for (track, other) in self.tracks.iter_mut().zip(view.paths) {
            // Wherever the common part of the ways is, packets of this path met the dip there.
            let (from, until) =
                (view.now + extra_delay(own, other), self.until - extra_delay(other, own));
            track.low = Window::between(from, until);
        }
        self.phase = Phase::Low { path, limit };
    }

    fn begin_settling(&mut self, view: &AssocView<'_>, path: PathId, limit: u64) {
        let round = longest_rtt(view);
        let before = self.tracks.get(path.index()).and_then(|t| t.before.mean_values());
        // Alone in its queue, the path would have made its round trip shorter by as much as its
        // flight.
        let expected = before.map_or(0.0, |(rtt, flight)| rtt * (1.0 - limit as f64 / flight));
        self.phase = Phase::Settling { path, expected };
        self.until = view.now + round + round / 4;
    }

    fn finish_test(
        &mut self,
        view: &AssocView<'_>,
        path: PathId,
        expected: f64,
    ) -> Option<ActiveTest> {
        let own = self.tracks.get(path.index()).and_then(Track::measured_effect);
        let Some(own) = own.filter(|own| -own.delay > LEAST_EFFECT * expected) else {
            self.conclude_test(view, false);
            return None;
        };
        // The next test of another path should not see how this one fills again.
        let flight = self.tracks.get(path.index()).and_then(|t| t.before.flight.mean_value());
        let filled = view
            .path(path)
            .zip(flight)
            .is_none_or(|(p, f)| p.outstanding as f64 > FILLED_AGAIN * f);
        self.refill = if filled { Duration::ZERO } else { longest_rtt(view) };
        let effects = self.tracks.iter().map(Track::measured_effect).collect();
        Some(ActiveTest { path, own, effects })
    }
}

/// What a path may yield.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dip {
    bytes: f64,
    /// It has so little in a queue that a test of it alone would not be worth while.
    small: bool,
}

/// What a path may yield without leaving the link idle, or for no more than a packet or two.
fn dip_size(path: &PathView) -> Option<Dip> {
    let (rtt, least) = (as_seconds(path.srtt)?, as_seconds(path.min_rtt)?);
    let flight = path.outstanding as f64;
    let mtu = f64::from(path.mtu);
    let queued = flight * (1.0 - least / rtt);
    let enough = LEAST_YIELD as f64 * mtu;
    let bytes = (YIELD_OF_QUEUE * queued).max(enough).min(MOST_OF_FLIGHT * flight);
    // In slow start a window that is not filled would not grow, and what a loss leaves is not what
    // the path holds.
    let steady = path.cwnd >= path.ssthresh && !path.in_recovery;
    let able = steady && queued >= mtu && flight - bytes >= LEAST_FLIGHT as f64 * mtu;
    able.then_some(Dip { bytes, small: YIELD_OF_QUEUE * queued < enough })
}

fn as_seconds(time: Option<Duration>) -> Option<f64> {
    time.map(|t| t.as_secs_f64())
}

/// The longest round trip.
fn longest_rtt(view: &AssocView<'_>) -> Duration {
    view.usable().filter_map(|p| p.srtt).max().unwrap_or(view.rto_initial).max(SHORTEST)
}

/// How much longer than `than` the way of `path` is; zero where it is shorter.
fn extra_delay(path: &PathView, than: &PathView) -> Duration {
    let (a, b) = (path.min_rtt.unwrap_or_default(), than.min_rtt.unwrap_or_default());
    a.saturating_sub(b)
}

/// By how much other ways are longer or shorter than that of `path`, at most.
fn delay_spread(view: &AssocView<'_>, path: &PathView) -> Duration {
    let apart = |p: &PathView| extra_delay(p, path).max(extra_delay(path, p));
    view.usable().map(apart).max().unwrap_or_default()
}
