//! What became of a chunk that is waited for: which path and cause it is late by, and until when.

use crate::chunks::{Chunk, Transmission};
use crate::explanation::{Cause, Hold};
use crate::floor::Floors;
use crate::line::Stop;
use crate::matching::PathNames;

/// From the end of the step before until `until`, ns, the wait is charged to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) until: u64,
    pub(crate) path: u8,
    pub(crate) cause: Cause,
    /// What held it back, if that is known.
    pub(crate) hold: Option<Hold>,
}

/// Steps that end with one for ever.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life(Vec<Step>);

/// When the sender ended attempts to send, and why.
pub(crate) type Rounds = [(u64, Stop)];

impl Life {
    /// Of a chunk that something waits for.
    pub(crate) fn of(chunk: &Chunk, names: &PathNames, floors: &Floors, rounds: &Rounds) -> Self {
        let Some(first) = chunk.transmissions.first() else {
            // The sender's trace does not have it: no more is known than that it was not here.
            let path = chunk.arrivals.first().map_or(0, |came| names.name(came.path));
            return Self(vec![Step::new(u64::MAX, path, Cause::Queue)]);
        };
        let here = first.sent.saturating_add(floors.floor(first.path, first.sent, first.size));
        let mut steps = Steps(vec![Step::new(here, first.path, Cause::Reordering)]);
        steps.add_transmissions(chunk, floors, rounds);
        Self(steps.0)
    }

    /// What is charged to what waits for `chunk`, whose life this is. `earlier`: what waits, where
    /// it comes before `chunk` in their order and so waits for the sender, too.
    pub(crate) fn steps(
        &self,
        chunk: &Chunk,
        earlier: Option<&Chunk>,
        floors: &Floors,
        rounds: &Rounds,
    ) -> impl Iterator<Item = Step> {
        let first = chunk.transmissions.first();
        let since = earlier.and_then(|earlier| earlier.transmissions.first());
        let held = first.zip(since).filter(|(first, since)| since.sent < first.sent);
        let held = held.map(|(first, since)| {
            let floor = floors.floor(first.path, first.sent, first.size);
            held_back(rounds, (since.sent, first.sent), first.path, floor)
        });
        // They take the place of the first step.
        let own = self.0.iter().skip(usize::from(held.is_some())).copied();
        held.unwrap_or_default().into_iter().chain(own)
    }
}

/// Ends of attempts to send that are looked at for one chunk, the last ones.
const MOST_ROUNDS: usize = 256;

/// Why the sender sent nothing between `from` and `to`, as who waits for it on `path` sees it: a
/// floor later. Each moment is due to what ended the last attempt to send before it.
fn held_back(rounds: &Rounds, (from, to): (u64, u64), path: u8, floor: u64) -> Vec<Step> {
    let mut steps = vec![Step::new(from.saturating_add(floor), path, Cause::Reordering)];
    let end = rounds.partition_point(|(at, _)| *at < to);
    let begin = rounds.partition_point(|(at, _)| *at <= from);
    let begin = begin.max(end.saturating_sub(MOST_ROUNDS));
    let (before, rest) = rounds.split_at(begin.min(end));
    let known = before.last().filter(|(at, _)| *at >= from);
    let mut why = why_held(known.map(|(_, stop)| *stop));
    let later = rest.get(..end.saturating_sub(begin)).unwrap_or_default();
    for &(at, stop) in later {
        let next = why_held(Some(stop));
        if next != why {
            let (cause, hold) = core::mem::replace(&mut why, next);
            steps.push(Step { until: at.saturating_add(floor), path, cause, hold });
        }
    }
    let (cause, hold) = why;
    steps.push(Step { until: to.saturating_add(floor), path, cause, hold });
    steps
}

/// Why nothing is sent after an attempt that ended so.
fn why_held(stop: Option<Stop>) -> (Cause, Option<Hold>) {
    match stop {
        Some(Stop::NoData) => (Cause::Application, None),
        Some(Stop::Held(Some(hold))) => (hold.cause(), Some(hold)),
        Some(Stop::Held(None)) | None => (Cause::Sender, None),
    }
}

/// What ended the last attempt to send between `from` and `to`.
fn last_stop(rounds: &Rounds, from: u64, to: u64) -> Option<Stop> {
    let end = rounds.partition_point(|(at, _)| *at < to);
    let (at, stop) = *rounds.get(..end)?.last()?;
    (at >= from).then_some(stop)
}

/// What waits, as `chunk` does, for something that was never sent, does so up to `until` for this.
pub(crate) fn wait_for_more(chunk: &Chunk, rounds: &Rounds, until: u64) -> Step {
    let sent = chunk.transmissions.last();
    let (cause, hold) = why_held(sent.and_then(|one| last_stop(rounds, one.sent, u64::MAX)));
    Step { until, path: sent.map_or(0, |one| one.path), cause, hold }
}

impl Step {
    const fn new(until: u64, path: u8, cause: Cause) -> Self {
        Self { until, path, cause, hold: None }
    }
}

struct Steps(Vec<Step>);

impl Steps {
    /// Times do not run backwards, whatever two clocks say.
    fn add(&mut self, until: u64, path: u8, cause: Cause) {
        let since = self.0.last().map_or(0, |step| step.until);
        self.0.push(Step::new(until.max(since), path, cause));
    }

    /// What became of each transmission up to the first that came, and was taken.
    fn add_transmissions(&mut self, chunk: &Chunk, floors: &Floors, rounds: &Rounds) {
        let all = &chunk.transmissions;
        // What sends it again is due to this path and cause.
        let mut debt = None;
        for (at, one) in all.iter().enumerate() {
            if let Some((path, cause)) = debt {
                self.add(
                    one.sent.saturating_add(floors.floor(one.path, one.sent, one.size)),
                    path,
                    cause,
                );
            }
            let next = all.get(at + 1);
            debt = Some(match one.arrival {
                Some(arrival) if !arrival.refused => break,
                Some(arrival) => {
                    self.add(arrival.at, one.path, Cause::Queue);
                    self.add(next.map_or(u64::MAX, |next| next.sent), one.path, Cause::Window);
                    (one.path, Cause::Window)
                }
                None => {
                    self.add_loss(one, next, floors, rounds);
                    (one.path, Cause::Loss)
                }
            });
        }
        let last = all.iter().find(|one| one.arrival.is_some_and(|came| !came.refused));
        match (last, debt) {
            (None, Some((path, cause))) => self.add(u64::MAX, path, cause),
            (Some(one), _) => self.add(u64::MAX, one.path, Cause::Queue),
            (None, None) => {}
        }
    }

    fn add_loss(
        &mut self,
        one: &Transmission,
        next: Option<&Transmission>,
        floors: &Floors,
        rounds: &Rounds,
    ) {
        let due = one.sent.saturating_add(floors.expected(one.path, one.sent, one.size));
        let again = next.map_or(u64::MAX, |next| next.sent);
        self.add(due.min(again), one.path, Cause::Queue);
        let noticed = one.lost.unwrap_or(again).min(again);
        self.add(noticed, one.path, Cause::Loss);
        if let Some(next) = next {
            let why = match last_stop(rounds, noticed, again) {
                // No peer's window holds back what is sent again: it was counted already.
                Some(Stop::NoData | Stop::Held(Some(Hold::PeerWindow))) => None,
                stop => stop,
            };
            let (cause, hold) = why_held(why);
            self.add(again, next.path, cause);
            if let Some(step) = self.0.last_mut() {
                step.hold = hold;
            }
        }
    }
}
