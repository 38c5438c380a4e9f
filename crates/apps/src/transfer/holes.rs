//! Holes in files: where a source has them, which chunks of an incoming file are some, and how
//! bytes become one again. Who does not know holes (a file system, a kernel) has data everywhere.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::unistd::{Whence, lseek64};

use super::codec::Digest;
use super::layout::{Hasher, Layout, hash_block};

/// Where a file has data, asked for from its beginning to its end (lseek(2), SEEK_DATA).
pub(crate) struct Extents<'a> {
    file: &'a File,
    /// The data that was found last.
    data: Range<u64>,
}

impl<'a> Extents<'a> {
    pub(crate) const fn new(file: &'a File) -> Self {
        Self { file, data: 0..0 }
    }

    /// Whether all of these bytes are a hole. None before the range is asked for afterwards.
    pub(crate) fn is_hole(&mut self, range: &Range<u64>) -> bool {
        if self.data.end <= range.start {
            self.data = find_data(self.file, range.start);
        }
        self.data.start >= range.end
    }
}

/// The first data from this place on.
fn find_data(file: &File, from: u64) -> Range<u64> {
    let Ok(start) = i64::try_from(from) else { return from..u64::MAX };
    let position = |at: i64| u64::try_from(at).unwrap_or(u64::MAX);
    match lseek64(file.as_fd(), start, Whence::SeekData) {
        Ok(data) => {
            let end = lseek64(file.as_fd(), data, Whence::SeekHole).map_or(u64::MAX, position);
            position(data)..end.max(from.saturating_add(1))
        }
        // There is none.
        Err(Errno::ENXIO) => u64::MAX..u64::MAX,
        Err(_) => from..u64::MAX,
    }
}

/// Makes bytes of a file a hole, or zeros where that cannot be had. What is none yet costs nothing.
pub(crate) fn clear_range(file: &File, range: &Range<u64>) -> io::Result<()> {
    if Extents::new(file).is_hole(range) {
        return Ok(());
    }
    let end = range.end.min(file.metadata()?.len());
    let Some(len) = end.checked_sub(range.start).filter(|len| *len > 0) else { return Ok(()) };
    let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    let (Ok(at), Ok(bytes)) = (i64::try_from(range.start), i64::try_from(len)) else {
        return Err(Errno::EFBIG.into());
    };
    match fallocate(file, flags, at, bytes) {
        Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => write_zeros(file, range.start..end),
        other => Ok(other?),
    }
}

fn write_zeros(file: &File, mut range: Range<u64>) -> io::Result<()> {
    let zeros = [0; 1 << 16];
    while range.start < range.end {
        let len = (range.end - range.start).min(zeros.len() as u64);
        file.write_all_at(zeros.get(..len as usize).unwrap_or(&zeros), range.start)?;
        range.start += len;
    }
    Ok(())
}

/// The hashes of holes, each computed once.
#[derive(Default)]
pub(crate) struct Zeros {
    block: Option<(usize, Digest)>,
    chunk: Option<(u64, Digest)>,
}

impl Zeros {
    /// Of a block of so many bytes.
    pub(crate) fn hash_block(&mut self, len: usize) -> Digest {
        match self.block {
            Some((known, digest)) if known == len => digest,
            _ => self.block.insert((len, hash_block(&vec![0; len]))).1,
        }
    }

    pub(crate) fn hash_chunk(&mut self, layout: Layout, chunk: u32) -> Digest {
        let len = layout.chunk_len(chunk);
        if let Some((known, digest)) = self.chunk
            && known == len
        {
            return digest;
        }
        let mut hasher = Hasher::of_chunk();
        for block in layout.blocks_of(chunk) {
            hasher.add_digest(&self.hash_block(layout.block_len(block).unwrap_or(0)));
        }
        self.chunk.insert((len, hasher.digest())).1
    }
}

/// Chunks, as runs.
#[derive(Debug, Default)]
pub(crate) struct Runs(BTreeMap<u32, u32>);

impl Runs {
    pub(crate) fn contains(&self, chunk: u32) -> bool {
        self.0.range(..=chunk).next_back().is_some_and(|(_, end)| chunk < *end)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// False: some of them are there already.
    pub(crate) fn insert(&mut self, run: Range<u32>) -> bool {
        let before = self.0.range(..run.end).next_back().map(|(start, end)| (*start, *end));
        let mut new = run.clone();
        match before {
            Some((_, end)) if end > run.start => return false,
            Some((start, end)) if end == run.start => new.start = start,
            _ => {}
        }
        if let Some(end) = self.0.remove(&run.end) {
            new.end = end;
        }
        self.0.insert(new.start, new.end);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn runs_grow_together_and_never_overlap() {
        let mut runs = Runs::default();
        assert!(runs.insert(5..7) && runs.insert(0..2) && runs.insert(9..10));
        assert!(!runs.insert(6..8) && !runs.insert(4..6) && !runs.insert(0..20));
        assert_eq!(runs.len(), 3);
        assert!(runs.insert(7..9) && runs.insert(2..5));
        assert_eq!(runs.0, BTreeMap::from([(0, 10)]));
        assert!(runs.contains(0) && runs.contains(9) && !runs.contains(10));
    }

    #[test]
    fn data_is_found_and_made_a_hole_again() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 20).unwrap();
        file.write_all_at(&[1; 1 << 20], 8 << 20).unwrap();
        let mut extents = Extents::new(&file);
        let mib = |n: u64| n << 20..(n + 1) << 20;
        let found: Vec<_> = (0..64).filter(|n| !extents.is_hole(&mib(*n))).collect();
        // A file system that does not know its holes has data everywhere.
        let aware = file.metadata().unwrap().blocks() < 4 << 11;
        assert_eq!(found, if aware { vec![8] } else { (0..64).collect() });
        clear_range(&file, &mib(8)).unwrap();
        clear_range(&file, &mib(200)).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 64 << 20);
        let mut bytes = vec![1; 1 << 20];
        file.read_exact_at(&mut bytes, 8 << 20).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 0));
        file.write_all_at(&[1; 100_000], 0).unwrap();
        write_zeros(&file, 1..99_999).unwrap();
        file.read_exact_at(&mut bytes[..100_000], 0).unwrap();
        assert_eq!(bytes[..100_000].iter().filter(|byte| **byte == 1).count(), 2);
    }

    #[test]
    fn a_hole_has_the_hash_of_zeros() {
        let file = tempfile::tempfile().unwrap();
        let layout = Layout::new((2 << 20) + 70_000, 16).unwrap();
        file.set_len(layout.size()).unwrap();
        let mut zeros = Zeros::default();
        for chunk in [0, 1, 2, 0] {
            let read = super::super::layout::hash_chunk(&file, layout, chunk).unwrap();
            assert_eq!(zeros.hash_chunk(layout, chunk), read);
        }
    }
}
