//! Tail-loss probes between the timer and the wire (RFC 8985 sections 7.2 and 7.3).

use polypath_wire::PacketWriter;

use super::tail;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::Sender;
use crate::sender::chunk::{ChunkState, TxChunk};
use crate::time::Time;

/// A chunk that goes out again as a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Extended TSN.
    pub(crate) tsn: u64,
    /// DATA chunk bytes.
    pub(crate) bytes: u32,
}

impl Sender {
    /// (Re)starts PTO of `p`, or stops it while other mechanisms are at work: a recovery, a hole that RACK watches, or
    /// another probe. Without a measured round trip PTO would be RTO.Initial, hence T3's business.
    pub(super) fn arm_probe(&mut self, now: Time, p: PathId, paths: &PathSet) {
        let Some(list) = self.paths.get_mut(p.index()).filter(|_| self.recovery.tail_probe) else {
            return;
        };
        let Some((view, path)) = paths.view(p).zip(paths.get(p)) else { return };
        let sent = list.earliest_sent(&self.ring, p).map(|(tsn, sent)| (sent, tsn));
        let recovering = list.recovery_exit.is_some() || list.recovery.timeout_exit.is_some();
        let hole = sent.is_some_and(|sent| Some(sent) < list.recovery.rack.latest());
        let tail = &mut list.recovery.tail;
        let wanted = view.outstanding > 0 && !recovering && !hole && tail.is_ready();
        tail.timer = match view.srtt.filter(|_| wanted) {
            Some(srtt) => {
                let single = view.outstanding <= u64::from(view.pmdcs);
                (now + tail::timeout(srtt, single, self.sack_delay)).min(path.t3)
            }
            None => Time::MAX,
        };
    }

    /// PTO of `p`: whether it expired, and a probe is due. T3 starts anew, so that it stays the last resort.
    pub(crate) fn expired_probe(&mut self, now: Time, p: PathId, paths: &mut PathSet) -> bool {
        let Some(list) = self.paths.get_mut(p.index()) else { return false };
        let tail = &mut list.recovery.tail;
        if !self.recovery.tail_probe || tail.timer > now {
            return false;
        }
        tail.timer = Time::MAX;
        let Some((view, path)) = paths.both_mut(p).filter(|(view, _)| view.outstanding > 0) else {
            return false;
        };
        tail.due = true;
        path.t3 = now + view.rto;
        true
    }

    /// A path whose probe waits to be sent.
    #[inline]
    pub(crate) fn probe_due(&self) -> Option<PathId> {
        if !self.recovery.tail_probe {
            return None;
        }
        let due = self.paths.iter().position(|l| l.recovery.tail.due)?;
        u8::try_from(due).ok().map(PathId)
    }

    /// Whether what goes out on `p` next is its probe.
    pub(crate) fn is_probe_due(&self, p: PathId) -> bool {
        self.paths.get(p.index()).is_some_and(|l| l.recovery.tail.due)
    }

    /// There is nothing to send as the probe of `p`.
    pub(crate) fn drop_probe(&mut self, p: PathId) {
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.recovery.tail.due = false;
        }
    }

    /// The highest TSN in flight on `p`, whose acknowledgement says most about the others.
    pub(crate) fn probe_candidate(&mut self, now: Time, p: PathId) -> Option<Probe> {
        let tsn = self.paths.get_mut(p.index())?.highest(&self.ring, p)?;
        let chunk = self.ring.get(tsn).filter(|c| c.state == ChunkState::InFlight)?;
        if self.partial.as_ref().is_some_and(|partial| !partial.may_repeat(now, chunk)) {
            return None;
        }
        Some(Probe { tsn, bytes: chunk.size() as u32 })
    }

    /// Sends a chunk that is in flight on `p` once more there. It stays counted as outstanding once. False if it does not
    /// fit, or was acknowledged meanwhile.
    pub(crate) fn send_probe(
        &mut self,
        now: Time,
        tsn: u64,
        p: PathId,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
    ) -> bool {
        let sendable = |c: &&mut TxChunk| c.path == p && c.state == ChunkState::InFlight;
        let sent = self.ring.get_mut(tsn).filter(sendable).and_then(|chunk| {
            // A probe is there for its SACK: the I bit asks not to delay it (RFC 7053).
            chunk.flags.immediate = true;
            writer.push(&chunk.encode(tsn)).ok().map(|()| chunk)
        });
        let Some(chunk) = sent else {
            self.drop_probe(p);
            return false;
        };
        chunk.sends = chunk.sends.saturating_add(1).max(2);
        chunk.sent = now;
        chunk.missing = 0;
        let (sends, bytes, size) = (chunk.sends, chunk.bytes, chunk.size());
        if let Some(list) = self.paths.get_mut(p.index()) {
            list.sent(now, tsn, sends);
            list.recovery.tail.sent_again(now, tsn);
            list.recovery.stats.tail_probes += 1;
            if let Some(prr) = &mut list.recovery.prr {
                prr.sent(size);
            }
        }
        if let Some((view, path)) = paths.both_mut(p) {
            view.data_chunks += 1;
            view.last_data = now;
            path.idle_since = now;
            // Karn: the acknowledgement will be ambiguous.
            path.cancel_probe(tsn);
            path.stats.data_chunks += 1;
            path.stats.payload_bytes += u64::from(bytes);
            path.stats.retransmissions_fast += 1;
        }
        true
    }
}
