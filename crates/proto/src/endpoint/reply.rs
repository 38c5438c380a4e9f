//! Answers that belong to no association: whole packets, made at once and kept until they are fetched.

use std::collections::VecDeque;

use polypath_wire::{
    AbortChunk, CausesBuf, ChecksumMode, Chunk, EncodeChunk, ErrorCause, ErrorChunk, PacketWriter,
};

use super::rate::RateLimit;
use crate::ids::FourTuple;
use crate::stats::EndpointStats;
use crate::time::Time;

/// Replies that may wait at the same time; a driver fetches them after each datagram.
const MAX_WAITING: usize = 256;

/// The longest reply, bytes. Longer ones than this are not worth a stranger.
const MAX_LEN: usize = 1400;

/// What belongs to no association has its checksum (RFC 9653 section 5.2).
const CRC: ChecksumMode = ChecksumMode::Crc32c;

/// Where a reply goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) tuple: FourTuple,
    pub(super) local_port: u16,
    pub(super) peer_port: u16,
    pub(super) tag: u32,
}

/// A reply ready to go.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) tuple: FourTuple,
    pub(super) packet: Vec<u8>,
}

/// The waiting replies, and how many more are allowed.
#[derive(Debug)]
pub(super) struct Replies {
    waiting: VecDeque<Reply>,
    rate: RateLimit,
}

impl Replies {
    pub(super) const fn new(per_second: u32) -> Self {
        Self { waiting: VecDeque::new(), rate: RateLimit::new(per_second) }
    }

    pub(super) fn pop(&mut self) -> Option<Reply> {
        self.waiting.pop_front()
    }

    /// Queues a packet with one chunk, and a checksum of this kind, unless there were too many.
    pub(super) fn push(
        &mut self,
        now: Time,
        to: Address,
        (chunk, checksum): (&impl EncodeChunk, ChecksumMode),
        stats: &mut EndpointStats,
    ) {
        if self.waiting.len() >= MAX_WAITING || !self.rate.allow(now) {
            stats.replies_suppressed += 1;
            return;
        }
        let mut packet = Vec::new();
        let mut writer =
            PacketWriter::new(&mut packet, MAX_LEN, to.local_port, to.peer_port, to.tag);
        if writer.push(chunk).is_err() {
            stats.replies_suppressed += 1;
            return;
        }
        writer.finish(checksum);
        stats.stateless_replies += 1;
        self.waiting.push_back(Reply { tuple: to.tuple, packet });
    }

    /// Queues what a removed association still had to say; no answer to anything, so no rate limit.
    pub(super) fn push_last_words(&mut self, tuple: FourTuple, packet: Vec<u8>) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(Reply { tuple, packet });
        }
    }

    /// Queues an ABORT with the peer's own tag (T bit 0).
    pub(super) fn abort(
        &mut self,
        now: Time,
        to: Address,
        cause: Option<ErrorCause<'_>>,
        stats: &mut EndpointStats,
    ) {
        let causes: CausesBuf = cause.into_iter().collect();
        let chunk = AbortChunk { reflected: false, causes: causes.as_causes() };
        self.push(now, to, (&chunk, CRC), stats);
    }

    /// Queues an ABORT with the tag of the packet that it answers (T bit 1).
    pub(super) fn reflected_abort(&mut self, now: Time, to: Address, stats: &mut EndpointStats) {
        let causes = CausesBuf::new();
        let chunk = AbortChunk { reflected: true, causes: causes.as_causes() };
        self.push(now, to, (&chunk, CRC), stats);
    }

    /// Queues a SHUTDOWN COMPLETE with the tag of the packet that it answers (T bit 1).
    pub(super) fn reflected_complete(&mut self, now: Time, to: Address, stats: &mut EndpointStats) {
        let complete = Chunk::ShutdownComplete { reflected: true };
        self.push(now, to, (&complete, CRC), stats);
    }

    /// Queues an ERROR.
    pub(super) fn error(
        &mut self,
        now: Time,
        to: Address,
        cause: ErrorCause<'_>,
        stats: &mut EndpointStats,
    ) {
        let causes: CausesBuf = [cause].into_iter().collect();
        self.push(now, to, (&ErrorChunk { causes: causes.as_causes() }, CRC), stats);
    }
}
