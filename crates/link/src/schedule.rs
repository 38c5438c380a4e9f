//! Changes to a link at set times, applied when the link is next used, so that the caller needs no
//! events for them.

use crate::{LossModel, Nanos};

/// A change to a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Takes the link up or down. Going down loses what waits and what is on the wire.
    Up(bool),
    /// A new rate in bit/s, `None` for no limit.
    Rate(Option<u64>),
    /// A new propagation delay in ns, for packets that have not left the transmitter.
    Delay(Nanos),
    /// New loss models for packets offered from now on; they start afresh.
    Loss(Vec<LossModel>),
}

/// The changes still to come.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// Latest first, so that the next one is popped from the end.
    changes: Vec<(Nanos, Change)>,
    next_at: Nanos,
}

impl Schedule {
    pub(crate) fn new(mut changes: Vec<(Nanos, Change)>) -> Self {
        changes.sort_by_key(|(at, _)| *at);
        changes.reverse();
        let mut schedule = Self { changes, next_at: 0 };
        schedule.update_next();
        schedule
    }

    /// The time of the next change, or `Nanos::MAX` when there is none.
    pub(crate) fn next_at(&self) -> Nanos {
        self.next_at
    }

    /// The next change due by `now`, with its time.
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, Change)> {
        if self.next_at > now {
            return None;
        }
        let change = self.changes.pop();
        self.update_next();
        change
    }

    fn update_next(&mut self) {
        self.next_at = self.changes.last().map_or(Nanos::MAX, |(at, _)| *at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_in_time_order_and_equal_times_as_given() {
        let mut schedule = Schedule::new(vec![
            (20, Change::Up(true)),
            (10, Change::Delay(1)),
            (10, Change::Delay(2)),
        ]);
        assert_eq!(schedule.next_at(), 10);
        assert_eq!(schedule.pop_due(9), None);
        assert_eq!(schedule.pop_due(30), Some((10, Change::Delay(1))));
        assert_eq!(schedule.pop_due(30), Some((10, Change::Delay(2))));
        assert_eq!(schedule.pop_due(30), Some((20, Change::Up(true))));
        assert_eq!(schedule.pop_due(Nanos::MAX), None);
    }
}
