//! NR-SACK (draft-natarajan-tsvwg-sctp-nrsack): a SACK that says what will not be reneged on.

use super::kind;
use super::raw::put_chunk_header;
use super::sack::{GapBlock, GapBlocks, Tsns, put_acked, put_counts, put_items};
use crate::{EncodeChunk, RawChunk, Tsn, WireError};

const NR_SACK_HEADER_LEN: usize = 20;

/// The field behind the counts.
const RESERVED: usize = 0;

/// NR-SACK (16): what has been received, renegable and non-renegable apart.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |   type = 16   |     flags     |            length             |
/// +---------------+---------------+-------------------------------+
/// |                      cumulative TSN ack                       |
/// +---------------------------------------------------------------+
/// |          advertised receiver window credit (a_rwnd)           |
/// +-------------------------------+-------------------------------+
/// |  number of gap ack blocks N   | number of NR gap ack blocks M |
/// +-------------------------------+-------------------------------+
/// |  number of duplicate TSNs X   |           reserved            |
/// +-------------------------------+-------------------------------+
/// |     gap ack block 1 start     |      gap ack block 1 end      |
/// |              ...              |              ...              |
/// +-------------------------------+-------------------------------+
/// |    NR gap ack block 1 start   |     NR gap ack block 1 end    |
/// |              ...              |              ...              |
/// +-------------------------------+-------------------------------+
/// |                        duplicate TSN 1                        |
/// |                              ...                              |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrSackChunk<'a> {
    /// 0, or with DAC see [`dac_count`](crate::dac_count).
    pub flags: u8,
    /// The last TSN before the first hole.
    pub cumulative_tsn: Tsn,
    /// Advertised receiver window credit in bytes.
    pub a_rwnd: u32,
    /// What has been received and may yet be dropped; as sent, neither sorted nor checked.
    pub gap_blocks: GapBlocks<'a>,
    /// What has been received for good; as sent, neither sorted nor checked.
    pub nr_gap_blocks: GapBlocks<'a>,
    /// TSNs received more than once since the last SACK.
    pub duplicates: Tsns<'a>,
}

impl<'a> NrSackChunk<'a> {
    #[inline]
    pub(crate) fn from_raw(raw: RawChunk<'a>) -> Result<Self, WireError> {
        let mut reader = raw.value_reader();
        let (cumulative_tsn, a_rwnd) = (Tsn(reader.read_u32()?), reader.read_u32()?);
        let (gaps, nr_gaps) = (usize::from(reader.read_u16()?), usize::from(reader.read_u16()?));
        let (dups, _reserved) = (usize::from(reader.read_u16()?), reader.read_u16()?);
        reader.expect_left("gap ack blocks and duplicate TSNs", 4 * (gaps + nr_gaps + dups))?;
        Ok(Self {
            flags: raw.flags,
            cumulative_tsn,
            a_rwnd,
            gap_blocks: reader.read_items(gaps)?,
            nr_gap_blocks: reader.read_items(nr_gaps)?,
            duplicates: reader.read_items(dups)?,
        })
    }
}

impl EncodeChunk for NrSackChunk<'_> {
    fn encoded_len(&self) -> usize {
        let items = self.gap_blocks.len() + self.nr_gap_blocks.len() + self.duplicates.len();
        NR_SACK_HEADER_LEN + 4 * items
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::NR_SACK, self.flags, self.encoded_len());
        put_acked(out, self.cumulative_tsn, self.a_rwnd);
        let [gaps, nr_gaps] = [self.gap_blocks.len(), self.nr_gap_blocks.len()];
        put_counts(out, [gaps, nr_gaps, self.duplicates.len(), RESERVED]);
        out.extend_from_slice(self.gap_blocks.as_bytes());
        out.extend_from_slice(self.nr_gap_blocks.as_bytes());
        out.extend_from_slice(self.duplicates.as_bytes());
    }
}

/// An NR-SACK to be sent, made of what its sender has at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrSackRepr<'a> {
    /// 0, or with DAC see [`dac_flags`](crate::dac_flags).
    pub flags: u8,
    /// The last TSN before the first hole.
    pub cumulative_tsn: Tsn,
    /// Advertised receiver window credit in bytes.
    pub a_rwnd: u32,
    /// What may yet be dropped: ascending, neither overlapping nor adjacent.
    pub gap_blocks: &'a [GapBlock],
    /// What is here for good: likewise, and disjoint from `gap_blocks`.
    pub nr_gap_blocks: &'a [GapBlock],
    /// TSNs received more than once since the last SACK.
    pub duplicates: &'a [Tsn],
}

impl EncodeChunk for NrSackRepr<'_> {
    #[inline]
    fn encoded_len(&self) -> usize {
        let items = self.gap_blocks.len() + self.nr_gap_blocks.len() + self.duplicates.len();
        NR_SACK_HEADER_LEN + 4 * items
    }

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        put_chunk_header(out, kind::NR_SACK, self.flags, self.encoded_len());
        put_acked(out, self.cumulative_tsn, self.a_rwnd);
        let [gaps, nr_gaps] = [self.gap_blocks.len(), self.nr_gap_blocks.len()];
        put_counts(out, [gaps, nr_gaps, self.duplicates.len(), RESERVED]);
        put_items(out, self.gap_blocks);
        put_items(out, self.nr_gap_blocks);
        put_items(out, self.duplicates);
    }
}
