//! Heartbeats (RFC 9260 section 8.3) and path verification by nonce (section 5.4).

use super::PathSet;
use super::heartbeat_info::{HeartbeatInfo, Outstanding};
use super::way_back::WayBack;
use crate::config::AssocConfig;
use crate::ids::PathId;
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::view::PathState;

impl PathSet {
    /// When the next heartbeat of `p` is due: every RTO + HB.interval, with a jitter of half an RTO
    /// either way; an unconfirmed path is probed every RTO; a potentially failed one too, without
    /// HB.interval (RFC 7829), or by [`PfConfig::probe`](crate::config::PfConfig::probe).
    pub(crate) fn schedule_heartbeat(
        &mut self,
        now: Time,
        p: PathId,
        config: &AssocConfig,
        rng: &mut Rng,
    ) {
        let stranded = self.is_stranded();
        let Some((view, path)) = self.both_mut(p) else { return };
        let probe = config.potentially_failed.and_then(|pf| pf.probe);
        let failed = matches!(view.state, PathState::PotentiallyFailed | PathState::Inactive);
        if let Some(bound) = probe.filter(|_| failed) {
            let tenth = now.since(path.failed_since) / 10;
            path.heartbeat_at = now + tenth.min(bound).max(path.rto_estimate);
            return;
        }
        let settings = path.settings;
        let interval = match view.state {
            _ if view.silent => Duration::ZERO,
            PathState::Unconfirmed if stranded => Duration::ZERO,
            PathState::Unconfirmed if path.verification.asked_for => Duration::ZERO,
            PathState::Unconfirmed if view.errors <= settings.max_retrans => Duration::ZERO,
            // Where heartbeats are off, a failed path gets none either (RFC 7829 section 3.2, item
            // 5).
            PathState::PotentiallyFailed if settings.heartbeat_interval.is_some() => Duration::ZERO,
            _ => match settings.heartbeat_interval {
                Some(interval) => interval,
                None => {
                    path.heartbeat_at = Time::MAX;
                    return;
                }
            },
        };
        let jitter = if interval.is_zero() { 1.0 } else { 0.5 + rng.unit() };
        path.heartbeat_at = now + interval + view.rto.mul_f64(jitter);
    }

    /// Notes that a HEARTBEAT with `nonce` goes out on `p` now.
    pub(crate) fn heartbeat_sent(&mut self, now: Time, p: PathId, nonce: u64) {
        self.count_probe(p);
        if let Some(path) = self.get_mut(p) {
            path.heartbeat = Some(Outstanding { nonce, sent: now });
            path.stats.heartbeats_sent += 1;
        }
    }

    /// The round trip that a HEARTBEAT ACK proves, if it answers the HEARTBEAT in flight on that
    /// path.
    pub(crate) fn heartbeat_acked(&mut self, now: Time, info: HeartbeatInfo) -> Option<Duration> {
        let path = self.get_mut(info.path)?;
        let matches = |h: &Outstanding| h.nonce == info.nonce;
        let outstanding = match path.heartbeat.filter(matches) {
            Some(latest) => latest,
            None => path.overdue.as_ref()?.find(info.nonce)?,
        };
        path.heartbeat = None;
        path.overdue = None;
        path.stats.heartbeats_acked += 1;
        path.black_hole.heartbeat_answered();
        if let Some(search) = &mut path.mtu {
            search.heartbeat_answered();
        }
        Some(now.since(outstanding.sent))
    }

    /// The peer tells that the HEARTBEAT that `p` sent at `sent` came at `received`, in microseconds
    /// of its clock.
    pub(crate) fn note_heartbeat_received(
        &mut self,
        now: Time,
        p: PathId,
        sent: Time,
        received: u32,
    ) {
        let Some((view, path)) = self.both_mut(p) else { return };
        let trip = view.srtt.unwrap_or_default();
        match &mut path.way_back {
            Some(way) => way.note(now, sent, received, trip),
            None => path.way_back = Some(WayBack::new(now, sent, received).into()),
        }
    }

    /// Whether SACKs on `p` are to be spaced: they queue on the way back.
    pub(crate) fn spaces_sacks(&self, now: Time, p: PathId) -> bool {
        self.get(p).and_then(|path| path.way_back.as_ref()).is_some_and(|way| way.is_spaced(now))
    }

    /// Whether a HEARTBEAT that went out on `p` less than an RTO ago waits for its answer.
    pub(crate) fn awaits_heartbeat_ack(&self, now: Time, p: PathId) -> bool {
        let (Some(view), Some(path)) = (self.view(p), self.get(p)) else { return false };
        path.heartbeat.is_some_and(|latest| now.since(latest.sent) < view.rto)
    }

    /// The HEARTBEAT in flight on `p` is overdue, if there is one. Where failed paths are probed
    /// often, its answer still counts.
    pub(crate) fn heartbeat_overdue(&mut self, p: PathId, config: &AssocConfig) -> bool {
        let Some(path) = self.get_mut(p) else { return false };
        let Some(lost) = path.heartbeat.take() else { return false };
        if config.potentially_failed.is_some_and(|pf| pf.probe.is_some()) {
            path.overdue.get_or_insert_default().push(lost);
        }
        true
    }

    /// Paths whose heartbeat timer has expired. Disabled ones are probed as well: what their state
    /// is stays known.
    pub(crate) fn heartbeats_due(&self, now: Time) -> impl Iterator<Item = PathId> + use<'_> {
        self.iter().filter(move |(_, p)| p.heartbeat_at <= now).map(|(v, _)| v.id)
    }
}
