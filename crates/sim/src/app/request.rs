//! Sends a request, waits for the response, thinks, repeats.

use polypath_link::Nanos;

use super::io::{App, AppIo};

#[derive(Debug)]
pub(super) struct Requests {
    think: Nanos,
    count: Option<u64>,
    sent: u64,
    /// When the next request goes out, once the response to the last one is there.
    next_at: Option<Nanos>,
    closed: bool,
}

impl Requests {
    pub(super) fn new(think: Nanos, count: Option<u64>) -> Self {
        Self { think, count, sent: 0, next_at: None, closed: false }
    }
}

impl App for Requests {
    fn run(&mut self, io: &mut AppIo<'_>) {
        if self.closed || io.responses < self.sent {
            return;
        }
        if self.count == Some(self.sent) {
            self.closed = true;
            self.next_at = None;
            io.shutdown();
            return;
        }
        let think = if self.sent == 0 { 0 } else { self.think };
        let next_at = *self.next_at.get_or_insert(io.now.saturating_add(think));
        if next_at <= io.now && io.send(0, false) {
            self.sent += 1;
            self.next_at = None;
        }
    }

    fn next_wakeup(&self) -> Option<Nanos> {
        self.next_at
    }

    fn is_finite(&self) -> bool {
        self.count.is_some()
    }
}
