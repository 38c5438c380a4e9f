//! Paths that fall silent: their data goes out once more elsewhere, at once, while a heartbeat asks
//! whether they live. A path that is only slow loses nothing but the time until something of it is
//! acknowledged, or a heartbeat is answered.

use super::{Association, State};
use crate::event::Event;
use crate::ids::PathId;
use crate::policy::Trigger;
use crate::sender::SackOutcome;
use crate::time::Time;
use crate::trace::TraceEvent;
use crate::view::{PathState, PathView};

impl Association {
    /// After a SACK that brought news: which paths should have been in it, and were not?
    pub(super) fn watch_silence(&mut self, now: Time, outcome: &SackOutcome) {
        if !self.config.recovery.rescheduling.watches_silence() {
            return;
        }
        for p in self.paths.ids() {
            if self.tx.is_silent(now, p, outcome, &self.paths) {
                self.on_path_silent(now, p);
            }
        }
    }

    /// `p` is silent: no data on it while there is a better path, its chunks go out on others, and
    /// it is asked for a sign.
    pub(super) fn on_path_silent(&mut self, now: Time, p: PathId) {
        let sound = |v: &PathView| v.usable && !v.silent && v.state == PathState::Active;
        let replaceable = self.paths.views.iter().any(|v| v.id != p && sound(v));
        let is_over = self.state == State::Closed;
        // What a timeout sent again on the only path there was waits there for the next one, although
        // there may be another path by then.
        let failing = |v: &PathView| !v.silent && v.state == PathState::PotentiallyFailed;
        if is_over || !replaceable || !self.paths.view(p).is_some_and(|v| sound(v) || failing(v)) {
            return;
        }
        self.paths.suspect(now, p);
        self.tx.begin_copying(p);
        self.data_given_up(now, p);
        let view = self.tx.view(now, &self.paths);
        self.policies.congestion.on_silent(&view, p);
        self.refresh_windows(now);
        self.tracer.emit(now, || TraceEvent::Suspect { path: p, silent: true });
        self.events.push_back(Event::PathSilent { path: p, silent: true });
        if self.state.sends_heartbeats() {
            self.send_heartbeat(now, p);
        }
        self.trigger(Trigger::Path);
    }

    /// Something of `p` was acknowledged, or a heartbeat answered: its chunks are no longer copied.
    pub(super) fn on_path_heard_again(&mut self, now: Time, p: PathId) {
        if self.paths.view(p).is_some_and(|v| v.silent) {
            self.tx.outstanding.end_copying(p);
            self.tracer.emit(now, || TraceEvent::Suspect { path: p, silent: false });
            self.events.push_back(Event::PathSilent { path: p, silent: false });
            self.trigger(Trigger::Path);
        }
    }
}
