//! What limits the transfer, and whether it makes progress at all. Costs one comparison per send attempt; the events cost a timer while there is
//! something to send.

use super::Association;
use crate::config::WatchConfig;
use crate::event::Event;
use crate::ids::PathId;
use crate::stats::{Limit, LimitStats, Stall};
use crate::time::{Duration, Time};
use crate::trace::Stop;
use crate::view::{PathState, PathView};

/// The limit and how long it has been so.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    current: Limit,
    since: Time,
    /// Present once something was sent: idle associations are many.
    spent: Option<Box<LimitStats>>,
    /// The latest message was refused for want of room in the send buffer.
    pub(super) refused: bool,
    watch: Option<Box<Watch>>,
}

/// What the events need.
#[derive(Debug)]
struct Watch {
    config: WatchConfig,
    /// When to look next; `Time::MAX` while there is nothing to send.
    timer: Time,
    /// Times spent at the last look.
    before: LimitStats,
    told: Option<Limit>,
    /// When data was acknowledged last, or began to be sent.
    progress: Time,
    /// A heartbeat was answered since.
    answered: Option<PathId>,
    /// The path was asked for a sign of life since.
    asked: bool,
    stalled: bool,
}

impl Limits {
    pub(super) fn new(config: Option<WatchConfig>) -> Self {
        let watch = config.map(|config| {
            Box::new(Watch {
                config,
                timer: Time::MAX,
                before: LimitStats::default(),
                told: None,
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
    fn note(&mut self, now: Time, limit: Limit) {
        if limit != self.current {
            *self.spent.get_or_insert_default().slot(self.current) += now.since(self.since);
            self.current = limit;
            self.since = now;
        }
    }

    fn stats(&self, now: Time) -> LimitStats {
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
    pub(super) fn progress(&mut self, now: Time) {
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
    fn arm(&mut self, now: Time) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.timer == Time::MAX) {
            watch.timer = now + watch.config.interval;
            (watch.progress, watch.answered) = (now, None);
        }
    }
}

impl Watch {
    /// What limited most of the time since the last look, if that is news.
    fn look(&mut self, stats: LimitStats) -> Option<Limit> {
        let before = core::mem::replace(&mut self.before, stats);
        let (most, _) = *self.before.since(&before).first()?;
        let news = self.told != Some(most);
        news.then(|| *self.told.insert(most))
    }
}

impl Association {
    /// What limits the transfer, and for how long what has limited it.
    pub fn limits(&self, now: Time) -> LimitStats {
        self.limits.stats(now)
    }

    /// A send attempt ended.
    #[inline]
    pub(super) fn note_limit(&mut self, now: Time, stop: Stop) {
        let limit = match stop {
            Stop::NoData if self.tx.outstanding.has_marked() => self.path_limit(),
            Stop::NoData if self.limits.refused => Limit::SendBuffer,
            Stop::NoData | Stop::State | Stop::Company => Limit::Application,
            Stop::PeerWindow => Limit::PeerWindow,
            Stop::Paths => self.path_limit(),
            Stop::Scheduler => Limit::Scheduler,
            Stop::Pacing => Limit::Pacing,
        };
        self.limits.note(now, limit);
        if !self.tx.is_drained() {
            self.limits.arm(now);
        }
    }

    /// No path takes data: why?
    fn path_limit(&self) -> Limit {
        let mut fastest: Option<&PathView> = None;
        for view in self.paths.views.iter().filter(|v| v.usable) {
            if view.has_room() {
                return Limit::Rules;
            }
            if fastest.is_none_or(|other| (view.srtt, view.id) < (other.srtt, other.id)) {
                fastest = Some(view);
            }
        }
        fastest.map_or(Limit::NoPath, |path| Limit::Congestion(path.id))
    }

    /// Looks at what limited the transfer lately, and whether it goes on at all.
    pub(super) fn on_watch_timer(&mut self, now: Time) {
        let stats = self.limits.stats(now);
        let Some(watch) = &mut self.limits.watch else { return };
        if self.tx.is_drained() || !self.state.may_send_data() {
            watch.timer = Time::MAX;
            return;
        }
        watch.timer = now + watch.config.interval;
        if let Some(limit) = watch.look(stats) {
            self.events.push_back(Event::Limited(limit));
        }
        let (silence, bound) = (now.since(watch.progress), watch.config.stalled_after);
        if watch.stalled || silence < bound / 2 {
            return;
        }
        if !core::mem::replace(&mut watch.asked, true) {
            self.ask_for_life(now);
        } else if silence >= bound {
            self.tell_of_stall(silence);
        }
    }

    /// Once per stall: an answered heartbeat clears the error counter of its path, which must not hide a dead one.
    fn ask_for_life(&mut self, now: Time) {
        let live = |v: &&PathView| v.usable && v.state != PathState::Unconfirmed;
        let paths: smallvec::SmallVec<[PathId; 4]> =
            self.paths.views.iter().filter(live).map(|v| v.id).collect();
        for p in paths {
            if self.paths.get(p).is_some_and(|path| path.heartbeat.is_none()) {
                self.send_heartbeat(now, p);
            }
        }
    }

    fn tell_of_stall(&mut self, silence: Duration) {
        let shut = self.tx.outstanding.window().is_shut_by_living_peer()
            || self.limits.current == Limit::PeerWindow;
        let key = self.may_differ_in_key();
        let Some(watch) = &mut self.limits.watch else { return };
        let stall = match watch.answered {
            _ if shut => Stall::PeerReader,
            Some(_) if key => Stall::SharedKey,
            Some(path) if self.tx.bytes_in_flight() > 0 || self.tx.outstanding.has_marked() => {
                Stall::BlackHole(path)
            }
            // Nothing is heard: path states tell of that.
            _ => return,
        };
        watch.stalled = true;
        self.events.push_back(Event::Stalled { cause: stall, silence });
    }
}
