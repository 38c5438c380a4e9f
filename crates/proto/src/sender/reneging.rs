//! Reneging: a SACK withdraws what was gap-acked by leaving it out (RFC 9260 section 6.2.1 D).
//! Two things look alike and are none: a SACK that a newer one overtook on a faster path, and one
//! whose list of blocks had no room for all.

use super::gap_blocks::last_reported;
use super::sack_outcome::{SackInfo, SackOutcome};
use super::sending_half::Sender;
use crate::path::PathSet;
use crate::time::Time;

/// What a SACK says by leaving TSNs out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Omissions {
    /// It leaves out TSNs that were gap-acked before, although there was room for them.
    pub(super) withdraws: bool,
    /// It withdraws what it leaves out up to this TSN; beyond, it had no room for more.
    pub(super) told_to: u64,
}

impl Sender {
    /// Whether the SACK has as many blocks as the peer ever writes: there may be more to report
    /// than it had room for (RFC 9260 section 3.3.4 leaves the length of the list to the receiver).
    pub(super) fn is_block_list_full(&mut self, sack: &SackInfo<'_>) -> bool {
        let blocks = sack.gaps.len() + sack.nr_gaps.len();
        self.most_blocks = self.most_blocks.max(blocks);
        blocks > 0 && blocks == self.most_blocks
    }

    /// Whether the SACK withdraws a TSN that was gap-acked before. `full`: there may be more to
    /// report than it had room for.
    pub(super) fn judge_omissions(
        &self,
        sack: &SackInfo<'_>,
        first_word: u64,
        full: bool,
        outcome: &SackOutcome,
    ) -> Omissions {
        let all = u64::MAX;
        if sack.cum_only || self.withdrawn_words(first_word, all).next().is_none() {
            return Omissions { withdraws: false, told_to: all };
        }
        if outcome.impossible_blocks > 0 {
            // Who names what cannot be does not tell by his silence, either.
            return Omissions { withdraws: false, told_to: self.told_to };
        }
        // What is missing at the end of a full list made room for something new, in this SACK or in
        // one before.
        let last = last_reported(sack);
        let told_to = if full && (outcome.news || last >= self.told_to) { last } else { all };
        let withdraws = self.withdrawn_words(first_word, told_to).next().is_some();
        Omissions { withdraws, told_to }
    }

    /// (word index, bits) of TSNs up to `told_to` that were gap-acked, are not NR-acked and are left
    /// out of this SACK.
    fn withdrawn_words(&self, first_word: u64, told_to: u64) -> impl Iterator<Item = (u64, u64)> {
        let (gap_acked, nr_acked) = (self.outstanding.gap_acked(), self.outstanding.nr_acked());
        gap_acked.word_range().filter_map(move |word| {
            let at = word.checked_sub(first_word);
            let reported = at.and_then(|i| self.reported.bits.get(i as usize));
            let told = match told_to.checked_sub(64 * word) {
                Some(bit @ 0..63) => (2 << bit) - 1,
                Some(_) => u64::MAX,
                None => 0,
            };
            let acked = gap_acked.word(word) & !nr_acked.word(word);
            let gone = acked & !reported.copied().unwrap_or(0) & told;
            (gone != 0).then_some((word, gone))
        })
    }

    /// The TSNs that a SACK withdraws, in the buffer that is kept for them.
    fn list_withdrawn(&mut self, first_word: u64, omissions: Omissions) -> Vec<u64> {
        let mut tsns = core::mem::take(&mut self.withdrawn);
        tsns.clear();
        for (word, mut bits) in self.withdrawn_words(first_word, omissions.told_to) {
            while bits != 0 {
                tsns.push(word * 64 + u64::from(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        tsns
    }

    /// The peer reneged: these TSNs are in flight again. Gives how many they are.
    pub(super) fn renege_pass(
        &mut self,
        now: Time,
        first_word: u64,
        omissions: Omissions,
        paths: &mut PathSet,
    ) -> u64 {
        self.withdrawn = self.list_withdrawn(first_word, omissions);
        for &tsn in &self.withdrawn {
            self.outstanding.renege(now, tsn, paths);
        }
        self.outstanding.drop_stale_transmissions();
        self.withdrawn.len() as u64
    }

    /// In doubt whether the peer reneged: T3 of the paths concerned must run, so that a real
    /// reneging cannot stall us.
    pub(super) fn keep_watch(
        &mut self,
        now: Time,
        first_word: u64,
        omissions: Omissions,
        paths: &mut PathSet,
    ) {
        self.withdrawn = self.list_withdrawn(first_word, omissions);
        for &tsn in &self.withdrawn {
            if let Some(path) = self.outstanding.get(tsn).map(|c| c.path) {
                self.outstanding.start_t3(now, path, paths);
            }
        }
    }
}
