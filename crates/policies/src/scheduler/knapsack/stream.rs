//! An ordered stream among several.

use polypath_proto::PathId;
use polypath_proto::ids::StreamId;
use polypath_proto::time::{Duration, Time};

/// An ordered stream and the path that carries it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    pub(super) home: PathId,
    pub(super) last_sent: Time,
    pub(super) moved: Time,
    /// Since when a faster path was open whenever its turn came.
    pub(super) held_back: Option<Time>,
    /// How often it came back from a slower path that it was not needed on.
    pub(super) returns: u32,
    pub(super) load: Load,
}

/// Bytes that a stream sent lately, in two windows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    began: Time,
    bytes: u64,
    before: u64,
}

impl Load {
    /// A stream that begins with `bytes`.
    pub(super) fn from(began: Time, bytes: u32) -> Self {
        Self { began, bytes: u64::from(bytes), before: 0 }
    }

    pub(super) fn add(&mut self, now: Time, window: Duration, bytes: u32) {
        let age = now.since(self.began);
        if age > window {
            self.before = if age > window * 2 { 0 } else { self.bytes };
            (self.began, self.bytes) = (now, 0);
        }
        self.bytes += u64::from(bytes);
    }

    pub(super) const fn bytes(self) -> u64 {
        self.bytes + self.before
    }
}
