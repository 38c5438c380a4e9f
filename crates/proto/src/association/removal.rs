//! A path is removed: its data goes elsewhere, its timers stop, everybody is told.

use super::Association;
use crate::event::Event;
use crate::ids::PathId;
use crate::policy::{PathChange, Trigger};
use crate::time::Time;
use crate::trace::TraceEvent;
use crate::view::PathState;

impl Association {
    /// Removes `p`, unless it is the last path. What was in flight on it is sent again elsewhere.
    pub(super) fn remove_path(&mut self, now: Time, p: PathId) {
        let live = self.paths.view(p).is_some_and(|v| v.state != PathState::Removed);
        let Some(heir) = self.paths.heir(p).filter(|_| live) else { return };
        self.tx.remove_path(p, heir, &mut self.paths);
        self.control.redirect(p, heir, self.paths.is_confirmed(heir));
        self.paths.remove(now, p);
        self.tx.add_path(heir);
        if self.state.sends_heartbeats() {
            self.paths.probe_if_stranded(now);
        }
        if self.newest_sack_path == p {
            self.newest_sack_path = heir;
        }
        if self.setup.path == p {
            self.setup.path = heir;
        }
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.redirect(p, heir);
        }
        self.attempt.cancel_move();
        if self.paths.primary == p {
            self.paths.primary = heir;
            self.events.push_back(Event::PrimaryChanged(heir));
        }
        self.events.push_back(Event::PathRemoved(p));
        self.tracer.emit(now, || TraceEvent::PathState { path: p, state: PathState::Removed });
        let view = self.tx.view(now, &self.paths);
        self.policies.path_scheduler.path_event(&view, p, PathChange::Removed);
        self.trigger(Trigger::Path);
    }
}
