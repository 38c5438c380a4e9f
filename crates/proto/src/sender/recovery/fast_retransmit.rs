//! Fast retransmit by miss indications: split fast retransmit (SFR) with delayed ack for CMT (DAC),
//! or RFC 9260's over all paths (section 7.2.4).

use super::loss_recovery::LossRecovery;
use crate::config::{AssocConfig, Cuc};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::outstanding::{OutstandingQueue, TxChunk};
use crate::sender::sack_outcome::{PathOutcome, SackOutcome};
use crate::time::Time;
use crate::view::LossKind;

/// What the newly acknowledged TSNs say about the missing ones of a path.
#[derive(Clone, Copy)]
struct Evidence {
    lowest: u64,
    highest: u64,
    /// When the latest of them was sent.
    sent: Time,
    /// DAC: packets that the SACK covers.
    count: u8,
    /// The SACK's list of blocks may be full.
    full: bool,
}

impl Evidence {
    /// What the newly acknowledged TSNs of these paths say; `None` if there are none that may
    /// speak.
    fn of(paths: &[PathOutcome], count: u8, full: bool) -> Option<Self> {
        let lowest = paths.iter().filter_map(|o| o.lowest_newack).min()?.get();
        let highest = paths.iter().filter_map(|o| o.highest_newack).max()?.get();
        let sent = paths.iter().map(|o| o.newack_sent).max()?;
        Some(Self { lowest, highest, sent, count, full })
    }

    /// Whether nothing that was sent after the latest transmission of `chunk` is newly
    /// acknowledged.
    fn precedes(self, chunk: &TxChunk) -> bool {
        chunk.transmissions > 1 && self.sent <= chunk.sent
    }

    /// Miss indications for `tsn`: one if acknowledged TSNs lie on both sides of it, else as many
    /// as packets arrived after it (Iyengar et al. 2006, DAC).
    const fn misses(self, tsn: u64) -> u8 {
        if tsn < self.lowest { self.count } else { 1 }
    }
}

impl LossRecovery {
    /// Counts miss indications and marks chunks for fast retransmit.
    #[expect(clippy::too_many_arguments, reason = "a SACK, and all that it may change")]
    pub(super) fn count_miss_indications(
        &mut self,
        now: Time,
        count: u8,
        full: bool,
        outcome: &mut SackOutcome,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
        config: &AssocConfig,
    ) {
        let ns2 = &config.reproduction.ns2;
        let speaks = |p: &PathOutcome| if ns2.misses_by_gap_acks { p.gap_acked } else { p.acked };
        let acked_paths = outcome.paths.iter().filter(|p| speaks(p)).count();
        // A mixed SACK says only that one packet of each path arrived; one that tells no number, at
        // least that one did.
        let least = u8::from(config.sack.dac_count_in_timer_sack);
        let count = if acked_paths > 1 { 1 } else { count.clamp(least, 3) };
        let everywhere = ns2.misses_by_gap_acks && !config.cmt.sfr;
        let all = everywhere.then(|| self.evidence_without_sfr(now, outcome));
        for p in paths.ids() {
            if self.ignores_misses(p) {
                continue;
            }
            // Without SFR, HTNA over the association: what CMT's reordering makes go wrong.
            let speaking = if config.cmt.sfr {
                outcome.paths.get(p.index()..=p.index()).unwrap_or_default()
            } else {
                &outcome.paths
            };
            let own = || Evidence::of(speaking, count, full);
            if let Some(evidence) = all.unwrap_or_else(own) {
                self.mark_missing(now, p, evidence, outcome, outstanding, paths, config);
            }
        }
        if ns2.cuts_by_tsn {
            self.cut_by_tsn(outcome, outstanding, paths, config);
        }
    }

    /// What a SACK says of all paths in ns-2's module without CMT: as long as it has gap ack
    /// blocks, that what lies below the highest TSN newly acknowledged is missing.
    fn evidence_without_sfr(&mut self, now: Time, outcome: &SackOutcome) -> Option<Evidence> {
        let below = self.missing_below(outcome);
        let evidence = Evidence { lowest: below, highest: below, sent: now, count: 1, full: false };
        (outcome.highest_reported > 0).then_some(evidence)
    }

    /// Counts the miss indications of one path's chunks, and marks those that have too many.
    #[expect(clippy::too_many_arguments, reason = "a SACK, and all that it may change")]
    fn mark_missing(
        &mut self,
        now: Time,
        p: PathId,
        evidence: Evidence,
        outcome: &mut SackOutcome,
        outstanding: &mut OutstandingQueue,
        paths: &mut PathSet,
        config: &AssocConfig,
    ) {
        let mut tsns = core::mem::take(&mut self.tsns);
        tsns.clear();
        outstanding.list_in_flight_below(p, evidence.highest, &mut tsns);
        let trip = paths.view(p).and_then(|v| v.srtt).unwrap_or_default();
        let (mut lost, mut highest) = (0, 0);
        for &tsn in &tsns {
            let Some(chunk) = outstanding.get(tsn) else { continue };
            if chunk.rescheduled && now.since(chunk.sent) <= 2 * trip {
                continue;
            }
            if evidence.full && evidence.precedes(chunk) {
                // What is newly reported may have arrived long ago, when the list had no room for
                // it.
                continue;
            }
            let ns2 = &config.reproduction.ns2;
            let again = chunk.fast_retransmitted
                || ns2.resent_wait_for_t3 && config.cmt.cuc != Cuc::Off && chunk.transmissions > 1;
            let misses = outstanding.add_miss_indications(tsn, evidence.misses(tsn));
            if u32::from(misses) < config.reproduction.fast_retransmit_after || again {
                continue;
            }
            outstanding.note_fast_retransmit(tsn);
            self.declare_lost(tsn, LossKind::FastRetransmit, outstanding, paths);
            lost += 1;
            highest = highest.max(tsn);
        }
        self.tsns = tsns;
        if lost == 0 {
            return;
        }
        if config.reproduction.ns2.cuts_by_tsn {
            if let Some(o) = outcome.path_mut(p) {
                o.lost = lost;
            }
            return;
        }
        let entered = self.enter_fast_recovery(now, p, highest, outstanding, paths);
        if let Some(o) = outcome.path_mut(p) {
            o.lost = lost;
            o.entered_recovery = entered;
        }
    }

    /// Whether miss indications say nothing on `p`: it reorders, so time alone decides (RFC 8985
    /// section 6.2, step 4).
    fn ignores_misses(&self, p: PathId) -> bool {
        self.config.rack && self.paths.get(p.index()).is_some_and(|own| own.rack.reordering_seen())
    }
}
