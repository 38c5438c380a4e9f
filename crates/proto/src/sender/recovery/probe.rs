//! Tail-loss probes between their timer and the wire (RFC 8985 sections 7.2 and 7.3).

use super::loss_recovery::LossRecovery;
use super::tail;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::outstanding::OutstandingQueue;
use crate::time::Time;

impl LossRecovery {
    /// (Re)starts PTO of `p`, or stops it while other mechanisms are at work: a recovery, a hole
    /// that RACK watches, or another probe. Without a measured round trip PTO would be RTO.Initial,
    /// hence T3's business.
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
        let hole = sent.is_some_and(|sent| Some(sent) < own.rack.latest());
        let wanted = view.outstanding > 0 && !own.is_recovering() && !hole && own.tail.is_ready();
        own.tail.timer = match view.srtt.filter(|_| wanted) {
            Some(srtt) => {
                let single = view.outstanding <= u64::from(view.pmdcs);
                (now + tail::timeout(srtt, single, self.sack_delay)).min(path.t3)
            }
            None => Time::MAX,
        };
    }

    /// PTO of `p`: whether it expired, and a probe is due. T3 starts anew, so that it stays the last
    /// resort.
    pub(crate) fn expire_probe_timer(
        &mut self,
        now: Time,
        p: PathId,
        outstanding: &OutstandingQueue,
        paths: &mut PathSet,
    ) -> bool {
        let Some(own) = self.paths.get_mut(p.index()) else { return false };
        if !self.config.tail_probe || own.tail.timer > now {
            return false;
        }
        own.tail.timer = Time::MAX;
        let in_flight = outstanding.restart_t3(now, p, paths);
        own.tail.due |= in_flight;
        in_flight
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
