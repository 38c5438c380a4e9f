//! What waits at a receiver from moment to moment, and what it waits for.

use std::collections::{BTreeMap, BTreeSet};

use crate::chunks::Chunks;
use crate::end::{End, Received};
use crate::explanation::{Cause, Hold};
use crate::floor::Floors;
use crate::groups::Groups;
use crate::life::{Life, Rounds, Step, wait_for_more};
use crate::line::Fate;
use crate::matching::PathNames;
use crate::tsn::Extender;

/// Bytes that waited for one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) bytes: u64,
    pub(crate) path: u8,
    pub(crate) cause: Cause,
    /// The chunk that is waited for; with the cause application, that waits. As on the wire.
    pub(crate) tsn: u32,
}

/// One chunk's stay: when it came, when it was gone, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) bytes: u64,
}

/// All that waited in one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    pub(crate) charges: Vec<Charge>,
    /// What the charges must come to.
    pub(crate) stays: Vec<Stay>,
    /// Time charged to the sender by what held it back, ns.
    pub(crate) holds: BTreeMap<Hold, u128>,
}

/// Everything known of one direction.
pub(crate) struct Known<'a> {
    pub(crate) chunks: &'a Chunks,
    pub(crate) names: &'a PathNames,
    pub(crate) groups: &'a Groups,
    pub(crate) floors: &'a Floors,
    pub(crate) rounds: &'a Rounds,
}

/// Goes through what happened at the receiver.
pub(crate) fn walk(known: &Known<'_>, receiver: &End) -> Waits {
    let mut walk = Walk {
        known,
        extender: receiver.extender_of_received(),
        groups: (0..known.groups.members.len()).map(|_| Group::default()).collect(),
        waiting: BTreeMap::new(),
        ready: BTreeMap::new(),
        latest: None,
        life: None,
        waits: Waits::default(),
    };
    for (at, event) in &receiver.received {
        walk.step(*at, event);
    }
    walk.finish(receiver.until)
}

struct Walk<'a> {
    known: &'a Known<'a>,
    extender: Extender,
    groups: Vec<Group>,
    /// Chunks that are here and not deliverable, by position.
    waiting: BTreeMap<usize, Here>,
    /// Those that are deliverable, by the TSN of their message.
    ready: BTreeMap<u64, Vec<(Here, u64)>>,
    /// The chunk that arrived last, and when.
    latest: Option<(usize, u64)>,
    /// The chunk that was waited for last, and what became of it.
    life: Option<(usize, Life)>,
    waits: Waits,
}

/// A chunk that is here.
#[derive(Clone, Copy, Debug)]
struct Here {
    tsn: u32,
    since: u64,
    bytes: u64,
    /// As the sender counts.
    path: u8,
}

/// Where a group stands.
#[derive(Debug, Default)]
struct Group {
    /// The first place behind all that came in order, or was passed over.
    top: usize,
    /// Places before it whose chunks were dropped again.
    holes: BTreeSet<usize>,
    /// Places of what waits.
    places: BTreeSet<usize>,
}

impl Walk<'_> {
    fn step(&mut self, at: u64, event: &Received) {
        match event {
            Received::Arrived(arrived) => {
                let tsn = self.extender.extend(arrived.tsn);
                let here = Here {
                    tsn: arrived.tsn,
                    since: at,
                    bytes: arrived.bytes.into(),
                    path: self.known.names.name(arrived.path),
                };
                if arrived.fate == Fate::New
                    && let Some(position) = self.known.chunks.find(tsn)
                {
                    self.arrive(position, here);
                }
            }
            Received::Deliverable { tsn, first, last } => {
                let [key, first, last] = [tsn, first, last].map(|tsn| self.extender.extend(*tsn));
                self.deliver(at, key, first, last);
            }
            Received::Taken { tsn } => {
                let key = self.extender.extend(*tsn);
                for (here, since) in self.ready.remove(&key).unwrap_or_default() {
                    self.leave(here, since, at);
                }
            }
            Received::Reneged { tsn } => {
                let tsn = self.extender.extend(*tsn);
                if let Some(position) = self.known.chunks.find(tsn) {
                    self.renege(at, position);
                }
            }
            Received::Skipped { cumulative } => {
                let end = self.known.chunks.lower_bound(self.extender.extend(*cumulative) + 1);
                let gone: Vec<usize> = self.waiting.range(..end).map(|(at, _)| *at).collect();
                gone.into_iter().for_each(|position| self.drop_chunk(at, position));
            }
        }
    }

    fn finish(mut self, until: u64) -> Waits {
        let left: Vec<usize> = self.waiting.keys().copied().collect();
        left.into_iter().for_each(|position| self.drop_chunk(until, position));
        let ready = core::mem::take(&mut self.ready);
        for (here, since) in ready.into_values().flatten() {
            self.leave(here, since, until);
        }
        self.waits
    }

    fn place(&self, position: usize) -> (usize, usize) {
        self.known.groups.of.get(position).copied().unwrap_or_default()
    }

    fn member(&self, group: usize, place: usize) -> Option<usize> {
        self.known.groups.members.get(group)?.get(place).copied()
    }

    fn arrive(&mut self, position: usize, here: Here) {
        let (group, place) = self.place(position);
        if self.waiting.contains_key(&position) {
            return;
        }
        self.waiting.insert(position, here);
        self.latest = Some((position, here.since));
        let Some(own) = self.groups.get_mut(group) else { return };
        own.places.insert(place);
        own.holes.remove(&place);
        self.raise_top(group);
    }

    /// The next places whose chunks are here come in order.
    fn raise_top(&mut self, group: usize) {
        let members = self.known.groups.members.get(group).map_or(&[][..], |members| members);
        let Some(own) = self.groups.get_mut(group) else { return };
        while members.get(own.top).is_some_and(|at| self.waiting.contains_key(at)) {
            own.top += 1;
        }
    }

    /// What came in TSNs `first` to `last` can be taken; what comes before it in its group, and is
    /// missing, was given up.
    fn deliver(&mut self, at: u64, key: u64, first: u64, last: u64) {
        let chunks = self.known.chunks;
        let (from, to) = (chunks.lower_bound(first), chunks.lower_bound(last.saturating_add(1)));
        let range = self.waiting.range(from..to.max(from));
        let positions: Vec<usize> = range.map(|(at, _)| *at).collect();
        for &position in &positions {
            let last = self.completed_by(at, position).or_else(|| self.first_missing(position));
            if let Some(here) = self.take_out(position) {
                self.charge_wait(here, position, last, at);
                self.ready.entry(key).or_default().push((here, at));
            }
        }
        if let Some(&highest) = positions.last() {
            let (group, place) = self.place(highest);
            self.pass_over(group, place, at);
        }
    }

    /// The chunk of the same group whose arrival at `at` made the one at `position` deliverable.
    fn completed_by(&self, at: u64, position: usize) -> Option<usize> {
        let (latest, _) = self.latest.filter(|(_, when)| *when == at)?;
        (self.place(latest).0 == self.place(position).0).then_some(latest)
    }

    /// What the chunk at `position` waits for first; none: for more of its message, of which there
    /// is no trace.
    fn first_missing(&self, position: usize) -> Option<usize> {
        let (group, _) = self.place(position);
        let own = self.groups.get(group)?;
        self.member(group, own.holes.first().copied().unwrap_or(own.top))
    }

    /// Nothing at or before `place` is waited for any more.
    fn pass_over(&mut self, group: usize, place: usize, at: u64) {
        let Some(own) = self.groups.get_mut(group) else { return };
        own.holes = own.holes.split_off(&(place + 1));
        let left: Vec<usize> = own.places.range(..place).copied().collect();
        for place in left {
            if let Some(position) = self.member(group, place) {
                self.drop_chunk(at, position);
            }
        }
        if let Some(own) = self.groups.get_mut(group) {
            own.top = own.top.max(place + 1);
        }
        self.raise_top(group);
    }

    /// Takes a chunk out of those that wait.
    fn take_out(&mut self, position: usize) -> Option<Here> {
        let (group, place) = self.place(position);
        self.groups.get_mut(group)?.places.remove(&place);
        self.waiting.remove(&position)
    }

    /// A chunk goes that was never deliverable.
    fn drop_chunk(&mut self, at: u64, position: usize) {
        let missing = self.first_missing(position);
        if let Some(here) = self.take_out(position) {
            self.charge_wait(here, position, missing, at);
            self.stay(here, at);
        }
    }

    fn renege(&mut self, at: u64, position: usize) {
        let (group, place) = self.place(position);
        if self.waiting.contains_key(&position) {
            self.drop_chunk(at, position);
            if let Some(own) = self.groups.get_mut(group).filter(|own| place < own.top) {
                own.holes.insert(place);
            }
        }
    }

    /// The application takes a chunk that it could have since `since`.
    fn leave(&mut self, here: Here, since: u64, at: u64) {
        let Here { tsn, bytes, path, .. } = here;
        let cause = Cause::Application;
        self.charge(Charge { from: since, until: at, bytes, path, cause, tsn });
        self.stay(here, at);
    }

    fn stay(&mut self, here: Here, until: u64) {
        if until > here.since && here.bytes > 0 {
            self.waits.stays.push(Stay { from: here.since, until, bytes: here.bytes });
        }
    }

    fn charge(&mut self, charge: Charge) {
        if charge.until > charge.from && charge.bytes > 0 {
            self.waits.charges.push(charge);
        }
    }

    fn charge_step(&mut self, from: u64, step: &Step, bytes: u64, tsn: u32) {
        let Step { until, path, cause, hold } = *step;
        if let Some(hold) = hold {
            *self.waits.holds.entry(hold).or_default() += u128::from(until.saturating_sub(from));
        }
        self.charge(Charge { from, until, bytes, path, cause, tsn });
    }

    /// The chunk at `position` waited up to `until` for the one at `missing`.
    fn charge_wait(&mut self, here: Here, position: usize, missing: Option<usize>, until: u64) {
        let Here { since: mut from, bytes, .. } = here;
        if until <= from || bytes == 0 {
            return;
        }
        let Known { chunks, names, floors, rounds, .. } = self.known;
        let (Some(own), missing) = (chunks.0.get(position), missing.filter(|at| *at != position))
        else {
            return;
        };
        let awaited = missing.and_then(|at| Some((at, chunks.0.get(at)?)));
        let Some((at, awaited)) = awaited else {
            let step = wait_for_more(own, rounds, until);
            return self.charge_step(from, &step, bytes, here.tsn);
        };
        let life = match self.life.take() {
            Some((of, life)) if of == at => life,
            _ => Life::of(awaited, names, floors, rounds),
        };
        let tsn = awaited.tsn as u32;
        let behind = at < position;
        for step in life.steps(awaited, (!behind).then_some(own), floors, rounds) {
            let end = step.until.min(until);
            if end > from {
                self.charge_step(from, &Step { until: end, ..step }, bytes, tsn);
                from = end;
            }
        }
        self.life = Some((at, life));
    }
}
