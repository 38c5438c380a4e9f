//! Reassembly: fragments of one message have consecutive TSNs, from a B bit to an E bit (RFC 9260
//! section 6.9).
//!
//! Fragments are kept as runs of adjacent TSNs, so that a fragment costs one look at its two
//! neighbours however long its message is.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::buffer::Charge;
use super::interleaved::TOO_LARGE;
use super::message::{Assembled, Label, Payload, Pieces, Split};
use crate::event::Part;
use crate::ids::StreamId;

/// One accepted chunk.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    /// Extended TSN.
    pub(super) tsn: u64,
    pub(super) label: Label,
    /// B bit.
    pub(super) begins: bool,
    /// E bit.
    pub(super) ends: bool,
    pub(super) data: Bytes,
}

/// Adjacent fragments of one incomplete message.
#[derive(Clone, Debug)]
struct Run {
    label: Label,
    /// All fragments before it were delivered, or there are none.
    begins: bool,
    ends: bool,
    pieces: VecDeque<Bytes>,
    charge: Charge,
}

impl Run {
    fn new(fragment: Fragment) -> Self {
        let Fragment { label, begins, ends, data, .. } = fragment;
        let charge = Charge::of(data.len());
        Self { label, begins, ends, pieces: VecDeque::from([data]), charge }
    }

    fn push(&mut self, fragment: Fragment) {
        self.ends = fragment.ends;
        self.charge += Charge::of(fragment.data.len());
        self.pieces.push_back(fragment.data);
    }

    /// Appends the run that follows. Moves the shorter one, so that no order of arrival costs more
    /// than logarithmically many moves per fragment.
    fn append(&mut self, mut next: Self) {
        self.ends = next.ends;
        self.charge += next.charge;
        if self.pieces.len() < next.pieces.len() {
            core::mem::swap(&mut self.pieces, &mut next.pieces);
            next.pieces.into_iter().rev().for_each(|piece| self.pieces.push_front(piece));
        } else {
            self.pieces.append(&mut next.pieces);
        }
    }

    const fn is_complete(&self) -> bool {
        self.begins && self.ends
    }
}

/// A message that was delivered in part.
#[derive(Clone, Copy, Debug)]
struct Begun {
    label: Label,
    /// Extended TSN of the first fragment that was not delivered.
    next: u64,
    /// Payload bytes delivered.
    passed: u64,
}

/// The fragments of incomplete messages.
#[derive(Clone, Debug)]
pub(super) struct Reassembly {
    /// By extended TSN of the first fragment.
    runs: BTreeMap<u64, Run>,
    /// One at most: messages are not interleaved.
    begun: Option<Begun>,
    /// Payload bytes of the largest message.
    max_message: u64,
}

impl Reassembly {
    pub(super) const fn new(max_message: u32) -> Self {
        Self { runs: BTreeMap::new(), begun: None, max_message: max_message as u64 }
    }

    /// Whether no message is incomplete.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.runs.is_empty() && self.begun.is_none()
    }

    /// Takes a new fragment; gives the message if it is now complete. `received` tells whether a
    /// TSN has arrived and was not dropped since.
    ///
    /// # Errors
    /// How the peer broke the rules of fragmentation.
    #[inline]
    pub(super) fn insert(
        &mut self,
        fragment: Fragment,
        received: impl Fn(u64) -> bool,
    ) -> Result<Option<Assembled>, &'static str> {
        if !(self.is_idle() && fragment.begins && fragment.ends) {
            self.check_borders(&fragment, received)?;
        }
        if fragment.begins && fragment.ends {
            return self.whole(fragment).map(Some);
        }
        self.join(fragment)
    }

    /// A neighbour that has been received is either in a run, hence of an incomplete message, or
    /// its message is complete and has no further fragments.
    fn check_borders(
        &self,
        fragment: &Fragment,
        received: impl Fn(u64) -> bool,
    ) -> Result<(), &'static str> {
        let begun = self.begun.filter(|begun| begun.next == fragment.tsn);
        if begun.is_some_and(|b| fragment.begins || !b.label.same_message(&fragment.label)) {
            return Err("fragment does not continue the message before it");
        }
        let before = self.run_before(fragment.tsn).map(|(_, run)| run);
        let after = self.runs.get(&(fragment.tsn + 1));
        match before {
            Some(run) if run.ends != fragment.begins => {
                return Err("B bit disagrees with the E bit of the TSN before");
            }
            None if !fragment.begins && begun.is_none() && received(fragment.tsn - 1) => {
                return Err("fragment continues a complete message");
            }
            _ => {}
        }
        match after {
            Some(run) if run.begins != fragment.ends => {
                return Err("E bit disagrees with the B bit of the next TSN");
            }
            None if !fragment.ends && received(fragment.tsn + 1) => {
                return Err("fragment is continued by a complete message");
            }
            _ => {}
        }
        let joined = [before.filter(|_| !fragment.begins), after.filter(|_| !fragment.ends)];
        if joined.iter().flatten().all(|run| run.label.same_message(&fragment.label)) {
            return Ok(());
        }
        Err("fragments of one message differ in stream, SSN or U bit")
    }

    /// The run that ends right before `tsn`, and the TSN of its first fragment.
    fn run_before(&self, tsn: u64) -> Option<(u64, &Run)> {
        let (first, run) = self.runs.range(..tsn).next_back()?;
        (first + run.charge.chunks == tsn).then_some((*first, run))
    }

    #[inline]
    fn whole(&self, fragment: Fragment) -> Result<Assembled, &'static str> {
        let charge = Charge::of(fragment.data.len());
        self.check_size(charge)?;
        let Fragment { tsn, label, data, .. } = fragment;
        let (payload, part) = (Payload::Whole(data), Part::WHOLE);
        Ok(Assembled { label, first: tsn, payload, part })
    }

    fn join(&mut self, mut fragment: Fragment) -> Result<Option<Assembled>, &'static str> {
        let (tsn, ends) = (fragment.tsn, fragment.ends);
        fragment.begins |= self.begun.is_some_and(|begun| begun.next == tsn);
        let begins = fragment.begins;
        let before = self.run_before(tsn).map(|(first, _)| first).filter(|_| !begins);
        let after = if ends { None } else { self.runs.remove(&(tsn + 1)) };
        let first = before.unwrap_or(tsn);
        let run = match before.and_then(|first| self.runs.get_mut(&first)) {
            Some(run) => {
                run.push(fragment);
                run
            }
            None => self.runs.entry(first).or_insert(Run::new(fragment)),
        };
        if let Some(next) = after {
            run.append(next);
        }
        let (complete, mut charge) = (run.is_complete(), run.charge);
        let begun = self.begun.filter(|begun| begun.next == first);
        charge.payload += begun.map_or(0, |begun| begun.passed);
        self.check_size(charge)?;
        Ok(if complete { self.take(first) } else { None })
    }

    #[inline]
    pub(super) const fn check_size(&self, charge: Charge) -> Result<(), &'static str> {
        if charge.payload > self.max_message {
            return Err(TOO_LARGE);
        }
        Ok(())
    }

    fn take(&mut self, first: u64) -> Option<Assembled> {
        let Run { label, pieces, charge, ends, .. } = self.runs.remove(&first)?;
        let begun = self.begun.take_if(|begun| begun.next == first);
        let part = Part { first: begun.is_none(), last: ends };
        let payload = Payload::split(Pieces::Consecutive(pieces), charge);
        Some(Assembled { label, first, payload, part })
    }

    /// What is here of the message that TSN `cumulative` belongs to, if that is its beginning and
    /// at least `least` bytes: a part that may be delivered before the rest.
    pub(super) fn take_part(&mut self, cumulative: u64, least: u64) -> Option<Assembled> {
        let (first, run) = self.runs.range(..=cumulative).next_back()?;
        let (first, next) = (*first, *first + run.charge.chunks);
        if !run.begins || run.charge.payload < least || next != cumulative + 1 {
            return None;
        }
        let passed = self.begun.filter(|begun| begun.next == first).map_or(0, |b| b.passed);
        let part = self.take(first)?;
        let passed = passed + part.charge().payload;
        self.begun = Some(Begun { label: part.label, next, passed });
        Some(part)
    }

    /// The stream, and the class, of the message that was delivered in part.
    pub(super) fn parts(&self) -> Option<(StreamId, bool)> {
        self.begun.map(|begun| (begun.label.stream, begun.label.unordered))
    }

    /// Drops the messages of which a TSN up to `cum` is missing; it will not come. Gives what they
    /// occupied, and the stream and class of one that was delivered in part.
    pub(super) fn skip_to(&mut self, cum: u64) -> (Charge, Option<(StreamId, bool)>) {
        // A run that begins further above waits for nothing below.
        let broken = self.runs.range(..cum + 2).filter(|(first, run)| {
            let next = **first + run.charge.chunks;
            !run.begins || !run.ends && next <= cum
        });
        let broken: Vec<u64> = broken.map(|(first, _)| *first).collect();
        let mut freed = Charge::default();
        for run in broken.iter().filter_map(|first| self.runs.remove(first)) {
            freed += run.charge;
        }
        let runs = &self.runs;
        let lost = |begun: &mut Begun| begun.next <= cum && !runs.contains_key(&begun.next);
        let aborted = self.begun.take_if(lost);
        (freed, aborted.map(|begun| (begun.label.stream, begun.label.unordered)))
    }

    /// The highest TSN that is held here.
    pub(super) fn highest(&self) -> Option<u64> {
        let (first, run) = self.runs.last_key_value()?;
        Some(first + run.charge.chunks - 1)
    }

    /// Drops the fragment of the highest TSN; gives what it occupied.
    pub(super) fn drop_highest(&mut self) -> Option<Charge> {
        let mut entry = self.runs.last_entry()?;
        let run = entry.get_mut();
        let charge = Charge::of(run.pieces.pop_back()?.len());
        run.charge -= charge;
        run.ends = false;
        if run.pieces.is_empty() {
            entry.remove();
        }
        Some(charge)
    }

    /// Takes a complete message back and drops its last fragment; gives what that occupied.
    pub(super) fn reopen(&mut self, message: Assembled) -> Charge {
        let charge = message.charge();
        let Assembled { label, first, payload: Payload::Split(split), .. } = message else {
            return charge;
        };
        let Split { pieces: Pieces::Consecutive(mut pieces), mut charge } = *split else {
            return charge;
        };
        let dropped = Charge::of(pieces.pop_back().map_or(0, |piece| piece.len()));
        charge -= dropped;
        self.runs.insert(first, Run { label, begins: true, ends: false, pieces, charge });
        dropped
    }
}
