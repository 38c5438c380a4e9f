//! One file on its way in.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::codec::{Digest, MAX_HASHES, Message, Offer, Verdict};
use super::holes::{Runs, Zeros};
use super::identity::{FileKey, Owner};
use super::index::Entry;
use super::layout::{Hasher, Layout, hash_block, hash_chunk};
use super::name;
use super::part::{self, Part, Stamp};
use super::shelf::{Content, Session, Shelf, TakenOver};
use super::store::{ENTRY_BYTES, Store};
use super::tree::{Folder, Refusal};

/// Chunks of a session's files of which some but not all blocks are there, at most.
const MAX_OPEN: usize = 1024;
/// Hashes of blocks that wait for others before them, at most, of a session's files together.
const MAX_AHEAD: usize = 1 << 16;
/// Runs of holes, at most, of a session's files together.
const MAX_HOLES: usize = 1 << 16;

/// What the books of a session's files hold.
#[derive(Debug, Default)]
pub(crate) struct Books {
    open: usize,
    ahead: usize,
    holes: usize,
}

/// A file whose blocks come. Nothing of it is on the disk before the first one.
pub(crate) struct Incoming {
    store: Arc<Store>,
    session: Arc<Session>,
    shelf: Arc<Shelf>,
    key: FileKey,
    offer: Offer,
    layout: Layout,
    place: Place,
    part: Option<Part>,
    /// Chunks that were there before this session.
    claimed: BTreeSet<u32>,
    open: BTreeMap<u32, OpenChunk>,
    /// Chunks that the sender said to be holes.
    holes: Runs,
    /// Blocks that came.
    blocks: u64,
    /// Blocks that were sent, and the hash of the whole, once the sender has said so.
    end: Option<(u64, Digest)>,
    stored: bool,
}

/// Where a file goes.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    folders: Vec<Vec<u8>>,
    pub(crate) file: Vec<u8>,
    pub(crate) unfinished: Vec<u8>,
}

impl Place {
    /// `None`: the name has no part.
    pub(crate) fn new(parts: &[&[u8]], owner: &Owner) -> Option<Self> {
        let (file, folders) = parts.split_last()?;
        let folders = folders.iter().map(|part| part.to_vec()).collect();
        let unfinished = name::unfinished_name(file, &owner.short_name());
        Some(Self { folders, file: file.to_vec(), unfinished })
    }

    pub(crate) fn name_parts(&self) -> Vec<&[u8]> {
        self.folders.iter().map(Vec::as_slice).collect()
    }

    /// Its folder, if it is there.
    pub(crate) fn find_folder(&self, store: &Store) -> Result<Option<Folder>, Refusal> {
        store.root.find_below(&self.name_parts())
    }
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
    /// Another session of the same sender writes the file now.
    TakenOver,
}

impl From<TakenOver> for BlockError {
    fn from(_: TakenOver) -> Self {
        Self::TakenOver
    }
}

impl From<TakenOver> for Refusal {
    fn from(_: TakenOver) -> Self {
        Self::new(Verdict::Busy, "the same sender sends it in another transfer now")
    }
}

impl From<Refusal> for BlockError {
    fn from(refusal: Refusal) -> Self {
        Self::Disk(refusal)
    }
}

impl Incoming {
    /// Takes over what is there of the file. It may take long: what an earlier receiver left is
    /// hashed, once.
    pub(crate) fn begin_file(
        store: Arc<Store>,
        session: Arc<Session>,
        owner: &Owner,
        offer: Offer,
        layout: Layout,
        place: Place,
    ) -> Result<Self, Refusal> {
        let key = owner.file_key(&offer.name);
        let shelf = store.shelves.take_file(key, &session, layout)?;
        let (claimed, open, holes) = (BTreeSet::new(), BTreeMap::new(), Runs::default());
        let (part, blocks, end, stored) = (None, 0, None, false);
        let mut new = Self {
            store,
            session,
            shelf,
            key,
            offer,
            layout,
            place,
            part,
            claimed,
            open,
            holes,
            blocks,
            end,
            stored,
        };
        new.find_chunks()?;
        let known: u64 = new.claimed.iter().map(|chunk| layout.chunk_len(*chunk)).sum();
        new.store.check_room(new.offer.data.saturating_sub(known))?;
        Ok(new)
    }

    /// Finds out which chunks are there.
    fn find_chunks(&mut self) -> Result<(), Refusal> {
        let folder = self.place.find_folder(&self.store)?;
        let there = match &folder {
            Some(folder) => Stamp::of_name(folder, &self.place.unfinished)?,
            None => None,
        };
        let mut content = self.shelf.lock_content(&self.session)?;
        let same = there.is_some_and(|stamp| {
            content.inode == Some(stamp.inode) && content.stamp.is_none_or(|left| left == stamp)
        });
        if !same {
            (content.chunks, content.inode) = (BTreeMap::new(), None);
        }
        drop(content);
        if let (false, Some(folder), Some(stamp)) = (same, folder, there)
            && self.store.is_older(stamp.mtime)
        {
            self.read_what_is_left(&folder)?;
        }
        self.claimed = self.shelf.lock_content(&self.session)?.chunks.keys().copied().collect();
        Ok(())
    }

    /// Hashes the chunks that an earlier receiver left. Holes were never sent, so nobody makes us
    /// read more than once was written.
    fn read_what_is_left(&self, folder: &Folder) -> Result<(), Refusal> {
        let Some(part) = Part::open_existing(folder, &self.place.unfinished)? else {
            return Ok(());
        };
        let mut left = part.allocated_bytes()?;
        let inode = Stamp::from_file(part.file())?.inode;
        part.touch_mtime()?;
        for chunk in 0..self.layout.chunks() {
            let (at, len) = (self.layout.chunk_start(chunk), self.layout.chunk_len(chunk));
            if !part.has_range(at, len) {
                continue;
            }
            let Some(rest) = left.checked_sub(len) else { break };
            left = rest;
            let digest = hash_chunk(part.file(), self.layout, chunk)?;
            let mut content = self.shelf.lock_content(&self.session)?;
            content.inode = Some(inode);
            content.chunks.insert(chunk, digest);
        }
        Ok(())
    }

    /// What to tell the sender of the chunks that are there.
    pub(crate) fn claim_messages(&self) -> Result<Vec<Message>, Refusal> {
        let content = self.shelf.lock_content(&self.session)?;
        let mut messages = Vec::new();
        let mut run: (u32, Vec<Digest>) = (0, Vec::new());
        let id = self.offer.id;
        let mut flush = |(first, hashes): (u32, Vec<Digest>)| {
            if !hashes.is_empty() {
                messages.push(Message::Have { id, first, hashes });
            }
        };
        for (&chunk, digest) in &content.chunks {
            if run.0 + run.1.len() as u32 != chunk || run.1.len() == MAX_HASHES {
                flush(core::mem::replace(&mut run, (chunk, Vec::new())));
            }
            run.1.push(*digest);
        }
        flush(run);
        Ok(messages)
    }

    pub(crate) const fn offer(&self) -> &Offer {
        &self.offer
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.part.is_some()
    }

    /// Lets its descriptor go; the next block opens it again.
    pub(crate) fn close_file(&mut self) {
        self.part = None;
    }

    /// Writes a block to its place; one without data is a hole. Gives its bytes.
    pub(crate) fn write_block(
        &mut self,
        index: u64,
        data: &[u8],
        books: &mut Books,
        zeros: &mut Zeros,
    ) -> Result<usize, BlockError> {
        let len = self.layout.block_len(index);
        let len = len.filter(|len| data.is_empty() || data.len() == *len);
        let len = len.ok_or(BlockError::Protocol("a block that the file does not have"))?;
        let shelf = self.shelf.clone();
        let mut content = shelf.lock_content(&self.session)?;
        let chunk = self.layout.chunk_of(index);
        self.expect_block(chunk, index, &mut content, books).map_err(BlockError::Protocol)?;
        self.store.spend_quota(data.len() as u64)?;
        let offset = self.layout.offset(index);
        let digest = if data.is_empty() {
            self.clear_range(&mut content, &(offset..offset + len as u64))?;
            zeros.hash_block(len)
        } else {
            self.open_part(&mut content)?.write_at(data, offset)?;
            hash_block(data)
        };
        self.note_block(chunk, index, digest, &mut content, books);
        Ok(len)
    }

    /// A file of which nothing was written has nothing to clear.
    fn clear_range(&mut self, content: &mut Content, range: &Range<u64>) -> Result<(), Refusal> {
        if content.inode.is_none() {
            return Ok(());
        }
        self.open_part(content)?.clear_range(range)
    }

    /// These chunks are holes. Gives their bytes.
    pub(crate) fn note_holes(
        &mut self,
        runs: &[(u32, u32)],
        books: &mut Books,
    ) -> Result<u64, BlockError> {
        let shelf = self.shelf.clone();
        let mut content = shelf.lock_content(&self.session)?;
        let mut bytes = 0;
        for (first, count) in runs {
            let run = *first..first.saturating_add(*count);
            if run.end > self.layout.chunks() {
                return Err(BlockError::Protocol("a hole that the file does not have"));
            }
            self.expect_run(&run, &mut content, books).map_err(BlockError::Protocol)?;
            let last = run.end - 1;
            let end = self.layout.chunk_start(last) + self.layout.chunk_len(last);
            let range = self.layout.chunk_start(run.start)..end;
            self.clear_range(&mut content, &range)?;
            bytes += range.end - range.start;
        }
        Ok(bytes)
    }

    /// Whether none of these chunks has come yet.
    fn expect_run(
        &mut self,
        run: &Range<u32>,
        content: &mut Content,
        books: &mut Books,
    ) -> Result<(), &'static str> {
        let there: Vec<u32> = content.chunks.range(run.clone()).map(|(chunk, _)| *chunk).collect();
        for chunk in there {
            if !self.claimed.remove(&chunk) {
                return Err("a chunk twice");
            }
            content.chunks.remove(&chunk);
        }
        let before = self.holes.len();
        if self.open.range(run.clone()).next().is_some() || !self.holes.insert(run.clone()) {
            return Err("a chunk twice");
        }
        books.holes = books.holes + self.holes.len() - before;
        if books.holes > MAX_HOLES { Err("too many holes") } else { Ok(()) }
    }

    /// Whether a block is one that has not come yet.
    fn expect_block(
        &mut self,
        chunk: u32,
        index: u64,
        content: &mut Content,
        books: &mut Books,
    ) -> Result<(), &'static str> {
        if self.claimed.remove(&chunk) {
            content.chunks.remove(&chunk);
        }
        if content.chunks.contains_key(&chunk) || self.holes.contains(chunk) {
            return Err("a block twice");
        }
        match self.open.get(&chunk) {
            Some(open) if index < open.next || open.ahead.contains_key(&index) => {
                return Err("a block twice");
            }
            Some(_) => {}
            None if books.open >= MAX_OPEN => return Err("blocks too far out of order"),
            None => {
                let next = self.layout.blocks_of(chunk).start;
                let (hasher, ahead) = (Hasher::of_chunk(), BTreeMap::new());
                self.open.insert(chunk, OpenChunk { hasher, next, ahead });
                books.open += 1;
            }
        }
        if books.ahead >= MAX_AHEAD { Err("blocks too far out of order") } else { Ok(()) }
    }

    fn note_block(
        &mut self,
        chunk: u32,
        index: u64,
        digest: Digest,
        content: &mut Content,
        books: &mut Books,
    ) {
        self.blocks += 1;
        let Some(open) = self.open.get_mut(&chunk) else { return };
        open.ahead.insert(index, digest);
        books.ahead += 1;
        while let Some(digest) = open.ahead.remove(&open.next) {
            books.ahead -= 1;
            open.hasher.add_digest(&digest);
            open.next += 1;
        }
        if open.next == self.layout.blocks_of(chunk).end {
            content.chunks.insert(chunk, open.hasher.digest());
            self.open.remove(&chunk);
            books.open -= 1;
        }
    }

    fn open_part(&mut self, content: &mut Content) -> Result<&Part, Refusal> {
        if self.part.is_none() {
            self.part = Some(self.find_part(content)?);
        }
        self.part.as_ref().ok_or_else(|| Refusal::new(Verdict::Trouble, "it is not open"))
    }

    /// The part that was written before, or a new one.
    fn find_part(&self, content: &mut Content) -> Result<Part, Refusal> {
        let folder = self.store.root.make_below(&self.place.name_parts(), None)?;
        content.stamp = None;
        if let Some(inode) = content.inode {
            let part = Part::open_existing(&folder, &self.place.unfinished)?;
            let part = part.filter(|p| Stamp::from_file(p.file()).is_ok_and(|s| s.inode == inode));
            return part
                .ok_or_else(|| Refusal::new(Verdict::Trouble, "the unfinished file has vanished"));
        }
        let part = Part::create_new(&folder, &self.place.unfinished)?;
        content.inode = Some(Stamp::from_file(part.file())?.inode);
        Ok(part)
    }

    /// The sender has sent so many blocks.
    pub(crate) fn end_blocks(&mut self, blocks: u64, digest: Digest) -> Result<(), &'static str> {
        match self.end.replace((blocks, digest)) {
            None => Ok(()),
            Some(_) => Err("a file ends twice"),
        }
    }

    /// Whether everything that was sent has come.
    pub(crate) fn is_complete(&self) -> bool {
        self.end.is_some_and(|(blocks, _)| self.blocks >= blocks)
    }

    /// It is over for these books.
    pub(crate) fn strike_off(&self, books: &mut Books) {
        books.holes -= self.holes.len();
        books.open -= self.open.len();
        books.ahead -= self.open.values().map(|open| open.ahead.len()).sum::<usize>();
    }

    /// Checks the whole file and makes it what its sender wants it to be, all but its name. Gives
    /// its hash and its inode. It is on the disk if it is not where the folder of the receiver is.
    pub(crate) fn settle(&mut self, zeros: &mut Zeros) -> Result<(Digest, u64), Refusal> {
        self.store.spend_quota(ENTRY_BYTES)?;
        let digest = self.check_digest(zeros)?;
        self.shelf.begin_to_store(&self.session)?;
        let shelf = self.shelf.clone();
        let part = {
            let mut content = shelf.lock_content(&self.session)?;
            match self.part.take() {
                Some(part) => part,
                None => self.find_part(&mut content)?,
            }
        };
        let Offer { size, mode, mtime, .. } = self.offer;
        part.set_metadata(size, self.store.grant_mode(mode), mtime)?;
        if !self.store.root.holds(part.file())? {
            part.sync()?;
        }
        let inode = Stamp::from_file(part.file())?.inode;
        self.part = Some(part);
        Ok((digest, inode))
    }

    /// Sees to it that a settled file is on the disk.
    pub(crate) fn sync(&self) -> Result<(), Refusal> {
        self.part.as_ref().map_or(Ok(()), Part::sync)
    }

    /// Gives the file that is settled and on the disk its name. Gives the number of the name
    /// ([`name::copy_name`]) and the folder.
    pub(crate) fn give_name(
        &mut self,
        digest: Digest,
        inode: u64,
    ) -> Result<(u32, Folder), Refusal> {
        let folder = self.store.root.make_below(&self.place.name_parts(), None)?;
        let (overwrite, shift) = (self.store.options.overwrite, self.layout.block_shift());
        let same = |there: &Stamp| self.store.lock_index().is_same(there, shift, &digest);
        let Place { unfinished, file, .. } = &self.place;
        let copy = part::give_name(&folder, (unfinished, inode), file, overwrite, same)?;
        if let Some(stamp) = Stamp::of_name(&folder, &name::copy_name(file, copy))? {
            let entry = Entry { copy, block_shift: shift, stamp, digest };
            self.store.lock_index().put(self.key, entry);
        }
        self.stored = true;
        Ok((copy, folder))
    }

    /// The hash of the whole, if it is what was sent.
    fn check_digest(&self, zeros: &mut Zeros) -> Result<Digest, Refusal> {
        let content = self.shelf.lock_content(&self.session)?;
        let mut hasher = self.layout.file_hasher();
        let mut whole = true;
        for chunk in 0..self.layout.chunks() {
            match content.chunks.get(&chunk) {
                Some(digest) => hasher.add_digest(digest),
                None if self.holes.contains(chunk) => {
                    hasher.add_digest(&zeros.hash_chunk(self.layout, chunk));
                }
                None => whole = false,
            }
        }
        let digest = hasher.digest();
        if whole && self.end.is_some_and(|(_, sent)| sent == digest) {
            return Ok(digest);
        }
        let text = "what arrived is not what was sent; what is sound is kept: send it again";
        Err(Refusal::new(Verdict::Damaged, text))
    }

    /// What to remember of an unfinished file. Without a whole chunk there is nothing to go on
    /// from, and it goes.
    fn leave_unfinished(&self) -> Option<Stamp> {
        let content = self.shelf.lock_content(&self.session).ok()?;
        if let Some(left) = content.stamp {
            return Some(left);
        }
        let inode = content.inode?;
        let folder = self.place.find_folder(&self.store).ok()??;
        let stamp = Stamp::of_name(&folder, &self.place.unfinished).ok()??;
        if stamp.inode != inode {
            return None;
        }
        if content.chunks.is_empty() {
            folder.remove_part(&self.place.unfinished);
            return None;
        }
        Some(stamp)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let stamp = if self.stored { None } else { self.leave_unfinished() };
        self.store.shelves.leave_file(self.key, &self.shelf, &self.session, stamp);
    }
}
