//! Fast retransmit by miss indications: split fast retransmit (SFR) with delayed ack for CMT (DAC),
//! or RFC 9260's over all paths (section 7.2.4).

use super::loss_recovery::LossRecovery;
use crate::config::AssocConfig;
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
        let lowest = paths.iter().filter_map(|o| o.lowest_newack).min()?;
        let highest = paths.iter().filter_map(|o| o.highest_newack).max()?;
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
        let acked_paths = outcome.paths.iter().filter(|p| p.acked).count();
        // A mixed SACK says only that one packet of each path arrived; one that tells no number, at
        // least that one did.
        let least = u8::from(config.sack.dac_count_in_timer_sack);
        let count = if acked_paths > 1 { 1 } else { count.clamp(least, 3) };
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
            if let Some(evidence) = Evidence::of(speaking, count, full) {
                self.mark_missing(now, p, evidence, outcome, outstanding, paths, config);
            }
        }
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
            let again = chunk.fast_retransmitted;
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
