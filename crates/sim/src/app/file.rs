//! Sends a file and closes the association.

use super::io::{App, AppIo, Turn};
use crate::spec::MessageSpec;

#[derive(Debug)]
pub(super) struct File {
    turn: Turn,
    closed: bool,
}

impl File {
    pub(super) fn new(messages: MessageSpec) -> Self {
        Self { turn: Turn::new(messages), closed: false }
    }
}

impl App for File {
    fn run(&mut self, io: &mut AppIo<'_>) {
        while self.turn.send(io) {}
        if !self.closed && io.all_accepted() {
            self.closed = true;
            io.shutdown();
        }
    }

    fn is_finite(&self) -> bool {
        true
    }
}
