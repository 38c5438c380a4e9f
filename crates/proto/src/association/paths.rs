//! The paths of an association: added, watched, changed and removed. What must follow everywhere
//! else follows here: windows and heartbeats start, data moves, policies and the application are
//! notified.

use super::{Association, State};
use crate::config::SackPath;
use crate::event::Event;
use crate::ids::{FourTuple, PathId};
use crate::policy::{PathChange, Trigger};
use crate::stats::PathContact;
use crate::time::Time;
use crate::trace::TraceEvent;
use crate::view::{PathAdmin, PathState, PathView};

impl Association {
    /// The addresses of a path.
    pub fn path_tuple(&self, p: PathId) -> Option<FourTuple> {
        self.paths.get(p).map(|p| p.tuple)
    }

    /// What packets tell of path `p`: when the last one came, and what is unanswered.
    pub fn path_contact(&self, p: PathId) -> Option<PathContact> {
        let (view, path) = self.paths.both(p)?;
        Some(PathContact {
            last_heard: (path.last_contact != Time::MAX).then_some(path.last_contact),
            unanswered: view.errors,
            silent: view.silent,
        })
    }

    /// The driver could not send on a path: its device is down, or there is no route. Where silent
    /// paths are given up ([`Rescheduling::Silent`](crate::config::Rescheduling::Silent)) its data
    /// goes elsewhere at once; otherwise the timers find out.
    pub fn path_failed(&mut self, now: Time, tuple: FourTuple) {
        let watched = self.config.recovery.rescheduling.watches_silence();
        if let Some(p) = self.paths.by_tuple(&tuple).filter(|_| watched) {
            self.on_path_silent(now, p);
        }
    }

    /// Says what a path may be used for.
    pub fn set_path_admin(&mut self, _now: Time, p: PathId, admin: PathAdmin) {
        if self.state == State::Closed {
            return;
        }
        if let Some(view) = self.paths.view_mut(p) {
            view.admin = admin;
        }
        self.paths.refresh_usable();
        self.trigger(Trigger::Path);
    }

    /// Makes a confirmed path the primary. False if it is not one.
    pub fn set_primary(&mut self, _now: Time, p: PathId) -> bool {
        let confirmed = self.paths.is_confirmed(p);
        if confirmed && self.paths.primary != p && self.state != State::Closed {
            self.paths.primary = p;
            self.events.push_back(Event::PrimaryChanged(p));
            self.trigger(Trigger::Path);
        }
        confirmed
    }

    /// Adds a path; tells policies and the application. `None` when there are too many.
    pub(crate) fn add_path(
        &mut self,
        now: Time,
        tuple: FourTuple,
        confirmed: bool,
    ) -> Option<PathId> {
        if let Some(known) = self.paths.by_tuple(&tuple) {
            return Some(known);
        }
        let p = self.paths.add(now, tuple, confirmed, &self.config)?;
        self.tx.add_path(p);
        self.start_windows(now, p);
        self.events.push_back(Event::PathAdded(p));
        if self.state.sends_heartbeats() {
            self.start_heartbeats(now, p);
        }
        Some(p)
    }

    /// Removes `p`, unless it is the last path. What was in flight on it is sent again elsewhere.
    pub(super) fn remove_path(&mut self, now: Time, p: PathId) {
        let live = self.paths.view(p).is_some_and(|v| v.state != PathState::Removed);
        let Some(heir) = self.paths.heir(p).filter(|_| live) else { return };
        self.tx.remove_path(p, heir, &mut self.paths);
        self.control.redirect(p, heir, self.paths.is_confirmed(heir));
        self.paths.remove(now, p);
        self.forget_keys_of_path(p);
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
        self.policies.path_scheduler.on_path_change(&view, p, PathChange::Removed);
        self.trace_losses(now);
        self.trigger(Trigger::Path);
    }

    /// (Re)starts the congestion window of `p`: a new path, or the peer's window just became known.
    pub(crate) fn start_windows(&mut self, now: Time, p: PathId) {
        let view = self.tx.view(now, &self.paths);
        self.policies.congestion.path_added(&view, p);
        self.policies.path_scheduler.on_path_change(&view, p, PathChange::Added);
        self.refresh_windows(now);
    }

    /// An unconfirmed path is probed at once, a confirmed one after the heartbeat interval.
    pub(crate) fn start_heartbeats(&mut self, now: Time, p: PathId) {
        if self.is_exchanging_keys() {
            return;
        }
        self.start_mtu_search(now, p);
        let awake = |view: &&PathView| view.state != PathState::Removed;
        let Some(view) = self.paths.view(p).filter(awake) else { return };
        if self.paths.is_dormant(p) {
            return;
        }
        if view.state == PathState::Unconfirmed || self.must_measure(view) {
            if let Some(path) = self.paths.get_mut(p) {
                path.heartbeat_at = now;
            }
        } else {
            self.rng.with(|rng| self.paths.schedule_heartbeat(now, p, &self.config, rng));
        }
    }

    /// SACKs can take the fastest path only if every path's round trip is known from the beginning.
    pub(crate) fn must_measure(&self, view: &PathView) -> bool {
        let needed = self.config.sack.path == SackPath::SmallestSrtt
            || self.config.receive_buffer_max.is_some();
        view.srtt.is_none() && needed
    }

    /// A path's state changed: tell everyone.
    pub(crate) fn path_state_changed(&mut self, now: Time, p: PathId, state: PathState) {
        self.events.push_back(Event::PathState { path: p, state });
        self.tracer.emit(now, || TraceEvent::PathState { path: p, state });
        let view = self.tx.view(now, &self.paths);
        self.policies.path_scheduler.on_path_change(&view, p, PathChange::State(state));
        self.start_mtu_search(now, p);
        self.trigger(Trigger::Path);
    }
}
