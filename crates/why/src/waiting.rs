//! What waits at a receiver from moment to moment, and what it waits for.

use std::collections::{BTreeMap, BTreeSet};

use crate::chunks::Chunks;
use crate::end::{End, Received};
use crate::explanation::Cause;
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
    /// The chunk that is waited for, or that waits; as on the wire.
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

#[derive(Debug, Default)]
struct Group {
    /// Up to when its waits are charged.
    since: u64,
    /// The first place behind all that came in order, or was passed over.
    top: usize,
    /// Places before it whose chunks were dropped again.
    holes: BTreeSet<usize>,
    /// Places of what waits.
    places: BTreeSet<usize>,
    /// Bytes that wait before `top`, and behind it.
    before: u64,
    behind: u64,
    /// The chunk that was looked at last, and what became of it.
    life: Option<(usize, Life)>,
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

    fn arrive(&mut self, position: usize, here: Here) {
        let (group, place) = self.place(position);
        if self.waiting.contains_key(&position) {
            return;
        }
        self.charge_group(group, here.since);
        self.waiting.insert(position, here);
        let Some(own) = self.groups.get_mut(group) else { return };
        own.places.insert(place);
        if place < own.top {
            own.holes.remove(&place);
            own.before += here.bytes;
        } else {
            own.behind += here.bytes;
        }
        self.raise_top(group);
    }

    /// The next places whose chunks are here come in order.
    fn raise_top(&mut self, group: usize) {
        let Some(own) = self.groups.get_mut(group) else { return };
        let members = self.known.groups.members.get(group).map_or(&[][..], |members| members);
        while let Some(here) = members.get(own.top).and_then(|at| self.waiting.get(at)) {
            own.top += 1;
            own.behind -= here.bytes;
            own.before += here.bytes;
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
            if let Some(here) = self.take_out(at, position) {
                self.ready.entry(key).or_default().push((here, at));
            }
        }
        if let Some(&highest) = positions.last() {
            let (group, place) = self.place(highest);
            self.pass_over(group, place, at);
        }
    }

    /// Nothing at or before `place` is waited for any more.
    fn pass_over(&mut self, group: usize, place: usize, at: u64) {
        let Some(own) = self.groups.get_mut(group) else { return };
        own.holes = own.holes.split_off(&(place + 1));
        let left: Vec<usize> = own.places.range(..place).copied().collect();
        for place in left {
            let members = self.known.groups.members.get(group);
            if let Some(position) = members.and_then(|members| members.get(place)).copied() {
                self.drop_chunk(at, position);
            }
        }
        if let Some(own) = self.groups.get_mut(group) {
            own.top = own.top.max(place + 1);
        }
        self.raise_top(group);
    }

    /// Takes a chunk out of those that wait.
    fn take_out(&mut self, at: u64, position: usize) -> Option<Here> {
        let (group, place) = self.place(position);
        self.charge_group(group, at);
        let here = self.waiting.remove(&position)?;
        let own = self.groups.get_mut(group)?;
        own.places.remove(&place);
        let side = if place < own.top { &mut own.before } else { &mut own.behind };
        *side -= here.bytes;
        Some(here)
    }

    fn drop_chunk(&mut self, at: u64, position: usize) {
        if let Some(here) = self.take_out(at, position) {
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

    /// Charges what waits in a group, up to `at`, to what it waits for.
    fn charge_group(&mut self, group: usize, at: u64) {
        let Some(own) = self.groups.get_mut(group) else { return };
        let from = core::mem::replace(&mut own.since, at);
        let (before, behind) = (own.before, own.behind);
        if at <= from || before + behind == 0 {
            return;
        }
        let blocker = own.holes.first().copied().unwrap_or(own.top);
        let life = match own.life.take() {
            Some((of, life)) if of == blocker => life,
            _ => self.life_of(group, blocker),
        };
        let members = self.known.groups.members.get(group).map_or(&[][..], |members| members);
        let missing = members.get(blocker).and_then(|at| self.known.chunks.0.get(*at));
        let tsn = missing.or_else(|| self.known.chunks.0.get(*members.last()?));
        let tsn = tsn.map_or(0, |chunk| chunk.tsn as u32);
        for (bytes, steps) in [(before, &life.before), (behind, &life.behind)] {
            self.charge_steps(from, at, bytes, steps, tsn);
        }
        if let Some(own) = self.groups.get_mut(group) {
            own.life = Some((blocker, life));
        }
    }

    fn charge_steps(&mut self, from: u64, until: u64, bytes: u64, steps: &[Step], tsn: u32) {
        let mut from = from;
        for step in steps {
            let end = step.until.min(until);
            if end > from {
                let (path, cause) = (step.path, step.cause);
                self.charge(Charge { from, until: end, bytes, path, cause, tsn });
                from = end;
            }
        }
    }

    fn life_of(&self, group: usize, place: usize) -> Life {
        let Known { chunks, floors, rounds, .. } = self.known;
        let members = self.known.groups.members.get(group).map_or(&[][..], |members| members);
        let chunk = |place: usize| members.get(place).and_then(|at| chunks.0.get(*at));
        let previous = place.checked_sub(1).and_then(chunk);
        match (chunk(place), previous) {
            (Some(missing), previous) => Life::of(missing, previous, floors, rounds),
            (None, Some(last)) => {
                let steps = vec![wait_for_more(last, rounds)];
                Life { before: steps.clone(), behind: steps }
            }
            (None, None) => Life::default(),
        }
    }
}
