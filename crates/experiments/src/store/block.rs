//! Blocks of a segment: rows with the same figures, column by column, or a text about them.
//!
//! Everything is little endian. A block is a head of 40 bytes and a body:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `PPBLOCK\n`, which is looked for behind a damaged place |
//! | 4, 4 | kind; number of rows |
//! | 8 | length of the body |
//! | 8, 8 | CRC-64/NVME of the body; of the head up to here |
//!
//! The body of rows has the names of the figures (their number in 4 bytes, each with its length in
//! 2), the keys of the runs (16 bytes each), and a column for each figure: a byte that says how it
//! is kept, and its values.

use std::sync::Arc;

use crc_fast::{CrcAlgorithm, checksum};

use super::key::Key;
use super::row::Row;

/// Rows of a block, at most.
pub(super) const MOST_ROWS: usize = 4096;
/// Figures of a row, at most: a run has some hundred, and a segment may be of anybody.
pub(super) const MOST_FIGURES: usize = 1 << 14;
/// Bytes of a body, at most: rows of 500 figures are a tenth of it.
pub(super) const MOST_BYTES: u64 = 256 << 20;
/// Bytes of a head.
pub(super) const HEAD: usize = 40;
/// What a head begins with.
pub(super) const MAGIC: &[u8; 8] = b"PPBLOCK\n";

const COVERED: usize = HEAD - 8;

/// What is in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// JSON: what the segment is of.
    About,
    /// Runs and their figures.
    Runs,
    /// JSON, one value a line, one line a row.
    Lines,
}

/// The head of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) rows: u32,
    pub(super) bytes: u64,
    pub(super) sum: u64,
}

impl Kind {
    const fn number(self) -> u32 {
        match self {
            Self::About => 1,
            Self::Runs => 2,
            Self::Lines => 3,
        }
    }

    fn of_number(number: u32) -> Option<Self> {
        [Self::About, Self::Runs, Self::Lines].into_iter().find(|kind| kind.number() == number)
    }
}

pub(super) fn sum_of(bytes: &[u8]) -> u64 {
    checksum(CrcAlgorithm::Crc64Nvme, bytes)
}

impl Head {
    /// The head of this body.
    pub(super) fn of_body(kind: Kind, rows: u32, body: &[u8]) -> Self {
        Self { kind, rows, bytes: body.len() as u64, sum: sum_of(body) }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(self.kind.number().to_le_bytes());
        out.extend(self.rows.to_le_bytes());
        out.extend(self.bytes.to_le_bytes());
        out.extend(self.sum.to_le_bytes());
        let own = sum_of(&out);
        out.extend(own.to_le_bytes());
        out
    }

    /// `None`: no head, or a damaged one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let magic = reader.take(8)?;
        let kind = Kind::of_number(reader.u32()?)?;
        let (rows, bytes_of_body, sum) = (reader.u32()?, reader.u64()?, reader.u64()?);
        let is_whole = magic == MAGIC && reader.u64()? == sum_of(bytes.get(..COVERED)?);
        let is_possible = rows as usize <= MOST_ROWS && bytes_of_body <= MOST_BYTES;
        (is_whole && is_possible).then_some(Self { kind, rows, bytes: bytes_of_body, sum })
    }
}

/// The body of these rows, whose figures have the same names.
pub(super) fn encode_rows(names: &[String], rows: &[(Key, Row)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows.len() * (16 + 8 * names.len()));
    out.extend((names.len() as u32).to_le_bytes());
    for name in names {
        // Names are a word or two: a longer one is no figure of ours.
        let name = name.as_bytes().get(..usize::from(u16::MAX)).unwrap_or(name.as_bytes());
        out.extend((name.len() as u16).to_le_bytes());
        out.extend(name);
    }
    rows.iter().for_each(|(key, _)| out.extend(key.to_bytes()));
    for at in 0..names.len() {
        encode_column(&mut out, rows.iter().map(|(_, row)| row.values.get(at).copied().flatten()));
    }
    out
}

/// How a column is kept.
const NOTHING: u8 = 0;
const SAME: u8 = 1;
const ALL: u8 = 2;
const SOME: u8 = 3;

fn encode_column(out: &mut Vec<u8>, cells: impl Iterator<Item = Option<f64>> + Clone) {
    let bits = || cells.clone().map(|cell| cell.map(f64::to_bits));
    let first = bits().next().flatten();
    if bits().all(|cell| cell.is_none()) {
        out.push(NOTHING);
    } else if let Some(value) = first.filter(|_| bits().all(|cell| cell == first)) {
        out.push(SAME);
        out.extend(value.to_le_bytes());
    } else if bits().all(|cell| cell.is_some()) {
        out.push(ALL);
        bits().flatten().for_each(|value| out.extend(value.to_le_bytes()));
    } else {
        out.push(SOME);
        let flags: Vec<bool> = bits().map(|cell| cell.is_some()).collect();
        let byte = |eight: &[bool]| {
            eight.iter().enumerate().fold(0_u8, |byte, (n, flag)| byte | u8::from(*flag) << n)
        };
        out.extend(flags.chunks(8).map(byte));
        bits().flatten().for_each(|value| out.extend(value.to_le_bytes()));
    }
}

/// A body of rows, read.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    pub(super) names: Arc<[String]>,
    keys: &'a [u8],
    columns: Vec<Column<'a>>,
}

/// A column as it is kept.
#[derive(Clone, Copy, Debug)]
enum Column<'a> {
    Nothing,
    Same(f64),
    All(&'a [u8]),
    Some(&'a [u8], &'a [u8]),
}

impl<'a> Rows<'a> {
    /// `None`: no such body.
    pub(super) fn decode(rows: u32, body: &'a [u8]) -> Option<Self> {
        let (count, mut reader) = (rows as usize, Reader(body));
        let names = reader.u32()? as usize;
        if names > MOST_FIGURES {
            return None;
        }
        let mut read_name = || {
            let length = usize::from(reader.u16()?);
            core::str::from_utf8(reader.take(length)?).ok().map(str::to_owned)
        };
        let names: Vec<String> = (0..names).map(|_| read_name()).collect::<Option<_>>()?;
        let keys = reader.take(16 * count)?;
        let mut columns = Vec::with_capacity(names.len());
        for _ in &names {
            columns.push(match reader.u8()? {
                NOTHING => Column::Nothing,
                SAME => Column::Same(f64::from_bits(reader.u64()?)),
                ALL => Column::All(reader.take(8 * count)?),
                SOME => {
                    let flags = reader.take(count.div_ceil(8))?;
                    let present = (0..count).filter(|row| is_set(flags, *row)).count();
                    Column::Some(flags, reader.take(8 * present)?)
                }
                _ => return None,
            });
        }
        reader.0.is_empty().then(|| Self { names: names.into(), keys, columns })
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.keys.as_chunks().0.iter().map(|key| Key::of_bytes(*key))
    }

    /// A figure of all rows.
    pub(super) fn column(&self, at: usize) -> Vec<Option<f64>> {
        let count = self.keys.len() / 16;
        let value = |bytes: &[u8; 8]| f64::from_bits(u64::from_le_bytes(*bytes));
        match self.columns.get(at) {
            None | Some(Column::Nothing) => vec![None; count],
            Some(Column::Same(value)) => vec![Some(*value); count],
            Some(Column::All(values)) => {
                values.as_chunks().0.iter().map(|bytes| Some(value(bytes))).collect()
            }
            Some(Column::Some(flags, values)) => {
                let mut values = values.as_chunks().0.iter().map(value);
                (0..count).map(|row| is_set(flags, row).then(|| values.next()).flatten()).collect()
            }
        }
    }
}

fn is_set(flags: &[u8], row: usize) -> bool {
    flags.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
}

/// Bytes from the front; `None` where there are too few.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use polypath_run::metrics::MetricValues;
    use proptest::prelude::*;

    use super::*;

    fn rows(table: &[Vec<Option<u64>>]) -> (Vec<String>, Vec<(Key, Row)>) {
        let width = table.first().map_or(0, Vec::len);
        let names: Vec<String> = (0..width).map(|n| format!("figure {n}")).collect();
        let row = |(n, cells): (usize, &Vec<Option<u64>>)| {
            let cells = cells.iter().map(|cell| cell.map(f64::from_bits));
            let values = names.iter().cloned().zip(cells).collect();
            (Key::from_content(&n.to_le_bytes()), Row::from_metrics(MetricValues(values)))
        };
        let rows = table.iter().enumerate().map(row).collect();
        (names, rows)
    }

    /// Columns of which some are constant and some have gaps, of any bits.
    fn tables() -> impl Strategy<Value = Vec<Vec<Option<u64>>>> {
        let cell = || prop::option::of(prop_oneof![Just(0_u64), Just(7), any::<u64>()]);
        (1..6_usize).prop_flat_map(move |width| {
            prop::collection::vec(prop::collection::vec(cell(), width..=width), 1..40)
        })
    }

    #[test]
    fn names_without_end_are_refused() {
        let mut body = (MOST_FIGURES as u32 + 1).to_le_bytes().to_vec();
        // Each an empty name and a column of nothing.
        body.resize(4 + 3 * (MOST_FIGURES + 1), 0);
        assert!(Rows::decode(0, &body).is_none());
        let fits = (MOST_FIGURES as u32).to_le_bytes();
        body.truncate(4 + 3 * MOST_FIGURES);
        body.splice(..4, fits);
        assert!(Rows::decode(0, &body).is_some());
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(table in tables()) {
            let (names, rows) = rows(&table);
            let body = encode_rows(&names, &rows);
            let read = Rows::decode(rows.len() as u32, &body).unwrap();
            prop_assert_eq!(&*read.names, names.as_slice());
            prop_assert!(read.keys().eq(rows.iter().map(|row| row.0)));
            for at in 0..names.len() {
                let bits: Vec<_> = read.column(at).iter().map(|c| c.map(f64::to_bits)).collect();
                let written: Vec<_> = table.iter().map(|row| row[at]).collect();
                prop_assert_eq!(bits, written);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            rows in 0..5000_u32,
            body in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Some(read) = Rows::decode(rows, &body) {
                (0..read.names.len()).for_each(|at| drop(read.column(at)));
            }
            let _ = Head::decode(&body);
        }

        #[test]
        fn a_head_with_a_changed_bit_is_none(bit in 0..HEAD * 8) {
            let head = Head::of_body(Kind::Runs, 3, b"body");
            let mut bytes = head.encode();
            prop_assert_eq!(Head::decode(&bytes), Some(head));
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Head::decode(&bytes), None);
        }
    }
}
