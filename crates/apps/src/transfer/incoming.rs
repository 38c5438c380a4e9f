//! One file on its way in.

use std::collections::BTreeMap;

use super::codec::{Digest, MAX_HASHES, Message, Offer, Verdict};
use super::layout::{Hasher, Layout, hash_block};
use super::send::hash_chunk;
use super::tree::{Part, Refusal};

/// Chunks of one file that some but not all blocks are there of, at most.
const MAX_OPEN: usize = 4096;

/// A file whose blocks come.
pub(crate) struct Incoming {
    offer: Offer,
    layout: Layout,
    part: Part,
    overwrite: bool,
    chunks: Vec<Chunk>,
    open: usize,
    /// Blocks that came.
    blocks: u64,
    /// Blocks that were sent, and the hash of the whole, once the sender has said so.
    end: Option<(u64, Digest)>,
}

enum Chunk {
    Missing,
    /// There before this transfer, with this hash.
    Claimed(Digest),
    Open(Box<OpenChunk>),
    Whole(Digest),
}

struct OpenChunk {
    hasher: Hasher,
    /// The block that the hash needs next.
    next: u64,
    /// Hashes of blocks behind it.
    ahead: BTreeMap<u64, Digest>,
}

/// What a block brought.
#[derive(Debug)]
pub(crate) enum BlockError {
    /// The sender broke the protocol.
    Protocol(&'static str),
    /// It could not be written.
    Disk(Refusal),
}

impl Incoming {
    /// Takes over the part that is there. Gives the claims to tell the sender, as well.
    pub(crate) fn new(
        offer: Offer,
        layout: Layout,
        part: Part,
        overwrite: bool,
    ) -> Result<(Self, Vec<Message>), Refusal> {
        let about = part.file().metadata()?;
        if about.len() > offer.size {
            part.file().set_len(offer.size)?;
        }
        part.reserve(offer.size)?;
        let chunks = (0..layout.chunks()).map(|_| Chunk::Missing).collect();
        let (open, blocks, end) = (0, 0, None);
        let mut new = Self { offer, layout, part, overwrite, chunks, open, blocks, end };
        let claims = new.claim(layout.whole_chunks(about.len()))?;
        Ok((new, claims))
    }

    /// Hashes what is there. Chunks of zeros are holes, most likely, and not worth a claim.
    fn claim(&mut self, whole: u32) -> Result<Vec<Message>, Refusal> {
        let mut messages = Vec::new();
        let mut run: (u32, Vec<Digest>) = (0, Vec::new());
        let mut zeros: Option<(u64, Digest)> = None;
        for chunk in 0..whole {
            let digest = hash_chunk(self.part.file(), self.layout, chunk)?;
            let len = self.layout.chunk_len(chunk);
            let zero = match zeros {
                Some((of, zero)) if of == len => zero,
                _ => zeros.insert((len, self.hash_of_zeros(chunk))).1,
            };
            if digest == zero || run.1.len() == MAX_HASHES {
                self.flush(&mut run, &mut messages);
            }
            if digest == zero {
                continue;
            }
            if run.1.is_empty() {
                run.0 = chunk;
            }
            run.1.push(digest);
            if let Some(slot) = self.chunks.get_mut(chunk as usize) {
                *slot = Chunk::Claimed(digest);
            }
        }
        self.flush(&mut run, &mut messages);
        Ok(messages)
    }

    fn hash_of_zeros(&self, chunk: u32) -> Digest {
        let mut hasher = Hasher::of_chunk();
        for block in self.layout.blocks_of(chunk) {
            hasher.add(&hash_block(&vec![0; self.layout.block_len(block).unwrap_or(0)]));
        }
        hasher.digest()
    }

    fn flush(&self, run: &mut (u32, Vec<Digest>), messages: &mut Vec<Message>) {
        let hashes = core::mem::take(&mut run.1);
        if !hashes.is_empty() {
            messages.push(Message::Have { id: self.offer.id, first: run.0, hashes });
        }
    }

    pub(crate) const fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Writes a block to its place.
    pub(crate) fn block(&mut self, index: u64, data: &[u8]) -> Result<(), BlockError> {
        if self.layout.block_len(index) != Some(data.len()) {
            return Err(BlockError::Protocol("a block that the file does not have"));
        }
        self.note(index, hash_block(data)).map_err(BlockError::Protocol)?;
        self.part.write(data, self.layout.offset(index)).map_err(BlockError::Disk)
    }

    fn note(&mut self, index: u64, digest: Digest) -> Result<(), &'static str> {
        let number = self.layout.chunk_of(index);
        let range = self.layout.blocks_of(number);
        let chunk = self.chunks.get_mut(number as usize).ok_or("a chunk beyond the end")?;
        if matches!(chunk, Chunk::Missing | Chunk::Claimed(_)) {
            if self.open >= MAX_OPEN {
                return Err("blocks too far out of order");
            }
            self.open += 1;
            let (hasher, ahead) = (Hasher::of_chunk(), BTreeMap::new());
            *chunk = Chunk::Open(Box::new(OpenChunk { hasher, next: range.start, ahead }));
        }
        let Chunk::Open(open) = chunk else { return Err("a block twice") };
        if index < open.next || open.ahead.insert(index, digest).is_some() {
            return Err("a block twice");
        }
        while let Some(digest) = open.ahead.remove(&open.next) {
            open.hasher.add(&digest);
            open.next += 1;
        }
        if open.next == range.end {
            *chunk = Chunk::Whole(open.hasher.digest());
            self.open -= 1;
        }
        self.blocks += 1;
        Ok(())
    }

    /// The sender has sent so many blocks.
    pub(crate) fn end(&mut self, blocks: u64, digest: Digest) -> Result<(), &'static str> {
        match self.end.replace((blocks, digest)) {
            None => Ok(()),
            Some(_) => Err("a file ends twice"),
        }
    }

    /// Whether everything that was sent has come.
    pub(crate) fn is_complete(&self) -> bool {
        self.end.is_some_and(|(blocks, _)| self.blocks >= blocks)
    }

    /// Checks the whole file and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Refusal> {
        let mut hasher = self.layout.file_hasher();
        let mut whole = true;
        for chunk in &self.chunks {
            match chunk {
                Chunk::Claimed(digest) | Chunk::Whole(digest) => hasher.add(digest),
                Chunk::Missing | Chunk::Open(_) => whole = false,
            }
        }
        let expected = self.end.map(|(_, digest)| digest);
        if !whole || Some(hasher.digest()) != expected {
            let text = "what arrived is not what was sent; what is sound is kept: send it again";
            return Err(Refusal::new(Verdict::Damaged, text));
        }
        let Offer { size, mode, mtime, .. } = self.offer;
        self.part.finish(size, mode, mtime, self.overwrite)
    }
}
