//! What became of a chunk that is waited for: which path and cause it is late by, and until when.

use crate::chunks::{Chunk, Transmission};
use crate::explanation::Cause;
use crate::floor::Floors;
use crate::matching::PathNames;

/// From the end of the step before until `until`, ns, the wait is charged to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) until: u64,
    pub(crate) path: u8,
    pub(crate) cause: Cause,
}

/// Steps that end with one for ever.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life(Vec<Step>);

/// When the sender ended attempts to send, and whether it had nothing more.
pub(crate) type Rounds = [(u64, bool)];

impl Life {
    /// Of a chunk that something waits for.
    pub(crate) fn of(chunk: &Chunk, names: &PathNames, floors: &Floors) -> Self {
        let Some(first) = chunk.transmissions.first() else {
            // The sender's trace does not have it: no more is known than that it was not here.
            let path = chunk.arrivals.first().map_or(0, |came| names.name(came.path));
            return Self(vec![Step { until: u64::MAX, path, cause: Cause::Queue }]);
        };
        let here = first.sent.saturating_add(floors.floor(first.path, first.sent, first.size));
        let reordering = Step { until: here, path: first.path, cause: Cause::Reordering };
        let mut steps = Steps(vec![reordering]);
        steps.add_transmissions(chunk, floors);
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
        let due = held.map(|(first, since)| Step {
            until: since.sent.saturating_add(floors.floor(first.path, first.sent, first.size)),
            path: first.path,
            cause: Cause::Reordering,
        });
        let cause = held.map(|(first, since)| held_back(rounds, since.sent, first.sent));
        let own = self.0.iter().enumerate().map(move |(at, step)| match cause {
            Some(cause) if at == 0 => Step { cause, ..*step },
            _ => *step,
        });
        due.into_iter().chain(own)
    }
}

/// Why the sender sent nothing between `from` and `to`, by what its last attempt before said.
fn held_back(rounds: &Rounds, from: u64, to: u64) -> Cause {
    let end = rounds.partition_point(|(at, _)| *at < to);
    match rounds.get(..end).and_then(<[_]>::last) {
        Some((at, true)) if *at >= from => Cause::Application,
        _ => Cause::Window,
    }
}

/// Path and cause of what waits, as `chunk` does, for something that was never sent.
pub(crate) fn wait_for_more(chunk: &Chunk, rounds: &Rounds) -> (u8, Cause) {
    let sent = chunk.transmissions.last();
    let cause = sent.map_or(Cause::Window, |one| held_back(rounds, one.sent, u64::MAX));
    (sent.map_or(0, |one| one.path), cause)
}

struct Steps(Vec<Step>);

impl Steps {
    /// Times do not run backwards, whatever two clocks say.
    fn add(&mut self, until: u64, path: u8, cause: Cause) {
        let since = self.0.last().map_or(0, |step| step.until);
        self.0.push(Step { until: until.max(since), path, cause });
    }

    /// What became of each transmission up to the first that came, and was taken.
    fn add_transmissions(&mut self, chunk: &Chunk, floors: &Floors) {
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
                    self.add_loss(one, next, floors);
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

    fn add_loss(&mut self, one: &Transmission, next: Option<&Transmission>, floors: &Floors) {
        let due = one.sent.saturating_add(floors.expected(one.path, one.sent, one.size));
        let again = next.map_or(u64::MAX, |next| next.sent);
        self.add(due.min(again), one.path, Cause::Queue);
        let noticed = one.lost.unwrap_or(again).min(again);
        self.add(noticed, one.path, Cause::Loss);
        if let Some(next) = next {
            self.add(again, next.path, Cause::Window);
        }
    }
}
