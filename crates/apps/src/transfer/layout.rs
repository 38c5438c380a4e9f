//! How a file is cut: into blocks, which travel, and chunks of blocks, which are hashed, claimed
//! and compared.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::codec::Digest;

/// The largest file, bytes.
pub(crate) const MAX_SIZE: u64 = 1 << 46;
/// Blocks have two to the power of this many bytes, at least and at most.
pub(crate) const BLOCK_SHIFTS: core::ops::RangeInclusive<u8> = 10..=16;
/// Chunks have two to the power of this many bytes, at least.
const CHUNK_SHIFT: u8 = 20;
/// Chunks of a file, at most, so that their hashes stay small however large the file is.
const MAX_CHUNKS: u64 = 1 << 16;

/// Blocks of a sixteenth of a buffer of so many bytes at most, so that several travel at a time:
/// two to the power of what is returned.
pub(crate) fn block_shift(buffer: u64) -> u8 {
    let shift = (buffer / 16).max(1).ilog2();
    (shift as u8).clamp(*BLOCK_SHIFTS.start(), *BLOCK_SHIFTS.end())
}

/// The cut of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    size: u64,
    block_shift: u8,
    chunk_shift: u8,
}

impl Layout {
    /// `None`: the file is too large, or blocks would be too small or too large.
    pub(crate) fn new(size: u64, block_shift: u8) -> Option<Self> {
        if size > MAX_SIZE || !BLOCK_SHIFTS.contains(&block_shift) {
            return None;
        }
        let mut chunk_shift = CHUNK_SHIFT;
        while size.div_ceil(1 << chunk_shift) > MAX_CHUNKS {
            chunk_shift += 1;
        }
        Some(Self { size, block_shift, chunk_shift })
    }

    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) const fn block_shift(&self) -> u8 {
        self.block_shift
    }

    pub(crate) const fn chunks(&self) -> u32 {
        // At most MAX_CHUNKS, by construction.
        self.size.div_ceil(1 << self.chunk_shift) as u32
    }

    const fn blocks(&self) -> u64 {
        self.size.div_ceil(1 << self.block_shift)
    }

    pub(crate) const fn offset(&self, block: u64) -> u64 {
        block << self.block_shift
    }

    /// Bytes of a block; `None`: the file has no such block.
    pub(crate) fn block_len(&self, block: u64) -> Option<usize> {
        let left = (block < self.blocks()).then(|| self.size - self.offset(block))?;
        Some(left.min(1 << self.block_shift) as usize)
    }

    pub(crate) const fn chunk_of(&self, block: u64) -> u32 {
        (block >> (self.chunk_shift - self.block_shift)) as u32
    }

    /// The numbers of a chunk's blocks.
    pub(crate) fn blocks_of(&self, chunk: u32) -> core::ops::Range<u64> {
        let per_chunk = 1u64 << (self.chunk_shift - self.block_shift);
        let first = (u64::from(chunk) * per_chunk).min(self.blocks());
        first..(first + per_chunk).min(self.blocks())
    }

    /// Where a chunk begins.
    pub(crate) fn chunk_start(&self, chunk: u32) -> u64 {
        u64::from(chunk) << self.chunk_shift
    }

    /// Bytes of a chunk.
    pub(crate) fn chunk_len(&self, chunk: u32) -> u64 {
        self.size.saturating_sub(self.chunk_start(chunk)).min(1 << self.chunk_shift)
    }

    /// The hash of the whole file from those of its chunks.
    pub(crate) fn file_hasher(&self) -> Hasher {
        let mut hasher = Hasher::new("polypath file transfer 2: file");
        hasher.0.update(&self.size.to_le_bytes());
        hasher
    }
}

/// Makes one hash of hashes.
pub(crate) struct Hasher(blake3::Hasher);

impl Hasher {
    fn new(context: &str) -> Self {
        Self(blake3::Hasher::new_derive_key(context))
    }

    /// Of a chunk, from those of its blocks.
    pub(crate) fn of_chunk() -> Self {
        Self::new("polypath file transfer 2: chunk")
    }

    pub(crate) fn add_digest(&mut self, digest: &Digest) {
        self.0.update(digest);
    }

    pub(crate) fn digest(&self) -> Digest {
        self.0.finalize().into()
    }
}

pub(crate) fn hash_block(data: &[u8]) -> Digest {
    blake3::hash(data).into()
}

/// The hash of a chunk of a file.
pub(crate) fn hash_chunk(file: &File, layout: Layout, chunk: u32) -> io::Result<Digest> {
    let mut hasher = Hasher::of_chunk();
    let mut buffer = vec![0; 1 << layout.block_shift];
    for block in layout.blocks_of(chunk) {
        let len = layout.block_len(block).unwrap_or(0);
        let data = buffer.get_mut(..len).unwrap_or_default();
        file.read_exact_at(data, layout.offset(block))?;
        hasher.add_digest(&hash_block(data));
    }
    Ok(hasher.digest())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_and_chunks_cover_the_file_once(
            size in prop_oneof![0..5_000_000u64, Just(1 << 20), Just(3 << 20), Just(0)],
            shift in BLOCK_SHIFTS,
        ) {
            let layout = Layout::new(size, shift).unwrap();
            let mut at = 0;
            for chunk in 0..layout.chunks() {
                let mut bytes = 0;
                for block in layout.blocks_of(chunk) {
                    prop_assert_eq!(layout.chunk_of(block), chunk);
                    prop_assert_eq!(layout.offset(block), at + bytes);
                    bytes += layout.block_len(block).unwrap() as u64;
                }
                prop_assert_eq!(bytes, layout.chunk_len(chunk));
                at += bytes;
            }
            prop_assert_eq!(at, size);
            prop_assert_eq!(layout.block_len(layout.blocks()), None);
            prop_assert!(layout.blocks_of(layout.chunks()).is_empty());
        }
    }

    #[test]
    fn the_largest_file_has_few_chunks() {
        let layout = Layout::new(MAX_SIZE, 10).unwrap();
        assert_eq!(u64::from(layout.chunks()), MAX_CHUNKS);
        assert_eq!(layout.chunk_len(layout.chunks() - 1), 1 << 30);
        assert_eq!(Layout::new(MAX_SIZE + 1, 10), None);
        assert_eq!(Layout::new(1, 9), None);
        assert_eq!(Layout::new(1, 17), None);
        assert_eq!(layout.block_len(u64::MAX), None);
    }
}
