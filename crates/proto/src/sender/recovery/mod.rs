//! Loss recovery beyond RFC 9260, per path, each part behind its switch ([`RecoveryConfig`]): time-based detection
//! ([`rack`]), tail-loss probes ([`tail`]), proportional rate reduction ([`prr`]) and spurious timeouts ([`frto`]).
//! With all of them off, nothing here changes anything.
//!
//! Here is what binds them to the sender: what each is told when chunks are sent, acknowledged and declared lost.

mod frto;
mod probe;
mod prr;
mod rack;
mod reaction;
mod tail;
mod timeout;

use polypath_wire::Tsn;

use super::Sender;
use super::chunk::{ChunkState, TxChunk};
use super::copy::Delivery;
use super::sack::Scratch;
use crate::config::{RateReduction, RecoveryConfig};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::stats::RecoveryStats;
use crate::time::{Duration, Time};
use crate::tsn_map::extend;
use crate::view::LossKind;
use frto::{Acked, FRto, Resent};
use prr::Prr;
use rack::Rack;
use tail::TailProbe;

pub(crate) use probe::Probe;
pub(crate) use reaction::Losses;

/// A path's state of all four.
#[derive(Debug, Default)]
pub(super) struct PathRecovery {
    pub(super) rack: Rack,
    tail: TailProbe,
    /// While the path is in fast recovery.
    prr: Option<Box<Prr>>,
    /// From a timeout until it is known whether it was spurious.
    frto: Option<Box<FRto>>,
    /// Since the latest timeout, until congestion is certain.
    resent: Resent,
    /// Recovery from a timeout ends when no TSN up to this one, last sent here, is unacknowledged.
    timeout_exit: Option<u64>,
    /// The latest timeout was undone, and no first transmission has been acknowledged since.
    undone: bool,
    /// When the window was last cut for a loss that was not a timeout.
    cut: Time,
    /// Bytes in flight before the SACK or timer at hand.
    flight: u64,
    stats: RecoveryStats,
}

impl RecoveryConfig {
    /// Whether anything is on.
    const fn any(&self) -> bool {
        self.watches_deliveries() || self.reduces_rate()
    }

    const fn reduces_rate(&self) -> bool {
        !matches!(self.rate_reduction, RateReduction::Off)
    }

    /// Whether deliveries must be known by their times.
    const fn watches_deliveries(&self) -> bool {
        self.rack || self.tail_probe || self.f_rto || self.rescheduling.watches_silence()
    }
}

impl Sender {
    /// When [`expired_probe`](Self::expired_probe) or [`reordering_timeout`](Self::reordering_timeout) has something to do
    /// next; `Time::MAX`: never.
    #[inline]
    pub(crate) fn recovery_deadline(&self) -> Time {
        if !self.recovery.any() {
            return Time::MAX;
        }
        let timers = self.paths.iter().map(|l| l.recovery.rack.timer.min(l.recovery.tail.timer));
        timers.min().unwrap_or(Time::MAX)
    }

    /// Counters of a path.
    pub(crate) fn recovery_stats(&self, p: PathId) -> RecoveryStats {
        self.paths.get(p.index()).map(|l| l.recovery.stats).unwrap_or_default()
    }

    /// A chunk went out on `p` for the first time.
    #[inline]
    pub(super) fn recovery_sent_new(&mut self, now: Time, tsn: u64, p: PathId, paths: &PathSet) {
        if !self.recovery.any() {
            return;
        }
        let size = self.ring.get(tsn).map_or(0, TxChunk::size);
        let Some(list) = self.paths.get_mut(p.index()) else { return };
        let recovery = &mut list.recovery;
        if let Some(prr) = &mut recovery.prr {
            prr.sent(size);
        }
        if recovery.tail.sent_new(now, tsn) {
            recovery.stats.tail_probes += 1;
        }
        self.arm_probe(now, p, paths);
    }

    /// A chunk that was last sent on `from` went out again on `to`.
    #[inline]
    pub(super) fn recovery_sent_again(
        &mut self,
        now: Time,
        tsn: u64,
        from: PathId,
        to: PathId,
        cause: LossKind,
    ) {
        if !self.recovery.any() {
            return;
        }
        let Some(chunk) = self.ring.get(tsn) else { return };
        let (size, sends) = (chunk.size(), chunk.sends);
        if let Some(list) = self.paths.get_mut(to.index()) {
            // This packet asks for a SACK as well as a probe would.
            list.recovery.tail.due = false;
            if let Some(prr) = &mut list.recovery.prr {
                prr.sent(size);
            }
        }
        let Some(list) = self.paths.get_mut(from.index()).filter(|_| self.recovery.f_rto) else {
            return;
        };
        if cause == LossKind::Timeout {
            list.recovery.resent.sent(tsn, sends);
        }
        if let Some(frto) = &mut list.recovery.frto {
            frto.sent_again(now, tsn, to);
        }
    }

    /// A copy went out on `to`.
    pub(super) fn recovery_sent_copy(&mut self, now: Time, size: u64, to: PathId, paths: &PathSet) {
        if let Some(list) = self.paths.get_mut(to.index()) {
            list.recovery.tail.due = false;
            if let Some(prr) = &mut list.recovery.prr {
                prr.sent(size);
            }
        }
        self.arm_probe(now, to, paths);
    }

    /// A SACK acknowledges a chunk for the first time; `chunk.state` is the one before.
    #[inline]
    pub(super) fn recovery_acked(
        &mut self,
        tsn: u64,
        chunk: &TxChunk,
        delivery: Delivery,
        scratch: &mut Scratch,
    ) {
        if !self.recovery.watches_deliveries() {
            return;
        }
        let now = scratch.now;
        let certain = delivery.certain && delivery.path == chunk.path;
        if self.recovery.f_rto && certain {
            self.note_for_frto(now, tsn, chunk);
        }
        let Some(list) = self.paths.get_mut(chunk.path.index()) else { return };
        let PathRecovery { rack, tail, frto, undone, .. } = &mut list.recovery;
        if certain {
            tail.acked(tsn);
        } else {
            tail.forget(tsn);
        }
        if certain && chunk.sends == 1 && !chunk.reneged {
            tail.measured();
            *undone = false;
            rack.original_delivered(now, tsn, chunk.sent);
        }
        if !chunk.copies.is_empty() {
            // Which of several transmissions arrived is not known where either may have: that proves nothing lost and measures
            // nothing (RFC 8985 section 6.2, step 2, on retransmissions).
            let path = scratch.paths.get_mut(delivery.path.index());
            if let Some(outcome) = path.filter(|_| delivery.certain) {
                let newest = Some((delivery.sent, tsn));
                outcome.newest_delivered = outcome.newest_delivered.max(newest);
            }
            return;
        }
        // While a timeout is in doubt, so is what acknowledgements of retransmissions mean.
        let doubtful = chunk.sends > 1 && frto.is_some();
        let Some(outcome) = scratch.paths.get_mut(chunk.path.index()) else { return };
        if !doubtful && rack.is_evidence(now, chunk) {
            outcome.newest_delivered = outcome.newest_delivered.max(Some((chunk.sent, tsn)));
        }
    }

    /// Tells every timeout that is in doubt what the acknowledgement of a chunk means to it. Only first transmissions say
    /// something about the first timeout in a row; which of several others was delivered cannot be known.
    fn note_for_frto(&mut self, now: Time, tsn: u64, chunk: &TxChunk) {
        let rack = self.paths.get(chunk.path.index()).map(|l| &l.recovery.rack);
        let too_soon = rack.is_some_and(|rack| rack.is_too_soon(now, chunk.sent));
        for (i, list) in self.paths.iter_mut().enumerate() {
            let Some(frto) = &mut list.recovery.frto else { continue };
            let waits = matches!(chunk.state, ChunkState::Marked(_));
            let here = chunk.path.index() == i;
            let before = chunk.sent < frto.expired();
            frto.acked(match (frto.is_suspect(tsn), chunk.sends) {
                (true, 1) if waits => Acked::Original,
                (true, 2) if !waits => Acked::Again { too_soon },
                (true, _) => Acked::Again { too_soon: false },
                (false, 1) if here && before => Acked::Original,
                (false, 1) if here => Acked::Beyond,
                (false, _) => continue,
            });
        }
    }

    /// Duplicates that a SACK reports, also one that is stale otherwise: they are reported once.
    pub(super) fn recovery_duplicates(&mut self, now: Time, tsns: impl Iterator<Item = Tsn>) {
        if !self.recovery.any() {
            return;
        }
        let near = self.cum_ack();
        for tsn in tsns.map(|tsn| extend(near, tsn)) {
            for PathRecovery { rack, tail, resent, stats, .. } in
                self.paths.iter_mut().map(|l| &mut l.recovery)
            {
                tail.duplicate(tsn);
                resent.duplicate(tsn);
                stats.spurious_retransmissions += u64::from(rack.duplicate(now, tsn));
            }
        }
    }

    /// The chunks of a SACK are booked, misses are not counted yet: is a timeout spurious? `news`: it acknowledged something.
    pub(super) fn recovery_before_misses(
        &mut self,
        now: Time,
        paths: &mut PathSet,
        news: bool,
        scratch: &mut Scratch,
    ) {
        if self.recovery.f_rto {
            for p in paths.ids() {
                let spurious = self.judge_timeout(now, p, paths, news);
                if let Some(outcome) = scratch.paths.get_mut(p.index()) {
                    outcome.spurious_timeout = spurious;
                }
            }
        }
    }

    /// Misses are counted: what do times say, and did a probe repair a loss?
    pub(super) fn recovery_after_misses(
        &mut self,
        now: Time,
        paths: &mut PathSet,
        scratch: &mut Scratch,
    ) {
        if !self.recovery.watches_deliveries() {
            return;
        }
        for p in paths.ids() {
            let newest = scratch.paths.get(p.index()).and_then(|o| o.newest_delivered);
            let Some(list) = self.paths.get_mut(p.index()) else { continue };
            let PathRecovery { rack, tail, stats, .. } = &mut list.recovery;
            if let Some(newest) = newest {
                rack.delivered(now, newest);
            }
            let repaired = tail.repaired(rack.latest(), overtaken(paths, p));
            stats.tail_losses += u64::from(repaired);
            let mut losses = self.detect_losses(now, p, paths);
            losses.react |= repaired;
            if let Some(outcome) = scratch.paths.get_mut(p.index()) {
                outcome.lost += losses.lost;
                outcome.entered_recovery |= losses.react;
            }
        }
    }

    /// T3 is up to date again after a SACK: so must PTO be.
    pub(super) fn recovery_sack_done(&mut self, now: Time, paths: &PathSet, scratch: &Scratch) {
        if !self.recovery.tail_probe {
            return;
        }
        for p in paths.ids() {
            let acked = scratch.paths.get(p.index()).is_some_and(|o| o.acked);
            if acked || paths.view(p).is_some_and(|v| v.outstanding == 0) {
                self.arm_probe(now, p, paths);
            }
        }
    }
}

/// By how much a SACK of what came by `p` may be overtaken by later ones, which come back by another path: what its round trip may be.
fn overtaken(paths: &PathSet, p: PathId) -> Duration {
    let Some(view) = paths.view(p).filter(|_| paths.len() > 1) else { return Duration::ZERO };
    view.srtt.unwrap_or_default() + 4 * view.rttvar
}
