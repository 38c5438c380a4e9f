//! Sends messages at a constant rate.

use polypath_link::Nanos;

use super::io::{App, AppIo, Turn};
use crate::spec::MessageSpec;

/// The times at which messages are due: evenly spaced, without rounding errors that add up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    start: Nanos,
    bits: u64,
    rate: u64,
    sent: u64,
}

impl Pace {
    /// Messages of `bytes` at `rate` bit/s, the first one at `start`.
    pub(super) fn new(start: Nanos, bytes: u32, rate: u64) -> Self {
        Self { start, bits: u64::from(bytes) * 8, rate, sent: 0 }
    }

    /// When the next message is due.
    pub(super) fn due_at(&self) -> Nanos {
        let ns = u128::from(self.sent) * u128::from(self.bits) * 1_000_000_000;
        let after = u64::try_from(ns / u128::from(self.rate)).unwrap_or(Nanos::MAX);
        self.start.saturating_add(after)
    }

    /// Sends what is due. What finds the send buffer full stays due, and is late.
    pub(super) fn run(&mut self, turn: &mut Turn, io: &mut AppIo<'_>) {
        while self.due_at() <= io.now && turn.send(io) {
            self.sent += 1;
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
    pub(super) fn new(messages: MessageSpec, rate: u64) -> Self {
        Self { turn: Turn::new(messages), rate, pace: None, wakeup: None }
    }
}

impl App for ConstantRate {
    fn run(&mut self, io: &mut AppIo<'_>) {
        let (bytes, rate) = (self.turn.messages.bytes, self.rate);
        let pace = self.pace.get_or_insert_with(|| Pace::new(io.now, bytes, rate));
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
        let pace = Pace { sent: 1_000_000, ..Pace::new(5, 1452, 3_000_000) };
        assert_eq!(pace.due_at(), 5 + 3_872_000 * 1_000_000);
        let thirds = Pace { sent: 3, ..Pace::new(0, 1, 24) };
        assert_eq!(thirds.due_at(), 1_000_000_000);
    }
}
