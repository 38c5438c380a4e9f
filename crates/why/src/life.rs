//! What became of a chunk that is waited for: which path and cause it is late by, and until when.

use crate::chunks::{Chunk, Transmission};
use crate::explanation::Cause;
use crate::floor::Floors;

/// From the end of the step before until `until`, ns, the wait is charged to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) until: u64,
    pub(crate) path: u8,
    pub(crate) cause: Cause,
}

/// Steps that end with one for ever.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    /// For what comes before it in the order of its group.
    pub(crate) before: Vec<Step>,
    /// For what comes behind.
    pub(crate) behind: Vec<Step>,
}

/// When the sender ended attempts to send, and whether it had nothing more.
pub(crate) type Rounds = [(u64, bool)];

impl Life {
    /// Of `chunk`, whose forerunner in its group is `previous`.
    pub(crate) fn of(
        chunk: &Chunk,
        previous: Option<&Chunk>,
        floors: &Floors,
        rounds: &Rounds,
    ) -> Self {
        let Some(first) = chunk.transmissions.first() else {
            return Self::unsent(chunk, previous, rounds);
        };
        let here = first.sent.saturating_add(floors.floor(first.path, first.sent));
        let reordering = Step { until: here, path: first.path, cause: Cause::Reordering };
        let mut behind = Steps(vec![reordering]);
        behind.add_transmissions(chunk, floors);
        let mut before = behind.0.clone();
        let sent_before = previous.and_then(|previous| previous.transmissions.first());
        if let Some(at) = sent_before.map(|one| one.sent).filter(|at| *at < first.sent) {
            let due = at.saturating_add(floors.floor(first.path, first.sent));
            let cause = held_back(rounds, at, first.sent);
            let held = Step { until: here, path: first.path, cause };
            before.splice(..1, [Step { until: due, ..reordering }, held]);
        }
        Self { before, behind: behind.0 }
    }

    /// It was never sent, as far as the trace goes.
    fn unsent(chunk: &Chunk, previous: Option<&Chunk>, rounds: &Rounds) -> Self {
        let known = previous.and_then(|previous| previous.transmissions.last());
        let path = known.map(|one| one.path);
        let came = chunk.arrivals.first().map(|came| came.path);
        let cause = match known {
            _ if came.is_some() => Cause::Queue,
            Some(one) => held_back(rounds, one.sent, u64::MAX),
            None => Cause::Window,
        };
        let path = came.or(path).unwrap_or(0);
        let steps = vec![Step { until: u64::MAX, path, cause }];
        Self { before: steps.clone(), behind: steps }
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

/// What waits for a chunk that does not come at all, behind `last` of its group.
pub(crate) fn wait_for_more(last: &Chunk, rounds: &Rounds) -> Step {
    let sent = last.transmissions.last();
    let cause = sent.map_or(Cause::Window, |one| held_back(rounds, one.sent, u64::MAX));
    Step { until: u64::MAX, path: sent.map_or(0, |one| one.path), cause }
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
                self.add(one.sent.saturating_add(floors.floor(one.path, one.sent)), path, cause);
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
        let due = one.sent.saturating_add(floors.expected(one.path, one.sent));
        let again = next.map_or(u64::MAX, |next| next.sent);
        self.add(due.min(again), one.path, Cause::Queue);
        let noticed = one.lost.unwrap_or(again).min(again);
        self.add(noticed, one.path, Cause::Loss);
        if let Some(next) = next {
            self.add(again, next.path, Cause::Window);
        }
    }
}
