//! Tail-loss probes between their timer and the wire (RFC 8985 sections 7.2 and 7.3).

use super::loss_recovery::LossRecovery;
use super::tail;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::outstanding::OutstandingQueue;
use crate::time::Time;

/// What PTO of a path says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeTimer {
    /// Nothing yet.
    Waits,
    /// It expired: a probe is due.
    Due,
    /// It expired once more since the probe went out, and nothing on the path was acknowledged.
    Unanswered,
}

impl LossRecovery {
    /// (Re)starts PTO of `p`, or stops it while other mechanisms are at work: a recovery, or a hole
    /// that RACK watches. While a probe is in flight it waits for the answer, and as long as RTO
    /// does for what varies (RFC 9260 section 6.3.1). Without a measured round trip PTO would be
    /// RTO.Initial, hence T3's business.
    pub(super) fn arm_probe(
        &mut self,
        now: Time,
        p: PathId,
        outstanding: &mut OutstandingQueue,
        paths: &PathSet,
    ) {
        let Some(own) = self.paths.get_mut(p.index()).filter(|_| self.config.tail_probe) else {
            return;
        };
        let Some((view, path)) = paths.view(p).zip(paths.get(p)) else { return };
        let sent = outstanding.earliest_sent(p).map(|(tsn, sent)| (sent, tsn));
        let hole = sent.is_some_and(|sent| Some(sent) < own.rack.latest_delivered());
        let wanted = view.outstanding > 0 && !own.is_recovering() && !hole && own.tail.is_ready();
        let single = view.outstanding <= u64::from(view.pmdcs);
        let timeout = |srtt| tail::probe_timeout(srtt, single, self.sack_delay);
        let unanswered = own.tail.unanswered_since(own.last_acked);
        own.tail.timer = match (view.srtt, unanswered) {
            (Some(srtt), _) if wanted => (now + timeout(srtt)).min(path.t3),
            (Some(srtt), Some(sent)) => sent + timeout(srtt) + 4 * view.rttvar,
            _ => Time::MAX,
        };
    }

    /// PTO of `p`. Where a probe is due T3 starts anew, so that it stays the last resort.
    pub(crate) fn expire_probe_timer(
        &mut self,
        now: Time,
        p: PathId,
        outstanding: &OutstandingQueue,
        paths: &mut PathSet,
    ) -> ProbeTimer {
        let own = self.paths.get_mut(p.index()).filter(|own| own.tail.timer <= now);
        let Some(own) = own.filter(|_| self.config.tail_probe) else { return ProbeTimer::Waits };
        own.tail.timer = Time::MAX;
        if own.tail.unanswered_since(own.last_acked).is_some() {
            own.tail.note_overdue();
            return ProbeTimer::Unanswered;
        }
        let in_flight = outstanding.restart_t3(now, p, paths);
        own.tail.due |= in_flight;
        if in_flight { ProbeTimer::Due } else { ProbeTimer::Waits }
    }

    /// `p` carries data again: what became of a probe before tells nothing of it now.
    pub(crate) fn forget_probe(&mut self, p: PathId) {
        if let Some(own) = self.paths.get_mut(p.index()) {
            own.tail.reset();
        }
    }

    /// A path whose probe waits to be sent.
    #[inline]
    pub(crate) fn find_due_probe(&self) -> Option<PathId> {
        if !self.config.tail_probe {
            return None;
        }
        let due = self.paths.iter().position(|own| own.tail.due)?;
        u8::try_from(due).ok().map(PathId)
    }

    /// Whether what goes out on `p` next is its probe.
    pub(crate) fn is_probe_due(&self, p: PathId) -> bool {
        self.paths.get(p.index()).is_some_and(|own| own.tail.due)
    }

    /// There is nothing to send as the probe of `p`.
    pub(crate) fn drop_probe(&mut self, p: PathId) {
        if let Some(own) = self.paths.get_mut(p.index()) {
            own.tail.due = false;
        }
    }
}
