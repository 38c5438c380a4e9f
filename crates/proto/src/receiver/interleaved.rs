//! Reassembly of I-DATA (RFC 8260 section 2.2.3): a fragment belongs to the message of its stream,
//! class and MID, at the place that its FSN says. TSNs say nothing about either.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::buffer::Charge;
use super::message::{Assembled, Incoming, Label, Payload, Piece, Pieces};
use crate::event::Part;
use crate::ids::{PathId, StreamId};

/// What an open message's bookkeeping counts against the memory bound beside that of its chunks,
/// bytes. With it the bound on memory bounds the number of open messages, and no other bound is
/// needed that an honest peer could meet: it has one message under way per stream, and others only
/// for what is missing.
pub(super) const OPEN_MESSAGE: u64 = 1024;

/// The same for a chunk that may be dropped again: it is kept in mind by its TSN, too.
const RENEGABLE_CHUNK: u64 = 64;

/// RFC 1982: a fragment is at most so far ahead of the next one.
const FURTHEST: u32 = (1 << 31) - 1;

/// Which message: its stream, whether it is unordered, its MID.
pub(super) type Key = (StreamId, bool, u32);

/// Where a chunk is that may be dropped again: its message and its place therein.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: Key,
    fsn: u64,
}

/// A message of which a fragment is missing.
#[derive(Clone, Debug)]
struct Open {
    /// With the payload protocol identifier once the first fragment is here.
    ppid: u32,
    /// That of the first fragment, once it is here.
    path: PathId,
    /// Fragments that were delivered already.
    base: u64,
    /// Their payload bytes.
    passed: u64,
    /// Fragments from `base` on.
    front: VecDeque<Piece>,
    /// Of which these are the payload bytes.
    front_bytes: u64,
    /// Fragments behind a gap, by FSN.
    beyond: BTreeMap<u64, Piece>,
    /// FSN of the last fragment, once it is known.
    end: Option<u64>,
    charge: Charge,
}

impl Open {
    const fn new() -> Self {
        let charge = Charge { payload: 0, chunks: 0, weight: 0 };
        Self {
            ppid: 0,
            path: PathId(0),
            base: 0,
            passed: 0,
            front: VecDeque::new(),
            front_bytes: 0,
            beyond: BTreeMap::new(),
            end: None,
            charge,
        }
    }

    /// The next FSN after the fragments at the front.
    fn next(&self) -> u64 {
        self.base + self.front.len() as u64
    }

    /// The extended form of a fragment's FSN, which wraps within a message larger than 2^32
    /// fragments.
    fn extend(&self, chunk: &Incoming<'_>) -> Result<u64, &'static str> {
        if chunk.flags.beginning {
            return Ok(0);
        }
        let ahead = chunk.fsn.wrapping_sub(self.base as u32);
        match self.base + u64::from(ahead) {
            0 => Err("first fragment of a message lacks the B bit"),
            _ if ahead > FURTHEST => Err("fragment of a message came twice"),
            fsn => Ok(fsn),
        }
    }

    /// RFC 8260 section 2.2.2: one B bit, one E bit, every FSN once and none behind the last.
    fn check(&self, fsn: u64, ends: bool) -> Result<(), &'static str> {
        if fsn < self.next() || self.beyond.contains_key(&fsn) {
            return Err("fragment of a message came twice");
        }
        let last = self.beyond.last_key_value().map_or(self.next(), |(last, _)| last + 1);
        match self.end {
            Some(_) if ends => Err("message has two last fragments"),
            Some(end) if fsn > end => Err("fragment lies behind the last one of its message"),
            None if ends && fsn + 1 < last => Err("last fragment lies before another one"),
            _ => Ok(()),
        }
    }

    fn insert(&mut self, fsn: u64, piece: Piece) {
        self.charge += Charge::of(piece.data.len());
        if fsn != self.next() {
            self.beyond.insert(fsn, piece);
            return;
        }
        self.push(piece);
        while let Some(piece) = self.beyond.remove(&self.next()) {
            self.push(piece);
        }
    }

    fn push(&mut self, piece: Piece) {
        self.front_bytes += piece.data.len() as u64;
        self.front.push_back(piece);
    }

    fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| end + 1 == self.next())
    }

    /// Takes the fragment `fsn` out again.
    fn remove(&mut self, fsn: u64) -> Option<Charge> {
        let piece = match usize::try_from(fsn.checked_sub(self.base)?) {
            Ok(at) if at < self.front.len() => {
                let behind = self.front.split_off(at + 1);
                self.beyond.extend((fsn + 1..).zip(behind));
                let piece = self.front.pop_back()?;
                self.front_bytes = self.front.iter().map(|p| p.data.len() as u64).sum();
                piece
            }
            _ => self.beyond.remove(&fsn)?,
        };
        let charge = Charge::of(piece.data.len());
        self.charge -= charge;
        if self.end == Some(fsn) {
            self.end = None;
        }
        Some(charge)
    }

    /// Takes what stands at the front, as a part or as the rest of the message.
    fn take_front(&mut self, (stream, unordered, number): Key) -> Option<Assembled> {
        let part = Part { first: self.base == 0, last: self.is_complete() };
        let pieces = core::mem::take(&mut self.front);
        let first = pieces.front()?.tsn;
        let charge = pieces.iter().fold(Charge::default(), |mut sum, piece| {
            sum += Charge::of(piece.data.len());
            sum
        });
        self.base += charge.chunks;
        self.passed += core::mem::take(&mut self.front_bytes);
        self.charge -= charge;
        let label = Label { stream, number, unordered, path: self.path, ppid: self.ppid };
        let payload = Payload::split(Pieces::Scattered(pieces), charge);
        Some(Assembled { label, first, payload, part })
    }
}

/// The fragments of incomplete messages, and which chunks may be dropped again.
#[derive(Clone, Debug)]
pub(super) struct Interleaved {
    open: BTreeMap<Key, Open>,
    /// By extended TSN: chunks above the cumulative TSN that were not delivered, here or waiting
    /// for their turn.
    renegable: BTreeMap<u64, Place>,
    /// The messages that were delivered in part, by stream and class.
    parts: BTreeMap<(StreamId, bool), u32>,
    /// The highest MID of unordered messages that the peer gave up, by stream.
    skipped: BTreeMap<StreamId, u32>,
    /// Payload bytes at the fronts of all open messages: what partial delivery could free.
    fronts: u64,
    /// Payload bytes of the largest message.
    max_message: u64,
}

impl Interleaved {
    pub(super) fn new(max_message: u32) -> Self {
        Self {
            open: BTreeMap::new(),
            renegable: BTreeMap::new(),
            parts: BTreeMap::new(),
            skipped: BTreeMap::new(),
            fronts: 0,
            max_message: max_message.into(),
        }
    }

    /// Takes a new fragment of TSN `tsn`, extended; gives the message if it is now complete.
    /// `renegable`: a TSN below is missing.
    ///
    /// # Errors
    /// How the peer broke the rules of fragmentation.
    pub(super) fn insert(
        &mut self,
        tsn: u64,
        chunk: &Incoming<'_>,
        renegable: bool,
    ) -> Result<Option<Assembled>, &'static str> {
        let key = (chunk.label.stream, chunk.label.unordered, chunk.label.number);
        let (begins, ends) = (chunk.flags.beginning, chunk.flags.ending);
        let data = Bytes::copy_from_slice(chunk.payload);
        if begins && ends {
            let message = self.whole(tsn, key, chunk, data)?;
            self.note(tsn, key, 0, renegable);
            return Ok(Some(message));
        }
        let known = self.open.get(&key);
        let fsn = known.map_or_else(|| Open::new().extend(chunk), |open| open.extend(chunk))?;
        if let Some(open) = known {
            open.check(fsn, ends)?;
        }
        let open = self.open.entry(key).or_insert_with(Open::new);
        if open.passed + open.charge.payload + data.len() as u64 > self.max_message {
            return Err(TOO_LARGE);
        }
        if begins {
            (open.ppid, open.path) = (chunk.label.ppid, chunk.label.path);
        }
        if ends {
            open.end = Some(fsn);
        }
        let before = open.front_bytes;
        open.insert(fsn, Piece { tsn, data });
        self.fronts += open.front_bytes - before;
        let complete = open.is_complete();
        self.note(tsn, key, fsn, renegable);
        Ok(if complete { self.close(key).and_then(|mut open| open.take_front(key)) } else { None })
    }

    fn note(&mut self, tsn: u64, key: Key, fsn: u64, renegable: bool) {
        if renegable {
            self.renegable.insert(tsn, Place { key, fsn });
        }
    }

    fn whole(
        &self,
        tsn: u64,
        key: Key,
        chunk: &Incoming<'_>,
        data: Bytes,
    ) -> Result<Assembled, &'static str> {
        if self.open.contains_key(&key) {
            return Err("message has two first fragments");
        }
        let charge = Charge::of(data.len());
        if charge.payload > self.max_message {
            return Err(TOO_LARGE);
        }
        let (payload, part) = (Payload::Whole(data), Part::WHOLE);
        Ok(Assembled { label: chunk.label, first: tsn, payload, part })
    }

    fn close(&mut self, key: Key) -> Option<Open> {
        let open = self.open.remove(&key)?;
        self.fronts -= open.front_bytes;
        if open.base > 0 {
            self.parts.remove(&(key.0, key.1));
        }
        Some(open)
    }

    /// Bytes that the bookkeeping beside that of chunks counts against the memory bound.
    pub(super) fn overhead(&self) -> u64 {
        self.open.len() as u64 * OPEN_MESSAGE + self.renegable.len() as u64 * RENEGABLE_CHUNK
    }

    /// Payload bytes that partial delivery could free.
    pub(super) const fn fronts(&self) -> u64 {
        self.fronts
    }

    /// The stream of the message of which most is here.
    pub(super) fn largest(&self) -> Option<StreamId> {
        let largest = self.open.iter().max_by_key(|(_, open)| open.charge.payload);
        largest.map(|(key, _)| key.0)
    }

    /// Whether a fragment of this message is here, or was delivered.
    pub(super) fn has(&self, label: &Label) -> bool {
        self.open.contains_key(&(label.stream, label.unordered, label.number))
    }

    /// The chunk of TSN `tsn` was delivered: it stays.
    pub(super) fn delivered(&mut self, tsn: u64) {
        self.renegable.remove(&tsn);
    }

    /// All up to `cumulative` are acknowledged for good.
    pub(super) fn advance(&mut self, cumulative: u64) {
        while let Some(entry) = self.renegable.first_entry().filter(|e| *e.key() <= cumulative) {
            entry.remove();
        }
    }

    /// The highest TSN above `tsn` that may be dropped again, and the message that it belongs to.
    pub(super) fn highest_renegable(&self, tsn: u64) -> Option<(u64, Key)> {
        let (last, place) = self.renegable.last_key_value()?;
        (*last > tsn).then_some((*last, place.key))
    }

    /// Takes a complete message back.
    pub(super) fn reopen(&mut self, message: Assembled) {
        let charge = message.charge();
        let Assembled { label, first, payload, .. } = message;
        let front = match payload {
            Payload::Whole(data) => VecDeque::from([Piece { tsn: first, data }]),
            Payload::Split(split) => match split.pieces {
                Pieces::Scattered(pieces) => pieces,
                // Of DATA alone.
                Pieces::Consecutive(_) => return,
            },
        };
        let end = Some(front.len() as u64 - 1);
        let (ppid, path, front_bytes) = (label.ppid, label.path, charge.payload);
        self.fronts += front_bytes;
        let open = Open { ppid, path, front, front_bytes, end, charge, ..Open::new() };
        self.open.insert((label.stream, label.unordered, label.number), open);
    }

    /// Drops the chunk of TSN `tsn`, which is part of an open message; gives what it occupied.
    pub(super) fn drop_chunk(&mut self, tsn: u64) -> Option<Charge> {
        let Place { key, fsn } = self.renegable.remove(&tsn)?;
        let open = self.open.get_mut(&key)?;
        self.fronts -= open.front_bytes;
        let charge = open.remove(fsn);
        self.fronts += open.front_bytes;
        if open.charge.chunks == 0 && open.base == 0 {
            self.close(key);
        }
        charge
    }

    /// What stands at the front of a message, if that is at least `least` bytes: a part that may be
    /// delivered before the rest. Of the unordered messages of a stream one at a time.
    pub(super) fn take_part(&mut self, key: Key, least: u64) -> Option<Assembled> {
        let class = (key.0, key.1);
        let open = self.open.get_mut(&key).filter(|open| open.front_bytes >= least.max(1))?;
        if self.parts.get(&class).is_some_and(|mid| *mid != key.2) {
            return None;
        }
        self.parts.insert(class, key.2);
        self.fronts -= open.front_bytes;
        open.take_front(key)
    }

    /// The message with the most bytes at its front among those for which `next` holds, ordered
    /// ones that are next in their stream.
    pub(super) fn fullest(&self, next: impl Fn(StreamId, u32) -> bool) -> Option<Key> {
        let turn = |(stream, unordered, mid): &Key| {
            let part = self.parts.get(&(*stream, *unordered));
            part.map_or(*unordered || next(*stream, *mid), |part| part == mid)
        };
        let full = self.open.iter().filter(|(key, open)| open.front_bytes > 0 && turn(key));
        full.max_by_key(|(_, open)| open.front_bytes).map(|(key, _)| *key)
    }

    /// Drops the messages of a stream and class that `given_up` names by their MIDs; gives what
    /// they occupied, and whether one of them was delivered in part.
    pub(super) fn give_up(
        &mut self,
        stream: StreamId,
        unordered: bool,
        given_up: impl Fn(u32) -> bool,
    ) -> (Charge, bool) {
        let class = (stream, unordered, 0)..=(stream, unordered, u32::MAX);
        let keys = self.open.range(class).map(|(key, _)| *key);
        let keys: Vec<_> = keys.filter(|key| given_up(key.2)).collect();
        let (mut freed, mut aborted) = (Charge::default(), false);
        for key in keys {
            let Some(open) = self.close(key) else { continue };
            aborted |= open.base > 0;
            freed += open.charge;
            let pieces = open.front.iter().chain(open.beyond.values());
            pieces.for_each(|piece| _ = self.renegable.remove(&piece.tsn));
        }
        (freed, aborted)
    }

    /// The peer gave up the unordered messages of a stream up to `mid`.
    pub(super) fn skip_unordered(&mut self, stream: StreamId, mid: u32) {
        let known = self.skipped.entry(stream).or_insert(mid);
        if mid.wrapping_sub(*known) <= FURTHEST {
            *known = mid;
        }
    }

    /// Whether the peer gave up this unordered message: what is still under way of it is of no use.
    pub(super) fn was_skipped(&self, label: &Label) -> bool {
        let skipped = self.skipped.get(&label.stream).filter(|_| label.unordered);
        skipped.is_some_and(|mid| mid.wrapping_sub(label.number) <= FURTHEST)
    }

    /// Messages of a stream (`None`: of all) start at number 0; those that are open and began
    /// before TSN `first` are dropped. Gives what they occupied.
    pub(super) fn restart(&mut self, stream: Option<StreamId>, first: u64) -> Charge {
        let wanted = |id: StreamId| stream.is_none_or(|stream| stream == id);
        self.skipped.retain(|id, _| !wanted(*id));
        let old = |open: &Open| {
            let mut pieces = open.front.iter().chain(open.beyond.values());
            pieces.any(|piece| piece.tsn < first)
        };
        let keys = self.open.iter().filter(|(key, open)| wanted(key.0) && old(open));
        let keys: Vec<_> = keys.map(|(key, _)| *key).collect();
        let mut freed = Charge::default();
        for key in keys {
            freed += self.give_up(key.0, key.1, |mid| mid == key.2).0;
        }
        freed
    }

    /// The streams, and their classes, with a message that was delivered in part.
    pub(super) fn parts(&self) -> impl Iterator<Item = (StreamId, bool)> + '_ {
        self.parts.keys().copied()
    }
}

/// A message is larger than what the receiver takes.
pub(super) const TOO_LARGE: &str = "message is larger than this receiver reassembles";

#[cfg(test)]
mod tests {
    use polypath_wire::{DataFlags, IDataChunk, Mid, Tsn};

    use super::*;

    const KEY: Key = (StreamId(0), false, 0);

    fn chunk(fsn: u32, ending: bool) -> Incoming<'static> {
        let flags = DataFlags { ending, ..DataFlags::default() };
        let (tsn, stream, mid) = (Tsn(0), StreamId(0), Mid(0));
        (&IDataChunk { tsn, stream, mid, ppid_or_fsn: fsn, flags, payload: b"x" }).into()
    }

    /// A message of which 2^32 fragments but one were delivered.
    fn endless() -> Interleaved {
        let mut messages = Interleaved::new(1000);
        messages.open.insert(KEY, Open { base: u64::from(u32::MAX), ..Open::new() });
        messages.parts.insert((StreamId(0), false), 0);
        messages
    }

    #[test]
    fn fsns_wrap() {
        let mut messages = endless();
        for fsn in [1, 0] {
            assert!(messages.insert(9, &chunk(fsn, fsn == 1), false).unwrap().is_none());
        }
        let rest = messages.insert(7, &chunk(u32::MAX, false), false).unwrap().unwrap();
        assert_eq!((rest.charge().chunks, rest.part.first, rest.part.last), (3, false, true));
        assert!(messages.open.is_empty() && messages.parts().next().is_none());
    }

    #[test]
    fn fsns_of_the_past_are_refused_across_the_wrap() {
        let mut messages = endless();
        assert!(messages.insert(9, &chunk(u32::MAX - 1, false), false).is_err());
        assert!(messages.insert(9, &chunk(u32::MAX.wrapping_add(1 << 31), false), false).is_err());
        assert!(messages.insert(9, &chunk((1 << 31) - 2, false), false).is_ok());
    }
}
