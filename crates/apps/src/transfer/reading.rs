//! How a sender reads a file: chunk after chunk, and holes not at all.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use bytes::BytesMut;
use polypath_net::Bytes;

use super::codec::{BLOCK_HEADER, Digest, put_block_header};
use super::holes::{Extents, Zeros};
use super::layout::{Layout, hash_block, hash_chunk};

/// A file from its beginning to its end.
pub(crate) struct Reading<'a> {
    file: &'a File,
    layout: Layout,
    chunks: Extents<'a>,
    zeros: Zeros,
}

/// A block as it travels.
pub(crate) struct Piece {
    pub(crate) message: Bytes,
    pub(crate) digest: Digest,
    /// Its bytes in the file.
    pub(crate) len: usize,
    /// Those that travel: none of a hole.
    pub(crate) travels: usize,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(file: &'a File, layout: Layout) -> Self {
        Self { file, layout, chunks: Extents::new(file), zeros: Zeros::default() }
    }

    /// Its hash, if a chunk is a hole. Asked for once for each, in their order.
    pub(crate) fn as_hole(&mut self, chunk: u32) -> Option<Digest> {
        let start = self.layout.chunk_start(chunk);
        let hole = self.chunks.is_hole(&(start..start + self.layout.chunk_len(chunk)));
        hole.then(|| self.zeros.hash_chunk(self.layout, chunk))
    }

    /// Of a chunk that is no hole.
    pub(crate) fn hash_chunk(&self, chunk: u32) -> io::Result<Digest> {
        hash_chunk(self.file, self.layout, chunk)
    }

    /// The blocks of a chunk, in their order.
    pub(crate) fn blocks(&mut self, id: u32, chunk: u32) -> Blocks<'_> {
        let (file, layout) = (self.file, self.layout);
        let blocks = layout.blocks_of(chunk);
        Blocks { id, file, layout, extents: Extents::new(file), zeros: &mut self.zeros, blocks }
    }
}

/// The blocks of one chunk.
pub(crate) struct Blocks<'a> {
    id: u32,
    file: &'a File,
    layout: Layout,
    extents: Extents<'a>,
    zeros: &'a mut Zeros,
    blocks: core::ops::Range<u64>,
}

impl Iterator for Blocks<'_> {
    type Item = io::Result<Piece>;

    fn next(&mut self) -> Option<io::Result<Piece>> {
        let block = self.blocks.next()?;
        Some(self.read_block(block))
    }
}

impl Blocks<'_> {
    fn read_block(&mut self, block: u64) -> io::Result<Piece> {
        let (at, len) = (self.layout.offset(block), self.layout.block_len(block).unwrap_or(0));
        let hole = self.extents.is_hole(&(at..at + len as u64));
        let travels = if hole { 0 } else { len };
        let mut message = BytesMut::with_capacity(BLOCK_HEADER + travels);
        put_block_header(&mut message, self.id, block);
        message.resize(BLOCK_HEADER + travels, 0);
        let (_, data) = message.split_at_mut(BLOCK_HEADER);
        let digest = if hole {
            self.zeros.hash_block(len)
        } else {
            self.file.read_exact_at(data, at)?;
            hash_block(data)
        };
        Ok(Piece { message: message.freeze(), digest, len, travels })
    }
}
