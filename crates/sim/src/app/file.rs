//! Sends a file and closes the association.

use super::io::{App, AppIo, Turn};

#[derive(Debug)]
pub(super) struct File {
    turn: Turn,
    closed: bool,
}

impl File {
    pub(super) fn new(turn: Turn) -> Self {
        Self { turn, closed: false }
    }
}

impl App for File {
    fn run(&mut self, io: &mut AppIo<'_>) {
        while self.turn.send(io).is_some() {}
        if !self.closed && io.all_accepted() {
            self.closed = true;
            io.shutdown();
        }
    }

    fn is_finite(&self) -> bool {
        true
    }
}
