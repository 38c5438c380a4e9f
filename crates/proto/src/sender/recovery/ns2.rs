//! When ns-2.35 cuts windows after a fast retransmit, and what may ignore them then (`FastRtx` of
//! `sctp/sctp-cmt.cc`).

use core::num::NonZeroU64;

use super::loss_recovery::LossRecovery;
use crate::config::{AssocConfig, Cuc};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::outstanding::OutstandingQueue;
use crate::sender::sack_outcome::SackOutcome;

impl LossRecovery {
    /// Chunks were marked for fast retransmit: cuts every path on which a chunk waits that lies
    /// beyond the highest TSN sent at its last cut.
    pub(super) fn cut_by_tsn(
        &mut self,
        outcome: &mut SackOutcome,
        outstanding: &OutstandingQueue,
        paths: &mut PathSet,
        config: &AssocConfig,
    ) {
        if outcome.paths.iter().all(|o| o.lost == 0) {
            return;
        }
        for p in paths.ids() {
            let Some(own) = self.paths.get_mut(p.index()) else { continue };
            let (ns2, waits) = (own.ns2.get_or_insert_default(), outstanding.highest_marked(p));
            if waits.is_none_or(|tsn| tsn <= ns2.recover) {
                continue;
            }
            let highest = outstanding.highest_unmarked(p).unwrap_or(0);
            // Where the highest TSN is lower than at an earlier cut, CMT's module falls back to a
            // variable that nothing sets: the next marked chunk causes another cut.
            let stale = highest < ns2.highest_sent;
            ns2.highest_sent = ns2.highest_sent.max(highest);
            ns2.recover = match config.cmt.cuc {
                Cuc::Off => ns2.highest_sent,
                Cuc::V1 | Cuc::V2 if stale => 0,
                Cuc::V1 | Cuc::V2 => highest,
            };
            own.fast_recovery_exit = Some(ns2.recover.max(waits.unwrap_or(0)));
            if let Some((view, path)) = paths.both_mut(p) {
                view.in_recovery = true;
                path.stats.fast_recoveries += 1;
            }
            if let Some(outcome) = outcome.path_mut(p) {
                outcome.entered_recovery = true;
            }
        }
    }

    /// Without CMT: chunks below the highest TSN newly acknowledged, by this SACK or before, are
    /// reported missing; in fast recovery, where the cum-ack moves, all below the highest TSN that
    /// is reported are. Gives the TSN below which.
    pub(super) fn missing_below(&mut self, outcome: &SackOutcome) -> u64 {
        let cum_acked = outcome.highest_cum_acked;
        let above =
            outcome.paths.iter().filter_map(|o| o.highest_newack).max().map(NonZeroU64::get);
        let paths = self.paths.iter().filter_map(|own| own.ns2.as_ref());
        let recover = paths.map(|ns2| ns2.recover).max().unwrap_or(0);
        let Some(first) = self.paths.first_mut() else { return 0 };
        let highest = &mut first.ns2.get_or_insert_default().highest_newly_acked;
        *highest = cum_acked.unwrap_or(*highest).max(above.unwrap_or(0));
        if outcome.cum_advanced && *highest <= recover {
            return outcome.highest_reported.max(*highest);
        }
        *highest
    }

    /// What may ignore cwnd after a SACK, which has marked chunks for fast retransmit if `fast`.
    pub(super) fn allow_by_target(
        &mut self,
        fast: bool,
        outstanding: &OutstandingQueue,
        config: &AssocConfig,
    ) {
        let alone = config.cmt.cuc == Cuc::Off;
        for (own, p) in self.paths.iter_mut().zip(0..) {
            let ns2 = own.ns2.get_or_insert_default();
            if fast {
                ns2.was_fast_retransmitted = outstanding.awaits_fast_retransmit(PathId(p));
            }
            own.allowance = fast && ns2.was_fast_retransmitted;
            ns2.is_closed = fast && alone && !own.allowance;
        }
    }

    /// What may ignore cwnd after a timeout of `p`.
    pub(super) fn allow_after_timeout(&mut self, p: PathId, config: &AssocConfig) {
        let alone = config.cmt.cuc == Cuc::Off;
        for (own, i) in self.paths.iter_mut().zip(0..) {
            let ns2 = own.ns2.get_or_insert_default();
            own.allowance = ns2.was_fast_retransmitted || alone && i == p.0;
            ns2.is_closed = false;
        }
    }

    /// A packet began with a retransmission on `to`. `alone`: without CMT, no other follows one
    /// that may ignore cwnd.
    pub(crate) fn note_packet_resent(&mut self, to: PathId, alone: bool) {
        if let Some(own) = self.paths.get_mut(to.index()) {
            own.ns2.get_or_insert_default().is_closed |= alone && own.allowance;
            own.allowance = false;
        }
    }

    /// Whether retransmissions on `to` wait for the next SACK.
    pub(crate) fn is_closed(&self, to: PathId) -> bool {
        let ns2 = self.paths.get(to.index()).and_then(|own| own.ns2.as_ref());
        ns2.is_some_and(|ns2| ns2.is_closed)
    }
}
