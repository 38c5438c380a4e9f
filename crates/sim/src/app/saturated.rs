//! Keeps the send buffer full.

use super::io::{App, AppIo, Turn};
use crate::spec::Refill;

#[derive(Debug)]
pub(super) struct Saturated {
    turn: Turn,
    refill: Refill,
    /// Bytes in the send buffer per stream; kept for its memory.
    queued: Vec<u64>,
}

impl Saturated {
    pub(super) fn new(turn: Turn, refill: Refill) -> Self {
        Self { turn, refill, queued: Vec::new() }
    }

    /// S0 section 6.2: a stream that already holds its part of the send buffer is passed over.
    /// Bytes in flight count too; otherwise the slow path's stream would still take what the fast
    /// paths free.
    fn refill_by_contingent(&mut self, io: &mut AppIo<'_>) {
        let streams = self.turn.messages.streams;
        let info = io.queue_info();
        let contingent = info.limit / u64::from(streams);
        self.queued.clear();
        self.queued.resize(streams.into(), 0);
        for stream in &info.streams {
            if let Some(queued) = self.queued.get_mut(usize::from(stream.stream.0)) {
                *queued = stream.unsent_bytes + stream.unacked_bytes;
            }
        }
        let mut passed_over = 0;
        while passed_over < streams {
            let Some(queued) = self.queued.get_mut(usize::from(self.turn.next)) else { return };
            if *queued >= contingent {
                self.turn.skip_stream();
                passed_over += 1;
            } else if let Some(bytes) = self.turn.send(io) {
                *queued += u64::from(bytes);
                passed_over = 0;
            } else {
                return;
            }
        }
    }

    fn refill_least_unsent(&mut self, io: &mut AppIo<'_>) {
        let streams = self.turn.messages.streams;
        self.queued.clear();
        self.queued.resize(streams.into(), 0);
        for stream in &io.queue_info().streams {
            if let Some(queued) = self.queued.get_mut(usize::from(stream.stream.0)) {
                *queued = stream.unsent_bytes;
            }
        }
        loop {
            let least = self.queued.iter().copied().min().unwrap_or(0);
            while self.queued.get(usize::from(self.turn.next)).is_some_and(|&q| q > least) {
                self.turn.skip_stream();
            }
            let stream = usize::from(self.turn.next);
            let Some(bytes) = self.turn.send(io) else { return };
            if let Some(queued) = self.queued.get_mut(stream) {
                *queued += u64::from(bytes);
            }
        }
    }
}

impl App for Saturated {
    fn run(&mut self, io: &mut AppIo<'_>) {
        match self.refill {
            Refill::RoundRobin => while self.turn.send(io).is_some() {},
            Refill::Contingent => self.refill_by_contingent(io),
            Refill::LeastUnsent => self.refill_least_unsent(io),
        }
    }
}
