//! SACK (RFC 9260 section 3.3.4) and what it shares with NR-SACK.

use super::kind;
use super::raw::put_chunk_header;
use crate::items::WireItem;
use crate::tlv::{put_u16, put_u32, saturating_length};
use crate::{EncodeChunk, Items, RawChunk, Tsn, WireError};

const SACK_HEADER_LEN: usize = 16;

/// TSNs received in one piece above a hole, as offsets from the cumulative TSN, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapBlock {
    /// Offset of the first TSN; at least 2 in a block that makes sense.
    pub start: u16,
    /// Offset of the last TSN; at least `start` in a block that makes sense.
    pub end: u16,
}

impl GapBlock {
    /// Whether the block can be true: it is not empty and leaves a hole above the cumulative TSN.
    #[inline]
    #[must_use]
    pub const fn is_well_formed(self) -> bool {
        self.start >= 2 && self.start <= self.end
    }

    /// First and last TSN of the block.
    #[inline]
    #[must_use]
    pub const fn tsn_range(self, cumulative_tsn: Tsn) -> (Tsn, Tsn) {
        (cumulative_tsn.add(self.start as u32), cumulative_tsn.add(self.end as u32))
    }
}

impl WireItem<4> for GapBlock {
    #[inline]
    fn from_wire([s0, s1, e0, e1]: [u8; 4]) -> Self {
        Self { start: u16::from_be_bytes([s0, s1]), end: u16::from_be_bytes([e0, e1]) }
    }

    #[inline]
    fn to_wire(self) -> [u8; 4] {
        let ([s0, s1], [e0, e1]) = (self.start.to_be_bytes(), self.end.to_be_bytes());
        [s0, s1, e0, e1]
    }
}

/// Gap ack blocks in a received packet.
pub type GapBlocks<'a> = Items<'a, GapBlock, 4>;

/// TSNs in a received packet.
pub type Tsns<'a> = Items<'a, Tsn, 4>;

/// SACK (3): what has been received.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |   type = 3    |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |                      cumulative TSN ack                       |
/// +---------------------------------------------------------------+
/// |          advertised receiver window credit (a_rwnd)           |
/// +-------------------------------+-------------------------------+
/// |  number of gap ack blocks N   |  number of duplicate TSNs X   |
/// +-------------------------------+-------------------------------+
/// |     gap ack block 1 start     |      gap ack block 1 end      |
/// |              ...              |              ...              |
/// +-------------------------------+-------------------------------+
/// |                        duplicate TSN 1                        |
/// |                              ...                              |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackChunk<'a> {
    /// 0, or with DAC see [`dac_count`].
    pub flags: u8,
    /// The last TSN before the first hole.
    pub cumulative_tsn: Tsn,
    /// Advertised receiver window credit in bytes.
    pub a_rwnd: u32,
    /// What has been received above the first hole; as sent, neither sorted nor checked.
    pub gap_blocks: GapBlocks<'a>,
    /// TSNs received more than once since the last SACK.
    pub duplicates: Tsns<'a>,
}

impl<'a> SackChunk<'a> {
    #[inline]
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        let mut reader = raw.value_reader();
        let (cumulative_tsn, a_rwnd) = (Tsn(reader.read_u32()?), reader.read_u32()?);
        let (gaps, dups) = (usize::from(reader.read_u16()?), usize::from(reader.read_u16()?));
        reader.expect_left("gap ack blocks and duplicate TSNs", 4 * (gaps + dups))?;
        Ok(Self {
            flags: raw.flags,
            cumulative_tsn,
            a_rwnd,
            gap_blocks: reader.read_items(gaps)?,
            duplicates: reader.read_items(dups)?,
        })
    }
}

impl EncodeChunk for SackChunk<'_> {
    #[inline]
    fn encoded_len(&self) -> usize {
        SACK_HEADER_LEN + 4 * (self.gap_blocks.len() + self.duplicates.len())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::SACK, self.flags, self.encoded_len());
        put_acked(out, self.cumulative_tsn, self.a_rwnd);
        put_counts(out, [self.gap_blocks.len(), self.duplicates.len()]);
        out.extend_from_slice(self.gap_blocks.as_bytes());
        out.extend_from_slice(self.duplicates.as_bytes());
    }
}

/// A SACK to be sent, made of what its sender has at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackRepr<'a> {
    /// 0, or with DAC see [`dac_flags`].
    pub flags: u8,
    /// The last TSN before the first hole.
    pub cumulative_tsn: Tsn,
    /// Advertised receiver window credit in bytes.
    pub a_rwnd: u32,
    /// What has been received above the first hole, ascending, neither overlapping nor adjacent.
    pub gap_blocks: &'a [GapBlock],
    /// TSNs received more than once since the last SACK.
    pub duplicates: &'a [Tsn],
}

impl EncodeChunk for SackRepr<'_> {
    #[inline]
    fn encoded_len(&self) -> usize {
        SACK_HEADER_LEN + 4 * (self.gap_blocks.len() + self.duplicates.len())
    }

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::SACK, self.flags, self.encoded_len());
        put_acked(out, self.cumulative_tsn, self.a_rwnd);
        put_counts(out, [self.gap_blocks.len(), self.duplicates.len()]);
        put_items(out, self.gap_blocks);
        put_items(out, self.duplicates);
    }
}

/// What SACK and NR-SACK start with.
#[inline]
pub(crate) fn put_acked(out: &mut Vec<u8>, cumulative_tsn: Tsn, a_rwnd: u32) {
    put_u32(out, cumulative_tsn.0);
    put_u32(out, a_rwnd);
}

#[inline]
pub(crate) fn put_counts<const N: usize>(out: &mut Vec<u8>, counts: [usize; N]) {
    for count in counts {
        put_u16(out, saturating_length(count));
    }
}

#[inline]
pub(crate) fn put_items<T: WireItem<N>, const N: usize>(out: &mut Vec<u8>, items: &[T]) {
    // In one piece: a SACK of a busy receiver has hundreds of them.
    let start = out.len();
    out.resize(start + N * items.len(), 0);
    let (room, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut();
    for (room, item) in room.iter_mut().zip(items) {
        *room = item.to_wire();
    }
}

/// DATA packets that a SACK or NR-SACK acknowledges, from the top two bits of its flags; 0 from a
/// receiver without DAC (S1).
#[inline]
#[must_use]
pub const fn dac_count(flags: u8) -> u8 {
    flags >> 6
}

/// Flags of a SACK or NR-SACK that acknowledges `count` DATA packets; 3 stands for any more.
#[inline]
#[must_use]
pub const fn dac_flags(count: u8) -> u8 {
    if count < 3 { count << 6 } else { 3 << 6 }
}

/// Flag of an NR-SACK to a peer that agreed to [`SACK_THINNING`](crate::param::kind::SACK_THINNING):
/// more packets than two may wait for the next one, so data should be paced.
pub const SACKS_ARE_SPACED: u8 = 0x20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dac_count_is_clamped_to_two_bits() {
        for count in 0..=255 {
            assert_eq!(dac_count(dac_flags(count)), count.min(3));
            assert_eq!(dac_flags(count) & 0x3f, 0);
        }
        assert_eq!(dac_count(255), 3);
    }

    #[test]
    fn blocks_that_cannot_be_true_are_told_apart() {
        let well_formed = |start, end| GapBlock { start, end }.is_well_formed();
        assert!(well_formed(2, 2) && well_formed(65535, 65535));
        assert!(!well_formed(0, 0) && !well_formed(1, 5) && !well_formed(5, 4));
        assert_eq!(GapBlock { start: 2, end: 3 }.tsn_range(Tsn(u32::MAX)), (Tsn(1), Tsn(2)));
    }
}
