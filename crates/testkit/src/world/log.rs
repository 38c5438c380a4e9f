//! What was sent, for failing tests and for replays.

use std::collections::VecDeque;
use std::fmt::Write as _;

use bytes::Bytes;
use polypath_proto::FourTuple;
use polypath_proto::time::Time;

use super::HostId;
use crate::packet::render;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives, so many times.
    Arrives(u8),
    /// It was lost.
    Lost,
    /// It was larger than its link carries.
    TooLarge,
    /// A filter dropped it.
    Filtered,
    /// Nobody sent it: a test made it up.
    Injected,
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// When.
    pub at: Time,
    /// By whom.
    pub from: HostId,
    /// From where to where, as the sender sees it.
    pub tuple: FourTuple,
    /// What became of it.
    pub fate: Fate,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The latest packets.
#[derive(Clone, Debug)]
pub struct PacketLog {
    entries: VecDeque<LogEntry>,
    capacity: usize,
}

impl PacketLog {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::with_capacity(capacity), capacity }
    }

    pub(super) fn push(&mut self, entry: LogEntry) {
        if self.entries.len() >= self.capacity {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// The packets, oldest first.
    pub fn entries(&self) -> &VecDeque<LogEntry> {
        &self.entries
    }

    /// The last `count` packets, one line each.
    pub fn tail(&self, count: usize) -> String {
        let mut text = String::new();
        for entry in self.entries.iter().skip(self.entries.len().saturating_sub(count)) {
            let LogEntry { at, from, tuple, fate, bytes } = entry;
            let (local, remote) = (tuple.local.ip(), tuple.remote.ip());
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{at} host {} {local} -> {remote} {fate:?}: {}",
                from.0,
                render(bytes)
            );
        }
        text
    }
}
