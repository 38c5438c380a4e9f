//! What limits the transfer, and for how long it did. Costs one comparison per send attempt.

use crate::config::StallDetectionConfig;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::Sender;
use crate::stats::{Limit, LimitStats};
use crate::time::Time;
use crate::trace::Stop;
use crate::view::PathView;

/// The limit and how long it has been so.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(super) current: Limit,
    since: Time,
    /// Present once something was sent: idle associations are many.
    spent: Option<Box<LimitStats>>,
    /// The latest message was refused for want of room in the send buffer.
    pub(super) refused: bool,
    pub(super) watch: Option<Box<Watch>>,
}

/// What the events need.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) config: StallDetectionConfig,
    /// When to look next; `Time::MAX` while there is nothing to send.
    pub(super) timer: Time,
    /// Times spent at the last look, once there was one.
    before: Option<Box<LimitStats>>,
    reported: Option<Limit>,
    /// When data was acknowledged last, or began to be sent.
    pub(super) progress: Time,
    /// A heartbeat was answered since.
    pub(super) answered: Option<PathId>,
    /// The path was asked for a sign of life since.
    pub(super) asked: bool,
    pub(super) stalled: bool,
}

impl Limits {
    pub(super) fn new(config: Option<StallDetectionConfig>) -> Self {
        let watch = config.map(|config| {
            Box::new(Watch {
                config,
                timer: Time::MAX,
                before: None,
                reported: None,
                progress: Time::ZERO,
                answered: None,
                asked: false,
                stalled: false,
            })
        });
        Self { watch, ..Self::default() }
    }

    /// The association is set up.
    pub(super) const fn start(&mut self, now: Time) {
        self.since = now;
    }

    #[inline]
    fn note_limit(&mut self, now: Time, limit: Limit) {
        if limit != self.current {
            *self.spent.get_or_insert_default().slot(self.current) += now.since(self.since);
            self.current = limit;
            self.since = now;
        }
    }

    pub(super) fn stats(&self, now: Time) -> LimitStats {
        let mut stats = self.spent.as_deref().cloned().unwrap_or_default();
        let current_for = now.since(self.since);
        *stats.slot(self.current) += current_for;
        LimitStats { current: self.current, current_for, ..stats }
    }

    #[inline]
    pub(super) fn timer(&self) -> Time {
        self.watch.as_ref().map_or(Time::MAX, |watch| watch.timer)
    }

    /// Data was acknowledged.
    #[inline]
    pub(super) fn note_progress(&mut self, now: Time) {
        if let Some(watch) = &mut self.watch {
            (watch.progress, watch.answered) = (now, None);
            (watch.asked, watch.stalled) = (false, false);
        }
    }

    /// A heartbeat on `p` was answered.
    pub(super) fn answered(&mut self, p: PathId) {
        if let Some(watch) = &mut self.watch {
            watch.answered = Some(p);
        }
    }

    /// There is something to send.
    #[inline]
    fn arm_timer(&mut self, now: Time) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.timer == Time::MAX) {
            watch.timer = now + watch.config.interval;
            (watch.progress, watch.answered) = (now, None);
        }
    }

    /// A send attempt ended.
    #[inline]
    pub(super) fn note_stop(&mut self, now: Time, stop: Stop, tx: &Sender, paths: &PathSet) {
        let limit = match stop {
            Stop::NoData if tx.outstanding.has_marked() => path_limit(paths),
            Stop::NoData if self.refused => Limit::SendBuffer,
            Stop::NoData | Stop::State | Stop::Company => Limit::Application,
            Stop::PeerWindow => Limit::PeerWindow,
            Stop::Paths => path_limit(paths),
            Stop::Scheduler => scheduler_limit(paths),
            Stop::Pacing if paths.views.iter().any(|v| v.rate_based) => Limit::Pacing,
            // A window is spread, faster than it opens: what limited before still does.
            Stop::Pacing => self.current,
        };
        self.note_limit(now, limit);
        if !tx.is_drained() {
            self.arm_timer(now);
        }
    }
}

impl Watch {
    /// What limited most of the time since the last look, if that is news.
    pub(super) fn find_new_limit(&mut self, stats: LimitStats) -> Option<Limit> {
        let before = self.before.get_or_insert_default();
        let (most, _) = *stats.since(before).first()?;
        **before = stats;
        let news = self.reported != Some(most);
        news.then(|| *self.reported.insert(most))
    }
}

/// The scheduler leaves an open path idle: which one is better, and not open?
fn scheduler_limit(paths: &PathSet) -> Limit {
    let usable = paths.views.iter().filter(|v| v.usable);
    let waited_for = usable.min_by_key(|v| (v.sendable, v.srtt.is_none(), v.srtt, v.id));
    waited_for.map_or(Limit::NoPath, |path| Limit::Scheduler(path.id))
}

/// No path takes data: why?
fn path_limit(paths: &PathSet) -> Limit {
    let mut fastest: Option<&PathView> = None;
    for view in paths.views.iter().filter(|v| v.usable) {
        if view.has_room() {
            return Limit::Rules;
        }
        if fastest.is_none_or(|other| (view.srtt, view.id) < (other.srtt, other.id)) {
            fastest = Some(view);
        }
    }
    fastest.map_or(Limit::NoPath, |path| Limit::Congestion(path.id))
}
