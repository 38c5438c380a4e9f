//! A path is removed: its data goes elsewhere, its timers stop, everybody is told.

use super::{Association, Bundling};
use crate::event::Event;
use crate::ids::PathId;
use crate::policy::{PathChange, Trigger};
use crate::time::Time;
use crate::trace::TraceEvent;
use crate::view::PathState;

/// HEARTBEAT and HEARTBEAT ACK: they are about their path and go with it.
const HEARTBEATS: [u8; 2] =
    [polypath_wire::chunk::kind::HEARTBEAT, polypath_wire::chunk::kind::HEARTBEAT_ACK];

impl Association {
    /// Removes `p`, unless it is the last path. What was in flight on it is sent again elsewhere.
    pub(super) fn remove_path(&mut self, now: Time, p: PathId) {
        let live = self.paths.view(p).is_some_and(|v| v.state != PathState::Removed);
        let Some(heir) = self.paths.heir(p).filter(|_| live) else { return };
        self.tx.remove_path(p, heir, &mut self.paths);
        self.redirect_control(p, heir);
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
        self.reconfig_path_gone(p, heir);
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

    /// Control chunks that wait for `p` take `heir`, if anything but ASCONF may go there.
    fn redirect_control(&mut self, p: PathId, heir: PathId) {
        let confirmed = self.paths.is_confirmed(heir);
        self.control.retain_mut(|chunk| {
            if chunk.path != p || chunk.to.is_some() {
                return true;
            }
            let kind = chunk.bytes.first().copied().unwrap_or_default();
            let asconf = kind == polypath_wire::chunk::kind::ASCONF;
            if HEARTBEATS.contains(&kind) || !confirmed && !asconf {
                return false;
            }
            chunk.path = heir;
            if !confirmed {
                chunk.bundling = Bundling::Alone;
            }
            true
        });
    }
}
