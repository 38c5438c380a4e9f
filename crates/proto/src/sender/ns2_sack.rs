//! What ns-2.35 looks at before it books the gap acks of a SACK (`ProcessGapAckBlocks` of
//! `sctp/sctp-cmt.cc`).

use core::num::NonZeroU64;

use super::gap_blocks::last_reported;
use super::sack_outcome::{SackInfo, SackOutcome};
use super::sending_half::Sender;
use crate::path::PathSet;

impl Sender {
    /// Before the gap acks of a SACK are booked: the lowest unacknowledged TSN of every path, whose
    /// acknowledgement starts T3-rtx anew, and the expected pseudo-cum-acks.
    pub(super) fn watch_lowest(
        &mut self,
        sack: &SackInfo<'_>,
        first_word: u64,
        paths: &PathSet,
        outcome: &mut SackOutcome,
    ) {
        for p in paths.ids() {
            let lowest = self.outstanding.lowest_unacked_of_any_class(p);
            if let Some(outcome) = outcome.path_mut(p) {
                outcome.lowest_watched = lowest.and_then(NonZeroU64::new);
            }
        }
        if sack.gaps.is_empty() && sack.nr_gaps.is_empty() {
            return;
        }
        let watch = self.ns2.get_or_insert_default();
        let last = last_reported(sack);
        for (tsn, chunk) in self.outstanding.iter().take_while(|&(tsn, _)| tsn <= last + 1) {
            if !chunk.is_in_flight() && !chunk.is_marked() {
                continue;
            }
            let word = (tsn / 64).checked_sub(first_word).and_then(|i| usize::try_from(i).ok());
            let bits = word.and_then(|i| self.reported.bits.get(i)).copied().unwrap_or(0);
            let acked = bits >> (tsn % 64) & 1 == 1;
            if watch.visit(tsn, chunk.path, chunk.class(), acked)
                && let Some(outcome) = outcome.path_mut(chunk.path)
            {
                outcome.expected_acked = true;
            }
        }
    }
}
