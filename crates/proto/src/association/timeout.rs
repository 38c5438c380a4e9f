//! When the next timer expires, and what happens then.

use super::timers::expired;
use super::{Association, Bundling, State};
use crate::config::SackPath;
use crate::event::CloseReason;
use crate::ids::PathId;
use crate::path::HeartbeatInfo;
use crate::policy::{LossInfo, Trigger};
use crate::rng::Rng;
use crate::sender::ProbeTimer;
use crate::time::{Duration, Time};
use crate::trace::TraceEvent;
use crate::view::{LossKind, PathState, PathView};

impl Association {
    /// When [`handle_timeout`](Self::handle_timeout) must be called next.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        if self.state == State::Closed {
            return None;
        }
        let paths =
            self.paths.iter().map(|(_, p)| p.t3.min(p.heartbeat_at).min(p.mtu_timer())).min();
        let sack = self.rx.sack_deadline().unwrap_or(Time::MAX);
        let next = self.timers.next().min(paths.unwrap_or(Time::MAX)).min(sack);
        let next = next.min(self.asconf.as_ref().map_or(Time::MAX, |asconf| asconf.t4));
        let next = next.min(self.reconfig.as_ref().map_or(Time::MAX, |reconfig| reconfig.timer()));
        let next = next.min(self.tx.recovery.deadline()).min(self.tx.lifetime_deadline());
        let next = next.min(self.limits.timer());
        let next = next.min(self.protection.as_ref().map_or(Time::MAX, |state| state.timer()));
        let next = next.min(self.pacers.as_ref().map_or(Time::MAX, |p| p.deadline()));
        let next = next.min(self.held.as_ref().map_or(Time::MAX, |held| held.deadline()));
        (next != Time::MAX).then_some(next)
    }

    /// Serves every timer that expired by `now`. The delayed SACK needs nothing here: output looks
    /// at its deadline.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.state == State::Closed {
            return;
        }
        if expired(&mut self.timers.t1, now) {
            self.on_t1(now);
        }
        if expired(&mut self.timers.t2, now) {
            self.on_t2(now);
        }
        if expired(&mut self.timers.t5, now) {
            self.on_t5(now);
        }
        // Any of these may be the failure that ends the association: nothing is told after Closed.
        if self.state != State::Closed && self.asconf.as_ref().is_some_and(|a| a.t4 <= now) {
            self.on_t4(now);
        }
        if self.state != State::Closed && self.reconfig.as_mut().is_some_and(|r| r.has_expired(now))
        {
            self.on_reconfig_timer(now);
        }
        if expired(&mut self.timers.probe, now) {
            self.tx.outstanding.window_mut().allow_probe();
            self.trigger(Trigger::Timer);
        }
        if expired(&mut self.timers.scheduler, now) {
            self.trigger(Trigger::Timer);
        }
        if self.pacers.as_mut().is_some_and(|p| p.expired(now)) {
            self.trigger(Trigger::Timer);
        }
        if self.tx.recovery.deadline() <= now {
            self.on_recovery_timers(now);
        }
        for p in self.paths.ids() {
            if self.state == State::Closed {
                return;
            }
            if self.paths.get_mut(p).is_some_and(|path| expired(&mut path.t3, now)) {
                self.on_t3(now, p);
            }
        }
        if self.state == State::Closed {
            return;
        }
        if self.limits.timer() <= now {
            self.on_watch_timer(now);
        }
        if self.protection.as_ref().is_some_and(|state| state.timer() <= now) {
            self.on_protection_timer(now);
            if self.state == State::Closed {
                return;
            }
        }
        self.on_mtu_timers(now);
        self.on_heartbeat_timers(now);
        self.abandon_expired_messages(now);
    }

    /// Reordering timers and tail-loss probes (RFC 8985), before T3-rtx, which a probe puts off.
    fn on_recovery_timers(&mut self, now: Time) {
        for p in self.paths.ids() {
            let losses = self.tx.expire_reordering_timer(now, p, &mut self.paths);
            if losses.lost > 0 {
                self.report_losses(now);
                self.cut_window(now, p, losses);
                if !self.policies.congestion.is_rate_based() {
                    let target = self.policies.congestion.cwnd(p);
                    self.tx.recovery.step_rate(p, 0, target, &self.paths);
                }
                self.refresh_windows(now);
                self.trigger(Trigger::Timer);
            }
            self.on_tail_probe_timer(now, p);
        }
    }

    /// PTO of `p`: a probe goes out, or the one before was not answered. In either case the path may
    /// be silent, which does not show while all data in flight is on it.
    fn on_tail_probe_timer(&mut self, now: Time, p: PathId) {
        let is_silent = match self.tx.expire_probe_timer(now, p, &mut self.paths) {
            ProbeTimer::Waits => return,
            ProbeTimer::Due => self.tx.is_overdue(now, p, &self.paths),
            ProbeTimer::Unanswered => self.tx.another_is_sound(p, &self.paths),
        };
        if is_silent && self.config.recovery.rescheduling.watches_silence() {
            self.on_path_silent(now, p);
        }
        self.probe_if_data_overdue(now, p);
        self.trigger(Trigger::Timer);
    }

    /// T3-rtx of `p` expired (RFC 9260 section 6.3.3).
    fn on_t3(&mut self, now: Time, p: PathId) {
        let Some(rto) = self.paths.view(p).map(|v| v.rto) else { return };
        self.halve_idle_windows(now);
        let probing = self.tx.outstanding.window().is_shut_by_living_peer();
        let chunks = self.tx.on_timeout(now, p, &mut self.paths, &self.config);
        let forward = self.forward_timed_out(now, p, chunks);
        if chunks == 0 || forward {
            return;
        }
        self.stats.timeouts += 1;
        if let Some(path) = self.paths.get_mut(p) {
            path.stats.count_timeout(rto);
            if let Some(own) = &mut path.ns2 {
                (own.degrade_at, own.resent_packets) = (Time::MAX, 0);
            }
            path.on_probation = self.config.reproduction.limit_to_one_packet_after_t3;
        }
        let rto_ns = rto.as_nanos() as u64;
        self.tracer.emit(now, || TraceEvent::Lost {
            path: p,
            kind: LossKind::Timeout,
            chunks,
            rto: rto_ns,
        });
        // PRR governs the window no more.
        self.refresh_windows(now);
        self.report_losses(now);
        let view = self.tx.view(now, &self.paths);
        let loss = LossInfo { path: p, kind: LossKind::Timeout };
        self.policies.congestion.on_lost(&view, &loss);
        self.policies.path_scheduler.on_lost(&view, &loss);
        self.refresh_windows(now);
        let excused = probing && self.excused(now, p, rto);
        self.count_failure(now, p, !excused, true);
        self.data_given_up(now, p);
        if !self.config.reproduction.ns2.timeouts_send_no_new_data {
            self.trigger(Trigger::Timer);
        }
    }

    /// ns-2's timer of idle windows (`CwndDegradeTimerExpiration` of `sctp/sctp.cc`), looked at
    /// before anything happens.
    pub(super) fn halve_idle_windows(&mut self, now: Time) {
        if !self.config.reproduction.ns2.idle_halves_alone {
            return;
        }
        for p in self.paths.ids() {
            while let Some((view, path)) = self.paths.both_mut(p)
                && let Some(own) = path.ns2.as_mut().filter(|own| own.degrade_at <= now)
            {
                own.degrade_at += view.rto;
                let view = self.tx.view(now, &self.paths);
                self.policies.congestion.on_idle(&view, p);
                self.refresh_windows(now);
            }
        }
    }

    /// Whether a timeout on `p`, where the RTO was `rto`, is no sign of a broken path: the peer
    /// keeps its window shut and says so (RFC 9260 section 6.1 A). But it may say so on other paths
    /// only, and the window stay shut for what is lost on this one. So after some timeouts a
    /// HEARTBEAT asks; if there is no answer by the next one, that one counts.
    fn excused(&mut self, now: Time, p: PathId, rto: Duration) -> bool {
        let Some(path) = self.paths.get(p) else { return true };
        let (silent, asked) = (path.timeouts_in_a_row > 1, path.heartbeat.map(|h| h.sent));
        if !silent || self.paths.next_after(p) == p || !self.state.sends_heartbeats() {
            return true;
        }
        if asked.is_none() {
            self.send_heartbeat(now, p);
        }
        asked.is_none_or(|asked| now.since(asked) < rto)
    }

    /// A timeout on `p` counts against the path and, for data and control chunks, against the
    /// association.
    pub(crate) fn count_failure(&mut self, now: Time, p: PathId, count: bool, association: bool) {
        if let Some(state) = self.paths.timeout(now, p, count, &self.config) {
            let probes = self.probes_if_failed(p) && self.state.sends_heartbeats();
            if state == PathState::PotentiallyFailed && probes {
                self.send_heartbeat(now, p);
            }
            self.path_state_changed(now, p, state);
        }
        if count && association {
            self.errors += 1;
            if self.errors > self.config.assoc_max_retrans {
                let doubted = self.is_key_doubted();
                let reason = if doubted {
                    CloseReason::NothingAcknowledged
                } else {
                    CloseReason::Unreachable
                };
                self.give_up_on_peer(reason);
            }
        }
    }

    fn on_heartbeat_timers(&mut self, now: Time) {
        if !self.state.sends_heartbeats() {
            // None after SHUTDOWN (RFC 9260 section 8.3); a timer left running would expire for
            // ever.
            self.paths.iter_mut().for_each(|(_, path)| path.heartbeat_at = Time::MAX);
            return;
        }
        let due: smallvec::SmallVec<[PathId; 4]> = self.paths.heartbeats_due(now).collect();
        for p in due {
            if !self.heartbeat_unanswered(now, p) {
                continue;
            }
            if !self.paths.may_probe(p, &self.config) {
                if let Some(path) = self.paths.get_mut(p) {
                    path.heartbeat_at = Time::MAX;
                }
                continue;
            }
            let unmeasured = self.paths.view(p).is_some_and(|view| self.must_measure(view));
            if unmeasured || self.path_is_idle(now, p) {
                self.send_heartbeat(now, p);
            } else {
                self.rng.with(|rng| self.paths.schedule_heartbeat(now, p, &self.config, rng));
            }
        }
    }

    /// The HEARTBEAT in flight on `p`, if there is one, was not answered in time: that counts (RFC
    /// 9260 section 8.3). Whether the path is still there.
    pub(super) fn heartbeat_unanswered(&mut self, now: Time, p: PathId) -> bool {
        let overdue = self.paths.heartbeat_overdue(p, &self.config);
        if overdue {
            let association = self.counts_against_association(now, p);
            self.count_failure(now, p, true, association);
        }
        if self.state == State::Closed {
            return false;
        }
        let removed = self.should_be_removed(p, overdue);
        if removed {
            self.remove_path(now, p);
        }
        !removed
    }

    /// Whether an unanswered heartbeat on `p` counts against the association, too (RFC 9260 section
    /// 8.1): not while another path is alive, nor while data in flight tells by its timeouts. Where
    /// a failed path is probed more often than its RTO would have it, the association does not end
    /// the sooner.
    fn counts_against_association(&mut self, now: Time, p: PathId) -> bool {
        let Some(rto) = self.paths.view(p).map(|view| view.rto) else { return false };
        let alive = |view: &PathView| view.id != p && view.state == PathState::Active;
        let elsewhere = self.paths.iter().any(|(view, _)| alive(view));
        let frequent = now.since(self.unanswered_at) < rto / 2;
        let data_tells = self.tx.bytes_in_flight() > 0 && !self.paths.is_stranded();
        if elsewhere || frequent || data_tells {
            return false;
        }
        self.unanswered_at = now;
        true
    }

    /// Whether no data that could measure the path was sent within its heartbeat period (RFC 9260
    /// section 8.3).
    fn path_is_idle(&self, now: Time, p: PathId) -> bool {
        let Some(view) = self.paths.view(p) else { return false };
        let settings = self.path_settings(p);
        let period = settings.and_then(|s| s.heartbeat_interval).unwrap_or(Duration::ZERO);
        let unmeasured = view.srtt.is_none() && self.config.sack.path == SackPath::SmallestSrtt;
        unmeasured
            || view.state != PathState::Active
            || view.outstanding == 0 && now.since(view.last_data) >= period
    }

    /// Heartbeats measure the round trips of usable paths on which nothing is in flight.
    pub(super) fn measure_idle_paths(&mut self, now: Time) {
        if !self.state.sends_heartbeats() {
            return;
        }
        for p in self.paths.ids() {
            let idle = |v: &PathView| v.usable && v.outstanding == 0;
            let free = self.paths.get(p).is_some_and(|path| path.heartbeat.is_none());
            if free && self.paths.view(p).is_some_and(idle) {
                self.send_heartbeat(now, p);
            }
        }
    }

    /// Sends a HEARTBEAT on `p` and schedules the next.
    pub(crate) fn send_heartbeat(&mut self, now: Time, p: PathId) {
        let unconfirmed = self.paths.view(p).is_some_and(|v| v.state == PathState::Unconfirmed);
        let bundling = if unconfirmed { Bundling::Alone } else { Bundling::Free };
        self.send_heartbeat_bundled(now, p, bundling);
    }

    /// Sends a HEARTBEAT that may share its packet as `bundling` says.
    pub(crate) fn send_heartbeat_bundled(&mut self, now: Time, p: PathId, bundling: Bundling) {
        let nonce = self.rng.with(Rng::next_u64);
        let info = HeartbeatInfo { path: p, nonce }.encode();
        let chunk = polypath_wire::HeartbeatRepr { info: &info };
        self.send_control(p, &chunk, bundling);
        self.paths.heartbeat_sent(now, p, nonce);
        self.rng.with(|rng| self.paths.schedule_heartbeat(now, p, &self.config, rng));
    }

    /// The RTO of a path, for T1 and T2.
    pub(crate) fn rto(&self, p: PathId) -> Duration {
        self.paths.view(p).map_or(self.config.rto.initial, |v| v.rto)
    }
}
