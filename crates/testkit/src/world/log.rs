//! What was sent, for failing tests and for replays.

use std::collections::VecDeque;
use std::fmt::Write as _;

use bytes::Bytes;
use polypath_proto::FourTuple;
use polypath_proto::time::Time;

use super::place::HostId;
use crate::fingerprint::Digest;
use crate::packet::render_packet;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives, so many times.
    Arrives(u8),
    /// It was lost.
    Lost,
    /// It was larger than its link carries.
    TooLarge,
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
    /// Of all packets since this was wanted, also of those that the log has forgotten.
    digest: Option<Digest>,
}

impl LogEntry {
    fn add_to(&self, digest: &mut Digest) {
        digest.add_number(self.at.as_nanos());
        digest.add_number(self.from.0 as u64);
        digest.add_bytes(self.tuple.local.to_string().as_bytes());
        digest.add_bytes(self.tuple.remote.to_string().as_bytes());
        digest.add_number(match self.fate {
            Fate::Arrives(times) => times.into(),
            Fate::Lost => 0x100,
            Fate::TooLarge => 0x101,
            Fate::Injected => 0x103,
        });
        digest.add_bytes(&self.bytes);
    }
}

impl PacketLog {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::with_capacity(capacity), capacity, digest: None }
    }

    pub(super) fn push_entry(&mut self, entry: LogEntry) {
        if let Some(digest) = &mut self.digest {
            entry.add_to(digest);
        }
        if self.entries.len() >= self.capacity {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// From now on all packets are hashed: their bytes, times, addresses and fates.
    pub fn hash_packets(&mut self) {
        self.digest = Some(Digest::new());
    }

    /// The hash of all packets since [`hash_packets`](Self::hash_packets).
    pub const fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The packets, oldest first.
    pub fn entries(&self) -> &VecDeque<LogEntry> {
        &self.entries
    }

    /// The last `count` packets, one line each.
    pub fn describe_tail(&self, count: usize) -> String {
        let mut text = String::new();
        for entry in self.entries.iter().skip(self.entries.len().saturating_sub(count)) {
            let LogEntry { at, from, tuple, fate, bytes } = entry;
            let (local, remote) = (tuple.local.ip(), tuple.remote.ip());
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{at} host {} {local} -> {remote} {fate:?}: {}",
                from.0,
                render_packet(bytes)
            );
        }
        text
    }
}
