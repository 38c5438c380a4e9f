//! A segment: a file of blocks that one process writes, front to back, and others may read meanwhile.
//!
//! What is damaged is never trusted and costs nothing but itself: each block has a checksum, and
//! behind a damaged head the next whole one is looked for. A last block that was being written when
//! its process ended is not there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::block::{HEAD, Head, Kind, MAGIC, sum_of};

/// What a segment begins with.
pub(super) const FIRST: &[u8; 8] = b"PPRUNS1\n";
/// Bytes that are looked through at a time behind a damaged place, at first and at most: a file
/// full of heads that lead nowhere costs no more than some times its length.
const WINDOWS: [usize; 2] = [1 << 9, 1 << 16];

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Of its head.
    pub(super) at: u64,
    pub(super) head: Head,
}

/// A place of a segment that cannot be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes.
    pub at: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
    /// How many rows it had, where that is known.
    pub rows: Option<u32>,
    /// It is the end of the file: a block that was not written to its end.
    pub is_tail: bool,
}

/// What is in a segment.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) blocks: Vec<Place>,
    pub(super) damage: Vec<Damage>,
    /// Where the next block is to be written.
    pub(super) end: u64,
}

/// Opens a segment for reading, and says whether it begins as segments do.
///
/// # Errors
/// When it cannot be read.
pub(super) fn open_segment(path: &Path) -> io::Result<(File, bool)> {
    let mut file = File::open(path)?;
    let mut first = Vec::new();
    (&mut file).take(FIRST.len() as u64).read_to_end(&mut first)?;
    // Of a new one there may be a part, or nothing.
    Ok((file, FIRST.starts_with(&first)))
}

/// Makes a new segment; there must be no such file. It is locked for as long as it is open, so that
/// others can tell whether its writer lives; file systems without locks do without.
///
/// # Errors
/// When it cannot be made.
pub(super) fn create_segment(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().read(true).append(true).create_new(true).open(path)?;
    let _ = file.try_lock();
    file.write_all(FIRST)?;
    Ok(file)
}

/// Appends a block, in one call.
///
/// # Errors
/// When it cannot be written; then a part of it may stand at the end of the file.
pub(super) fn append_block(
    out: &mut impl Write,
    kind: Kind,
    rows: u32,
    body: &[u8],
) -> io::Result<Head> {
    let head = Head::of_body(kind, rows, body);
    let mut bytes = head.encode();
    bytes.extend(body);
    out.write_all(&bytes)?;
    Ok(head)
}

/// Reads the body of a block.
///
/// # Errors
/// When it cannot be read, or is not what it was when it was looked at first.
pub(super) fn read_body(file: &mut (impl Read + Seek), place: Place) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(place.at + HEAD as u64))?;
    let mut body = vec![0; place.head.bytes as usize];
    file.read_exact(&mut body)?;
    if sum_of(&body) != place.head.sum {
        let problem = format!("the block at byte {} has changed since it was opened", place.at);
        return Err(io::Error::other(problem));
    }
    Ok(body)
}

/// Looks through a segment, and hands each whole block to `take`; what that does not take is
/// damage.
///
/// # Errors
/// When it cannot be read.
pub(super) fn scan_segment(
    file: &mut (impl Read + Seek),
    take: &mut dyn FnMut(Place, &[u8]) -> bool,
) -> io::Result<Scan> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut scan = Scan { end: (FIRST.len() as u64).min(length), ..Scan::default() };
    let mut at = scan.end;
    let mut body = Vec::new();
    while at < length {
        let Some(head) = read_head(file, at)? else {
            at = find_head(file, at + 1, length)?;
            continue;
        };
        let next = at + HEAD as u64 + head.bytes;
        if next > length {
            // Cut off: or a damaged length, behind which there may be more. Either way it is looked
            // for.
            at = find_head(file, at + 1, length)?;
            continue;
        }
        // Its length is below a bound and within the file.
        body.resize(head.bytes as usize, 0);
        file.seek(SeekFrom::Start(at + HEAD as u64))?;
        file.read_exact(&mut body)?;
        let place = Place { at, head };
        let is_whole = sum_of(&body) == head.sum && take(place, &body);
        scan.note_gap(at);
        if is_whole {
            scan.blocks.push(place);
        } else {
            let (bytes, rows) = (next - at, Some(head.rows));
            scan.damage.push(Damage { at, bytes, rows, is_tail: next == length });
        }
        at = next;
        scan.end = next;
    }
    if scan.end < length {
        let bytes = length - scan.end;
        scan.damage.push(Damage { at: scan.end, bytes, rows: None, is_tail: true });
    }
    Ok(scan)
}

impl Scan {
    /// A block was found at `at`: what lies before it and belongs to none is damage.
    fn note_gap(&mut self, at: u64) {
        if at > self.end {
            let (from, bytes) = (self.end, at - self.end);
            self.damage.push(Damage { at: from, bytes, rows: None, is_tail: false });
        }
    }
}

/// Rows of the blocks whose heads are whole, without a look at their bodies: how far a segment is
/// that is being written.
///
/// # Errors
/// When it cannot be read.
pub(super) fn count_rows(file: &mut (impl Read + Seek)) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    let (mut at, mut rows) = (FIRST.len() as u64, 0);
    while at < length {
        let Some(head) = read_head(file, at)? else { break };
        at += HEAD as u64 + head.bytes;
        if at > length {
            break;
        }
        rows += u64::from(head.rows);
    }
    Ok(rows)
}

/// The text of a segment's first block, if that says what it is of.
///
/// # Errors
/// When it cannot be read.
pub(super) fn read_first(file: &mut (impl Read + Seek)) -> io::Result<Option<String>> {
    let at = FIRST.len() as u64;
    let length = file.seek(SeekFrom::End(0))?;
    let Some(head) = read_head(file, at)? else { return Ok(None) };
    if head.kind != Kind::About || at + HEAD as u64 + head.bytes > length {
        return Ok(None);
    }
    Ok(read_body(file, Place { at, head }).ok().and_then(|body| String::from_utf8(body).ok()))
}

fn read_head(file: &mut (impl Read + Seek), at: u64) -> io::Result<Option<Head>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::with_capacity(HEAD);
    file.take(HEAD as u64).read_to_end(&mut bytes)?;
    Ok(Head::decode(&bytes))
}

/// Where the next head may begin, from `at` on; the file's end if nowhere.
fn find_head(file: &mut (impl Read + Seek), mut at: u64, length: u64) -> io::Result<u64> {
    let [mut size, most] = WINDOWS;
    let mut window = Vec::with_capacity(size);
    while at < length {
        file.seek(SeekFrom::Start(at))?;
        window.clear();
        file.take(size as u64).read_to_end(&mut window)?;
        if let Some(found) = window.windows(MAGIC.len()).position(|bytes| bytes == MAGIC) {
            return Ok(at + found as u64);
        }
        if window.len() < size {
            break;
        }
        // A magic may stand across the end of the window.
        at += (size - MAGIC.len() + 1) as u64;
        size = most.min(2 * size);
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    /// A segment of three blocks, and where they begin.
    fn segment() -> (Vec<u8>, Vec<u64>) {
        let mut bytes = FIRST.to_vec();
        let mut places = Vec::new();
        for (rows, body) in [(1, "first"), (2, "second body"), (3, "the third")] {
            places.push(bytes.len() as u64);
            append_block(&mut bytes, Kind::Lines, rows, body.as_bytes()).unwrap();
        }
        (bytes, places)
    }

    fn scan(bytes: &[u8]) -> Scan {
        scan_segment(&mut Cursor::new(bytes), &mut |_, _| true).unwrap()
    }

    fn found(scan: &Scan) -> Vec<u32> {
        scan.blocks.iter().map(|place| place.head.rows).collect()
    }

    #[test]
    fn blocks_are_found_and_read_again() {
        let (bytes, places) = segment();
        let whole = scan(&bytes);
        assert_eq!(whole.blocks.iter().map(|place| place.at).collect::<Vec<_>>(), places);
        assert_eq!((whole.damage.len(), whole.end), (0, bytes.len() as u64));
        let body = read_body(&mut Cursor::new(&bytes), whole.blocks[1]).unwrap();
        assert_eq!(body, b"second body");
    }

    #[test]
    fn a_block_that_was_not_written_to_its_end_is_not_there() {
        let (bytes, places) = segment();
        for cut in places[2] + 1..bytes.len() as u64 {
            let torn = scan(&bytes[..cut as usize]);
            assert_eq!((found(&torn), torn.end), (vec![1, 2], places[2]));
            assert_eq!(torn.damage.len(), 1);
            assert!(torn.damage[0].is_tail);
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_costs_its_block_alone(at in 8..180_usize, flip in 1..=255_u8) {
            let (mut bytes, places) = segment();
            prop_assume!(at < bytes.len());
            bytes[at] ^= flip;
            let hit = places.iter().filter(|place| **place <= at as u64).count() as u32;
            let damaged = scan(&bytes);
            let left: Vec<u32> = (1..=3).filter(|n| *n != hit).collect();
            prop_assert_eq!(found(&damaged), left);
            prop_assert_eq!(damaged.damage.len(), 1);
            let damage = damaged.damage[0];
            prop_assert_eq!(damage.at, places[hit as usize - 1]);
        }

        #[test]
        fn any_bytes_are_looked_through(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            let scan = scan(&bytes);
            prop_assert!(scan.end <= bytes.len() as u64);
        }
    }

    #[test]
    fn a_head_across_the_end_of_a_window_is_found() {
        for (window, shift) in WINDOWS.into_iter().flat_map(|size| (0..20).map(move |n| (size, n)))
        {
            let mut bytes = FIRST.to_vec();
            bytes.resize(window + shift, b'x');
            append_block(&mut bytes, Kind::Lines, 5, b"behind").unwrap();
            assert_eq!(found(&scan(&bytes)), [5], "{window} + {shift}");
        }
    }
}
