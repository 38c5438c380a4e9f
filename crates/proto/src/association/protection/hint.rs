//! Hints: what strangers may say of a protected association. ABORT, SHUTDOWN COMPLETE and a restart
//! in plain, and ICMP, may all be the truth: the peer's process is gone, and its host says so. Or
//! anybody's lie. The draft drops them; here such a packet starts one probe of all paths, and
//! changes nothing else (a deviation). If the peer answers, all goes on. If nothing of it comes
//! within two RTOs, it is gone.

use polypath_wire::HeartbeatRepr;

use crate::association::{Association, State};
use crate::control::Bundling;
use crate::event::CloseReason;
use crate::extension::protection::Probe;
use crate::path::HeartbeatInfo;
use crate::rng::Rng;
use crate::time::{Duration, Time};

/// How often the paths are asked in one probe.
const ASKINGS: u32 = 4;

/// Probes are not started more often: what a flood of hints costs is bounded by that.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

impl Association {
    /// Somebody says that the peer is gone.
    pub(crate) fn on_hint(&mut self, now: Time) {
        // Not backed off: what was lost before tells nothing of how long an answer takes.
        let estimates = self.paths.iter().map(|(_, path)| path.rto_estimate);
        let wait = estimates.max().unwrap_or(self.config.rto.initial).saturating_mul(2);
        // Late in a shutdown its own timers tell.
        let open = self.state.sends_heartbeats() && self.is_protected();
        let Some(state) = self.protection.as_mut().filter(|_| open) else { return };
        let probe = &mut state.probe;
        if probe.deadline != Time::MAX || now < probe.pause_until {
            return;
        }
        let interval = wait / ASKINGS;
        let pause_until = now + wait.max(SHORTEST_PAUSE);
        *probe = Probe { deadline: now + wait, next: now + interval, interval, pause_until };
        self.ask_all_paths();
    }

    /// Heartbeats that nothing is waited for: paths are judged by their own.
    pub(super) fn ask_all_paths(&mut self) {
        for p in self.paths.ids() {
            if self.paths.view(p).is_some_and(|view| view.state.is_live()) {
                let nonce = self.rng.with(Rng::next_u64);
                let info = HeartbeatInfo { path: p, nonce }.encode();
                self.send_control(p, &HeartbeatRepr { info: &info }, Bundling::Alone);
            }
        }
    }

    /// Nothing came back so far.
    pub(super) fn on_probe_timer(&mut self, now: Time) {
        let Some(state) = self.protection.as_mut() else { return };
        let probe = &mut state.probe;
        if self.state == State::Closed || probe.timer() > now {
            return;
        }
        if now < probe.deadline {
            probe.next = now + probe.interval;
            return self.ask_all_paths();
        }
        probe.answered();
        self.control.clear();
        self.close(CloseReason::PeerGone);
    }
}
