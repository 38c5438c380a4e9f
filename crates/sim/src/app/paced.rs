//! Sends messages at a constant rate.

use polypath_link::Nanos;

use super::io::{App, AppIo, Turn};

/// The times at which messages are due: evenly spaced, without rounding errors that add up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    start: Nanos,
    rate: u64,
    /// Payload bits so far.
    sent: u64,
}

impl Pace {
    /// Messages at `rate` bit/s, the first one at `start`.
    pub(super) fn new(start: Nanos, rate: u64) -> Self {
        Self { start, rate, sent: 0 }
    }

    /// When the next message is due.
    pub(super) fn due_at(&self) -> Nanos {
        let ns = u128::from(self.sent) * 1_000_000_000;
        let after = u64::try_from(ns / u128::from(self.rate)).unwrap_or(Nanos::MAX);
        self.start.saturating_add(after)
    }

    /// Sends what is due. What finds the send buffer full stays due, and is late.
    pub(super) fn run(&mut self, turn: &mut Turn, io: &mut AppIo<'_>) {
        while self.due_at() <= io.now {
            let Some(bytes) = turn.send(io) else { return };
            self.sent += 8 * u64::from(bytes);
        }
    }
}

#[derive(Debug)]
pub(super) struct ConstantRate {
    turn: Turn,
    rate: u64,
    pace: Option<Pace>,
    wakeup: Option<Nanos>,
}

impl ConstantRate {
    pub(super) fn new(turn: Turn, rate: u64) -> Self {
        Self { turn, rate, pace: None, wakeup: None }
    }
}

impl App for ConstantRate {
    fn run(&mut self, io: &mut AppIo<'_>) {
        let pace = self.pace.get_or_insert_with(|| Pace::new(io.now, self.rate));
        pace.run(&mut self.turn, io);
        // A message that is late waits for room, not for a time.
        self.wakeup = Some(pace.due_at()).filter(|&due| due > io.now);
    }

    fn next_wakeup(&self) -> Option<Nanos> {
        self.wakeup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_due_at_even_distances() {
        // 1452 bytes at 3 Mbit/s: every 3.872 ms.
        let pace = Pace { sent: 1_000_000 * 8 * 1452, ..Pace::new(5, 3_000_000) };
        assert_eq!(pace.due_at(), 5 + 3_872_000 * 1_000_000);
        let thirds = Pace { sent: 3 * 8, ..Pace::new(0, 24) };
        assert_eq!(thirds.due_at(), 1_000_000_000);
    }
}
