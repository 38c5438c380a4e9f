//! Which paths share a bottleneck, from the sender's own measurements: flights and round trips.
//!
//! In a queue that two paths share, a byte of either makes a packet of either wait as long. So,
//! over intervals of a round trip, what path b has in flight moves the round trips of path a as
//! much as its own, once what a has in flight is accounted for:
//!
//! - in the moments of (flight a, flight b, delay a, delay b), each taken as its change against its
//!   recent mean, regress both delays on b's flight given a's;
//! - the *ratio* of the two slopes is 1 where the queue is shared and 0 where it is not, whatever
//!   the link's rate and whoever else uses it; the effect on a in standard errors says whether that
//!   is more than chance;
//! - both directions are asked, and neither may contradict the other.
//!
//! Where a queue stands, nobody has to wait for chances: a path yields a part of what it has there,
//! at a time of our own choice, and the round trips of both tell (`active_test`, `likelihood`).
//! What was tried outweighs what was watched.
//!
//! RFC 8382 compares the *shapes* of delays instead (skewness, variability, oscillation), and so
//! would a correlation of delays or of losses. For flows of strangers that works. The paths of one
//! association are fed by one sender: two equal paths run in step, and their delays look alike
//! without anything shared; a SACK that returns another way moves all round trips at once. What a
//! path's *own* bytes do to the *other* one is not deceived by that: paths in step give no answer
//! (neither flight has changes of its own), and the way back does not care which path's bytes are
//! in flight. Round-trip times serve as well as one-way delays, of which SCTP has none.

mod active_test;
mod intervals;
mod likelihood;
mod regression;

use polypath_proto::PathId;
use polypath_proto::policy::AckedInfo;
use polypath_proto::view::{AssocView, PathView};

use active_test::{ActiveTest, ActiveTests};
use intervals::{IntervalOutcome, Intervals, SHORTEST};
use likelihood::Likelihood;
#[cfg(test)]
use regression::Sample;
use regression::{Regression, Response};

// The constants below were chosen with `cargo run --release -p polypath-sim --example sharing`,
// whose rows docs/explanation/shared-bottlenecks.md has: paths of one queue and of two, alike and unlike, with and without
// others.

/// A change of flight or delay is the difference from a moving average, of which each interval
/// makes this part.
const CHANGE_FOLLOWS: f64 = 1.0 / 8.0;
/// Weight of an interval in the regression, as a part of that of the next one.
const INTERVAL_FADE: f64 = 1.0 - 1.0 / 200.0;
/// A path tells something only if at least this part of the variance of its flight is its own, and
/// not explained by the other path's flight.
const LEAST_OWN_VARIANCE: f64 = 0.3;
/// A path shares a queue if its effect on the other one and on itself are so many standard errors.
const SHARED_CROSS_ERRORS: f64 = 4.0;
const SHARED_OWN_ERRORS: f64 = 3.0;
/// It does not share one if half of its effect on itself is ruled out on the other one by so many.
const APART_ERRORS: f64 = 2.5;
/// A shared queue is confirmed by the other direction with this many standard errors. An effect of
/// the second number needs no confirmation: smaller ones occur by chance within hours of looking.
const CONFIRMING_ERRORS: f64 = 2.0;
const UNCONFIRMED_ERRORS: f64 = 8.0;
/// The ratio of both effects is 1 in one queue and 0 in two: above the first number it speaks for
/// one, below the second for two.
const RATIO_BOUNDS: (f64, f64) = (0.5, 0.33);
/// A group that takes more than this part of the bottleneck has more than the share of one flow
/// beside another, which is a half; the rest is what a measurement may be wrong by.
const MORE_THAN_FAIR: f64 = 0.6;
/// Intervals in a row that must agree before paths are grouped, and before they are separated.
const INTERVALS_TO_JOIN: u32 = 40;
const INTERVALS_TO_PART: u32 = 60;

/// Finds groups of paths.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    pairs: Vec<Pair>,
    groups: Vec<PathId>,
    tests: ActiveTests,
    /// Paths of a group that a test has just shown, and that takes more than its share.
    joined: Vec<PathId>,
}

/// Two paths, the lower one first.
#[derive(Clone, Debug)]
struct Pair {
    ids: [PathId; 2],
    bins: Intervals,
    moments: Regression,
    evidence: Likelihood,
    shared: bool,
    /// ActiveTests say so, too.
    proven: bool,
    /// Intervals in a row that speak against `shared`.
    against: u32,
}

impl Detector {
    /// `path` joins, or starts anew.
    pub fn path_added(&mut self, path: PathId) {
        let known = self.groups.len();
        for id in known..=path.index() {
            let id = PathId(id as u8);
            self.groups.push(id);
            self.pairs.extend((0..id.0).map(|other| Pair::new(PathId(other), id)));
        }
        for pair in self.pairs.iter_mut().filter(|p| p.ids.contains(&path)) {
            *pair = Pair::new(pair.ids[0], pair.ids[1]);
        }
        self.merge_groups();
    }

    /// A SACK acknowledged data of a path.
    pub fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        let mut changed = false;
        for pair in self.pairs.iter_mut().filter(|p| p.ids.contains(&ev.path)) {
            changed |= pair.on_acked(view, ev);
        }
        if !self.pairs.is_empty()
            && self.tests.is_awake(view.now)
            && let Some(test) = self.tests.on_acked(view, ev)
        {
            changed |= self.apply_test(view, &test);
        }
        if changed {
            self.merge_groups();
        }
    }

    /// Whether a test changed a verdict.
    fn apply_test(&mut self, view: &AssocView<'_>, test: &ActiveTest) -> bool {
        let (mut changed, mut open) = (false, false);
        for pair in self.pairs.iter_mut().filter(|p| p.ids.contains(&test.path)) {
            let told = pair.apply_test(test);
            let Some(shared) = pair.evidence.shared_verdict() else {
                open |= told;
                continue;
            };
            if shared && !pair.proven && pair.rate_share(test) > MORE_THAN_FAIR {
                for id in pair.ids {
                    // Once, whoever else it was found to share with.
                    self.joined.extend((!self.joined.contains(&id)).then_some(id));
                }
            }
            pair.proven = shared;
            if shared != pair.shared {
                (pair.shared, pair.against) = (shared, 0);
                changed = true;
            }
        }
        self.tests.conclude_test(view, changed || open);
        changed
    }

    /// The next path of a group that was shown by a test since, and that takes more than the share
    /// of one.
    pub fn take_joined(&mut self) -> Option<PathId> {
        self.joined.pop()
    }

    /// What may be in flight on `path` while it is tried what that does to others, bytes.
    pub fn test_limit(&self, path: PathId) -> Option<u64> {
        self.tests.test_limit(path)
    }

    /// Whether any path has a [`limit`](Self::test_limit).
    pub fn limits_any(&self) -> bool {
        self.tests.holds_back()
    }

    /// The lowest path that shares a bottleneck with `path`; itself while none is known.
    pub fn group_of(&self, path: PathId) -> PathId {
        self.groups.get(path.index()).copied().unwrap_or(path)
    }

    /// Whoever shares with one of a group shares with all.
    fn merge_groups(&mut self) {
        for (i, group) in self.groups.iter_mut().enumerate() {
            *group = PathId(i as u8);
        }
        // Pairs come in the order of their higher path, so that lower groups are final.
        for pair in self.pairs.iter().filter(|p| p.shared) {
            let [a, b] = pair.ids.map(|id| self.groups.get(id.index()).copied().unwrap_or(id));
            let (low, high) = (a.min(b), a.max(b));
            self.groups.iter_mut().filter(|g| **g == high).for_each(|g| *g = low);
        }
    }
}

impl Pair {
    fn new(low: PathId, high: PathId) -> Self {
        let (bins, moments) = (Intervals::default(), Regression::default());
        let evidence = Likelihood::default();
        Self { ids: [low, high], bins, moments, evidence, shared: false, proven: false, against: 0 }
    }

    /// Whether the verdict changed.
    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) -> bool {
        let Some([a, b]) = self.both_views(view) else { return false };
        let (Some(ra), Some(rb)) = (a.srtt, b.srtt) else { return false };
        let round = ra.max(rb).max(SHORTEST);
        let which = usize::from(ev.path == self.ids[1]);
        self.bins.add_flight(view.now, round, which, ev.outstanding_before);
        if let Some(rtt) = ev.rtt {
            self.bins.add_delay(view.now - rtt, which, rtt);
        }
        let mut changed = false;
        while let Some(bin) = self.bins.take_finished(view.now, round) {
            changed |= self.add_interval(&bin);
        }
        changed
    }

    /// Whether a test tells anything.
    fn apply_test(&mut self, test: &ActiveTest) -> bool {
        let [low, high] = self.ids;
        let (by, other) = if test.path == low { (0, high) } else { (1, low) };
        let effect = test.effects.get(other.index()).copied().flatten();
        effect.is_some_and(|effect| self.evidence.add_effects(by, &test.own, &effect))
    }

    /// Part of the bottleneck's rate that both paths take: that rate is what was yielded by the
    /// time that this saved.
    fn rate_share(&self, test: &ActiveTest) -> f64 {
        let effects = self.ids.map(|id| test.effects.get(id.index()).copied().flatten());
        let taken: f64 = effects.into_iter().flatten().map(|effect| effect.rate).sum();
        taken * test.own.delay / test.own.flight
    }

    fn both_views<'a>(&self, view: &AssocView<'a>) -> Option<[&'a PathView; 2]> {
        let [a, b] = self.ids.map(|id| view.path(id));
        Some([a?, b?])
    }

    fn add_interval(&mut self, bin: &IntervalOutcome) -> bool {
        match bin {
            IntervalOutcome::Complete(sample) => {
                self.moments.add_sample(sample, CHANGE_FOLLOWS, INTERVAL_FADE)
            }
            IntervalOutcome::Incomplete => self.moments.forget_level(),
        }
        // A cause that was tried outweighs all that was watched.
        let verdict = self.evidence.shared_verdict().or_else(|| self.shared_verdict());
        self.against = if verdict == Some(!self.shared) { self.against + 1 } else { 0 };
        let needed = if self.shared { INTERVALS_TO_PART } else { INTERVALS_TO_JOIN };
        if self.against >= needed {
            self.shared = !self.shared;
            self.against = 0;
            return true;
        }
        false
    }

    /// Whether the bytes of either path delay the other, as far as that can be told.
    fn shared_verdict(&self) -> Option<bool> {
        let responses = [0, 1].map(|by| self.moments.regress_delay(by, LEAST_OWN_VARIANCE));
        let supported = |r: &Response, other: Option<Response>| {
            r.strength > UNCONFIRMED_ERRORS || other.is_some_and(|o| o.strength > CONFIRMING_ERRORS)
        };
        let [a, b] = responses;
        let opinions = [(a, b), (b, a)].map(|(this, other)| {
            let r = this?;
            judge_response(&r).filter(|&shared| !shared || supported(&r, other))
        });
        match opinions {
            [Some(a), Some(b)] if a != b => None,
            [Some(a), _] | [_, Some(a)] => Some(a),
            _ => None,
        }
    }
}

/// What one direction says.
fn judge_response(r: &Response) -> Option<bool> {
    if r.strength > SHARED_CROSS_ERRORS && r.own > SHARED_OWN_ERRORS && r.ratio > RATIO_BOUNDS.0 {
        Some(true)
    } else if r.margin < -APART_ERRORS && r.own > APART_ERRORS && r.ratio < RATIO_BOUNDS.1 {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod active_test_tests;
#[cfg(test)]
mod tests;
