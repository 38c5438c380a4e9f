//! Whether the transfer makes progress at all, and what the application is told if it does not. Costs a
//! timer while there is something to send.

use super::Association;
use crate::event::Event;
use crate::ids::PathId;
use crate::stats::{Limit, LimitStats, Stall};
use crate::time::{Duration, Time};
use crate::view::{PathState, PathView};

impl Association {
    /// What limits the transfer, and for how long what has limited it.
    pub fn limits(&self, now: Time) -> LimitStats {
        self.limits.stats(now)
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
        if let Some(limit) = watch.find_new_limit(stats) {
            self.events.push_back(Event::Limited(limit));
        }
        let (silence, bound) = (now.since(watch.progress), watch.config.stalled_after);
        if watch.stalled || silence < bound / 2 {
            return;
        }
        if !core::mem::replace(&mut watch.asked, true) {
            self.probe_live_paths(now);
        } else if silence >= bound {
            self.report_stall(silence);
        }
    }

    /// Once per stall: an answered heartbeat clears the error counter of its path, which must not hide a dead one.
    fn probe_live_paths(&mut self, now: Time) {
        let live = |v: &&PathView| v.usable && v.state != PathState::Unconfirmed;
        let paths: smallvec::SmallVec<[PathId; 4]> =
            self.paths.views.iter().filter(live).map(|v| v.id).collect();
        for p in paths {
            if self.paths.get(p).is_some_and(|path| path.heartbeat.is_none()) {
                self.send_heartbeat(now, p);
            }
        }
    }

    fn report_stall(&mut self, silence: Duration) {
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
