//! The events of loss recovery: what it is told when chunks are sent, acknowledged and reported
//! twice, and when its timers are due.

use core::num::NonZeroU64;

use polypath_wire::Tsn;

use super::frto::{Acked, FRto, Resent};
use super::ns2_state::Ns2Recovery;
use super::prr::Prr;
use super::rack::Rack;
use super::tail::TailProbe;
use crate::config::{AssocConfig, RateReduction, RecoveryConfig};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::outstanding::{OutstandingQueue, TxChunk};
use crate::sender::sack_outcome::SackOutcome;
use crate::sender::types::Delivery;
use crate::stats::RecoveryStats;
use crate::time::{Duration, Time};
use crate::tsn_map::extend;
use crate::view::LossKind;

/// Loss recovery of all paths.
#[derive(Debug)]
pub(crate) struct LossRecovery {
    pub(super) config: RecoveryConfig,
    /// What the peer's SACKs may be delayed by, as far as we know: as much as ours.
    pub(super) sack_delay: Duration,
    pub(super) paths: Vec<PathRecovery>,
    /// The latest SACK had no room to report TSNs beyond this one: that they are missing there
    /// says nothing.
    pub(super) reported_to: u64,
    /// The path that the SACK at hand came by.
    pub(crate) sack_path: PathId,
    /// TSNs that are looked at; kept, so that looking allocates nothing.
    pub(super) tsns: Vec<u64>,
}

/// What of loss recovery is kept for each path.
#[derive(Debug, Default)]
pub(super) struct PathRecovery {
    /// One packet of retransmissions may ignore cwnd: this path just lost data (RFC 9260 section
    /// 7.2.4, E3 of 6.3.3).
    pub(super) allowance: bool,
    /// Fast recovery ends when no TSN up to this one, last sent here, is unacknowledged.
    pub(super) fast_recovery_exit: Option<u64>,
    /// Something of this path was last acknowledged.
    pub(super) last_acked: Time,
    pub(super) rack: Rack,
    pub(super) tail: TailProbe,
    /// While the path is in fast recovery.
    pub(super) prr: Option<Box<Prr>>,
    /// From a timeout until it is known whether it was spurious.
    pub(super) frto: Option<Box<FRto>>,
    /// Since the latest timeout, until congestion is certain.
    pub(super) resent: Resent,
    /// Recovery from a timeout ends when no TSN up to this one, last sent here, is unacknowledged.
    pub(super) timeout_exit: Option<NonZeroU64>,
    /// The latest timeout was undone, and no first transmission has been acknowledged since.
    pub(super) undone: bool,
    /// When the window was last cut for a loss that was not a timeout.
    pub(super) cut: Time,
    /// Bytes in flight before the SACK or timer at hand.
    pub(super) flight: u64,
    /// Present once there was anything to count.
    pub(super) stats: Option<Box<RecoveryStats>>,
    pub(super) ns2: Option<Box<Ns2Recovery>>,
}

/// What goes out, as loss recovery tells transmissions apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sent {
    /// A chunk for the first time.
    New,
    /// A chunk that was declared lost on path `from`.
    Retransmission {
        /// The path that lost it.
        from: PathId,
        /// How that was noticed.
        cause: LossKind,
    },
    /// A copy of a chunk that is in flight on another path.
    Copy,
    /// A chunk in flight once more on its own path, as a tail-loss probe.
    TailLossProbe,
}

impl RecoveryConfig {
    /// Whether anything beyond RFC 9260 is on.
    pub(super) const fn is_any_on(&self) -> bool {
        self.watches_deliveries() || self.reduces_rate()
    }

    /// Whether proportional rate reduction is on.
    pub(super) const fn reduces_rate(&self) -> bool {
        !matches!(self.rate_reduction, RateReduction::Off)
    }

    /// Whether deliveries must be known by their times.
    pub(super) const fn watches_deliveries(&self) -> bool {
        self.rack || self.tail_probe || self.f_rto || self.rescheduling.watches_silence()
    }
}

impl LossRecovery {
    /// Loss recovery without paths. The peer's SACKs may come late by `sack_delay`.
    pub(crate) const fn new(config: RecoveryConfig, sack_delay: Duration) -> Self {
        Self {
            config,
            sack_delay,
            paths: Vec::new(),
            reported_to: u64::MAX,
            sack_path: PathId(0),
            tsns: Vec::new(),
        }
    }

    /// Makes room for path `p`.
    pub(crate) fn add_path(&mut self, p: PathId) {
        if self.paths.len() <= p.index() {
            // Most associations have one path or two, and a server has many associations.
            self.paths.reserve_exact(p.index() + 1 - self.paths.len());
            self.paths.resize_with(p.index() + 1, PathRecovery::default);
        }
    }

    /// Forgets what it knows of path `p`, which is removed.
    pub(crate) fn clear_path(&mut self, p: PathId) {
        if let Some(own) = self.paths.get_mut(p.index()) {
            *own = PathRecovery::default();
        }
    }

    /// Forgets everything, as the association ends or restarts.
    pub(crate) fn clear(&mut self) {
        self.paths.iter_mut().for_each(|own| *own = PathRecovery::default());
    }

    /// When [`expire_probe_timer`](Self::expire_probe_timer) or
    /// [`expire_reordering_timer`](Self::expire_reordering_timer) has something to do next;
    /// `Time::MAX`: never.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        if !self.config.is_any_on() {
            return Time::MAX;
        }
        let timers = self.paths.iter().map(|own| own.rack.timer.min(own.tail.timer));
        timers.min().unwrap_or(Time::MAX)
    }

    /// Counters of a path.
    pub(crate) fn stats(&self, p: PathId) -> RecoveryStats {
        self.paths.get(p.index()).and_then(|own| own.stats.as_deref().copied()).unwrap_or_default()
    }

    /// When something of `p` was last acknowledged.
    pub(crate) fn last_acked(&self, p: PathId) -> Option<Time> {
        self.paths.get(p.index()).map(|own| own.last_acked)
    }

    /// Whether the latest SACK had room to tell of `tsn`.
    pub(crate) const fn could_report(&self, tsn: u64) -> bool {
        tsn <= self.reported_to
    }

    /// The smallest round trip of data on `p`, where time-based detection measures it.
    pub(crate) fn shortest_trip(&self, p: PathId) -> Option<Duration> {
        self.paths.get(p.index()).and_then(|own| own.rack.shortest_trip())
    }

    /// The shortest round trip that `p` may have with the SACK at hand. One that came by a nearer
    /// path saved part of the way back that the others took: at most half of a round trip, where
    /// both ways are equally long.
    pub(crate) fn shortest_trip_by_sack(&self, p: PathId) -> Option<Duration> {
        let own = self.shortest_trip(p)?;
        let nearer = self.shortest_trip(self.sack_path).filter(|trip| *trip < own);
        Some(nearer.map_or(own, |nearer| (own + nearer) / 2))
    }

    /// Whether the SACK at hand came too soon to answer what was sent on `p` at `sent`.
    pub(super) fn is_too_soon(&self, now: Time, p: PathId, sent: Time) -> bool {
        self.shortest_trip_by_sack(p).is_some_and(|trip| now.since(sent) < trip)
    }

    /// Before a SACK or the reordering timer changes anything: PRR wants to know what was in
    /// flight.
    #[inline]
    pub(crate) fn note_flight(&mut self, p: PathId, outstanding: u64) {
        if let Some(own) = self.paths.get_mut(p.index()) {
            own.flight = outstanding;
        }
    }

    /// A chunk went out on `to`.
    #[inline]
    pub(crate) fn on_sent(
        &mut self,
        now: Time,
        tsn: u64,
        to: PathId,
        what: Sent,
        outstanding: &mut OutstandingQueue,
        paths: &PathSet,
    ) {
        if self.config.is_any_on() {
            self.note_sent(now, tsn, to, what, outstanding, paths);
        }
    }

    fn note_sent(
        &mut self,
        now: Time,
        tsn: u64,
        to: PathId,
        what: Sent,
        outstanding: &mut OutstandingQueue,
        paths: &PathSet,
    ) {
        let Some(chunk) = outstanding.get(tsn) else { return };
        let (size, nth) = (chunk.size(), chunk.transmissions);
        if let Some(own) = self.paths.get_mut(to.index()) {
            own.note_sent(now, tsn, size, what);
        }
        match what {
            Sent::New | Sent::Copy | Sent::TailLossProbe => {
                self.arm_probe(now, to, outstanding, paths)
            }
            Sent::Retransmission { from, cause } => {
                self.on_sent_again(now, tsn, nth, from, to, cause)
            }
        }
    }

    /// A chunk that was lost on `from` went out on `to`, for the `nth` time: what does that mean to
    /// the detection of spurious timeouts?
    fn on_sent_again(
        &mut self,
        now: Time,
        tsn: u64,
        nth: u16,
        from: PathId,
        to: PathId,
        cause: LossKind,
    ) {
        let Some(own) = self.paths.get_mut(from.index()).filter(|_| self.config.f_rto) else {
            return;
        };
        if cause == LossKind::Timeout {
            own.resent.note_retransmission(tsn, nth);
        }
        if let Some(frto) = &mut own.frto {
            frto.note_retransmission(now, tsn, to);
        }
    }

    /// Duplicates that a SACK reports, also one that is stale otherwise: they are reported once.
    /// `near`: the cum-ack.
    pub(crate) fn on_duplicates(&mut self, now: Time, near: u64, tsns: impl Iterator<Item = Tsn>) {
        if !self.config.is_any_on() {
            return;
        }
        for tsn in tsns.map(|tsn| extend(near, tsn)) {
            for PathRecovery { rack, tail, resent, stats, .. } in &mut self.paths {
                tail.note_duplicate(tsn);
                resent.note_duplicate(tsn);
                if rack.note_duplicate(now, tsn) {
                    stats.get_or_insert_default().spurious_retransmissions += 1;
                }
            }
        }
    }

    /// A SACK acknowledges a chunk for the first time; its state is the one before.
    #[inline]
    pub(crate) fn on_acked(
        &mut self,
        now: Time,
        tsn: u64,
        chunk: &TxChunk,
        delivery: Delivery,
        outcome: &mut SackOutcome,
    ) {
        if let Some(own) = self.paths.get_mut(delivery.path.index()) {
            own.last_acked = now;
        }
        if self.config.watches_deliveries() {
            self.note_acked(now, tsn, chunk, delivery, outcome);
        }
    }

    fn note_acked(
        &mut self,
        now: Time,
        tsn: u64,
        chunk: &TxChunk,
        delivery: Delivery,
        outcome: &mut SackOutcome,
    ) {
        let certain = delivery.certain && delivery.path == chunk.path;
        if self.config.f_rto && certain {
            self.note_acked_after_timeout(now, tsn, chunk);
        }
        let Some(own) = self.paths.get_mut(chunk.path.index()) else { return };
        let PathRecovery { rack, tail, frto, undone, .. } = own;
        if certain {
            tail.note_acked(tsn);
        } else {
            tail.note_ambiguously_acked(tsn);
        }
        if certain && chunk.transmissions == 1 && !chunk.reneged {
            tail.note_rtt_measured();
            *undone = false;
            rack.note_original_delivered(now, tsn, chunk.sent);
        }
        if !chunk.copies.is_empty() {
            // Which of several transmissions arrived is not known where either may have: that
            // proves nothing lost and measures nothing (RFC 8985 section 6.2, step 2, on
            // retransmissions).
            let path = outcome.path_mut(delivery.path);
            if let Some(outcome) = path.filter(|_| delivery.certain) {
                let newest = Some((delivery.sent, tsn));
                outcome.newest_delivered = outcome.newest_delivered.max(newest);
            }
            return;
        }
        // While a timeout is in doubt, so is what acknowledgements of retransmissions mean.
        let doubtful = chunk.transmissions > 1 && frto.is_some();
        let Some(outcome) = outcome.path_mut(chunk.path) else { return };
        if !doubtful && rack.is_evidence(now, chunk) {
            outcome.newest_delivered = outcome.newest_delivered.max(Some((chunk.sent, tsn)));
        }
    }

    /// Tells every timeout that is in doubt what the acknowledgement of a chunk means to it. Only
    /// first transmissions say something about the first timeout in a row; which of several others
    /// was delivered cannot be known.
    fn note_acked_after_timeout(&mut self, now: Time, tsn: u64, chunk: &TxChunk) {
        let too_soon = self.is_too_soon(now, chunk.path, chunk.sent);
        for (i, own) in self.paths.iter_mut().enumerate() {
            let Some(frto) = &mut own.frto else { continue };
            let waits = chunk.is_marked();
            let here = chunk.path.index() == i;
            let before = chunk.sent < frto.expired_at();
            frto.note_acked(match (frto.is_suspect(tsn), chunk.transmissions) {
                (true, 1) if waits => Acked::Original,
                (true, 2) if !waits => Acked::Again { too_soon },
                (true, _) => Acked::Again { too_soon: false },
                (false, 1) if here && before => Acked::Original,
                (false, 1) if here => Acked::Beyond,
                (false, _) => continue,
            });
        }
    }

    /// The chunks of a SACK are booked. In this order: is a timeout spurious? If the SACK brought
    /// news: which chunks have too many miss indications, which are lost by their times, did a
    /// probe repair a loss? At last: which paths leave fast recovery? `count`: packets that the
    /// SACK covers (DAC). `full`: there may be more to report than its list of blocks had room for.
    #[expect(clippy::too_many_arguments, reason = "a SACK, and all that it may change")]
    pub(crate) fn on_sack(
        &mut self,
        now: Time,
        count: u8,
        full: bool,
        outcome: &mut SackOutcome,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
        config: &AssocConfig,
    ) {
        self.judge_timeouts(now, outcome, outstanding, paths);
        let ns2 = &config.reproduction.ns2;
        if outcome.news || ns2.misses_by_gap_acks && !config.cmt.sfr {
            self.count_miss_indications(now, count, full, outcome, outstanding, paths, config);
            self.detect_losses_by_time(now, outcome, outstanding, paths);
        }
        if config.reproduction.ns2.allowance_of_target {
            let fast = outcome.paths.iter().any(|o| o.lost > 0);
            self.allow_by_target(fast, outstanding, config);
        }
        self.leave_recoveries(outstanding, paths);
    }

    /// The SACK at hand reports TSNs up to this one; beyond it, silence says nothing.
    pub(crate) const fn note_reported(&mut self, to: u64) {
        self.reported_to = to;
    }

    /// T3 is up to date again after a SACK: so must PTO be.
    pub(crate) fn arm_probes(
        &mut self,
        now: Time,
        outcome: &SackOutcome,
        outstanding: &mut OutstandingQueue,
        paths: &PathSet,
    ) {
        if !self.config.tail_probe {
            return;
        }
        for p in paths.ids() {
            let acked = outcome.path(p).is_some_and(|o| o.acked);
            if acked || paths.view(p).is_some_and(|v| v.outstanding == 0) {
                self.arm_probe(now, p, outstanding, paths);
            }
        }
    }

    /// Whether a packet of retransmissions of `p`'s losses may ignore cwnd.
    pub(crate) fn has_allowance(&self, p: PathId) -> bool {
        self.paths.get(p.index()).is_some_and(|own| own.allowance)
    }

    /// A packet began with a retransmission of `p`'s losses.
    pub(crate) fn use_allowance(&mut self, p: PathId) {
        if let Some(own) = self.paths.get_mut(p.index()) {
            own.allowance = false;
        }
    }

    /// Declares a chunk lost. Where time-based detection is on, it remembers which chunks were
    /// declared lost for what arrived after them: should the peer report one as a duplicate, it was
    /// only late.
    pub(crate) fn declare_lost(
        &mut self,
        tsn: u64,
        cause: LossKind,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
    ) {
        let Some(p) = outstanding.mark_lost(tsn, cause, paths) else { return };
        if self.config.rack
            && cause == LossKind::FastRetransmit
            && let Some(own) = self.paths.get_mut(p.index())
        {
            own.rack.note_declared_lost(tsn);
        }
    }
}

impl PathRecovery {
    /// A chunk of `size` bytes goes out here.
    #[inline]
    fn note_sent(&mut self, now: Time, tsn: u64, size: u64, what: Sent) {
        if let Some(prr) = &mut self.prr {
            prr.note_sent(size);
        }
        match what {
            Sent::New => {
                if self.tail.note_new_data_sent(now, tsn) {
                    self.stats.get_or_insert_default().tail_probes += 1;
                }
            }
            // This packet asks for a SACK as well as a probe would.
            Sent::Retransmission { .. } | Sent::Copy => self.tail.due = false,
            Sent::TailLossProbe => {
                self.tail.note_probe_sent(now, tsn);
                self.stats.get_or_insert_default().tail_probes += 1;
            }
        }
    }
}
