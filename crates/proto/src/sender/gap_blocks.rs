//! Gap ack blocks as bits of the TSN space, so that no SACK scans the whole window.

use polypath_wire::GapBlocks;

use super::sack_outcome::SackInfo;

/// Bits of the TSNs that a SACK reports. Kept between SACKs, so that processing one allocates
/// nothing.
#[derive(Debug, Default)]
pub(super) struct ReportedBits {
    /// TSNs reported by gap blocks of either kind, from `first_word` on.
    pub(super) bits: Vec<u64>,
    /// Those reported by NR blocks.
    pub(super) nr_bits: Vec<u64>,
}

/// The highest TSN that a SACK reports. Beyond it, a full list tells nothing. Real reneging there
/// comes to light all the same: the TSN after the cum-ack is missing, so T3-rtx watches it, and in
/// the end what was withdrawn is missing below a block, or there are fewer of them.
pub(super) fn last_reported(sack: &SackInfo<'_>) -> u64 {
    let ends = sack.gaps.iter().chain(sack.nr_gaps.iter()).map(|block| block.end);
    sack.cum + u64::from(ends.max().unwrap_or(0))
}

/// The shortest limit of gap ack blocks that is known of a stack: Linux has 16 (`SCTP_MAX_GABS`).
const SHORTEST_LIMIT: usize = 16;

/// The TSN up to which the SACK reports all that arrived. A list that is `full`, as far as we
/// know, leaves out what is beyond its last block: stacks report the lowest blocks. Shorter lists
/// than any stack's limit are taken for complete.
pub(super) fn reported_to(sack: &SackInfo<'_>, full: bool) -> u64 {
    let cut = full && sack.gaps.len() + sack.nr_gaps.len() >= SHORTEST_LIMIT;
    if cut { last_reported(sack) } else { u64::MAX }
}

/// Turns the blocks into bits, from word `first_word` of the TSN space on. Blocks may overlap,
/// touch or be unsorted; gives how many cannot be true and were passed over. `None` if something
/// unsent is acknowledged (`highest` is the last TSN sent).
pub(super) fn collect_bits(
    sack: &SackInfo<'_>,
    first_word: u64,
    highest: u64,
    reported: &mut ReportedBits,
) -> Option<u32> {
    reported.bits.clear();
    reported.nr_bits.clear();
    let unacked = highest.checked_sub(sack.cum)?;
    if sack.gaps.is_empty() && sack.nr_gaps.is_empty() {
        return Some(0);
    }
    let words = (highest / 64 + 1).saturating_sub(first_word) as usize;
    reported.bits.resize(words, 0);
    reported.nr_bits.resize(words, 0);
    // The caller has seen that the cum-ack does not lie below the one before, from which the words
    // count.
    let base = sack.cum.wrapping_sub(64 * first_word);
    let impossible = set_bits(&mut reported.bits, base, unacked, sack.gaps)?
        + set_bits(&mut reported.nr_bits, base, unacked, sack.nr_gaps)?;
    for (all, nr) in reported.bits.iter_mut().zip(&reported.nr_bits) {
        *all |= nr;
    }
    Some(impossible)
}

/// Sets the bits of the blocks, which are offsets from bit `base`. Gives how many blocks end before
/// they begin, or leave no gap above the cum-ack: such a one says nothing that can be relied on,
/// and is passed over. `None` if one acknowledges what was never sent.
fn set_bits(bits: &mut [u64], base: u64, unacked: u64, blocks: GapBlocks<'_>) -> Option<u32> {
    let mut set = |word: u64, mask: u64| {
        if let Some(w) = bits.get_mut(word as usize) {
            *w |= mask;
        }
    };
    let mut impossible = 0;
    for block in blocks.iter() {
        let start = base.wrapping_add(block.start.into());
        // Most are a single TSN while a fast and a slow path carry data in turn.
        let single = block.start == block.end && block.start >= 2;
        if single && u64::from(block.start) <= unacked {
            set(start / 64, 1 << (start % 64));
            continue;
        }
        if block.start <= block.end && u64::from(block.end) > unacked {
            return None;
        }
        if !block.is_well_formed() {
            impossible += 1;
            continue;
        }
        let end = base.wrapping_add(block.end.into());
        let (from_start, to_end) = (u64::MAX << (start % 64), u64::MAX >> (63 - end % 64));
        if start / 64 == end / 64 {
            set(start / 64, from_start & to_end);
            continue;
        }
        set(start / 64, from_start);
        (start / 64 + 1..end / 64).for_each(|word| set(word, u64::MAX));
        set(end / 64, to_end);
    }
    Some(impossible)
}

#[cfg(test)]
mod tests {
    use polypath_wire::{GapBlock, ItemsBuf, Tsns};
    use proptest::prelude::*;

    use super::*;

    /// The TSNs that `bits` stand for.
    fn members(bits: &[u64], first_word: u64) -> Vec<u64> {
        let tsns =
            (0..64 * bits.len() as u64).filter(|t| bits[*t as usize / 64] >> (t % 64) & 1 != 0);
        tsns.map(|t| 64 * first_word + t).collect()
    }

    proptest! {
        #[test]
        fn blocks_in_any_order_become_their_tsns(
            cum in 6_400u64..6_600,
            behind in 0u64..200,
            blocks in proptest::collection::vec((0u16..400, -20i32..150), 0..20),
            nr in proptest::collection::vec((0u16..400, -20i32..150), 0..20),
            unacked in 0u64..600,
        ) {
            let block = |&(start, more): &(u16, i32)| {
                GapBlock { start, end: start.saturating_add_signed(more as i16) }
            };
            let list = |blocks: &[(u16, i32)]| {
                blocks.iter().map(block).collect::<ItemsBuf<GapBlock, 4>>()
            };
            let tsns = |blocks: &[(u16, i32)]| {
                let mut all: Vec<u64> = blocks.iter().map(block).filter(|b| b.start >= 2)
                    .flat_map(|b| cum + u64::from(b.start)..=cum + u64::from(b.end))
                    .collect();
                all.sort_unstable();
                all.dedup();
                all
            };
            let (gaps, nr_gaps) = (list(&blocks), list(&nr));
            let sack = SackInfo {
                cum,
                a_rwnd: 0,
                gaps: gaps.as_items(),
                nr_gaps: nr_gaps.as_items(),
                duplicates: Tsns::EMPTY,
                count: 1,
                cum_only: false,
            };
            let first_word = (cum + 1 - behind) / 64;
            let mut reported = ReportedBits::default();
            let impossible = collect_bits(&sack, first_word, cum + unacked, &mut reported);
            let both: Vec<_> = blocks.iter().chain(&nr).copied().collect();
            let is_unsent = |b: GapBlock| b.start <= b.end && u64::from(b.end) > unacked;
            let unsent = both.iter().map(block).any(is_unsent);
            let count = both.iter().map(block).filter(|b| !b.is_well_formed()).count() as u32;
            prop_assert_eq!(impossible, (!unsent).then_some(count));
            if !unsent {
                prop_assert_eq!(members(&reported.bits, first_word), tsns(&both));
                prop_assert_eq!(members(&reported.nr_bits, first_word), tsns(&nr));
            }
        }
    }
}
