//! Answers that belong to no association: whole packets, made at once and kept until they are
//! fetched.

use core::net::IpAddr;
use std::collections::VecDeque;

use polypath_wire::{
    AbortChunk, CausesBuf, ChecksumMode, Chunk, EncodeChunk, ErrorCause, ErrorChunk, PacketWriter,
};

use super::network::Networks;
use super::rate::{Bucket, Keep, Rate};
use crate::config::ReplyLimits;
use crate::ids::FourTuple;
use crate::stats::EndpointStats;
use crate::time::Time;

/// Replies that may wait at the same time; a driver fetches them after each batch of datagrams.
const MAX_WAITING: usize = 1024;

/// Room for so many is kept while none waits.
const FEW: usize = 16;

/// The longest reply, bytes. Longer ones than this are not worth a stranger.
pub(super) const MAX_LEN: usize = 1400;

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

/// Replies of one kind to everybody.
#[derive(Debug)]
struct Limit {
    rate: Rate,
    bucket: Bucket,
    /// What they leave to others of a network's share.
    keep: Keep,
}

impl Limit {
    const fn new(per_second: u32, keep: Keep) -> Self {
        Self { rate: Rate::new(per_second), bucket: Bucket::FULL, keep }
    }
}

/// Kinds of replies, each with a limit of its own.
#[derive(Debug)]
struct Limits {
    init_acks: Limit,
    errors: Limit,
    out_of_the_blue: Limit,
}

/// The waiting replies, and how many more are allowed.
#[derive(Debug)]
pub(super) struct Replies {
    waiting: VecDeque<Reply>,
    limits: Limits,
    networks: Networks,
    exchanges: Limit,
    exchanging: Networks,
}

impl Replies {
    /// `key`, which must be secret, is for telling networks apart.
    pub(super) const fn new(limits: ReplyLimits, key: [u8; 16]) -> Self {
        Self {
            waiting: VecDeque::new(),
            limits: Limits {
                init_acks: Limit::new(limits.init_acks, Keep::Nothing),
                errors: Limit::new(limits.errors, Keep::Quarter),
                out_of_the_blue: Limit::new(limits.out_of_the_blue, Keep::Quarter),
            },
            networks: Networks::new(limits.per_network, key),
            exchanges: Limit::new(limits.key_exchanges, Keep::Nothing),
            exchanging: Networks::new(limits.key_exchanges_per_network, key),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Reply> {
        let reply = self.waiting.pop_front()?;
        if self.waiting.is_empty() && self.waiting.capacity() > FEW {
            self.waiting = VecDeque::new();
        }
        Some(reply)
    }

    /// Whether an INIT ACK may go there; to be asked before it is made, which takes most of the
    /// time that an INIT costs.
    pub(super) fn admits_init_ack(
        &mut self,
        now: Time,
        to: Address,
        stats: &mut EndpointStats,
    ) -> bool {
        self.admits(now, to, |limits| &mut limits.init_acks, stats)
    }

    /// Whether a key exchange may begin with who returned a cookie from there.
    pub(super) fn admits_key_exchange(&mut self, now: Time, from: IpAddr) -> bool {
        let Limit { rate, bucket, keep } = &mut self.exchanges;
        let admitted =
            bucket.has(now, *rate, Keep::Nothing) && self.exchanging.allow(now, from, *keep);
        if admitted {
            bucket.take(now, *rate);
        }
        admitted
    }

    /// Takes what a reply costs of both limits, if both have it.
    fn admits(
        &mut self,
        now: Time,
        to: Address,
        kind: fn(&mut Limits) -> &mut Limit,
        stats: &mut EndpointStats,
    ) -> bool {
        let Limit { rate, bucket, keep } = kind(&mut self.limits);
        let admitted = self.waiting.len() < MAX_WAITING
            && bucket.has(now, *rate, Keep::Nothing)
            && self.networks.allow(now, to.tuple.remote.ip(), *keep);
        if admitted {
            bucket.take(now, *rate);
        } else {
            stats.replies_suppressed += 1;
        }
        admitted
    }

    /// Queues a packet with one chunk, which was [admitted](Self::admits), and a checksum of this
    /// kind.
    pub(super) fn push(
        &mut self,
        to: Address,
        (chunk, checksum): (&impl EncodeChunk, ChecksumMode),
        stats: &mut EndpointStats,
    ) {
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
        if self.admits(now, to, |limits| &mut limits.errors, stats) {
            let causes: CausesBuf = cause.into_iter().collect();
            let chunk = AbortChunk { reflected: false, causes: causes.as_causes() };
            self.push(to, (&chunk, CRC), stats);
        }
    }

    /// Queues an ABORT with the tag of the packet that it answers (T bit 1).
    pub(super) fn reflected_abort(&mut self, now: Time, to: Address, stats: &mut EndpointStats) {
        if self.admits(now, to, |limits| &mut limits.out_of_the_blue, stats) {
            let causes = CausesBuf::new();
            let chunk = AbortChunk { reflected: true, causes: causes.as_causes() };
            self.push(to, (&chunk, CRC), stats);
        }
    }

    /// Queues a SHUTDOWN COMPLETE with the tag of the packet that it answers (T bit 1).
    pub(super) fn reflected_complete(&mut self, now: Time, to: Address, stats: &mut EndpointStats) {
        if self.admits(now, to, |limits| &mut limits.out_of_the_blue, stats) {
            self.push(to, (&Chunk::ShutdownComplete { reflected: true }, CRC), stats);
        }
    }

    /// Queues an ERROR.
    pub(super) fn error(
        &mut self,
        now: Time,
        to: Address,
        cause: ErrorCause<'_>,
        stats: &mut EndpointStats,
    ) {
        if self.admits(now, to, |limits| &mut limits.errors, stats) {
            let causes: CausesBuf = [cause].into_iter().collect();
            self.push(to, (&ErrorChunk { causes: causes.as_causes() }, CRC), stats);
        }
    }
}
