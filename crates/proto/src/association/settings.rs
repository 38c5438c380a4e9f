//! Settings of single paths, to be changed at any time (RFC 9260 sections 8.3 and 11.1, RFC 6458
//! section 8.1.12).

use std::sync::Arc;

use super::Association;
use crate::config::{AssocSettings, PathSettings, SettingsError};
use crate::ids::PathId;
use crate::time::Time;

impl Association {
    /// The settings of the association, as far as they may change while it lives.
    pub fn settings(&self) -> AssocSettings {
        AssocSettings::of(&self.config)
    }

    /// Changes the settings of this association alone; what is not in them stays as it was
    /// configured.
    ///
    /// # Errors
    /// When they contradict each other, or the protocol; nothing has changed then.
    pub fn set_settings(&mut self, settings: AssocSettings) -> Result<(), SettingsError> {
        settings.check()?;
        settings.write(Arc::make_mut(&mut self.config));
        self.rx.set_ack_timing(settings.sack_delay, settings.sack_every);
        Ok(())
    }

    /// The settings of path `p`.
    pub fn path_settings(&self, p: PathId) -> Option<PathSettings> {
        self.paths.get(p).map(|path| path.settings)
    }

    /// Changes the settings of path `p`; false if there is no such path. Its heartbeats go by them
    /// from now on, its errors from the next timeout on.
    pub fn set_path_settings(&mut self, now: Time, p: PathId, settings: PathSettings) -> bool {
        let Some(path) = self.paths.get_mut(p) else { return false };
        path.settings = settings;
        if self.state.sends_heartbeats() {
            self.rng.with(|rng| self.paths.schedule_heartbeat(now, p, &self.config, rng));
        }
        true
    }

    /// Whether `p` is asked for a sign of life once it is potentially failed.
    pub(super) fn probes_if_failed(&self, p: PathId) -> bool {
        let probe = self.config.potentially_failed.and_then(|pf| pf.probe);
        let beats = self.path_settings(p).is_some_and(|s| s.heartbeat_interval.is_some());
        beats || probe.is_some()
    }

    /// Sends a HEARTBEAT on path `p` now, unless one that is younger than the path's RTO waits for
    /// its answer, which answers this request, too. False where none may be sent: there is no such
    /// path, set-up is not done, a shutdown is on its way, or an address that nobody proved has had
    /// its share.
    pub fn request_heartbeat(&mut self, now: Time, p: PathId) -> bool {
        if !self.state.sends_heartbeats() || !self.paths.may_probe(p, &self.config) {
            return false;
        }
        if self.paths.awaits_heartbeat_ack(now, p) {
            return true;
        }
        if !self.heartbeat_unanswered(now, p) || !self.state.sends_heartbeats() {
            return false;
        }
        // A path that just became potentially failed was asked already.
        if !self.paths.awaits_heartbeat_ack(now, p) {
            self.send_heartbeat(now, p);
        }
        true
    }
}
