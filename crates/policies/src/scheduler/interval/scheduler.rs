//! The path scheduler that follows an interval policy.

use polypath_proto::PathId;
use polypath_proto::policy::{PathChange, PathPick, PathScheduler, Policy, Trigger};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::action::Action;
use super::observer::Observer;
use super::policy::IntervalPolicy;
use crate::scheduler::fair_queue::FairQueue;
use crate::scheduler::open_packet::OpenPacket;
use crate::scheduler::rtt_helpers::least_by;

/// The shortest interval.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);
/// The least weight of a path that has one, beside the largest: start times stay small numbers.
const LEAST_SHARE: f64 = 1e-6;

/// Spreads new data by the weights that its policy decides once per interval.
///
/// The policy is asked in the first send attempt, or for the first chunk, at or after each multiple
/// of the interval. Then chunks go by start-time fair queueing; when the path whose turn it is is
/// full, others take the turn. A path of weight 0 rests while one with a weight is usable. Nothing
/// keeps data waiting while nothing is in flight on a usable path.
#[derive(Clone, Debug)]
pub struct Interval<P> {
    policy: P,
    every: Duration,
    /// When the policy is asked next; at once, before its first answer.
    due: Option<Time>,
    action: Action,
    /// The largest weight of the paths that were usable then; 0 where none had one.
    largest: f64,
    observer: Observer,
    queue: FairQueue,
    open: OpenPacket,
}

impl<P: IntervalPolicy> Interval<P> {
    /// How often policies are asked where nothing else is said.
    pub const EVERY: Duration = Duration::from_millis(10);

    /// A scheduler that asks `policy` once per interval `every`, at least 1 ms long. Zero means: at
    /// the beginning of each send attempt.
    pub fn new(policy: P, every: Duration) -> Self {
        Self {
            policy,
            every: if every.is_zero() { every } else { every.max(LEAST_INTERVAL) },
            due: None,
            action: Action::default(),
            largest: 1.0,
            observer: Observer::default(),
            queue: FairQueue::default(),
            open: OpenPacket::default(),
        }
    }

    /// The policy that it follows.
    pub const fn policy(&self) -> &P {
        &self.policy
    }

    fn is_due(&self, now: Time) -> bool {
        self.due.is_none_or(|due| now >= due)
    }

    fn decide(&mut self, view: &AssocView<'_>) {
        let action = self.policy.decide(view.now, self.observer.observe(view));
        self.adopt(view, action);
        self.due = Some(next_multiple(view.now, self.every));
    }

    fn adopt(&mut self, view: &AssocView<'_>, action: Action) {
        let weights = view.usable().map(|p| f64::from(action.path(p.id.index()).weight));
        let largest = weights.fold(0.0, f64::max);
        let before = |path| queue_weight(share_of(&self.action, self.largest, path));
        let after = |path| queue_weight(share_of(&action, largest, path));
        self.queue.reweigh(|path| before(path) / after(path));
        (self.action, self.largest) = (action, largest);
    }

    fn share_of(&self, path: PathId) -> f64 {
        share_of(&self.action, self.largest, path)
    }

    /// The part of its window that the path may fill is not full; that is a packet at least.
    fn has_room(&self, path: &PathView) -> bool {
        let factor = f64::from(self.action.path(path.id.index()).cwnd_factor);
        let part = (path.cwnd as f64 * factor).max(path.pmdcs.into());
        (path.outstanding as f64) < part
    }

    fn choose_path(&self, view: &AssocView<'_>) -> PathPick {
        let any_weighs = view.usable().any(|p| self.share_of(p.id) > 0.0);
        let may_send =
            |p: &&PathView| (!any_weighs || self.share_of(p.id) > 0.0) && self.has_room(p);
        // Nothing else would wake us up.
        let stuck = || view.usable().all(|p| p.outstanding == 0);
        let start_of = |p: &PathView| self.queue.start_of(p.id);
        let chosen = least_by(view.sendable().filter(may_send), start_of);
        match chosen.or_else(|| least_by(view.sendable().filter(|_| stuck()), start_of)) {
            Some(path) => PathPick::Use(path.id),
            None => self.wait(view),
        }
    }

    /// Waits for feedback; or for the next decision, too, where that may let data go.
    fn wait(&self, view: &AssocView<'_>) -> PathPick {
        match self.due {
            Some(due) if due > view.now && view.sendable().next().is_some() => {
                PathPick::WaitUntil(due)
            }
            _ => PathPick::Wait,
        }
    }
}

/// The part of the largest weight that the path has: at least [`LEAST_SHARE`], unless it is 0.
fn share_of(action: &Action, largest: f64, path: PathId) -> f64 {
    let weight = f64::from(action.path(path.index()).weight);
    if weight > 0.0 { (weight / largest).clamp(LEAST_SHARE, 1.0) } else { 0.0 }
}

/// Paths without a weight share equally among themselves.
fn queue_weight(share: f64) -> f64 {
    if share > 0.0 { share } else { 1.0 }
}

/// The first multiple of `every` after `now`; `now` if that is zero.
fn next_multiple(now: Time, every: Duration) -> Time {
    let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
    let whole =
        now.as_nanos().checked_div(every).map(|n| n.saturating_add(1).saturating_mul(every));
    Time(whole.unwrap_or(now.as_nanos()))
}

impl<P: IntervalPolicy> Policy for Interval<P> {
    fn name(&self) -> &'static str {
        self.policy.name()
    }
}

impl<P: IntervalPolicy> PathScheduler for Interval<P> {
    fn begin_attempt(&mut self, view: &AssocView<'_>, _why: Trigger) {
        self.open.close();
        if self.is_due(view.now) {
            self.decide(view);
        } else if let Some(action) = self.policy.revise() {
            self.adopt(view, action);
        }
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let is_asked_here = !self.every.is_zero() || self.due.is_none();
        if is_asked_here && self.is_due(view.now) {
            self.decide(view);
        }
        // A packet that began is filled, whatever its path's share.
        let open = self.open.path_for(next).and_then(|p| view.path(p));
        match open.filter(|p| p.sendable) {
            Some(bundle) => PathPick::Use(bundle.id),
            None => self.choose_path(view),
        }
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        self.open.on_sent(view, path, chunk, new_packet);
        self.observer.on_sent(chunk.bytes);
        self.queue.on_sent(path, chunk.bytes, queue_weight(self.share_of(path)));
    }

    fn on_path_change(&mut self, _view: &AssocView<'_>, path: PathId, change: PathChange) {
        if matches!(change, PathChange::Added | PathChange::Removed) {
            self.queue.forget(path);
        }
    }
}
