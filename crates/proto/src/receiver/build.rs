//! What a SACK says: blocks of TSNs, shortened to what fits (RFC 9260 section 6.7,
//! draft-natarajan-tsvwg-sctp-nrsack).

use core::ops::Range;

use polypath_wire::{GapBlock, NrSackRepr, PacketWriter, SackRepr};

use super::thinning::Thinning;
use super::tracker::Tracker;
use crate::config::NrSack;
use crate::tsn_map::{TsnMap, wire};

/// Bytes of a SACK before its blocks (RFC 9260 section 3.3.4).
const SACK_FIXED: usize = 16;

/// Bytes of an NR-SACK before its blocks.
const NR_SACK_FIXED: usize = 20;

/// Bytes of a block, and of a duplicate TSN.
const ENTRY: usize = 4;

/// Writes SACKs and NR-SACKs; its lists are kept from one to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct SackBuilder {
    renegable: Vec<GapBlock>,
    non_renegable: Vec<GapBlock>,
    /// Blocks in one SACK at most, however many fit.
    max_blocks: Option<u16>,
}

impl SackBuilder {
    pub(super) fn new(max_blocks: Option<u16>) -> Self {
        Self { max_blocks, ..Self::default() }
    }

    /// Writes the acknowledgement that was negotiated, and gives whether it tells all that there is
    /// room for; `None` if not even its fixed part fits. `thinning` where it need not.
    pub(super) fn write(
        &mut self,
        tracker: &Tracker,
        thinning: Option<&mut Thinning>,
        kind: NrSack,
        flags: u8,
        a_rwnd: u32,
        writer: &mut PacketWriter<'_>,
    ) -> Option<bool> {
        match kind {
            NrSack::Off => self.write_sack(tracker, flags, a_rwnd, writer).then_some(true),
            NrSack::Delivered | NrSack::Received => {
                self.write_nr_sack(tracker, thinning, flags, a_rwnd, writer)
            }
        }
    }

    fn write_sack(
        &mut self,
        tracker: &Tracker,
        flags: u8,
        a_rwnd: u32,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        let Some(room) = room(writer, SACK_FIXED) else { return false };
        let (above, base) = (tracker.above(), tracker.cumulative());
        let most = self.most_blocks(room);
        blocks(above.word_range(), |i| above.word(i), base, most, &mut self.renegable);
        let sack = SackRepr {
            flags,
            cumulative_tsn: wire(base),
            a_rwnd,
            gap_blocks: &self.renegable,
            duplicates: first(tracker.duplicates(), room - self.renegable.len()),
        };
        writer.push(&sack).is_ok()
    }

    fn write_nr_sack(
        &mut self,
        tracker: &Tracker,
        thinning: Option<&mut Thinning>,
        flags: u8,
        a_rwnd: u32,
        writer: &mut PacketWriter<'_>,
    ) -> Option<bool> {
        let room = room(writer, NR_SACK_FIXED)?;
        let most = self.most_blocks(room);
        let all = match thinning {
            Some(thinning) => self.collect_thinned(tracker, thinning, most),
            None => {
                self.collect_both(tracker, most);
                self.shorten(most);
                true
            }
        };
        let used = self.renegable.len() + self.non_renegable.len();
        let sack = NrSackRepr {
            flags,
            cumulative_tsn: wire(tracker.cumulative()),
            a_rwnd,
            gap_blocks: &self.renegable,
            nr_gap_blocks: &self.non_renegable,
            duplicates: first(tracker.duplicates(), room - used),
        };
        writer.push(&sack).is_ok().then_some(all)
    }

    /// What is new, or all blocks where it is time for that. Gives whether it is all.
    fn collect_thinned(&mut self, tracker: &Tracker, thinning: &mut Thinning, most: usize) -> bool {
        if thinning.may_tell_all() {
            self.collect_both(tracker, most);
            if thinning.tells_all(self.non_renegable.len()) {
                return true;
            }
        }
        self.renegable.clear();
        // A block has one piece of news at least: the newest of them find room.
        let news = thinning.list_news(most);
        blocks_around(news, tracker.above(), tracker.cumulative(), &mut self.non_renegable);
        false
    }

    /// Blocks that go where there is room for `room` entries.
    fn most_blocks(&self, room: usize) -> usize {
        self.max_blocks.map_or(room, |most| room.min(most.into()))
    }

    fn collect_both(&mut self, tracker: &Tracker, most: usize) {
        let (above, base, range) =
            (tracker.above(), tracker.cumulative(), tracker.above().word_range());
        let Some(firm) = tracker.non_renegable() else {
            self.renegable.clear();
            return blocks(range, |i| above.word(i), base, most, &mut self.non_renegable);
        };
        blocks(range.clone(), |i| above.word(i) & !firm.word(i), base, most, &mut self.renegable);
        blocks(range, |i| above.word(i) & firm.word(i), base, most, &mut self.non_renegable);
    }

    /// Leaves out the highest TSNs, of whichever list.
    fn shorten(&mut self, most: usize) {
        while self.renegable.len() + self.non_renegable.len() > most {
            let top = |list: &[GapBlock]| list.last().map_or(0, |block| block.start);
            if top(&self.renegable) > top(&self.non_renegable) {
                self.renegable.pop();
            } else {
                self.non_renegable.pop();
            }
        }
    }
}

/// Entries that fit behind the fixed part.
fn room(writer: &PacketWriter<'_>, fixed: usize) -> Option<usize> {
    writer.remaining().min(usize::from(u16::MAX)).checked_sub(fixed).map(|bytes| bytes / ENTRY)
}

fn first<T>(list: &[T], count: usize) -> &[T] {
    list.get(..count).unwrap_or(list)
}

/// The maximal runs of `above` that have a member among `tsns`, which ascend; as offsets from
/// `base`.
fn blocks_around(tsns: &[u64], above: &TsnMap, base: u64, out: &mut Vec<GapBlock>) {
    out.clear();
    let mut told = base;
    for &tsn in tsns {
        if tsn <= told || !above.contains(tsn) {
            continue;
        }
        let start = above.run_start(tsn);
        told = tsn + above.run_length(tsn) - 1;
        // TSNs are at most 2^16 - 1 above the cumulative one: the tracker accepts no others.
        out.push(GapBlock { start: (start - base) as u16, end: (told - base) as u16 });
    }
}

/// The maximal runs of set bits, lowest first, at most `limit` of them, as offsets from `base`.
fn blocks(
    words: Range<u64>,
    word: impl Fn(u64) -> u64,
    base: u64,
    limit: usize,
    out: &mut Vec<GapBlock>,
) {
    out.clear();
    let mut open = None;
    let mut before = 0;
    // Of the words' first bits. Only the first word begins below the base, and bits there are not
    // set.
    let mut first = words.start.wrapping_mul(64).wrapping_sub(base);
    for index in words {
        let bits = word(index);
        // What the bit below says, for each bit: a run begins where the two differ, and the one
        // before it ends there.
        let below = bits << 1 | before >> 63;
        let (mut starts, mut ends) = (bits & !below, below & !bits);
        before = bits;
        if let Some(start) = open.filter(|_| ends != 0) {
            out.push(GapBlock { start, end: offset(first, ends).wrapping_sub(1) });
            (open, ends) = (None, ends & (ends - 1));
        }
        while starts != 0 {
            if out.len() >= limit {
                return;
            }
            let start = offset(first, starts);
            if ends == 0 {
                open = Some(start);
                break;
            }
            out.push(GapBlock { start, end: offset(first, ends).wrapping_sub(1) });
            (starts, ends) = (starts & (starts - 1), ends & (ends - 1));
        }
        first = first.wrapping_add(64);
    }
    if let Some(start) = open {
        out.push(GapBlock { start, end: offset(first, 1).wrapping_sub(1) });
    }
}

/// Of the lowest bit of `bits`, where bit 0 is at `first`. TSNs are at most 2^16 - 1 above the
/// cumulative one: the tracker accepts no others.
#[inline]
const fn offset(first: u64, bits: u64) -> u16 {
    first.wrapping_add(bits.trailing_zeros() as u64) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tsn_map::TsnMap;

    proptest! {
        #[test]
        fn blocks_are_the_runs_of_the_set(
            base in 5000u64..5200,
            tsns in proptest::collection::btree_set(2u64..400, 0..200),
            limit in 0usize..100,
        ) {
            let mut map = TsnMap::new(base + 1);
            tsns.iter().for_each(|offset| _ = map.insert(base + offset));
            let mut out = Vec::new();
            blocks(map.word_range(), |i| map.word(i), base, limit, &mut out);
            let runs = map.runs().map(|(a, b)| ((a - base) as u16, (b - base) as u16));
            let expected: Vec<_> = runs.take(limit).collect();
            let found: Vec<_> = out.iter().map(|block| (block.start, block.end)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_run_may_fill_the_last_word() {
        let mut out = Vec::new();
        blocks(2..4, |_| u64::MAX, 100, 9, &mut out);
        assert_eq!(out, [GapBlock { start: 28, end: 155 }]);
    }
}
